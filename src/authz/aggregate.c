/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/aggregate.h"

bool aggregate_is(const struct json *cluster_role)
{
    return !json_is_null(json_get(cluster_role, S("aggregationRule")));
}

int aggregate_selectors_parse(struct arena *a, const struct json *aggregation_rule, struct aggregate_selectors *ret,
                              struct err *err)
{
    const struct json *list = json_get(aggregation_rule, S("clusterRoleSelectors"));
    if (!json_is_null(aggregation_rule) && !json_is_obj(aggregation_rule))
        return err_set(err, ERR_INVALID, "aggregationRule must be an object");
    if (!json_is_null(list) && !json_is_arr(list))
        return err_set(err, ERR_INVALID, "aggregationRule.clusterRoleSelectors must be a list");
    struct selector *selectors = ARENA_ARRAY(a, struct selector, json_len(list));
    size_t n = 0;
    json_each_item(list, item)
    {
        struct err why;
        if (selector_from_object(a, item, &selectors[n], &why) < 0)
            return err_set(err, ERR_INVALID, "aggregationRule.clusterRoleSelectors[%zu]: %s", n, why.msg);
        n++;
    }
    *ret = (struct aggregate_selectors){selectors, n};
    return 0;
}

struct rules aggregate_merge(struct arena *a, str name, struct aggregate_selectors selectors,
                             const struct aggregate_source *sources, size_t n)
{
    struct rule_set merged = {.arena = a};
    for (size_t i = 0; i < selectors.n; i++) {
        for (size_t k = 0; k < n; k++) {
            if (str_eq(sources[k].name, name) || !selector_matches(&selectors.p[i], sources[k].labels))
                continue;
            rules_each(sources[k].rules, rule) rule_set_add(&merged, rule);
        }
    }
    struct rules rules = rule_set_rules(&merged);
    rule_set_done(&merged);
    return rules;
}
