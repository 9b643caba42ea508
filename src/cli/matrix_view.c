/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/matrix_view.h"

#include "cli/document.h"
#include "cli/table.h"
#include "object/kind.h"

static const str usual[] = {S_INIT("get"),    S_INIT("list"),  S_INIT("watch"),  S_INIT("create"),
                            S_INIT("update"), S_INIT("patch"), S_INIT("delete"), S_INIT("deletecollection")};
const struct strs matrix_verbs = {usual, COUNT(usual)};

int matrix_read_review(struct arena *a, const struct json *review, struct rules *ret, str *ret_incomplete,
                       struct err *err)
{
    const struct json *status = json_get(review, S("status"));
    str why = json_get_text(status, S("evaluationError"));
    int code = rules_from_json(a, json_get(status, S("resourceRules")), ret, err);
    if (code < 0)
        return err_wrap(err, "read one's own rules");
    *ret_incomplete = (str){0};
    if (json_true(json_get(status, S("incomplete"))))
        *ret_incomplete = why.n ? why : S("the server says that there may be more");
    return 0;
}

bool matrix_has_verb(const struct matrix_row *row, str verb)
{
    if (!row->knows_verbs)
        return true;
    for (unsigned bit = 1; bit < VERBS_ALL; bit <<= 1)
        if (str_eq(str_of(verb_name(bit)), verb))
            return row->verbs & bit;
    return true; /* "bind" and the like are not told by discovery */
}

static enum explain_cell cell_of(const struct matrix *m, size_t row, size_t verb)
{
    return m->cells[row * m->verbs.n + verb];
}

bool matrix_allows(const struct matrix *m, size_t row)
{
    for (size_t i = 0; i < m->verbs.n; i++)
        if (cell_of(m, row, i) != CELL_NO && matrix_has_verb(&m->rows[row], m->verbs.p[i]))
            return true;
    return false;
}

/* ---- As a table. ---- */

/* pods, deployments.apps, pods/log, deployments.apps/scale: as kubectl takes and prints them. */
static str title_of(struct arena *a, const struct explain_resource *r)
{
    return str_fmt(a, "%.*s%s%.*s%s%.*s", STR(r->resource), r->group.n ? "." : "", STR(r->group),
                   r->subresource.n ? "/" : "", STR(r->subresource));
}

/* What fits: whole words if it does not matter, else GET LIS WAT CRE UPD PAT DEL COL, else G L W C U P D A. */
static str head_of(struct arena *a, str verb, size_t length)
{
    if (length == 1 && str_eq(verb, S("deletecollection")))
        return S("A"); /* deletes all: C and D are those of create and delete */
    char *head = str_cstr(a, str_eq(verb, S("deletecollection")) && length < verb.n ? S("collection") : verb);
    for (char *c = head; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return str_upto(str_of(head), length);
}

static size_t head_length(const struct term *term, const struct matrix *m, size_t widest, bool is_wide)
{
    enum { SHORT = 3 };
    if (is_wide)
        return SIZE_MAX;
    return widest + m->verbs.n * (SHORT + 1) <= term->width ? SHORT : 1;
}

static struct table_cell mark_of(const struct term *term, enum explain_cell cell)
{
    static const struct {
        str fine, plain;
        enum term_style style;
    } marks[] = {
        [CELL_NO] = {S_INIT("✖"), S_INIT("-"), STYLE_FAINT},
        [CELL_NAMES] = {S_INIT("~"), S_INIT("~"), STYLE_WARN},
        [CELL_YES] = {S_INIT("✔"), S_INIT("Y"), STYLE_GAIN},
    };
    return (struct table_cell){.text = term->has_utf8 ? marks[cell].fine : marks[cell].plain,
                               .style = marks[cell].style};
}

static void add_row(struct table *t, const struct matrix *m, size_t row, str title)
{
    struct table_cell *cells = ARENA_ARRAY(t->arena, struct table_cell, t->columns);
    cells[0].text = title;
    for (size_t i = 0; i < m->verbs.n; i++)
        if (matrix_has_verb(&m->rows[row], m->verbs.p[i]))
            cells[i + 1] = mark_of(t->term, cell_of(m, row, i));
    cli_table_add_cells(t, cells);
}

void matrix_draw(struct buf *b, const struct term *term, const struct matrix *m, bool is_wide, bool is_all)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct table t = {.arena = &scratch, .columns = 1 + m->verbs.n, .gap = is_wide ? 2 : 1, .term = term};
    struct table_cell *heads = ARENA_ARRAY(&scratch, struct table_cell, t.columns);
    str *titles = ARENA_ARRAY(&scratch, str, m->n); /* of the rows that are shown */
    size_t widest = 0;
    for (size_t row = 0; row < m->n; row++) {
        if (!is_all && !matrix_allows(m, row))
            continue;
        titles[row] = title_of(&scratch, &m->rows[row].what);
        widest = titles[row].n > widest ? titles[row].n : widest;
    }
    heads[0] = (struct table_cell){.text = S("RESOURCE"), .style = STYLE_HEAD};
    for (size_t i = 0; i < m->verbs.n; i++) {
        str head = head_of(&scratch, m->verbs.p[i], head_length(term, m, widest, is_wide));
        heads[i + 1] = (struct table_cell){.text = head, .style = STYLE_HEAD};
    }
    cli_table_add_cells(&t, heads);
    for (size_t row = 0; row < m->n; row++)
        if (titles[row].n)
            add_row(&t, m, row, titles[row]);
    cli_table_print(b, &t);
}

