/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_output.h"
#include "base/arena.h"
#include "cli/command.h"
#include "cli/term.h"

struct json document_new(struct arena *a, const char *kind)
{
    struct json document = json_obj();
    json_add(a, &document, S("apiVersion"), json_str(S("cli.reeve.dev/v1")));
    json_add(a, &document, S("kind"), json_str(str_of(kind)));
    return document;
}

struct json document_list(struct arena *a, struct json items)
{
    struct json list = json_obj(), metadata = json_obj();
    json_add(a, &metadata, S("resourceVersion"), json_str(S("")));
    json_add(a, &list, S("apiVersion"), json_str(S("v1")));
    json_add(a, &list, S("items"), items);
    json_add(a, &list, S("kind"), json_str(S("List")));
    json_add(a, &list, S("metadata"), metadata);
    return list;
}

void document_trim(struct json *object)
{
    struct json *meta = json_get_mut(object, S("metadata"));
    if (meta)
        json_remove(meta, S("managedFields"));
}

void document_add_text(struct arena *a, struct json *object, const char *key, str text)
{
    if (text.n)
        json_add(a, object, str_of(key), json_str(text));
}

struct json document_texts(struct arena *a, struct strs texts)
{
    struct json list = json_arr_sized(a, texts.n);
    strs_each(texts, text)
    {
        json_push(a, &list, json_str(*text));
    }
    return list;
}

struct json document_ref(struct arena *a, str kind, str namespace, str name)
{
    struct json ref = json_obj();
    document_add_text(a, &ref, "kind", kind);
    document_add_text(a, &ref, "namespace", namespace);
    document_add_text(a, &ref, "name", name);
    return ref;
}

struct json document_subject(struct arena *a, const struct authz_subject *subject)
{
    return document_ref(a, authz_subject_kind_name(subject->kind), subject->namespace, subject->name);
}

enum { GAP = 3, INDENT = 2, PIECE = 64 * 1024 };

void cli_table_add_cells(struct table *t, const struct table_cell *cells)
{
    for (size_t i = 0; i < t->columns; i++) {
        struct table_cell *cell = vec_push(t->arena, &t->cells);
        *cell = cells[i];
        cell->text = cli_visible(t->arena, cells[i].text);
    }
}

void cli_table_add(struct table *t, const str *cells)
{
    for (size_t i = 0; i < t->columns; i++)
        *vec_push(t->arena, &t->cells) = (struct table_cell){.text = cli_visible(t->arena, cells[i])};
}

/* ---- Rows, kept and not. ---- */

/* Those that are kept, then those that are not. */
struct walk {
    const struct table *table;
    const struct table_rows *rows; /* NULL: none */
    size_t at;                     /* among the cells that are kept */
    struct table_cell *row;        /* room for one that is not */
    size_t *widths;                /* of the cells of the row it stands on */
    struct arena scratch;
};

static size_t width_of_text(str text)
{
    return cli_is_visible(text) || !str_is_utf8(text) ? text.n : str_utf8_len(text);
}

static size_t width_of(const struct table_cell *cell)
{
    return width_of_text(cell->lead) + width_of_text(cell->text);
}

static struct walk walk_of(const struct table *t, const struct table_rows *rows)
{
    return (struct walk){
        .table = t,
        .rows = rows,
        .row = ARENA_ARRAY(t->arena, struct table_cell, t->columns),
        .widths = ARENA_ARRAY(t->arena, size_t, t->columns),
    };
}

static void walk_begin(struct walk *w)
{
    w->at = 0;
    if (w->rows)
        w->rows->begin(w->rows->ctx);
}

static const struct table_cell *next_kept(struct walk *w)
{
    const struct table_cell *row = &w->table->cells.p[w->at];
    for (size_t i = 0; i < w->table->columns; i++)
        w->widths[i] = width_of(&row[i]);
    w->at += w->table->columns;
    return row;
}

/* The cells of the next row, and their widths; NULL behind the last. */
static const struct table_cell *walk_next(struct walk *w)
{
    size_t n = w->table->columns;
    if (w->at < w->table->cells.n)
        return next_kept(w);
    arena_reset(&w->scratch);
    memset(w->row, 0, n * sizeof *w->row);
    if (w->rows == NULL || !w->rows->next(w->rows->ctx, &w->scratch, w->row))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        str text = w->row[i].text, shown = cli_visible(&w->scratch, text);
        bool is_plain = shown.p == text.p; /* of all that a large table has: looked at once */
        w->widths[i] = width_of_text(w->row[i].lead) + (is_plain ? shown.n : width_of_text(shown));
        w->row[i].text = shown;
    }
    return w->row;
}

