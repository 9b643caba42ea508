/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/explain.h"
#include "object/selector.h"

#include <stdlib.h>

/* Where the rules of aggregated roles came from. Private to the explanations. */

struct explain_sources {
    struct arena *arena; /* of the results */
    const struct authz_index *ix;
    const struct authz_attributes *what;
    VEC(const struct authz_role *) cluster_roles; /* by name; read when first needed */
    bool is_read;
    struct map roles; /* what each role has to say about the request, by its place in memory */
};

static void explain_sources_done(struct explain_sources *s);
#define EXPLAIN_SOURCES_SCOPE __attribute__((cleanup(explain_sources_done)))

/* What somebody can do at all: as a list of rules, and as a table. */

struct harvest {
    struct arena *arena;
    VEC(struct rule) resource_rules, non_resource_rules;
    VEC(str) errors;
    struct map seen;
};

static void note_missing(struct harvest *h, const struct authz_grant *grant)
{
    struct buf b = {.arena = h->arena};
    authz_missing_format(&b, grant);
    if (!map_set(&h->seen, buf_str(&b), h))
        *vec_push(h->arena, &h->errors) = buf_str(&b);
}

static bool harvest(void *ctx, const struct authz_grant *grant)
{
    struct harvest *h = ctx;
    if (!grant->role) {
        note_missing(h, grant);
        return true;
    }
    rules_each(grant->role->rules, rule)
    {
        if (rule->resources.n) {
            struct rule *r = vec_push(h->arena, &h->resource_rules);
            *r = *rule;
            r->non_resource_urls = (struct strs){0};
        }
        if (rule->non_resource_urls.n)
            *vec_push(h->arena, &h->non_resource_rules) =
                (struct rule){.verbs = rule->verbs, .non_resource_urls = rule->non_resource_urls};
    }
    return true;
}

/* One error as it is, several as a list. */
static str join_errors(const struct harvest *h)
{
    struct buf b = {.arena = h->arena};
    for (size_t i = 0; i < h->errors.n; i++) {
        buf_add_str(&b, i ? S(", ") : h->errors.n > 1 ? S("[") : S(""));
        buf_add_str(&b, h->errors.p[i]);
    }
    if (h->errors.n > 1)
        buf_add_char(&b, ']');
    return buf_str(&b);
}

struct explain_rules explain_rules_for(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                                       str namespace)
{
    struct harvest h = {.arena = a};
    authz_visit(ix, who, namespace, harvest, &h);
    map_done(&h.seen);
    return (struct explain_rules){
        .resource_rules = {h.resource_rules.p, h.resource_rules.n},
        .non_resource_rules = {h.non_resource_rules.p, h.non_resource_rules.n},
        .evaluation_error = join_errors(&h),
    };
}

/* With index and identity they decide, without the rules do. */
struct judge {
    const struct authz_index *ix;
    const struct authz_identity *who;
    struct rules rules;
};

static bool allows(const struct judge *j, const struct authz_attributes *what)
{
    if (j->ix)
        return authz_check(j->ix, j->who, what, NULL).allowed;
    rules_each(j->rules, rule)
    {
        if (rule_matches(rule, what))
            return true;
    }
    return false;
}

static enum explain_cell judge(const struct judge *j, const struct authz_attributes *what)
{
    if (allows(j, what))
        return CELL_YES;
    rules_each(j->rules, rule)
    {
        if (rule_matches_verb(rule, what->verb) && rule_matches_group(rule, what->group) &&
            rule_matches_resource(rule, what->resource, what->subresource))
            return CELL_NAMES;
    }
    return CELL_NO;
}

static const enum explain_cell *fill(struct arena *a, const struct judge *j, str namespace,
                                     const struct explain_axes *axes)
{
    enum explain_cell *cells = ARENA_ARRAY(a, enum explain_cell, arena_array_size(axes->n_resources, axes->verbs.n));
    size_t n = 0;
    for (size_t i = 0; i < axes->n_resources; i++) {
        struct authz_attributes what = {
            .is_resource = true,
            .group = axes->resources[i].group,
            .resource = axes->resources[i].resource,
            .subresource = axes->resources[i].subresource,
            .namespace = namespace,
        };
        strs_each(axes->verbs, verb)
        {
            what.verb = *verb;
            cells[n++] = judge(j, &what);
        }
    }
    return cells;
}

