/* SPDX-License-Identifier: Apache-2.0 */
/* Near misses: rules that differ from the request in one thing only, bindings without a role, roles without a binding. */
#include "authz/explain_misses.h"

#include <stdlib.h>

struct hunt {
    struct arena *arena;
    struct explanation *e;
    VEC(struct explain_miss) list;
    size_t per_kind[MISS_BINDING + 1];
    struct map known; /* roles that were told of already, by their place in memory */
};

static struct explain_miss *add_miss(struct hunt *h, enum explain_miss_kind kind, const struct authz_grant *grant)
{
    if (h->per_kind[kind]++ >= EXPLAIN_MAX_MISSES) {
        h->e->dropped++;
        return NULL;
    }
    struct explain_miss *miss = vec_push(h->arena, &h->list);
    *miss = (struct explain_miss){
        .kind = kind,
        .grant = *grant,
        .role = grant->role,
        .package = grant->role ? explain_package(grant->role) : (str){0},
    };
    return miss;
}

/* ---- What a rule lacks. ---- */

/* "pods" of "pods/log". */
static str base_of(str resource)
{
    str base, rest;
    return str_cut(resource, '/', &base, &rest) ? base : resource;
}

static bool names_resource(const struct rule *rule, const struct authz_attributes *what, bool any_part)
{
    strs_each(rule->resources, r)
    {
        str base = base_of(*r), part = str_from(*r, base.n + 1);
        if (str_eq(base, what->resource) && (any_part || str_eq(part, what->subresource)))
            return true;
    }
    return false;
}

/* The path with, or without, a slash at its end. */
static str other_path(struct arena *a, str path)
{
    return str_has_suffix(path, S("/")) ? str_upto(path, path.n - 1) : str_fmt(a, "%.*s/", STR(path));
}

static bool misses_url(const struct rule *rule, const struct authz_attributes *what, enum explain_miss_kind *ret)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool verb = rule_matches_verb(rule, what->verb);
    if (!verb && rule->verbs.n && rule_matches_path(rule, what->path)) {
        *ret = MISS_VERB;
        return true;
    }
    *ret = MISS_PATH;
    return verb && rule_matches_path(rule, other_path(&scratch, what->path));
}

/* True when exactly one thing is wrong; *ret says which. The rule does not match the request. */
static bool misses(const struct rule *rule, const struct authz_attributes *what, enum explain_miss_kind *ret)
{
    if (!what->is_resource)
        return misses_url(rule, what, ret);
    bool verb = rule_matches_verb(rule, what->verb), group = rule_matches_group(rule, what->group);
    bool resource = rule_matches_resource(rule, what->resource, what->subresource);
    bool name = rule_matches_name(rule, what->name);
    if (verb + group + resource + name != 3 || rule->verbs.n == 0 || rule->api_groups.n == 0)
        return false;
    *ret = !verb ? MISS_VERB : !name ? MISS_NAME : !resource ? MISS_SUBRESOURCE : MISS_GROUP;
    return resource ? group || names_resource(rule, what, false) : names_resource(rule, what, true);
}

/* ---- Bindings of the asker. ---- */

static str role_key(const struct authz_role *const *role)
{
    return (str){(const char *)role, sizeof *role};
}

bool explain_allows(const struct authz_role *role, const struct authz_attributes *what)
{
    rules_each(role->rules, rule)
    {
        if (rule_matches(rule, what))
            return true;
    }
    return false;
}

/* What one role allows instead, by kind of miss. */
struct instead {
    VEC(str) list;
    bool cut;
};

static void add_instead(struct arena *a, struct instead *to, str text)
{
    if (strs_have((struct strs){to->list.p, to->list.n}, text))
        return;
    if (to->list.n < EXPLAIN_MAX_INSTEAD)
        *vec_push(a, &to->list) = text;
    else
        to->cut = true;
}

static void collect_instead(struct arena *a, struct instead *to, enum explain_miss_kind kind, const struct rule *rule,
                            const struct authz_attributes *what)
{
    struct strs from = kind == MISS_VERB          ? rule->verbs
                       : kind == MISS_NAME        ? rule->resource_names
                       : kind == MISS_SUBRESOURCE ? rule->resources
                       : kind == MISS_GROUP       ? rule->api_groups
                                                  : (struct strs){0};
    if (kind == MISS_PATH)
        add_instead(a, to, other_path(a, what->path));
    strs_each(from, text)
    {
        if (kind != MISS_SUBRESOURCE || str_eq(base_of(*text), what->resource))
            add_instead(a, to, *text);
    }
}

