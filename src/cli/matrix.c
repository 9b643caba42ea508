/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_access.h"
#include "cli/cli_output.h"
#include "cli/command.h"
#include "cli/matrix_internal.h"
#include "cli/question.h"
#include "object/kind.h"

#include <stdlib.h>

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

/* The server has this verb for the resource, as far as is known: a right to another is of no use. */
static bool matrix_has_verb(const struct matrix_row *row, str verb)
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

/* Something in this row is allowed, if only for some names. */
static bool matrix_allows(const struct matrix *m, size_t row)
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

/* What its marks and the heads of its columns mean; lines that fit the terminal, without a newline at the end. */
static void matrix_legend(struct buf *b, const struct term *term, const struct matrix *m, bool is_wide, bool is_all)
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

/* reeve matrix: what somebody may do: resources and verbs. */

struct options {
    int output; /* enum output */
    bool is_all, has_subresources;
    flag_texts groups;
};

/* What somebody may do in one place: told by rules, or by roles and bindings. */
struct source {
    struct rules rules;
    const struct authz_index *index; /* NULL: the rules are all there is */
    str namespace;
};

/* One matrix under way. Objects of a namespace are judged by what holds there, those of the cluster by what holds everywhere:
 * a RoleBinding to a role with a rule about nodes gives no right to nodes. */
struct work {
    struct command *c;
    struct arena *a;
    const struct options *options;
    struct authz_identity who;
    struct source there, everywhere;
    struct matrix m;
};

/* ---- Oneself: by reviews, which everybody may ask for. ---- */

/* No namespace can have this name, so that no RoleBinding is in it: what holds there holds everywhere. */
#define NOWHERE S("-")

static int ask_rules(struct work *w, str namespace, struct rules *ret, struct err *err)
{
    struct json answer;
    command_needs(w->c, (struct command_need){.verb = "create",
                                              .group = S("authorization.k8s.io"),
                                              .resource = S("selfsubjectrulesreviews")});
    int code = self_review(w->c, namespace, &answer, err);
    if (code < 0)
        return err_wrap(err, "ask for one's own rules");
    str incomplete = {0};
    code = matrix_read_review(w->a, &answer, ret, &incomplete, err);
    if (code == 0 && incomplete.n)
        w->m.incomplete = incomplete;
    return code;
}

static int look_at_oneself(struct work *w, struct err *err)
{
    int code = ask_rules(w, NOWHERE, &w->everywhere.rules, err);
    w->there = w->everywhere;
    if (code == 0 && w->m.namespace.n)
        code = ask_rules(w, w->m.namespace, &w->there.rules, err);
    if (code == 0)
        w->who = self_identity(w->c);
    return code;
}

/* ---- Somebody else: by roles and bindings. ---- */

static int look_at(struct work *w, const char *user, struct rights *rights, struct err *err)
{
    unsigned kinds = 1U << AUTHZ_CLUSTER_ROLE | 1U << AUTHZ_CLUSTER_ROLE_BINDING;
    if (w->m.namespace.n)
        kinds |= 1U << AUTHZ_ROLE | 1U << AUTHZ_ROLE_BINDING;
    struct question q;
    int code = question_who(w->c, user, &w->options->groups, &q, err);
    if (code == 0)
        code = rights_load_kinds(w->c, kinds, w->m.namespace, rights, err);
    if (code < 0)
        return code;
    w->who = q.who;
    w->everywhere = (struct source){.rules = explain_rules_for(w->a, rights->index, &w->who, (str){0}).resource_rules,
                                    .index = rights->index};
    struct explain_rules there = explain_rules_for(w->a, rights->index, &w->who, w->m.namespace);
    w->there = (struct source){there.resource_rules, rights->index, w->m.namespace};
    w->m.incomplete = there.evaluation_error; /* roles that are bound and missing */
    return 0;
}

/* ---- The axes. ---- */

