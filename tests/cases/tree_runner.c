/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given: roles and bindings, as YAML documents.
 * "when all": every aggregated role. "when role NAME", "when package NAME", "when namespace NAME": what "reeve tree" shows of it.
 * A last word says how: wide, ascii, colour, json, dot or html (without a picture); without one it is drawn with lines.
 * expect: what is printed. A control character is written as \xNN.
 */
#include "cases/questions.h"
#include "cli/term.h"
#include "cli/tree_internal.h"

struct question {
    str about, name, form;
};

static struct question parse(str args)
{
    struct question q = {0};
    str rest;
    str_cut(str_trim(args), ' ', &q.about, &rest);
    if (!str_eq(q.about, S("all")))
        str_cut(rest, ' ', &q.name, &rest);
    q.form = str_trim(rest);
    return q;
}

static struct tree_view view_of(struct case_file *c, struct tree_graph *g, const struct question *q)
{
    if (str_eq(q->about, S("role"))) {
        struct tree_role *role = tree_graph_find(g, AUTHZ_CLUSTER_ROLE, (str){0}, q->name);
        if (role)
            return tree_view_role(g, role);
        case_fail(c, NULL, "there is no role %.*s", STR(q->name));
    }
    if (str_eq(q->about, S("package")))
        return tree_view_package(g, q->name, tree_find_package(g, q->name));
    if (str_eq(q->about, S("namespace")))
        return tree_view_namespace(g, q->name);
    return tree_view_all(g);
}

/* Colours are shown as what switches them on. */
static void show_escapes(struct buf *b, str text)
{
    bool more = true;
    for (str line; more;) {
        more = str_cut(text, '\n', &line, &text);
        cli_add_visibly(b, line);
        buf_add_char(b, '\n');
    }
}

static str answer(struct case_file *c, const struct authz_index *ix, const struct case_section *when)
{
    struct question q = parse(when->args);
    struct buf b = {.arena = c->arena}, shown = {.arena = c->arena};
    struct term term = {.has_utf8 = !str_eq(q.form, S("ascii")), .has_color = str_eq(q.form, S("colour"))};
    struct tree_graph g;
    tree_graph_make(c->arena, ix, &g);
    tree_graph_bind(&g, ix);
    struct tree_view view = view_of(c, &g, &q);
    if (str_eq(q.form, S("json"))) {
        struct json document = tree_document(c->arena, &view);
        json_encode(&b, &document, JSON_PRETTY);
    } else if (str_eq(q.form, S("dot"))) {
        tree_dot(&b, &view);
    } else if (str_eq(q.form, S("html"))) {
        tree_page(&b, &view, (str){0});
    } else {
        tree_draw(&b, &term, &view, str_eq(q.form, S("wide")));
    }
    show_escapes(&shown, buf_str(&b));
    return buf_str(&shown);
}

static void run(struct case_file *c)
{
    questions_run(c, answer, NULL);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
