/* SPDX-License-Identifier: Apache-2.0 */
/* The rights that come with a package. Permissions are implicit: nobody asks for any, they follow from what the package has.
 *
 *   core            ConfigMaps, Events, Secrets                        the controller, all verbs
 *   owned CRDs      plural, /status and /scale if declared, /finalizers the controller, all verbs
 *                   the same without /finalizers                       people: admin, edit, view
 *   dependencies    the plurals of CRDs that exist                     the controller, all verbs
 *
 * Rules name each resource: a dependency on all of a group lists what is there, because a "*" would grant what comes later,
 * and what has no namespace besides. */
#include "package/plan_parts.h"

static const str any_verb[] = {S_INIT("*")};
static const str write_verbs[] = {S_INIT("create"), S_INIT("delete"), S_INIT("deletecollection"), S_INIT("get"),
                                  S_INIT("list"),   S_INIT("patch"),  S_INIT("update"),           S_INIT("watch")};
static const str read_verbs[] = {S_INIT("get"), S_INIT("list"), S_INIT("watch")};
static const str core_resources[] = {S_INIT("configmaps"), S_INIT("events"), S_INIT("secrets")};
static const str core_group[] = {S_INIT("")};

#define LIST(array) ((struct strs){array, COUNT(array)})

typedef VEC(struct rule) rule_vec;

struct deriving {
    struct arena *a;
    const struct plan_args *args;
    rule_vec system, system_cluster, persona;
    VEC(str) waits, unusable;
    struct map seen;       /* names of CRDs that have their rules */
    struct map own_groups; /* of CRDs that the package brings */
};

static struct strs one(struct arena *a, str text)
{
    str *p = ARENA_NEW(a, str);
    *p = text;
    return (struct strs){p, 1};
}

/* True the first time. */
static bool is_new(struct deriving *d, str name)
{
    return map_set(&d->seen, name, d) == NULL;
}

/* ---- What it owns. ---- */

static void add_owned(struct deriving *d, const struct crd_info *crd)
{
    enum { PARTS = 4 };
    str *resources = ARENA_ARRAY(d->a, str, PARTS);
    size_t n = 0;
    resources[n++] = crd->plural;
    if (crd->has_status)
        resources[n++] = plan_join(d->a, crd->plural, S("/status"));
    if (crd->has_scale)
        resources[n++] = plan_join(d->a, crd->plural, S("/scale"));
    struct strs group = one(d->a, crd->group);
    if (d->args->install->dialect->has_personas)
        *vec_push(d->a, &d->persona) = (struct rule){.api_groups = group, .resources = {resources, n}};
    resources[n++] = plan_join(d->a, crd->plural, S("/finalizers"));
    *vec_push(d->a, &d->system) =
        (struct rule){.verbs = LIST(any_verb), .api_groups = group, .resources = {resources, n}};
    is_new(d, crd->name);
    map_set(&d->own_groups, crd->group, d);
}

/* ---- What it depends on. ---- */

static bool is_allowed_cluster_wide(struct deriving *d, const struct rule *rule)
{
    const struct rules *allowed = d->args->options.cluster_access;
    return !allowed || rules_cover(d->a, *allowed, (struct rules){rule, 1}, NULL);
}

/* A namespace's controller gets what has no namespace by a binding of its own, so that the other rights stay inside. */
static void add_dependency(struct deriving *d, const struct plan_crd *crd)
{
    const struct plan_install *install = d->args->install;
    if (!is_new(d, crd->name))
        return;
    if (crd->is_cluster_scoped && !install->dialect->has_cluster_crds) {
        *vec_push(d->a, &d->unusable) = crd->name;
        return;
    }
    struct rule rule = {
        .verbs = LIST(any_verb), .api_groups = one(d->a, crd->group), .resources = one(d->a, crd->plural)};
    if (!crd->is_cluster_scoped || install->is_cluster)
        *vec_push(d->a, &d->system) = rule;
    else if (is_allowed_cluster_wide(d, &rule))
        *vec_push(d->a, &d->system_cluster) = rule;
}