const enum explain_cell *explain_matrix(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                                        str namespace, const struct explain_axes *axes)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct judge j = {ix, who, explain_rules_for(&scratch, ix, who, namespace).resource_rules};
    return fill(a, &j, namespace, axes);
}

const enum explain_cell *explain_matrix_of(struct arena *a, struct rules rules, const struct explain_axes *axes)
{
    return fill(a, &(struct judge){.rules = rules}, (str){0}, axes);
}

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
    for (size_t i = 0; i < COUNT(marks); i++) {
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

/* How a role allows the request: a path without its grant; NULL when it does not. Each role is looked at once, so that a
 * question about all bindings costs what the roles cost. */
static const struct explain_path *explain_role(struct explain_sources *s, const struct authz_role *role)
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

static void explain_sources_done(struct explain_sources *s)
{
    map_done(&s->roles);
}

struct paths {
    struct explain_sources *sources;
    VEC(struct explain_path) list;
};

static bool add_path(void *ctx, const struct authz_grant *grant)
{
    struct paths *p = ctx;
    const struct explain_path *path = explain_role(p->sources, grant->role);
    if (!path)
        return true;
    struct explain_path *added = vec_push(p->sources->arena, &p->list);
    *added = *path;
    added->grant = *grant;
    return true;
}

struct explanation explain_request(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                                   const struct authz_attributes *what)
{
    struct explanation e = {
        .who = who ? *who : (struct authz_identity){0},
        .what = what ? *what : (struct authz_attributes){0},
        .decision = authz_check(ix, who, what, a),
        .is_master = authz_is_master(who),
    };
    if (!ix || !who || !what)
        return e;
    struct explain_sources sources EXPLAIN_SOURCES_SCOPE = {.arena = a, .ix = ix, .what = what};
    struct paths paths = {.sources = &sources};
    /* URLs are in no namespace, so no RoleBinding reaches them. */
    authz_visit(ix, who, what->is_resource ? what->namespace : (str){0}, add_path, &paths);
    e.paths = paths.list.p;
    e.n_paths = paths.list.n;
    if (!e.decision.allowed)
        explain_misses(a, ix, &e);
    return e;
}

/* Two passes over all bindings, the first to count, so that a hundred thousand paths take the room of their own only. Each role is
 * judged once, each binding that allows gives a path to each of its subjects. */

struct holder {
    struct explain_holder out;
    struct explain_path *paths;
    size_t n;                           /* of paths */
    const struct authz_binding *newest; /* that was counted; a subject may be named twice in one */
};

struct census {
    struct explain_sources *sources;
    struct arena scratch;     /* of one binding */
    struct arena order;       /* of met */
    struct map users, groups; /* holders by user or group name */
    VEC(struct holder *) holders;
    VEC(struct holder *) met; /* of each subject of each binding that allows, in the order of the first pass… */
    size_t at;                /* …and where the second pass is in it, which so need not look them up again */
    bool everywhere;
    bool is_counted; /* the second pass */
};

static struct holder *holder_of(struct census *c, const struct authz_subject *subject)
{
    struct arena *a = c->sources->arena;
    bool is_group = subject->kind == AUTHZ_GROUP;
    struct map *known = is_group ? &c->groups : &c->users;
    str key = authz_subject_user(&c->scratch, subject);
    struct holder *h = map_get(known, key);
    if (h)
        return h;
    key = str_dup(a, key);
    h = ARENA_NEW(a, struct holder);
    h->out.subject = is_group ? *subject : explain_subject(key);
    map_set(known, key, h);
    *vec_push(a, &c->holders) = h;
    return h;
}

static struct holder *meet(struct census *c, const struct authz_subject *subject)
{
    if (c->is_counted)
        return c->met.p[c->at++];
    struct holder *h = holder_of(c, subject);
    *vec_push(&c->order, &c->met) = h;
    return h;
}

static bool reaches(const struct census *c, const struct authz_grant *grant)
{
    const struct authz_attributes *what = c->sources->what;
    if (grant->kind == AUTHZ_CLUSTER_ROLE_BINDING)
        return true;
    return what->is_resource && (c->everywhere || (what->namespace.n && str_eq(grant->namespace, what->namespace)));
}

static bool count_binding(void *ctx, const struct authz_grant *grant)
{
    struct census *c = ctx;
    const struct explain_path *path = reaches(c, grant) ? explain_role(c->sources, grant->role) : NULL;
    if (!path)
        return true;
    size_t n = authz_binding_subjects(grant->binding);
    for (size_t i = 0; i < n; i++) {
        struct authz_subject subject = authz_binding_subject(grant->binding, i);
        struct holder *h = meet(c, &subject);
        if (h->newest == grant->binding)
            continue;
        h->newest = grant->binding;
        if (c->is_counted) {
            h->paths[h->n] = *path;
            h->paths[h->n].grant = *grant;
            h->paths[h->n].grant.subject = subject;
        }
        h->n++;
    }
    arena_reset(&c->scratch);
    return true;
}

static void make_room(struct census *c)
{
    vec_each(&c->holders, h)
    {
        (*h)->paths = ARENA_ARRAY(c->sources->arena, struct explain_path, (*h)->n);
        (*h)->n = 0;
        (*h)->newest = NULL;
    }
    c->is_counted = true;
}

/* ClusterRoleBindings first. */
static int by_binding(const void *a, const void *b)
{
    const struct authz_grant *x = &((const struct explain_path *)a)->grant,
                             *y = &((const struct explain_path *)b)->grant;
    if (x->kind != y->kind)
        return x->kind == AUTHZ_CLUSTER_ROLE_BINDING ? -1 : 1;
    int order = str_cmp(x->namespace, y->namespace);
    return order ? order : str_cmp(x->name, y->name);
}

static int by_subject(const void *a, const void *b)
{
    const struct authz_subject *x = &((const struct explain_holder *)a)->subject;
    const struct authz_subject *y = &((const struct explain_holder *)b)->subject;
    if (x->kind != y->kind)
        return (int)x->kind - (int)y->kind;
    int order = str_cmp(x->namespace, y->namespace);
    return order ? order : str_cmp(x->name, y->name);
}

static struct explain_holders finish(struct census *c)
{
    struct explain_holder *list = ARENA_ARRAY(c->sources->arena, struct explain_holder, c->holders.n);
    size_t n = 0;
    vec_each(&c->holders, h)
    {
        if ((*h)->n > 1)
            qsort((*h)->paths, (*h)->n, sizeof *(*h)->paths, by_binding);
        list[n] = (*h)->out;
        list[n].paths = (*h)->paths;
        list[n++].n_paths = (*h)->n;
    }
    if (n > 1)
        qsort(list, n, sizeof *list, by_subject);
    arena_done(&c->scratch);
    arena_done(&c->order);
    map_done(&c->users);
    map_done(&c->groups);
    return (struct explain_holders){list, n};
}

struct explain_holders explain_who_can(struct arena *a, const struct authz_index *ix,
                                       const struct authz_attributes *what, bool everywhere)
{
    static const struct authz_subject masters = {AUTHZ_GROUP, S_INIT("system:masters"), {0}};
    struct authz_identity master = {.groups = {&masters.name, 1}};
    if (!ix || !authz_check(ix, &master, what, NULL).allowed)
        return (struct explain_holders){0}; /* not a request: nobody can */
    struct explain_sources sources EXPLAIN_SOURCES_SCOPE = {.arena = a, .ix = ix, .what = what};
    struct census c = {.sources = &sources, .everywhere = everywhere};
    holder_of(&c, &masters)->out.is_master = true;
    authz_visit_bindings(ix, count_binding, &c);
    make_room(&c);
    authz_visit_bindings(ix, count_binding, &c);
    return finish(&c);
}
