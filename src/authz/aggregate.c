/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/aggregate.h"
#include "authz/aggregate_internal.h"
#include "object/object.h"

#include <stdlib.h>

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

/* Roles come and go. What that means for aggregates is only noted here; settling works it out. */

struct aggregate_index *aggregate_index_new(void)
{
    struct aggregate_index *ix = agg_alloc(sizeof *ix);
    *ix = (struct aggregate_index){0};
    return ix;
}

/* ---- Marking. ---- */

static void agg_mark(struct aggregate_index *ix, struct agg_role *aggregate)
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

/* All aggregates that select the role are. */
static void agg_mark_above(struct aggregate_index *ix, struct agg_role *role)
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
    struct aggregate_selectors all = {0};
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

/* Works out what the noted changes mean.
 *
 *   1. reach: from the aggregates that were marked, everything above them. Nothing else can change.
 *   2. Tarjan's algorithm, over that part of the graph only, yields its circles (most are of one aggregate), those below
 *      before those above.
 *   3. solve: a circle in which somebody is marked, or which is not made of the same aggregates as before, gets its rules
 *      merged anew, from what stands outside of it. Who comes out different is told, and marks those right above.
 *
 * No recursion: a chain of aggregates may be as long as somebody likes. */

struct frame {
    struct agg_node *node;
    size_t next; /* child to look at */
};

struct settle {
    struct aggregate_index *ix;
    struct arena *scratch, *out;
    VEC(struct agg_role *) reached;
    VEC(struct frame) frames;
    VEC(struct agg_node *) stack; /* Tarjan's: seen, circle not known yet */
    uint32_t seen;
    VEC(struct agg_role *) circle;
    VEC(struct agg_rule *) merged, common;
    VEC(struct aggregate_change) changes;
};

static struct agg_role *role_of(struct agg_node *node)
{
    return (struct agg_role *)(void *)node; /* the node is its first member */
}

static struct agg_selector *selector_of(struct agg_node *node)
{
    return (struct agg_selector *)(void *)node;
}

/* ---- 1. Reach. ---- */

static bool enter(struct settle *st, struct agg_node *node)
{
    if (node->round == st->ix->rounds)
        return false;
    *node = (struct agg_node){.round = st->ix->rounds, .is_role = node->is_role};
    return true;
}

static void reach(struct settle *st, struct agg_role *role)
{
    if (enter(st, &role->node))
        *vec_push(st->scratch, &st->reached) = role;
}

static void reach_all(struct settle *st)
{
    struct agg_role *marked;
    LIST_FOREACH(marked, &st->ix->dirty, dirty) reach(st, marked);
    for (size_t i = 0; i < st->reached.n; i++) {
        const struct agg_role *role = st->reached.p[i];
        for (size_t k = 0; k < role->n_in; k++) {
            struct agg_use *use;
            if (enter(st, &role->in[k]->node))
                LIST_FOREACH(use, &role->in[k]->uses, link) reach(st, use->role);
        }
    }
}

/* ---- 3. Solve. ---- */

static void add(struct settle *st, struct agg_rule *const *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rules[i]->mark == st->ix->marks)
            continue;
        rules[i]->mark = st->ix->marks;
        *vec_push(st->scratch, &st->merged) = rules[i];
    }
}

/* What the aggregate selects, its own circle aside. */
static void add_selected(struct settle *st, const struct agg_role *aggregate)
{
    for (size_t i = 0; i < aggregate->n_uses; i++) {
        const struct agg_selector *s = aggregate->uses[i].selector;
        for (size_t k = 0; k < s->n; k++) {
            if (s->members[k].role->circle != aggregate->circle)
                add(st, s->members[k].role->rules.p, s->members[k].role->rules.n);
        }
    }
}

static void begin_merge(struct settle *st)
{
    st->ix->marks++;
    st->merged.n = 0;
}

static void finish_merge(struct settle *st, struct agg_role *aggregate)
{
    struct aggregate_index *ix = st->ix;
    if (agg_rules_equal((struct agg_rules){st->merged.p, st->merged.n}, aggregate->rules))
        return;
    struct agg_rules former = aggregate->rules;
    aggregate->rules = agg_rules_share(st->merged.p, st->merged.n);
    agg_rules_drop(&ix->pool, former);
    agg_mark_above(ix, aggregate);
    *vec_push(st->out, &st->changes) =
        (struct aggregate_change){aggregate->name, agg_rules_lend(st->out, aggregate->rules)};
}

