/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of aggregated roles are never blank or stale: each write of one has those that its selectors select at that moment.
 * Roles that come or go later are the aggregation controller's. */
#include "admission/admission_internal.h"

#include "authz/validate.h"
#include "base/budget.h"
#include "object/object.h"

/* A role whose selectors nobody has seen yet. */
static int select_now(const struct admission_facts *facts, const struct admission_write *write, struct rules *ret)
{
    struct aggregate_selectors selectors;
    int rc = aggregate_selectors_parse(write->arena, json_get(write->object, S("aggregationRule")), &selectors, NULL);
    if (rc == 0) /* else validation says so */
        *ret = aggregate_index_select(facts->aggregates, write->arena, step_name(write), selectors);
    return rc;
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
    struct rules rules = {0};
    (void)ret;
    if (!facts->aggregates || write->operation == ADMISSION_DELETE || rbac_kind_of(write->kind) != AUTHZ_CLUSTER_ROLE ||
        !aggregate_is(write->object))
        return 0;
    bool is_same = has_same_selectors(write);
    budget_hold(); /* until the rules are copied: the index may change while this is suspended */
    bool is_known =
        is_same && aggregate_index_rules(facts->aggregates, write->arena, object_name(write->object), &rules);
    bool is_found = is_known || select_now(facts, write, &rules) == 0;
    struct json borrowed = rules.n ? rules_to_json(write->arena, rules) : json_null();
    /* A copy: the indexes may let go of these texts before the write is answered. */
    struct json own = json_dup(write->arena, &borrowed);
    budget_release();
    if (is_found)
        json_set(write->arena, write->object, S("rules"), own);
    return 0;
}