/* ---- What it means. ---- */

/* "LIS list, WAT watch", on as many lines as it takes. */
static void add_heads(struct buf *b, const struct matrix *m, size_t length, size_t width)
{
    struct arena scratch ARENA_SCOPE = {0};
    size_t line = 0;
    for (size_t i = 0; i < m->verbs.n; i++) {
        str verb = m->verbs.p[i], head = head_of(&scratch, verb, length);
        str text = str_fmt(&scratch, "%.*s %.*s", STR(head), STR(verb));
        if (head.n == verb.n)
            continue;
        bool is_new = line == 0 || line + text.n + 3 > width;
        buf_add_str(b, line == 0 ? S("\n") : is_new ? S(",\n") : S(", "));
        buf_add_str(b, text);
        line = is_new ? text.n : line + 2 + text.n;
    }
}

void matrix_legend(struct buf *b, const struct term *term, const struct matrix *m, bool is_wide, bool is_all)
{
    struct arena scratch ARENA_SCOPE = {0};
    size_t widest = 0;
    for (size_t row = 0; row < m->n; row++) {
        size_t n = is_all || matrix_allows(m, row) ? title_of(&scratch, &m->rows[row].what).n : 0;
        widest = n > widest ? n : widest;
    }
    buf_fmt(b, "%.*s allowed, ~ allowed for some names, %.*s not allowed, empty: no such verb",
            STR(mark_of(term, CELL_YES).text), STR(mark_of(term, CELL_NO).text));
    if (!is_wide)
        add_heads(b, m, head_length(term, m, widest, false), term->width);
}

/* ---- As a document. ---- */

static struct json verbs_with(struct arena *a, const struct matrix *m, size_t row, enum explain_cell cell)
{
    struct json list = json_arr();
    for (size_t i = 0; i < m->verbs.n; i++)
        if (cell_of(m, row, i) == cell && matrix_has_verb(&m->rows[row], m->verbs.p[i]))
            json_push(a, &list, json_str(m->verbs.p[i]));
    return list;
}

static struct json row_document(struct arena *a, const struct matrix *m, size_t row)
{
    const struct matrix_row *r = &m->rows[row];
    struct json one = json_obj();
    json_add(a, &one, S("group"), json_str(r->what.group));
    json_add(a, &one, S("resource"), json_str(r->what.resource));
    document_add_text(a, &one, "subresource", r->what.subresource);
    json_add(a, &one, S("namespaced"), json_bool(r->is_namespaced));
    json_add(a, &one, S("allowed"), verbs_with(a, m, row, CELL_YES));
    json_add(a, &one, S("allowedForNames"), verbs_with(a, m, row, CELL_NAMES));
    return one;
}

struct json matrix_document(struct arena *a, const struct matrix *m, bool is_all)
{
    struct json document = document_new(a, "AccessMatrix"), rows = json_arr();
    document_add_text(a, &document, "user", m->user);
    if (m->groups.n)
        json_add(a, &document, S("groups"), document_texts(a, m->groups));
    document_add_text(a, &document, "namespace", m->namespace);
    json_add(a, &document, S("incomplete"), json_bool(m->incomplete.n > 0));
    document_add_text(a, &document, "message", m->incomplete);
    json_add(a, &document, S("verbs"), document_texts(a, m->verbs));
    for (size_t row = 0; row < m->n; row++)
        if (is_all || matrix_allows(m, row))
            json_push(a, &rows, row_document(a, m, row));
    json_add(a, &document, S("resources"), rows);
    return document;
}
