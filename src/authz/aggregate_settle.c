/* SPDX-License-Identifier: Apache-2.0 */
/* Works out what the noted changes mean.
 *
 *   1. reach: from the aggregates that were marked, everything above them. Nothing else can change.
 *   2. Tarjan's algorithm, over that part of the graph only, yields its circles (most are of one aggregate), those below
 *      before those above.
 *   3. solve: a circle in which somebody is marked, or which is not made of the same aggregates as before, gets its rules
 *      merged anew, from what stands outside of it. Who comes out different is told, and marks those right above.
 *
 * No recursion: a chain of aggregates may be as long as somebody likes. */
#include "authz/aggregate_graph.h"

#include <stdlib.h>

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
