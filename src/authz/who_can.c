/* SPDX-License-Identifier: Apache-2.0 */
/* Two passes over all bindings, the first to count, so that a hundred thousand paths take the room of their own only. Each role is
 * judged once, each binding that allows gives a path to each of its subjects. */
#include "authz/explain_sources.h"

#include <stdlib.h>

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
