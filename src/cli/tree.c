/* SPDX-License-Identifier: Apache-2.0 */
/* reeve tree: what aggregates into what. */
#include "cli/command.h"
#include "cli/graphviz.h"
#include "cli/rights.h"
#include "cli/tree_draw.h"
#include "cli/tree_find.h"
#include "object/object.h"

enum form { FORM_TABLE, FORM_WIDE, FORM_JSON, FORM_YAML, FORM_DOT, FORM_SVG, FORM_HTML };
static const char *const forms[] = {
    [FORM_TABLE] = "table", [FORM_WIDE] = "wide", [FORM_JSON] = "json", [FORM_YAML] = "yaml",
    [FORM_DOT] = "dot",     [FORM_SVG] = "svg",   [FORM_HTML] = "html", NULL};

/* ---- What is shown. ---- */

static void add_once(struct tree_graph *g, tree_roles *list, struct tree_role *role)
{
    vec_each(list, known)
    {
        if (*known == role)
            return;
    }
    *vec_push(g->arena, list) = role;
}

/* Those that say so themselves, and those that the record of an install names. */
static struct tree_view view_package(struct tree_graph *g, const struct tree_target *target)
{
    tree_roles roles = tree_find_package(g, target->name);
    const struct json *inventory = json_dig(&target->record, "spec.inventory");
    json_each_item(inventory, part)
    {
        enum authz_kind kind = authz_kind_of(json_get_text(part, S("kind")));
        struct tree_role *role =
            tree_graph_find(g, kind, json_get_text(part, S("namespace")), json_get_text(part, S("name")));
        if (role)
            add_once(g, &roles, role);
    }
    return tree_view_package(g, target->name, roles);
}

static struct tree_view view_of(struct tree_graph *g, const struct tree_target *target)
{
    switch (target->kind) {
    case TREE_ROLE:
        return tree_view_role(g, tree_graph_find(g, AUTHZ_CLUSTER_ROLE, (str){0}, target->name));
    case TREE_PACKAGE:
        return view_package(g, target);
    case TREE_NAMESPACE:
        return tree_view_namespace(g, target->name);
    default:
        return tree_view_all(g);
    }
}

/* Who is bound is only asked for where it is shown: many may read roles, and fewer bindings. */
static int load(struct command *c, str word, struct rights *r, struct tree_graph *g, struct tree_target *target,
                struct err *err)
{
    static const unsigned bindings = 1U << AUTHZ_CLUSTER_ROLE_BINDING | 1U << AUTHZ_ROLE_BINDING;
    int code = rights_load_kinds(c, 1U << AUTHZ_CLUSTER_ROLE, (str){0}, r, err);
    if (code < 0)
        return code;
    tree_graph_make(&c->arena, r->index, g);
    if (word.n)
        code = tree_find(c, g, word, target, err);
    if (code < 0 || target->kind == TREE_ALL || target->kind == TREE_ROLE)
        return code;
    unsigned more = target->kind == TREE_PACKAGE && json_is_obj(&target->record) ? 1U << AUTHZ_ROLE : 0; /* of stacks */
    code = rights_load_kinds(c, bindings | more, target->kind == TREE_NAMESPACE ? target->name : (str){0}, r, err);
    if (code < 0)
        return code;
    tree_graph_make(&c->arena, r->index, g);
    tree_graph_bind(g, r->index);
    return 0;
}

/* ---- How it is shown. ---- */

#define DRAWING_NS (60 * NS_PER_S) /* for Graphviz, whose time grows much faster than what it draws */

/* Without Graphviz there is still what it would have been given, or a page without the picture. */
static int print_picture(struct command *c, const struct tree_view *view, enum form form)
{
    struct buf dot = {.arena = &c->arena}, page = {.arena = &c->arena};
    struct err err;
    str svg = {0};
    tree_dot(&dot, view);
    int code = graphviz_draw(&c->arena, buf_str(&dot), DRAWING_NS, &svg, &err);
    if (code < 0 && code != ERR_NOT_FOUND)
        return command_fail(c, &err);
    if (form == FORM_HTML) {
        if (code < 0)
            term_say(&c->term, "The page has no picture: %s.", err.msg);
        tree_page(&page, view, svg);
        output_text(buf_str(&page));
        return CLI_OK;
    }
    output_text(code < 0 ? buf_str(&dot) : svg);
    if (code == 0)
        return CLI_OK;
    term_complain(c->name, "this is text for Graphviz, not a picture: %s. Where it is: dot -Tsvg", err.msg);
    return CLI_FAILED;
}

static int print(struct command *c, const struct tree_view *view, enum form form)
{
    struct buf text = {.arena = &c->arena};
    if (form == FORM_SVG || form == FORM_HTML)
        return print_picture(c, view, form);
    if (form == FORM_JSON || form == FORM_YAML) {
        struct json document = tree_document(&c->arena, view);
        output_tree(&document, form == FORM_YAML);
        return CLI_OK;
    }
    if (form == FORM_DOT)
        tree_dot(&text, view);
    else if (view->parts[0].roots.n)
        tree_draw(&text, &c->term, view, form == FORM_WIDE);
    else
        term_say(&c->term, "No role selects others.");
    output_text(buf_str(&text));
    return CLI_OK;
}

static int run(struct command *c, str word, enum form form)
{
    struct rights rights = {0};
    struct tree_graph graph;
    struct tree_target target = {0};
    struct err err;
    int code = command_connect(c, &err);
    if (code == 0)
        code = load(c, word, &rights, &graph, &target, &err);
    if (code < 0) {
        code = command_fail(c, &err);
    } else {
        struct tree_view view = view_of(&graph, &target);
        code = print(c, &view, form);
    }
    rights_done(&rights);
    return code;
}

int cli_tree(int argc, char **argv)
{
    struct command c = {.name = "tree", .takes = TAKES_SERVER | TAKES_NAMESPACE};
    int form = FORM_TABLE;
    const struct flag flags[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &form, .words = forms},
    };
    struct flag_words words;
    int code = command_start(&c, flags, COUNT(flags), argc, argv, &words);
    if (!c.is_over && words.n > 1)
        code = command_misused(&c, "one ROLE, PACKAGE or NAMESPACE at a time");
    else if (!c.is_over)
        code = run(&c, words.n ? str_of(words.p[0]) : (str){0}, (enum form)form);
    return command_end(&c, code);
}