/* True when the same aggregates, and no others, made up a circle before; else they get a number of their own. */
static bool same_circle(struct settle *st)
{
    bool same = true;
    vec_each(&st->circle, it)
    {
        same = same && (*it)->circle == st->circle.p[0]->circle && (*it)->circle_n == st->circle.n;
    }
    if (same)
        return true;
    st->ix->circles++;
    vec_each(&st->circle, it)
    {
        (*it)->circle = st->ix->circles;
        (*it)->circle_n = st->circle.n;
    }
    return false;
}

static bool is_due(struct settle *st)
{
    bool due = !same_circle(st);
    vec_each(&st->circle, it) due = due || (*it)->is_dirty;
    return due;
}

static int by_name(const void *x, const void *y)
{
    const struct agg_role *const *a = x, *const *b = y;
    return str_cmp((*a)->name, (*b)->name);
}

static void solve(struct settle *st)
{
    if (!is_due(st))
        return;
    begin_merge(st);
    st->common.n = 0;
    if (st->circle.n > 1) {
        qsort((void *)st->circle.p, st->circle.n, sizeof *st->circle.p, by_name);
        vec_each(&st->circle, it) add_selected(st, *it);
        vec_each(&st->merged, it) * vec_push(st->scratch, &st->common) = *it;
    }
    vec_each(&st->circle, it)
    {
        begin_merge(st);
        add_selected(st, *it);
        add(st, st->common.p, st->common.n);
        finish_merge(st, *it);
    }
}

/* ---- 2. Find circles. ---- */

/* The next node below that was reached, or NULL. */
static struct agg_node *next_child(const struct settle *st, struct frame *f)
{
    size_t n = f->node->is_role ? role_of(f->node)->n_uses : selector_of(f->node)->n;
    while (f->next < n) {
        size_t i = f->next++;
        struct agg_node *child =
            f->node->is_role ? &role_of(f->node)->uses[i].selector->node : &selector_of(f->node)->members[i].role->node;
        if (child->round == st->ix->rounds)
            return child;
    }
    return NULL;
}

static void push(struct settle *st, struct agg_node *node)
{
    node->seen = node->low = ++st->seen;
    node->on_stack = true;
    *vec_push(st->scratch, &st->stack) = node;
    *vec_push(st->scratch, &st->frames) = (struct frame){.node = node};
}

/* All below the node has been seen, and nothing leads back above it: what is on the stack from it on is one circle. */
static void pop_circle(struct settle *st, const struct agg_node *first)
{
    struct agg_node *node;
    st->circle.n = 0;
    do {
        node = st->stack.p[--st->stack.n];
        node->on_stack = false;
        if (node->is_role)
            *vec_push(st->scratch, &st->circle) = role_of(node);
    } while (node != first);
    if (st->circle.n) /* else it was a selector alone */
        solve(st);
}

static void lower(struct agg_node *node, uint32_t to)
{
    if (to < node->low)
        node->low = to;
}

static void walk_from(struct settle *st, struct agg_node *start)
{
    push(st, start);
    while (st->frames.n) {
        struct frame *top = &st->frames.p[st->frames.n - 1];
        struct agg_node *node = top->node, *child = next_child(st, top);
        if (child && child->seen == 0) {
            push(st, child);
        } else if (child) {
            if (child->on_stack)
                lower(node, child->seen);
        } else {
            st->frames.n--;
            if (st->frames.n)
                lower(st->frames.p[st->frames.n - 1].node, node->low);
            if (node->low == node->seen)
                pop_circle(st, node);
        }
    }
}

/* ---- All of it. ---- */

static int by_change_name(const void *x, const void *y)
{
    const struct aggregate_change *a = x, *b = y;
    return str_cmp(a->name, b->name);
}

struct aggregate_changes aggregate_index_settle(struct aggregate_index *ix, struct arena *a)
{
    struct settle st = {.ix = ix, .scratch = &ix->scratch, .out = a};
    arena_reset(&ix->scratch);
    ix->rounds++;
    reach_all(&st);
    vec_each(&st.reached, it)
    {
        if ((*it)->node.seen == 0)
            walk_from(&st, &(*it)->node);
    }
    while (!LIST_EMPTY(&ix->dirty)) {
        struct agg_role *role = LIST_FIRST(&ix->dirty);
        LIST_REMOVE(role, dirty);
        role->is_dirty = false;
    }
    if (st.changes.n)
        qsort(st.changes.p, st.changes.n, sizeof *st.changes.p, by_change_name);
    return (struct aggregate_changes){st.changes.p, st.changes.n};
}