/* All of a group that is there. */
static void add_group(struct deriving *d, str group, bool *ret_found)
{
    const struct plan_facts *facts = d->args->facts;
    const struct plan_crd *list = NULL;
    size_t n = facts->crds_of_group(facts->ctx, d->a, group, &list);
    for (size_t i = 0; i < n; i++)
        add_dependency(d, &list[i]);
    *ret_found = n > 0 || map_get(&d->own_groups, group);
}

static void add_single(struct deriving *d, str name, bool *ret_found)
{
    const struct plan_facts *facts = d->args->facts;
    struct plan_crd crd;
    *ret_found = facts->crd(facts->ctx, d->a, name, &crd);
    if (*ret_found)
        add_dependency(d, &crd);
}

/* Versions make no difference to rights: a CRD named twice, with two of them, is one dependency. */
static void add_dependencies(struct deriving *d)
{
    const struct package *p = d->args->package;
    struct map asked = {0};
    for (size_t i = 0; i < p->n_dependencies; i++) {
        const struct package_dependency *dep = &p->dependencies[i];
        str name = str_fmt(d->a, "%.*s.%.*s", STR(dep->plural), STR(dep->group));
        bool found = true;
        if (map_get(&d->seen, name) || map_set(&asked, name, d))
            continue;
        if (str_eq(dep->plural, S("*")))
            add_group(d, dep->group, &found);
        else
            add_single(d, name, &found);
        if (!found)
            *vec_push(d->a, &d->waits) = name;
    }
    map_done(&asked);
}

static void add_requirements(struct deriving *d)
{
    const struct package *p = d->args->package;
    const struct plan_facts *facts = d->args->facts;
    for (size_t i = 0; i < p->n_requirements; i++) {
        const struct package_requirement *r = &p->requirements[i];
        if (facts->has_package && facts->has_package(facts->ctx, r))
            continue;
        *vec_push(d->a, &d->waits) =
            r->constraint.n ? str_fmt(d->a, "%.*s %.*s", STR(r->package), STR(r->constraint)) : r->package;
    }
}

/* ---- All of it. ---- */

static struct rules with_verbs(struct arena *a, const rule_vec *list, struct strs verbs)
{
    struct rule *rules = ARENA_ARRAY(a, struct rule, list->n);
    for (size_t i = 0; i < list->n; i++) {
        rules[i] = list->p[i];
        rules[i].verbs = verbs;
    }
    return rules_normal(a, (struct rules){rules, list->n});
}

/* Which subresources it has is not known: rules for those that do not exist grant nothing. */
struct rules plan_persona_rules(struct arena *a, str group, str plural, int persona)
{
    enum { PARTS = 3 };
    str *resources = ARENA_ARRAY(a, str, PARTS);
    rule_vec list = {0};
    resources[0] = plural;
    resources[1] = plan_join(a, plural, S("/status"));
    resources[2] = plan_join(a, plural, S("/scale"));
    *vec_push(a, &list) = (struct rule){.api_groups = one(a, group), .resources = {resources, PARTS}};
    return with_verbs(a, &list, persona + 1 < PLAN_PERSONAS ? LIST(write_verbs) : LIST(read_verbs));
}

struct plan_rights plan_rights_of(struct arena *a, const struct plan_args *args)
{
    struct deriving d = {.a = a, .args = args};
    *vec_push(a, &d.system) =
        (struct rule){.verbs = LIST(any_verb), .api_groups = LIST(core_group), .resources = LIST(core_resources)};
    for (size_t i = 0; i < args->package->n_crds; i++)
        add_owned(&d, &args->package->crds[i].info);
    add_dependencies(&d);
    add_requirements(&d);
    map_done(&d.seen);
    map_done(&d.own_groups);
    return (struct plan_rights){
        .system = rules_normal(a, (struct rules){d.system.p, d.system.n}),
        .system_cluster = rules_normal(a, (struct rules){d.system_cluster.p, d.system_cluster.n}),
        .persona = {with_verbs(a, &d.persona, LIST(write_verbs)), with_verbs(a, &d.persona, LIST(write_verbs)),
                    with_verbs(a, &d.persona, LIST(read_verbs))},
        .waits = d.waits.p,
        .n_waits = d.waits.n,
        .unusable = d.unusable.p,
        .n_unusable = d.unusable.n,
    };
}
