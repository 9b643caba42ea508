/* SPDX-License-Identifier: Apache-2.0 */
/* Roles come and go. What that means for aggregates is only noted here; aggregate_settle.c works it out. */
#include "authz/aggregate_graph.h"

#include "object/object.h"

#include <stdlib.h>

struct aggregate_index *aggregate_index_new(void)
{
    struct aggregate_index *ix = agg_alloc(sizeof *ix);
    *ix = (struct aggregate_index){0};
    return ix;
}

/* ---- Marking. ---- */

void agg_mark(struct aggregate_index *ix, struct agg_role *aggregate)
{
    if (!aggregate->is_dirty)
        LIST_INSERT_HEAD(&ix->dirty, aggregate, dirty);
    aggregate->is_dirty = true;
}

static void unmark(struct agg_role *aggregate)
{
    if (aggregate->is_dirty)
        LIST_REMOVE(aggregate, dirty);
    aggregate->is_dirty = false;
}

void agg_mark_users(struct aggregate_index *ix, struct agg_selector *s)
{
    struct agg_use *use;
    LIST_FOREACH(use, &s->uses, link) agg_mark(ix, use->role);
}

void agg_mark_above(struct aggregate_index *ix, struct agg_role *role)
{
    for (size_t i = 0; i < role->n_in; i++)
        agg_mark_users(ix, role->in[i]);
}

/* ---- Reading a ClusterRole. ---- */

/* What was put, read but not kept yet; in the scratch arena. */
struct draft {
    str name;
    const struct json *labels;
    struct rules rules;
    bool is_aggregate;
    struct aggregate_selectors selectors; /* those that can select something… */
    str *texts;                           /* …and their canonical texts */
};

static int read_labels(const struct json *labels, struct err *err)
{
    if (!json_is_null(labels) && !json_is_obj(labels))
        return err_set(err, ERR_INVALID, "metadata.labels must be a map of strings");
    json_each_member(labels, m)
    {
        if (!json_is_str(&m->val))
            return err_set(err, ERR_INVALID, "metadata.labels must be a map of strings");
    }
    return 0;
}

static int read_selectors(struct arena *a, const struct json *role, struct draft *d, struct err *err)
{
    struct aggregate_selectors all;
    int rc = aggregate_selectors_parse(a, json_get(role, S("aggregationRule")), &all, err);
    if (rc < 0)
        return rc;
    d->is_aggregate = aggregate_is(role);
    d->texts = ARENA_ARRAY(a, str, all.n);
    struct selector *kept = ARENA_ARRAY(a, struct selector, all.n);
    size_t n = 0;
    for (size_t i = 0; i < all.n; i++) {
        struct buf text = {.arena = a};
        if (all.p[i].nothing)
            continue;
        selector_format(&text, &all.p[i]);
        d->texts[n] = buf_str(&text);
        kept[n++] = all.p[i];
    }
    d->selectors = (struct aggregate_selectors){kept, n};
    return 0;
}

static int read_role(struct arena *a, const struct json *role, struct draft *d, struct err *err)
{
    d->labels = object_labels(role);
    if (d->name.n == 0)
        return err_set(err, ERR_INVALID, "a ClusterRole must have a name");
    if (read_labels(d->labels, err) < 0 || read_selectors(a, role, d, err) < 0) {
        err_wrap(err, "ClusterRole %.*s", STR(d->name));
        return ERR_INVALID;
    }
    struct err why;
    if (rules_from_json(a, json_get(role, S("rules")), &d->rules, &why) < 0)
        return err_set(err, ERR_INVALID, "ClusterRole %.*s: %s", STR(d->name), why.msg);
    return 0;
}

/* ---- Putting. ---- */

static struct agg_role *role_new(struct aggregate_index *ix, str name)
{
    struct agg_role *role = agg_alloc(sizeof *role + name.n);
    *role = (struct agg_role){.node.is_role = true, .name = {(char *)(role + 1), name.n}};
    memcpy(role + 1, name.p, name.n);
    map_set(&ix->roles, role->name, role);
    return role;
}

static void drop_uses(struct aggregate_index *ix, struct agg_use *uses, size_t n)
{
    size_t distinct = 0;
    ix->marks++;
    for (size_t i = 0; i < n; i++) {
        struct agg_selector *s = uses[i].selector;
        LIST_REMOVE(&uses[i], link);
        if (s->mark != ix->marks)
            uses[distinct++].selector = s;
        s->mark = ix->marks;
    }
    for (size_t i = 0; i < distinct; i++)
        agg_selector_release(ix, uses[i].selector);
    free(uses);
}

static bool same_uses(const struct agg_role *role, const struct draft *d)
{
    bool same = role->n_uses == d->selectors.n;
    for (size_t i = 0; same && i < role->n_uses; i++)
        same = str_eq(role->uses[i].selector->text, d->texts[i]);
    return same;
}