/* ---- Where everything goes. ---- */

struct layout {
    size_t *widths; /* of each column */
    size_t gap;
    size_t abreast; /* columns side by side; the others stand below */
    size_t label;   /* the width of their names */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct layout layout_of(struct walk *w)
{
    const struct table *t = w->table;
    struct layout l = {.widths = ARENA_ARRAY(t->arena, size_t, t->columns), .gap = t->gap ? t->gap : GAP, .abreast = 1};
    walk_begin(w);
    while (walk_next(w))
        for (size_t i = 0; i < t->columns; i++)
            l.widths[i] = larger(l.widths[i], w->widths[i]);
    size_t used = l.widths[0];
    for (; l.abreast < t->columns; l.abreast++) {
        used += l.gap + l.widths[l.abreast];
        if (t->width && used > t->width)
            break;
    }
    for (size_t i = l.abreast; i < t->columns && t->cells.n; i++)
        l.label = larger(l.label, width_of(&t->cells.p[i]));
    return l;
}

/* ---- Rows. ---- */

static void add_spaces(struct buf *b, size_t n)
{
    if (n == 0)
        return;
    buf_grow(b, n);
    memset(b->p + b->n, ' ', n);
    b->n += n;
}

/* What is in cells was made visible before. */
static void add_styled(struct buf *b, const struct term *term, enum term_style style, str text)
{
    bool is_styled = term && term->has_color && style != STYLE_PLAIN && text.n;
    if (is_styled)
        buf_add_str(b, term_style(term, style));
    buf_add_str(b, text);
    if (is_styled)
        buf_add_str(b, term_style(term, STYLE_PLAIN));
}

static void add_cell(struct buf *b, const struct table *t, const struct table_cell *cell)
{
    add_styled(b, t->term, STYLE_FAINT, cell->lead);
    add_styled(b, t->term, cell->style, cell->text);
}

static void print_row(struct buf *b, const struct walk *w, const struct layout *l, const struct table_cell *row)
{
    size_t pad = 0; /* owed before the next text, so that no line ends in spaces */
    for (size_t i = 0; i < l->abreast; i++) {
        if (w->widths[i]) {
            add_spaces(b, pad);
            pad = 0;
        }
        add_cell(b, w->table, &row[i]);
        pad += l->widths[i] - w->widths[i] + l->gap;
    }
    buf_add_char(b, '\n');
}

/* The names of these columns are in front of each: those in the first row would stand above nothing. */
static void print_below(struct buf *b, const struct walk *w, const struct layout *l, const struct table_cell *row)
{
    const struct table *t = w->table;
    for (size_t i = l->abreast; i < t->columns; i++) {
        const struct table_cell *name = &t->cells.p[i];
        if (w->widths[i] == 0)
            continue;
        add_spaces(b, INDENT);
        add_styled(b, t->term, STYLE_FAINT, name->text);
        add_spaces(b, l->label - width_of(name) + l->gap);
        add_cell(b, t, &row[i]);
        buf_add_char(b, '\n');
    }
}

/* leaving: called at ends of lines when there is much in b, and takes it away; or NULL. */
static void print(struct buf *b, struct walk *w, void (*leaving)(struct buf *b))
{
    struct layout l = layout_of(w);
    bool is_head = true;
    walk_begin(w);
    for (const struct table_cell *row; (row = walk_next(w)); is_head = false) {
        print_row(b, w, &l, row);
        if (!is_head)
            print_below(b, w, &l, row);
        if (leaving && b->n >= PIECE)
            leaving(b);
    }
}

void cli_table_print(struct buf *b, const struct table *t)
{
    struct walk w = walk_of(t, NULL);
    print(b, &w, NULL);
}

static void put_out(struct buf *b)
{
    output_text(buf_str(b));
    b->n = 0;
}

void cli_table_output(const struct table *t, const struct table_rows *rows)
{
    struct walk w = walk_of(t, rows);
    struct buf piece = {0};
    print(&piece, &w, put_out);
    put_out(&piece);
    buf_done(&piece);
    arena_done(&w.scratch);
}
