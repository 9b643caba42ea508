/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/explain_sources.h"

#include "object/selector.h"

#include <stdlib.h>

/* ---- Packages: how installers mark what they made. ---- */

enum mark_place { MARK_NAME, MARK_LABEL };

/* A name "prefix…:role" holds the package between prefix and last colon; a label holds it as its value. */
static const struct {
    enum mark_place place;
    const char *text;
} marks[] = {
    {MARK_NAME, "package:"},
    {MARK_NAME, "stack:"},
    {MARK_LABEL, "core.crossplane.io/parent-name"},
    {MARK_NAME, "crossplane:provider:"},
    {MARK_LABEL, "app.kubernetes.io/part-of"},
};

static str between(str name, str prefix)
{
    size_t end = name.n;
    if (!str_has_prefix(name, prefix))
        return (str){0};
    while (end > prefix.n && name.p[end - 1] != ':')
        end--;
    return end > prefix.n ? str_from(str_upto(name, end - 1), prefix.n) : (str){0};
}

str explain_package(const struct authz_role *role)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        str text = str_of(marks[i].text);
        str package = marks[i].place == MARK_NAME ? between(role->name, text) : json_get_text(role->labels, text);
        if (package.n)
            return package;
    }
    return (str){0};
}

/* ---- Sources. ---- */

static bool keep_cluster_role(void *ctx, const struct authz_role *role)
{
    struct explain_sources *s = ctx;
    if (role->kind == AUTHZ_CLUSTER_ROLE)
        *vec_push(s->arena, &s->cluster_roles) = role;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(const struct authz_role *const *)a)->name, (*(const struct authz_role *const *)b)->name);
}

static void read_cluster_roles(struct explain_sources *s)
{
    if (s->is_read)
        return;
    authz_visit_roles(s->ix, keep_cluster_role, s);
    if (s->cluster_roles.n > 1)
        qsort(s->cluster_roles.p, s->cluster_roles.n, sizeof *s->cluster_roles.p, by_name);
    s->is_read = true;
}

/* An aggregated role on the way, and which one selected it. */
struct stop {
    const struct authz_role *role;
    size_t from; /* position among the stops */
};

/* One walk from an aggregated role to those that are not, the nearest first. */
struct walk {
    struct explain_sources *s;
    struct map wanted; /* rules of the bound role that allow the request, by hash */
    struct map seen;   /* roles that were met before, so that cycles end */
    VEC(struct stop) stops;
    VEC(struct explain_source) found;
};

static str hash_key(const uint64_t *hash)
{
    return (str){(const char *)hash, sizeof *hash};
}

/* The first rule that is wanted. */
static const struct rule *find_wanted(const struct walk *w, struct rules rules)
{
    rules_each(rules, rule)
    {
        uint64_t hash = rule_hash(rule);
        const struct rule *wanted = map_get(&w->wanted, hash_key(&hash));
        if (wanted && rule_equal(wanted, rule))
            return rule;
    }
    return NULL;
}

/* Names of the stops behind the first, up to this one. */
static struct strs way_to(const struct walk *w, size_t at)
{
    size_t n = 0;
    for (size_t i = at; i != 0; i = w->stops.p[i].from)
        n++;
    str *names = ARENA_ARRAY(w->s->arena, str, n + 1);
    for (size_t i = at, k = n; i != 0; i = w->stops.p[i].from)
        names[--k] = w->stops.p[i].role->name;
    return (struct strs){names, n};
}

static void visit_selected(struct walk *w, const struct authz_role *role, const struct selector *selector, size_t from)
{
    struct arena *a = w->s->arena;
    if (map_set(&w->seen, role->name, (void *)role))
        return;
    if (role->aggregation_rule) {
        *vec_push(a, &w->stops) = (struct stop){role, from};
        return;
    }
    const struct rule *rule = find_wanted(w, role->rules);
    if (!rule)
        return;
    struct buf text = {.arena = a};
    selector_format(&text, selector);
    *vec_push(a, &w->found) =
        (struct explain_source){role, way_to(w, from), buf_str(&text), explain_package(role), rule};
}

static void visit_stop(struct walk *w, size_t at)
{
    const struct json *selectors = json_get(w->stops.p[at].role->aggregation_rule, S("clusterRoleSelectors"));
    json_each_item(selectors, object)
    {
        struct selector selector;
        if (selector_from_object(w->s->arena, object, &selector, NULL) < 0)
            continue;
        vec_each(&w->s->cluster_roles, role)
        {
            if (selector_matches(&selector, (*role)->labels))
                visit_selected(w, *role, &selector, at);
        }
    }
}

static int by_role_name(const void *a, const void *b)
{
    return str_cmp(((const struct explain_source *)a)->role->name, ((const struct explain_source *)b)->role->name);
}

static void find_sources(struct explain_sources *s, const struct authz_role *role, struct rules wanted,
                         struct explain_path *path)
{
    struct walk w = {.s = s};
    uint64_t *hashes = ARENA_ARRAY(s->arena, uint64_t, wanted.n);
    for (size_t i = 0; i < wanted.n; i++) {
        hashes[i] = rule_hash(&wanted.p[i]);
        map_set(&w.wanted, hash_key(&hashes[i]), (void *)&wanted.p[i]);
    }
    read_cluster_roles(s);
    map_set(&w.seen, role->name, (void *)role);
    *vec_push(s->arena, &w.stops) = (struct stop){role, 0};
    for (size_t at = 0; at < w.stops.n; at++)
        visit_stop(&w, at);
    if (w.found.n > 1)
        qsort(w.found.p, w.found.n, sizeof *w.found.p, by_role_name);
    path->sources = w.found.p;
    path->n_sources = w.found.n;
    map_done(&w.seen);
    map_done(&w.wanted);
}

/* ---- Roles. ---- */

static const struct explain_path no_path; /* remembered for roles that do not allow the request */

static const struct explain_path *look(struct explain_sources *s, const struct authz_role *role)
{
    VEC(struct rule) matching = {0};
    const struct rule *first = NULL;
    rules_each(role->rules, rule)
    {
        if (!rule_matches(rule, s->what))
            continue;
        first = first ? first : rule;
        *vec_push(s->arena, &matching) = *rule;
    }
    if (!first)
        return &no_path;
    struct explain_path *path = ARENA_NEW(s->arena, struct explain_path);
    *path = (struct explain_path){
        .rule = first,
        .n_rules = matching.n,
        .package = explain_package(role),
        .is_aggregated = role->aggregation_rule != NULL,
    };
    if (path->is_aggregated)
        find_sources(s, role, (struct rules){matching.p, matching.n}, path);
    return path;
}

const struct explain_path *explain_role(struct explain_sources *s, const struct authz_role *role)
{
    if (!role || !s->what)
        return NULL;
    str key = {(const char *)&role, sizeof role};
    const struct explain_path *path = map_get(&s->roles, key);
    if (!path) {
        path = look(s, role);
        map_set(&s->roles, str_dup(s->arena, key), (void *)path);
    }
    return path == &no_path ? NULL : path;
}

void explain_sources_done(struct explain_sources *s)
{
    map_done(&s->roles);
}
