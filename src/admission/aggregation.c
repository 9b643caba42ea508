/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of aggregated roles are never blank or stale: each write of one has those that its selectors select at that moment.
 * Roles that come or go later are the aggregation controller's. */
#include "admission/steps.h"

#include "authz/validate.h"
#include "object/object.h"

#include <stdlib.h>

struct sources {
    struct arena *arena;
    VEC(struct aggregate_source) list;
};

static bool collect(void *ctx, const struct authz_role *role)
{
    struct sources *s = ctx;
    if (role->kind == AUTHZ_CLUSTER_ROLE)
        *vec_push(s->arena, &s->list) = (struct aggregate_source){role->name, role->labels, role->rules};
    return true;
}

static int by_name(const void *l, const void *r)
{
    return str_cmp(((const struct aggregate_source *)l)->name, ((const struct aggregate_source *)r)->name);
}

/* A role whose selectors nobody has seen yet: all roles are looked at, once. */
static int select_now(const struct admission_facts *facts, const struct admission_write *write, struct rules *ret)
{
    struct sources sources = {.arena = write->arena};
    struct aggregate_selectors selectors;
    int rc = aggregate_selectors_parse(write->arena, json_get(write->object, S("aggregationRule")), &selectors, NULL);
    if (rc < 0)
        return rc; /* validation says so */
    authz_visit_roles(facts->authz, collect, &sources);
    if (sources.list.n)
        qsort(sources.list.p, sources.list.n, sizeof *sources.list.p, by_name);
    *ret = aggregate_merge(write->arena, step_name(write), selectors, sources.list.p, sources.list.n);
    return 0;
}

static bool has_same_selectors(const struct admission_write *write)
{
    const struct json *now = json_get(write->object, S("aggregationRule"));
    const struct json *was = json_get(write->current, S("aggregationRule"));
    return write->current && json_equal(now, was);
}

int aggregation_step(const struct admission_facts *facts, const struct admission_write *write,
                     struct admission_outcome *ret)
{
    struct rules rules;
    (void)ret;
    if (!facts->aggregates || write->operation == ADMISSION_DELETE || rbac_kind_of(write->kind) != AUTHZ_CLUSTER_ROLE ||
        !aggregate_is(write->object))
        return 0;
    bool is_known = has_same_selectors(write) &&
                    aggregate_index_rules(facts->aggregates, write->arena, object_name(write->object), &rules);
    if (!is_known && select_now(facts, write, &rules) < 0)
        return 0;
    struct json borrowed = rules.n ? rules_to_json(write->arena, rules) : json_null();
    /* A copy: the indexes may let go of these texts before the write is answered. */
    json_set(write->arena, write->object, S("rules"), json_dup(write->arena, &borrowed));
    return 0;
}
