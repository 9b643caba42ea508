/* SPDX-License-Identifier: Apache-2.0 */
/* Who has what a persona has: whoever is bound to a role that aggregates the persona's role of the package, at once or by way of
 * others. The labels that the role will have decide it, so this holds for roles that anybody has made, too. */
#include "cli/planning.h"

#include "authz/aggregate.h"
#include "object/object.h"

#include <stdlib.h>

struct aggregate {
    const struct authz_role *role;
    struct aggregate_selectors selectors;
};

struct gathering {
    struct planning *p;
    VEC(struct aggregate) aggregates;
    struct map roles[PLANNING_PERSONAS]; /* names of those that will have the rules of a persona */
};

/* ---- Which roles. ---- */

static bool gather(void *ctx, const struct authz_role *role)
{
    struct gathering *g = ctx;
    struct aggregate one = {.role = role};
    if (role->kind == AUTHZ_CLUSTER_ROLE && role->aggregation_rule &&
        aggregate_selectors_parse(g->p->a, role->aggregation_rule, &one.selectors, NULL) == 0)
        *vec_push(g->p->a, &g->aggregates) = one;
    return true;
}

static bool selects(const struct aggregate *a, const struct json *labels)
{
    for (size_t i = 0; i < a->selectors.n; i++) {
        if (selector_matches(&a->selectors.p[i], labels))
            return true;
    }
    return false;
}

/* Those that select these labels, and those that select those; each is entered once. */
static void follow(struct gathering *g, struct map *found, const struct json *labels)
{
    VEC(const struct json *) next = {0};
    *vec_push(g->p->a, &next) = labels;
    for (size_t i = 0; i < next.n; i++) {
        vec_each(&g->aggregates, it)
        {
            if (!map_get(found, it->role->name) && selects(it, next.p[i])) {
                map_set(found, it->role->name, g);
                *vec_push(g->p->a, &next) = it->role->labels;
            }
        }
    }
}

static void follow_all(struct gathering *g)
{
    static const char *const names[] = {"admin", "edit", "view"};
    const struct planning *p = g->p;
    const char *prefix = p->asked.is_cluster ? LABEL_TO_ENVIRONMENT : LABEL_TO_NAMESPACE;
    for (size_t i = 0; i < p->plan.n_roles; i++) {
        for (int k = 0; k < PLANNING_PERSONAS; k++) {
            if (str_eq(object_label(&p->plan.roles[i], str_fmt(p->a, "%s%s", prefix, names[k])), S("true")))
                follow(g, &g->roles[k], object_labels(&p->plan.roles[i]));
        }
    }
}

/* ---- Who is bound to them. Everywhere: a role for the people of one namespace can be bound in another, and has there what it has
 *      here. ---- */

static bool meet(void *ctx, const struct authz_grant *grant)
{
    struct gathering *g = ctx;
    for (int k = 0; grant->role_kind == AUTHZ_CLUSTER_ROLE && k < PLANNING_PERSONAS; k++) {
        if (!map_get(&g->roles[k], grant->role_name))
            continue;
        for (size_t i = 0; i < authz_binding_subjects(grant->binding); i++)
            *vec_push(g->p->a, &g->p->people[k].list) =
                (struct planning_subject){.subject = authz_binding_subject(grant->binding, i),
                                          .binding_kind = grant->kind,
                                          .binding = grant->name,
                                          .namespace = grant->namespace,
                                          .role = grant->role_name};
    }
    return true;
}

static int by_place_and_name(const void *x, const void *y, void *ctx)
{
    const struct planning_subject *l = x, *r = y;
    const str *here = ctx;
    int order = (int)str_eq(r->namespace, *here) - (int)str_eq(l->namespace, *here); /* those of this place first */
    if (order == 0)
        order = (int)(l->namespace.n == 0) - (int)(r->namespace.n == 0); /* then those of another namespace */
    if (order == 0)
        order = str_cmp(l->namespace, r->namespace);
    if (order == 0)
        order = (int)l->subject.kind - (int)r->subject.kind;
    if (order == 0)
        order = str_cmp(l->subject.namespace, r->subject.namespace);
    if (order == 0)
        order = str_cmp(l->subject.name, r->subject.name);
    return order ? order : str_cmp(l->binding, r->binding);
}

