/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include "base/arena.h"
#include "cli/command.h"
#include "cli/visible.h"

enum { GAP = 3, INDENT = 2, PIECE = 64 * 1024 };

void cli_table_reserve(struct table *t, size_t rows)
{
    size_t n = arena_array_size(rows, t->columns);
    if (t->cells.n || n <= t->cells.cap)
        return;
    t->cells.p = arena_alloc(t->arena, arena_array_size(n, sizeof *t->cells.p));
    t->cells.cap = n;
}

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

static size_t width_of_text(str text)
{
    return str_is_utf8(text) ? str_utf8_len(text) : text.n;
}

static size_t width_of(const struct table_cell *cell)
{
    return width_of_text(cell->lead) + width_of_text(cell->text);
}

static void add_styled(struct buf *b, const struct term *term, enum term_style style, str text)
{
    if (term && style != STYLE_PLAIN && text.n)
        term_add(b, term, style, text);
    else
        buf_add_str(b, text);
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

static struct layout layout_of(const struct table *t)
{
    struct layout l = {.widths = ARENA_ARRAY(t->arena, size_t, t->columns), .gap = t->gap ? t->gap : GAP, .abreast = 1};
    for (size_t i = 0; i < t->cells.n; i++)
        l.widths[i % t->columns] = larger(l.widths[i % t->columns], width_of(&t->cells.p[i]));
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
    while (n--)
        buf_add_char(b, ' ');
}

static void add_cell(struct buf *b, const struct table *t, const struct table_cell *cell)
{
    add_styled(b, t->term, STYLE_FAINT, cell->lead);
    add_styled(b, t->term, cell->style, cell->text);
}

static void print_row(struct buf *b, const struct table *t, const struct layout *l, const struct table_cell *row)
{
    size_t pad = 0; /* owed before the next text, so that no line ends in spaces */
    for (size_t i = 0; i < l->abreast; i++) {
        size_t width = width_of(&row[i]);
        if (width) {
            add_spaces(b, pad);
            pad = 0;
        }
        add_cell(b, t, &row[i]);
        pad += l->widths[i] - width + l->gap;
    }
    buf_add_char(b, '\n');
}

/* The names of these columns are in front of each: those in the first row would stand above nothing. */
static void print_below(struct buf *b, const struct table *t, const struct layout *l, const struct table_cell *row)
{
    for (size_t i = l->abreast; i < t->columns; i++) {
        const struct table_cell *name = &t->cells.p[i];
        if (width_of(&row[i]) == 0)
            continue;
        add_spaces(b, INDENT);
        add_styled(b, t->term, STYLE_FAINT, name->text);
        add_spaces(b, l->label - width_of(name) + l->gap);
        add_cell(b, t, &row[i]);
        buf_add_char(b, '\n');
    }
}

/* leaving: called at ends of lines when there is much in b, and takes it away; or NULL. */
static void print(struct buf *b, const struct table *t, void (*leaving)(struct buf *b))
{
    struct layout l = layout_of(t);
    for (size_t at = 0; at + t->columns <= t->cells.n; at += t->columns) {
        print_row(b, t, &l, &t->cells.p[at]);
        if (at)
            print_below(b, t, &l, &t->cells.p[at]);
        if (leaving && b->n >= PIECE)
            leaving(b);
    }
}

void cli_table_print(struct buf *b, const struct table *t)
{
    print(b, t, NULL);
}

static void put_out(struct buf *b)
{
    output_text(buf_str(b));
    b->n = 0;
}

void cli_table_output(const struct table *t)
{
    struct buf piece = {0};
    print(&piece, t, put_out);
    put_out(&piece);
    buf_done(&piece);
}