/* A binding that applies where the request is: each kind of miss is told once, with what all rules of the role allow. */
static bool look_here(void *ctx, const struct authz_grant *grant)
{
    struct hunt *h = ctx;
    struct instead instead[MISS_BINDING + 1] = {0};
    if (!grant->role) {
        add_miss(h, MISS_ROLE, grant);
        return true;
    }
    rules_each(grant->role->rules, rule)
    {
        enum explain_miss_kind kind;
        if (misses(rule, &h->e->what, &kind))
            collect_instead(h->arena, &instead[kind], kind, rule, &h->e->what);
    }
    for (int kind = 0; kind <= MISS_BINDING; kind++) {
        struct explain_miss *miss = instead[kind].list.n ? add_miss(h, (enum explain_miss_kind)kind, grant) : NULL;
        if (miss) {
            miss->instead = (struct strs){instead[kind].list.p, instead[kind].list.n};
            miss->cut = instead[kind].cut;
        }
    }
    return true;
}

/* A binding that applies elsewhere. */
static bool look_elsewhere(void *ctx, const struct authz_grant *grant)
{
    struct hunt *h = ctx;
    bool here = grant->kind == AUTHZ_CLUSTER_ROLE_BINDING ||
                (h->e->what.is_resource && str_eq(grant->namespace, h->e->what.namespace));
    if (here || !grant->role || !explain_allows(grant->role, &h->e->what))
        return true;
    add_miss(h, MISS_NAMESPACE, grant);
    if (!map_get(&h->known, role_key(&grant->role)))
        map_set(&h->known, str_dup(h->arena, role_key(&grant->role)), (void *)grant->role);
    return true;
}

/* ---- Roles that nothing binds to the asker. ---- */

struct candidate {
    const struct authz_role *role;
    double breadth;
};

struct candidates {
    struct hunt *hunt;
    VEC(struct candidate) list;
};

/* A wildcard counts as many as one would expect behind it. */
static double count(struct strs list, double wildcard)
{
    return strs_have(list, S("*")) ? wildcard : (double)list.n;
}

double explain_breadth(const struct authz_role *role)
{
    enum { ALL_VERBS = 10, ALL_GROUPS = 100, ALL_RESOURCES = 1000, ALL_URLS = 100, ANY_NAME = 100 };
    double sum = 0;
    rules_each(role->rules, rule)
    {
        double names = rule->resource_names.n ? (double)rule->resource_names.n : ANY_NAME;
        sum += count(rule->verbs, ALL_VERBS) *
               (count(rule->api_groups, ALL_GROUPS) * count(rule->resources, ALL_RESOURCES) * names +
                count(rule->non_resource_urls, ALL_URLS));
    }
    return sum;
}

static bool add_candidate(void *ctx, const struct authz_role *role)
{
    struct candidates *c = ctx;
    const struct authz_attributes *what = &c->hunt->e->what;
    bool reaches = role->kind == AUTHZ_CLUSTER_ROLE ||
                   (what->is_resource && what->namespace.n && str_eq(role->namespace, what->namespace));
    if (reaches && explain_allows(role, what) && !map_get(&c->hunt->known, role_key(&role)))
        *vec_push(c->hunt->arena, &c->list) = (struct candidate){role, explain_breadth(role)};
    return true;
}

/* Those of the server's own parts come last: nobody should be bound to them. */
static int by_breadth(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    bool x_is_own = str_has_prefix(x->role->name, S("system:")), y_is_own = str_has_prefix(y->role->name, S("system:"));
    if (x_is_own != y_is_own)
        return x_is_own ? 1 : -1;
    if (x->breadth != y->breadth)
        return x->breadth < y->breadth ? -1 : 1;
    int order = str_cmp(x->role->name, y->role->name);
    return order ? order : (int)x->role->kind - (int)y->role->kind;
}

static void look_at_roles(struct hunt *h, const struct authz_index *ix)
{
    struct candidates c = {.hunt = h};
    authz_visit_roles(ix, add_candidate, &c);
    if (c.list.n > 1)
        qsort(c.list.p, c.list.n, sizeof *c.list.p, by_breadth);
    vec_each(&c.list, found)
    {
        struct authz_grant grant = {
            .role = found->role, .role_kind = found->role->kind, .role_name = found->role->name};
        add_miss(h, MISS_BINDING, &grant);
    }
}

/* Stable: a kind's misses stay in the order they were found. */
static void sort_by_kind(struct hunt *h)
{
    struct explain_miss *sorted = ARENA_ARRAY(h->arena, struct explain_miss, h->list.n);
    size_t n = 0;
    for (int kind = MISS_NAMESPACE; kind <= MISS_BINDING; kind++) {
        vec_each(&h->list, miss)
        {
            if ((int)miss->kind == kind)
                sorted[n++] = *miss;
        }
    }
    h->list.p = sorted;
}

void explain_misses(struct arena *a, const struct authz_index *ix, struct explanation *e)
{
    struct hunt h = {.arena = a, .e = e};
    e->remedy = explain_remedy_find(a, ix, e);
    if (e->remedy.rule.verbs.n == 0)
        return;
    authz_visit(ix, &e->who, e->what.is_resource ? e->what.namespace : (str){0}, look_here, &h);
    authz_visit_everywhere(ix, &e->who, look_elsewhere, &h);
    look_at_roles(&h, ix);
    sort_by_kind(&h);
    e->misses = h.list.p;
    e->n_misses = h.list.n;
    map_done(&h.known);
}
