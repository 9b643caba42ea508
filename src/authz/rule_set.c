/* SPDX-License-Identifier: Apache-2.0 */
/* Equality of rules, and sets of distinct rules by hash. */
#include "authz/rule.h"

#include <stdlib.h>

static bool strs_equal(struct strs x, struct strs y)
{
    if (x.n != y.n)
        return false;
    for (size_t i = 0; i < x.n; i++)
        if (!str_eq(x.p[i], y.p[i]))
            return false;
    return true;
}

bool rule_equal(const struct rule *x, const struct rule *y)
{
    return strs_equal(x->verbs, y->verbs) && strs_equal(x->api_groups, y->api_groups) &&
           strs_equal(x->resources, y->resources) && strs_equal(x->resource_names, y->resource_names) &&
           strs_equal(x->non_resource_urls, y->non_resource_urls);
}

bool rules_equal(struct rules x, struct rules y)
{
    if (x.n != y.n)
        return false;
    for (size_t i = 0; i < x.n; i++)
        if (!rule_equal(&x.p[i], &y.p[i]))
            return false;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t with)
{
    h = (h ^ with) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t strs_hash(uint64_t h, struct strs list)
{
    strs_each(list, it)
    {
        h = mix(h, hash_str(*it));
    }
    return mix(h, list.n);
}

uint64_t rule_hash(const struct rule *rule)
{
    uint64_t h = strs_hash(0, rule->verbs);
    h = strs_hash(h, rule->api_groups);
    h = strs_hash(h, rule->resources);
    h = strs_hash(h, rule->resource_names);
    return strs_hash(h, rule->non_resource_urls);
}

bool rule_is_empty(const struct rule *rule)
{
    return rule->verbs.n == 0 ||
           ((rule->api_groups.n == 0 || rule->resources.n == 0) && rule->non_resource_urls.n == 0);
}

/* The slot of an equal rule, or the free one where it would go. */
static uint32_t *probe(const struct rule_set *set, const struct rule *rule, uint64_t hash)
{
    for (size_t i = hash & set->mask;; i = (i + 1) & set->mask) {
        uint32_t *slot = &set->slots[i];
        if (*slot == 0 || rule_equal(&set->rules.p[*slot - 1], rule))
            return slot;
    }
}

static void grow(struct rule_set *set)
{
    size_t slots = set->slots ? (set->mask + 1) * 2 : 16;
    free(set->slots);
    set->slots = calloc(slots, sizeof *set->slots);
    if (set->slots == NULL || set->rules.n >= UINT32_MAX)
        abort();
    set->mask = slots - 1;
    for (size_t i = 0; i < set->rules.n; i++) {
        size_t at = rule_hash(&set->rules.p[i]) & set->mask;
        while (set->slots[at])
            at = (at + 1) & set->mask;
        set->slots[at] = (uint32_t)(i + 1);
    }
}

bool rule_set_add(struct rule_set *set, const struct rule *rule)
{
    if (set->slots == NULL || set->rules.n * 2 > set->mask)
        grow(set);
    uint32_t *slot = probe(set, rule, rule_hash(rule));
    if (*slot)
        return false;
    *vec_push(set->arena, &set->rules) = *rule;
    *slot = (uint32_t)set->rules.n;
    return true;
}

void rule_set_done(struct rule_set *set)
{
    free(set->slots);
    set->slots = NULL;
    set->mask = 0;
}

struct rules rules_union(struct arena *a, struct rules x, struct rules y)
{
    struct rule_set set = {.arena = a};
    rules_each(x, rule)
    {
        rule_set_add(&set, rule);
    }
    rules_each(y, rule)
    {
        rule_set_add(&set, rule);
    }
    rule_set_done(&set);
    return rule_set_rules(&set);
}