static void set_uses(struct aggregate_index *ix, struct agg_role *role, const struct draft *d)
{
    struct agg_use *former = role->uses;
    size_t former_n = role->n_uses;
    role->n_uses = d->selectors.n;
    role->uses = agg_alloc(role->n_uses * sizeof *role->uses);
    for (size_t i = 0; i < role->n_uses; i++) {
        struct agg_selector *s = agg_selector_get(ix, &d->selectors.p[i], d->texts[i]);
        role->uses[i] = (struct agg_use){.selector = s, .role = role};
        LIST_INSERT_HEAD(&s->uses, &role->uses[i], link);
    }
    drop_uses(ix, former, former_n);
}

/* True when they differ from those it had. */
static bool set_rules(struct aggregate_index *ix, struct agg_role *role, struct rules rules)
{
    struct agg_rules taken = agg_rules_take(&ix->pool, rules);
    bool changed = !agg_rules_equal(taken, role->rules);
    agg_rules_drop(&ix->pool, role->rules);
    role->rules = taken;
    return changed;
}

static bool same_labels(const struct agg_role *role, const struct json *labels)
{
    return role->labels ? json_equal(&role->labels->map, labels) : json_len(labels) == 0;
}

/* Another set of selectors, or none any more: what is above may fall out of a circle though its rules stay the same. */
static bool reshape(struct aggregate_index *ix, struct agg_role *role, const struct draft *d)
{
    if (role->is_aggregate == d->is_aggregate && same_uses(role, d))
        return false;
    set_uses(ix, role, d);
    if (role->is_aggregate && !d->is_aggregate) {
        agg_mark_above(ix, role);
        unmark(role);
        role->circle = role->circle_n = 0;
    }
    role->is_aggregate = d->is_aggregate;
    return true;
}

int aggregate_index_put(struct aggregate_index *ix, const struct json *cluster_role, struct err *err)
{
    arena_reset(&ix->scratch);
    struct draft d = {.name = object_name(cluster_role)};
    int rc = read_role(&ix->scratch, cluster_role, &d, err);
    if (rc < 0) {
        aggregate_index_delete(ix, d.name);
        return rc;
    }
    struct agg_role *role = map_get(&ix->roles, d.name);
    bool is_new = role == NULL;
    if (is_new)
        role = role_new(ix, d.name);
    if (is_new || !same_labels(role, d.labels)) {
        agg_role_label(ix, role, d.labels);
        agg_role_match(ix, role);
    }
    bool reshaped = reshape(ix, role, &d);
    bool changed = set_rules(ix, role, d.rules);
    if (changed)
        agg_mark_above(ix, role);
    if (role->is_aggregate && (changed || reshaped))
        agg_mark(ix, role);
    return 0;
}

static void role_free(struct aggregate_index *ix, struct agg_role *role)
{
    agg_role_unmatch(ix, role);
    agg_role_label(ix, role, NULL);
    drop_uses(ix, role->uses, role->n_uses);
    unmark(role);
    agg_rules_drop(&ix->pool, role->rules);
    free(role);
}

bool aggregate_index_delete(struct aggregate_index *ix, str name)
{
    struct agg_role *role = map_del(&ix->roles, name);
    if (role)
        role_free(ix, role);
    return role != NULL;
}

bool aggregate_index_rules(const struct aggregate_index *ix, struct arena *a, str name, struct rules *ret)
{
    const struct agg_role *role = map_get(&ix->roles, name);
    if (role)
        *ret = agg_rules_lend(a, role->rules);
    return role != NULL;
}

struct rules aggregate_index_select(struct aggregate_index *ix, struct arena *a, str name,
                                    struct aggregate_selectors selectors)
{
    struct rule_set merged = {.arena = a};
    for (size_t i = 0; i < selectors.n; i++) {
        if (selectors.p[i].nothing)
            continue;
        struct buf text = {.arena = &ix->scratch};
        selector_format(&text, &selectors.p[i]);
        struct agg_selector *s = agg_selector_get(ix, &selectors.p[i], buf_str(&text));
        for (size_t k = 0; k < s->n; k++) {
            if (str_eq(s->members[k].role->name, name))
                continue;
            struct rules lent = agg_rules_lend(a, s->members[k].role->rules);
            rules_each(lent, rule) rule_set_add(&merged, rule);
        }
        agg_selector_release(ix, s);
    }
    struct rules rules = rule_set_rules(&merged);
    rule_set_done(&merged);
    arena_reset(&ix->scratch);
    return rules;
}

bool aggregate_index_picks(const struct aggregate_index *ix, str name, aggregate_pick_fn *fn, void *ctx)
{
    const struct agg_role *role = map_get(&ix->roles, name);
    if (!role || !role->is_aggregate)
        return false;
    for (size_t i = 0; i < role->n_uses; i++) {
        const struct agg_selector *s = role->uses[i].selector;
        for (size_t k = 0; k < s->n; k++)
            if (s->members[k].role != role)
                fn(ctx, s->members[k].role->name, s->text);
    }
    return true;
}

void aggregate_index_free(struct aggregate_index *ix)
{
    if (ix == NULL)
        return;
    str name;
    void *role;
    for (size_t at = 0; map_next(&ix->roles, &at, &name, &role);)
        role_free(ix, role);
    map_done(&ix->roles);
    map_done(&ix->selectors);
    map_done(&ix->by_value);
    map_done(&ix->by_key);
    agg_pool_done(&ix->pool);
    arena_done(&ix->scratch);
    free(ix);
}