static void find_people(struct planning *p)
{
    struct gathering g = {.p = p};
    authz_visit_roles(p->rights.index, gather, &g);
    follow_all(&g);
    authz_visit_bindings(p->rights.index, meet, &g);
    p->knows_people = true;
    for (int k = 0; k < PLANNING_PERSONAS; k++) {
        struct planning_people *people = &p->people[k];
        people->n_roles = g.roles[k].n;
        map_done(&g.roles[k]);
        if (people->list.n)
            qsort_r(people->list.p, people->list.n, sizeof *people->list.p, by_place_and_name, &p->asked.namespace);
    }
}

/* ---- What waits for the account. ---- */

struct everyone {
    struct planning *p;
    str namespace; /* of the binding that it is compared with; empty: cluster-wide */
    struct rules rules;
};

static bool add_everyone(void *ctx, const struct authz_grant *grant)
{
    struct everyone *e = ctx;
    if (grant->role && (grant->namespace.n == 0 || str_eq(grant->namespace, e->namespace)))
        e->rules = rules_union(e->p->a, e->rules, grant->role->rules);
    return true;
}

/* As controllers/installs/foreign.c decides it: the account would get more than every authenticated account has. */
static bool is_refused(struct planning *p, const struct authz_grant *grant)
{
    static const str groups[] = {S_INIT("system:authenticated"), S_INIT("system:serviceaccounts")};
    struct authz_identity all = {.groups = {groups, 2}};
    struct everyone everyone = {.p = p, .namespace = grant->namespace};
    authz_visit_everywhere(p->rights.index, &all, add_everyone, &everyone);
    return p->running.reference.n == 0 && !(grant->role && rules_cover(p->a, everyone.rules, grant->role->rules, NULL));
}

static bool warn_of(void *ctx, const struct authz_grant *grant)
{
    struct planning *p = ctx;
    findings_add(&p->plan.warnings, (str){0},
                 "ServiceAccount %.*s/%.*s has more from the start: %.*s %.*s%s%.*s binds %.*s to %.*s %.*s%s",
                 STR(p->asked.namespace), STR(p->asked.name), STR(authz_kind_name(grant->kind)), STR(grant->namespace),
                 grant->namespace.n ? "/" : "", STR(grant->name), STR(authz_subject_title(p->a, &grant->subject)),
                 STR(authz_kind_name(grant->role_kind)), STR(grant->role_name),
                 is_refused(p, grant) ? ". The install is refused (ServiceAccountConflict)" : "");
    if (grant->kind == AUTHZ_CLUSTER_ROLE_BINDING && grant->role)
        *vec_push(p->a, &p->waiting) = (struct planning_waiting){grant->name, grant->role->rules};
    return true;
}

/* Bindings do not ask whether there is an account: those to its name, and to all accounts of its namespace, count from the moment it is
 * made. What all accounts of a cluster have is no news. */
static void meet_account(struct planning *p)
{
    struct authz_subject account = {AUTHZ_SERVICE_ACCOUNT, p->asked.name, p->asked.namespace};
    str group = str_fmt(p->a, "system:serviceaccounts:%.*s", STR(p->asked.namespace));
    struct authz_identity who = {.user = authz_subject_user(p->a, &account), .groups = {&group, 1}};
    authz_visit_everywhere(p->rights.index, &who, warn_of, p);
}

/* ---- All. ---- */

/* Who may not look everywhere looks in the one namespace. */
static int load(struct planning *p, struct err *err)
{
    int code = rights_load(p->c, (str){0}, &p->rights, err);
    if (code != ERR_FORBIDDEN || p->asked.is_cluster)
        return code;
    code = rights_load(p->c, p->asked.namespace, &p->rights, err);
    if (code == 0)
        planning_note(p, "who has such rights by bindings of other namespaces: you may not list all of them");
    return code;
}

int planning_see_people(struct planning *p, struct err *err)
{
    if (!p->world.is_known)
        return 0;
    int code = load(p, err);
    if (code == ERR_FORBIDDEN) {
        planning_note(p, p->self.dialect->has_personas
                             ? "who the admins, editors and viewers are: you may not list all roles and bindings"
                             : "what the ServiceAccount is bound to already: you may not list all bindings");
        return 0;
    }
    if (code < 0)
        return code;
    if (p->self.dialect->has_personas)
        find_people(p);
    if (json_is_null(&p->running.record)) /* else it has that already */
        meet_account(p);
    return 0;
}