static int by_text(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

/* The usual verbs, and for whom it does not matter how wide it is all others that rules name, by name. */
static struct strs find_verbs(struct work *w)
{
    VEC(str) all = {0};
    struct map seen = {0};
    const struct rules lists[] = {w->there.rules, w->everywhere.rules};
    map_set(&seen, S("*"), w);
    strs_each(matrix_verbs, verb)
    {
        *vec_push(w->a, &all) = *verb;
        map_set(&seen, *verb, w);
    }
    for (size_t i = 0; w->options->output != OUTPUT_TABLE && i < 2; i++) {
        rules_each(lists[i], rule)
        {
            strs_each(rule->verbs, verb)
            {
                if (!map_set(&seen, *verb, w))
                    *vec_push(w->a, &all) = *verb;
            }
        }
    }
    map_done(&seen);
    if (all.n > matrix_verbs.n)
        qsort(all.p + matrix_verbs.n, all.n - matrix_verbs.n, sizeof *all.p, by_text);
    return (struct strs){all.p, all.n};
}

static int find_rows(struct work *w, struct err *err)
{
    const struct client_discovery *d;
    VEC(struct matrix_row) rows = {0};
    int code = resource_all(w->c, &d, err);
    if (code < 0)
        return code;
    for (size_t i = 0; i < d->n; i++) {
        const struct client_discovered *r = &d->p[i];
        struct matrix_row row = {{r->resource.group, r->resource.plural, {0}}, r->resource.namespaced, r->verbs, true};
        *vec_push(w->a, &rows) = row;
        row.knows_verbs = false;
        for (size_t k = 0; w->options->has_subresources && k < r->n_subresources; k++) {
            row.what.subresource = r->subresources[k];
            *vec_push(w->a, &rows) = row;
        }
    }
    if (d->n_failed)
        term_say(&w->c->term, "The server cannot tell about all of its resources: %.*s", STR(d->text));
    w->m.rows = rows.p;
    w->m.n = rows.n;
    return 0;
}

/* ---- The cells. ---- */

static const enum explain_cell *judge(struct work *w, const struct source *s, const struct explain_axes *axes)
{
    return s->index ? explain_matrix(w->a, s->index, &w->who, s->namespace, axes)
                    : explain_matrix_of(w->a, s->rules, axes);
}

static void fill(struct work *w)
{
    struct explain_resource *resources = ARENA_ARRAY(w->a, struct explain_resource, w->m.n);
    for (size_t i = 0; i < w->m.n; i++)
        resources[i] = w->m.rows[i].what;
    w->m.verbs = find_verbs(w);
    struct explain_axes axes = {resources, w->m.n, w->m.verbs};
    const enum explain_cell *there = judge(w, &w->there, &axes), *everywhere = judge(w, &w->everywhere, &axes);
    enum explain_cell *cells = ARENA_ARRAY(w->a, enum explain_cell, w->m.n * w->m.verbs.n);
    for (size_t i = 0; i < w->m.n * w->m.verbs.n; i++)
        cells[i] = w->m.rows[i / w->m.verbs.n].is_namespaced ? there[i] : everywhere[i];
    w->m.cells = cells;
    w->m.user = w->who.user;
    w->m.groups = w->who.groups;
}

/* ---- The command. ---- */

static void print(struct work *w)
{
    struct buf text = {.arena = w->a};
    bool is_wide = w->options->output == OUTPUT_WIDE, has_any = w->options->is_all;
    if (w->m.incomplete.n)
        term_say(&w->c->term, "This may not be all: %.*s", STR(w->m.incomplete));
    if (w->options->output == OUTPUT_JSON || w->options->output == OUTPUT_YAML) {
        struct json document = matrix_document(w->a, &w->m, w->options->is_all);
        output_tree(&document, w->options->output == OUTPUT_YAML);
        return;
    }
    question_note_place(w->c, w->m.namespace, "-n names another");
    for (size_t i = 0; !has_any && i < w->m.n; i++)
        has_any = matrix_allows(&w->m, i);
    if (has_any) {
        struct buf legend = {.arena = w->a};
        matrix_legend(&legend, &w->c->term, &w->m, is_wide, w->options->is_all);
        term_say(&w->c->term, "%.*s", STR(buf_str(&legend)));
        matrix_draw(&text, &w->c->term, &w->m, is_wide, w->options->is_all);
    } else {
        term_say(&w->c->term, "Nothing is allowed.");
    }
    output_text(buf_str(&text));
}

static int run(struct command *c, const struct options *options, const char *user)
{
    struct work w = {.c = c, .a = &c->arena, .options = options};
    struct rights rights = {0};
    struct err err;
    int code = command_connect(c, &err);
    if (code == 0)
        w.m.namespace = c->all_namespaces ? (str){0} : command_namespace(c);
    if (code == 0)
        question_warn_place(c, w.m.namespace);
    if (code == 0)
        code = user ? look_at(&w, user, &rights, &err) : look_at_oneself(&w, &err);
    if (code == 0)
        code = find_rows(&w, &err);
    if (code < 0) {
        code = question_fail(c, &err);
    } else {
        fill(&w);
        print(&w);
    }
    rights_done(&rights);
    return code;
}

int cli_matrix(int argc, char **argv)
{
    struct command c = {.name = "matrix", .takes = TAKES_SERVER | TAKES_NAMESPACE | TAKES_ALL};
    struct options o = {.output = OUTPUT_TABLE};
    static const char *const outputs[] = {"table", "wide", "json", "yaml", NULL};
    const struct flag flags[] = {
        {.name = "all", .kind = FLAG_YES, .into = &o.is_all},
        {.name = "group", .kind = FLAG_TEXTS, .into = &o.groups},
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &o.output, .words = outputs},
        {.name = "subresources", .kind = FLAG_YES, .into = &o.has_subresources},
    };
    struct flag_words words;
    int code = command_start(&c, flags, COUNT(flags), argc, argv, &words);
    if (!c.is_over && words.n > 1)
        code = command_misused(&c, "one USER at a time");
    else if (!c.is_over && o.groups.n && words.n == 0)
        code = command_misused(&c, "--group is of a USER; to be somebody else use --as and --as-group");
    else if (!c.is_over)
        code = run(&c, &o, words.n ? words.p[0] : NULL);
    return command_end(&c, code);
}
