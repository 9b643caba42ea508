/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/aggregate.h"
#include "authz/explain.h"
#include "cli/tree_internal.h"

#include <stdlib.h>

/* ---- Roles. ---- */

static int compare_places(const struct authz_role *x, const struct authz_role *y)
{
    if (x->kind != y->kind)
        return x->kind == AUTHZ_CLUSTER_ROLE ? -1 : 1;
    int order = str_cmp(x->namespace, y->namespace);
    return order ? order : str_cmp(x->name, y->name);
}

static int by_place(const void *x, const void *y)
{
    return compare_places(*(const struct authz_role *const *)x, *(const struct authz_role *const *)y);
}

struct gathering {
    struct arena *arena;
    VEC(const struct authz_role *) roles;
};

static bool gather(void *ctx, const struct authz_role *role)
{
    struct gathering *g = ctx;
    *vec_push(g->arena, &g->roles) = role;
    return true;
}

static void read_roles(struct tree_graph *g, const struct authz_index *ix)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct gathering found = {.arena = &scratch};
    authz_visit_roles(ix, gather, &found);
    if (found.roles.n)
        qsort(found.roles.p, found.roles.n, sizeof *found.roles.p, by_place);
    g->n = found.roles.n;
    g->roles = ARENA_ARRAY(g->arena, struct tree_role, g->n);
    for (size_t i = 0; i < g->n; i++)
        g->roles[i] =
            (struct tree_role){.role = found.roles.p[i], .package = explain_package(found.roles.p[i]), .at = i};
}

struct tree_role *tree_graph_find(const struct tree_graph *g, enum authz_kind kind, str namespace, str name)
{
    struct authz_role wanted = {.kind = kind, .namespace = namespace, .name = name};
    size_t low = 0, high = g->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_places(g->roles[middle].role, &wanted);
        if (order == 0)
            return &g->roles[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- Who selects whom. ---- */

enum { SELECTOR_TEXT = 1024 }; /* bytes after which further selectors of the same role are not told */

/* The index of aggregation knows who selects whom without comparing each with each; it is told no rules. */
static void tell(struct arena *a, struct aggregate_index *ix, const struct authz_role *role)
{
    struct json object = json_obj(), metadata = json_obj();
    json_add(a, &metadata, S("name"), json_str(role->name));
    if (role->labels)
        json_add(a, &metadata, S("labels"), *role->labels);
    json_add(a, &object, S("metadata"), metadata);
    if (role->aggregation_rule)
        json_add(a, &object, S("aggregationRule"), *role->aggregation_rule);
    (void)aggregate_index_put(ix, &object, NULL); /* one that makes no sense takes no part */
}

struct linking {
    struct tree_graph *g;
    struct tree_role *aggregate;
    size_t *places; /* by role: where it stands among the links of the aggregate, + 1 */
};

static void link_role(void *ctx, str name, str selector)
{
    struct linking *l = ctx;
    struct arena *a = l->g->arena;
    struct tree_role *role = tree_graph_find(l->g, AUTHZ_CLUSTER_ROLE, (str){0}, name);
    if (!role)
        return;
    selector = selector.n ? selector : S("everything");
    size_t *place = &l->places[role->at];
    if (*place) {
        struct tree_link *link = &l->aggregate->from.p[*place - 1];
        if (link->selector.n < SELECTOR_TEXT)
            link->selector = str_fmt(a, "%.*s or %.*s", STR(link->selector), STR(selector));
        return;
    }
    *vec_push(a, &l->aggregate->from) = (struct tree_link){role, str_dup(a, selector)};
    *place = l->aggregate->from.n;
}

static int by_role(const void *x, const void *y)
{
    size_t a = ((const struct tree_link *)x)->role->at, b = ((const struct tree_link *)y)->role->at;
    return (a > b) - (a < b);
}

static void link_aggregate(struct linking *l, const struct aggregate_index *ix)
{
    struct tree_role *aggregate = l->aggregate;
    aggregate_index_picks(ix, aggregate->role->name, link_role, l);
    vec_each(&aggregate->from, link) l->places[link->role->at] = 0;
    if (aggregate->from.n)
        qsort(aggregate->from.p, aggregate->from.n, sizeof *aggregate->from.p, by_role);
    vec_each(&aggregate->from, link) * vec_push(l->g->arena, &link->role->into) =
        (struct tree_link){aggregate, link->selector};
}

void tree_graph_make(struct arena *a, const struct authz_index *ix, struct tree_graph *ret)
{
    *ret = (struct tree_graph){.arena = a};
    read_roles(ret, ix);
    struct arena scratch ARENA_SCOPE = {0};
    struct aggregate_index *aggregates = aggregate_index_new();
    struct linking l = {.g = ret, .places = ARENA_ARRAY(&scratch, size_t, ret->n)};
    for (size_t i = 0; i < ret->n; i++)
        if (ret->roles[i].role->kind == AUTHZ_CLUSTER_ROLE)
            tell(&scratch, aggregates, ret->roles[i].role);
    for (size_t i = 0; i < ret->n; i++) {
        l.aggregate = &ret->roles[i];
        if (ret->roles[i].role->kind == AUTHZ_CLUSTER_ROLE)
            link_aggregate(&l, aggregates);
    }
    aggregate_index_free(aggregates);
}

/* ---- Who is bound. ---- */

static bool bind(void *ctx, const struct authz_grant *grant)
{
    struct tree_graph *g = ctx;
    if (!grant->role)
        return true;
    struct tree_role *role = tree_graph_find(g, grant->role->kind, grant->role->namespace, grant->role->name);
    size_t n = role ? authz_binding_subjects(grant->binding) : 0;
    for (size_t i = 0; i < n; i++)
        *vec_push(g->arena, &role->bound) =
            (struct tree_bound){authz_binding_subject(grant->binding, i), grant->kind, grant->namespace, grant->name};
    return true;
}

static int by_subject(const void *x, const void *y)
{
    const struct tree_bound *a = x, *b = y;
    if (a->subject.kind != b->subject.kind)
        return a->subject.kind < b->subject.kind ? -1 : 1;
    int order = str_cmp(a->subject.namespace, b->subject.namespace);
    order = order ? order : str_cmp(a->subject.name, b->subject.name);
    if (order == 0 && a->kind != b->kind)
        return a->kind == AUTHZ_CLUSTER_ROLE_BINDING ? -1 : 1;
    order = order ? order : str_cmp(a->namespace, b->namespace);
    return order ? order : str_cmp(a->name, b->name);
}

void tree_graph_bind(struct tree_graph *g, const struct authz_index *ix)
{
    authz_visit_bindings(ix, bind, g);
    for (size_t i = 0; i < g->n; i++)
        if (g->roles[i].bound.n)
            qsort(g->roles[i].bound.p, g->roles[i].bound.n, sizeof *g->roles[i].bound.p, by_subject);
}

/* Which roles of a graph are shown, and from which on. */

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
