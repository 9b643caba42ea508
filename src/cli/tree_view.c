/* SPDX-License-Identifier: Apache-2.0 */
/* Which roles of a graph are shown, and from which on. */
#include "cli/tree_graph.h"

/* Marks all that can be reached from a role, itself included, without recursion: a chain may be long. */
static void mark(struct arena *a, struct tree_role *from, bool is_upwards, bool *marks)
{
    tree_roles todo = {0};
    if (marks[from->at])
        return;
    marks[from->at] = true;
    *vec_push(a, &todo) = from;
    while (todo.n) {
        const struct tree_role *role = todo.p[--todo.n];
        const struct tree_link *links = is_upwards ? role->into.p : role->from.p;
        size_t n = is_upwards ? role->into.n : role->from.n;
        for (size_t i = 0; i < n; i++) {
            if (marks[links[i].role->at])
                continue;
            marks[links[i].role->at] = true;
            *vec_push(a, &todo) = links[i].role;
        }
    }
}

struct tree_view tree_view_all(struct tree_graph *g)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct tree_view view = {.graph = g, .n_parts = 1};
    bool *marks = ARENA_ARRAY(&scratch, bool, g->n);
    for (int round = 0; round < 2;
         round++) { /* first those that no other selects; what is left goes round in circles */
        for (size_t i = 0; i < g->n; i++) {
            struct tree_role *role = &g->roles[i];
            if (!tree_role_selects(role) || marks[i] || (round == 0 && role->into.n))
                continue;
            *vec_push(g->arena, &view.parts[0].roots) = role;
            mark(&scratch, role, false, marks);
        }
    }
    return view;
}

struct tree_view tree_view_role(struct tree_graph *g, struct tree_role *role)
{
    struct tree_view view = {.graph = g, .about = "role", .name = role->role->name, .n_parts = role->into.n ? 2 : 1};
    *vec_push(g->arena, &view.parts[0].roots) = role;
    *vec_push(g->arena, &view.parts[1].roots) = role;
    view.parts[1].is_upwards = true;
    return view;
}

struct tree_view tree_view_package(struct tree_graph *g, str package, tree_roles roles)
{
    struct tree_view view = {.graph = g, .about = "package", .name = package, .n_parts = 1};
    view.parts[0] = (struct tree_part){.is_upwards = true, .shows_bound = true, .roots = roles};
    return view;
}

struct tree_view tree_view_namespace(struct tree_graph *g, str namespace)
{
    struct tree_view view = {.graph = g, .about = "namespace", .name = namespace, .n_parts = 1};
    str prefix = str_fmt(g->arena, "crossplane:ns:%.*s:", STR(namespace));
    view.parts[0].shows_bound = true;
    for (size_t i = 0; i < g->n && g->roles[i].role->kind == AUTHZ_CLUSTER_ROLE; i++)
        if (str_has_prefix(g->roles[i].role->name, prefix))
            *vec_push(g->arena, &view.parts[0].roots) = &g->roles[i];
    return view;
}

tree_roles tree_find_package(struct tree_graph *g, str package)
{
    tree_roles found = {0};
    for (size_t i = 0; package.n && i < g->n; i++) {
        str of = g->roles[i].package;
        bool is_family = str_has_prefix(of, package) && of.n > package.n && of.p[package.n] == ':';
        if (is_family || str_eq(of, package))
            *vec_push(g->arena, &found) = &g->roles[i];
    }
    return found;
}

struct tree_reach tree_view_reach(struct arena *a, const struct tree_view *view)
{
    size_t n = view->graph->n;
    struct tree_reach reach = {0};
    bool *reached = ARENA_ARRAY(a, bool, n), *bound = ARENA_ARRAY(a, bool, n);
    for (size_t p = 0; p < view->n_parts; p++) {
        const struct tree_part *part = &view->parts[p];
        bool *marks = ARENA_ARRAY(a, bool, n);
        vec_each(&part->roots, root) mark(a, *root, part->is_upwards, marks);
        for (size_t i = 0; i < n; i++) {
            reached[i] |= marks[i];
            bound[i] |= marks[i] && part->shows_bound;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (reached[i])
            *vec_push(a, &reach.roles) = &view->graph->roles[i];
    reach.reached = reached;
    reach.bound = bound;
    return reach;
}
