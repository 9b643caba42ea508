/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody can do at all: as a list of rules, and as a table. */
#include "authz/explain.h"

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
