/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregation index against a slow oracle: after every step of a random history everything is computed anew, from a
 * model of its own that shares no code with the index, and must be what the index says. */
#include "authz/aggregate.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { ROLES = 14, KEYS = 2, VALUES = 3, RULES = 9, SELECTORS = 3, TERMS = 2, LIST = 4 };
enum op { IN, NOT_IN, EXISTS, ABSENT, OPS };

static const char *const op_names[] = {"In", "NotIn", "Exists", "DoesNotExist"};
static const char *const values[] = {"", "a", "b"};

struct term {
    enum op op;
    int key;
    unsigned values; /* bits */
};

struct selector_model {
    struct term terms[TERMS];
    int n;
};

struct list {
    int p[RULES];
    int n;
};

struct role {
    bool exists, is_aggregate;
    int labels[KEYS]; /* value, or -1: absent */
    struct selector_model selectors[SELECTORS];
    int n;
    struct list stored; /* each rule at most once, in any order */
    struct list result; /* what the oracle says */
    bool is_solved;
};

struct world {
    const struct random *random;
    struct role roles[ROLES];
    int size; /* roles in use */
    bool reaches[ROLES][ROLES];
};

/* ---- The oracle. ---- */

static bool term_holds(const struct term *t, const struct role *role)
{
    int value = role->labels[t->key];
    bool among = value >= 0 && (t->values >> value & 1);
    switch (t->op) {
    case IN:
        return among;
    case NOT_IN:
        return !among;
    case EXISTS:
        return value >= 0;
    default:
        return value < 0;
    }
}

static bool selects(const struct selector_model *s, const struct role *role)
{
    bool all = role->exists;
    for (int i = 0; i < s->n; i++)
        all = all && term_holds(&s->terms[i], role);
    return all;
}

static bool selects_any(const struct role *aggregate, const struct role *role)
{
    bool any = false;
    for (int i = 0; i < aggregate->n; i++)
        any = any || selects(&aggregate->selectors[i], role);
    return aggregate->exists && aggregate->is_aggregate && any;
}

static void find_ways(struct world *w)
{
    for (int i = 0; i < w->size; i++)
        for (int j = 0; j < w->size; j++)
            w->reaches[i][j] = w->roles[j].is_aggregate && selects_any(&w->roles[i], &w->roles[j]);
    for (int via = 0; via < w->size; via++)
        for (int i = 0; i < w->size; i++)
            for (int j = 0; j < w->size; j++)
                w->reaches[i][j] |= w->reaches[i][via] && w->reaches[via][j];
}

static bool in_one_circle(const struct world *w, int i, int j)
{
    return i == j || (w->reaches[i][j] && w->reaches[j][i]);
}

static void add_once(struct list *to, int rule)
{
    for (int i = 0; i < to->n; i++)
        if (to->p[i] == rule)
            return;
    to->p[to->n++] = rule;
}

static const struct list *solve(struct world *w, int i);

static void add_outside(struct world *w, int i, struct list *to)
{
    const struct role *aggregate = &w->roles[i];
    for (int s = 0; s < aggregate->n; s++)
        for (int j = 0; j < w->size; j++)
            if (!in_one_circle(w, i, j) && selects(&aggregate->selectors[s], &w->roles[j])) {
                const struct list *from = solve(w, j);
                for (int k = 0; k < from->n; k++)
                    add_once(to, from->p[k]);
            }
}

/* Ends, because it only goes to what is outside of the circle and cannot come back. */
static const struct list *solve(struct world *w, int i)
{
    struct role *role = &w->roles[i];
    if (role->is_solved)
        return &role->result;
    role->result = role->stored;
    role->is_solved = true;
    if (!role->is_aggregate)
        return &role->result;
    role->result.n = 0;
    add_outside(w, i, &role->result);
    for (int j = 0; j < w->size; j++)
        if (j != i && in_one_circle(w, i, j))
            add_outside(w, j, &role->result);
    return &role->result;
}

static unsigned bits(const struct list *list)
{
    unsigned all = 0;
    for (int i = 0; i < list->n; i++)
        all |= 1U << list->p[i];
    return all;
}

/* The least fixed point in another way: from nothing, as long as something is added. */
static void check_fixed_point(struct world *w)
{
    unsigned granted[ROLES] = {0};
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < w->size; i++) {
            unsigned now = w->roles[i].is_aggregate ? 0 : bits(&w->roles[i].stored);
            for (int j = 0; j < w->size; j++)
                if (selects_any(&w->roles[i], &w->roles[j]))
                    now |= granted[j];
            changed = changed || (now & ~granted[i]);
            granted[i] |= now;
        }
    }
    for (int i = 0; i < w->size; i++)
        if (w->roles[i].exists)
            assert_int_equal(granted[i], bits(&w->roles[i].result));
}

static void solve_all(struct world *w)
{
    find_ways(w);
    for (int i = 0; i < w->size; i++)
        w->roles[i].is_solved = false;
    for (int i = 0; i < w->size; i++)
        if (w->roles[i].exists)
            solve(w, i);
    check_fixed_point(w);
}

/* ---- Histories. ---- */

static int pick(struct world *w, int n)
{
    return (int)random_below(w->random, (uint32_t)n);
}

static void pick_rules(struct world *w, struct list *list)
{
    list->n = 0;
    for (int n = pick(w, LIST); n > 0; n--)
        add_once(list, pick(w, RULES));
}

static void pick_selectors(struct world *w, struct role *role)
{
    role->n = pick(w, SELECTORS + 1);
    for (int i = 0; i < role->n; i++) {
        role->selectors[i].n = pick(w, 12) ? 1 + pick(w, TERMS) : 0;
        for (int k = 0; k < TERMS; k++)
            role->selectors[i].terms[k] = (struct term){
                .op = pick(w, 3) ? IN : (enum op)pick(w, OPS),
                .key = pick(w, KEYS),
                .values = 1U + (unsigned)pick(w, (1 << VALUES) - 1),
            };
    }
}

static void pick_labels(struct world *w, struct role *role)
{
    for (int k = 0; k < KEYS; k++)
        role->labels[k] = pick(w, VALUES + 1) - 1;
}

/* One thing about a role changes, as things do; now and then all of it, or nothing. */
static void change(struct world *w, struct role *role)
{
    bool is_new = !role->exists;
    int what = is_new ? 0 : pick(w, 7);
    role->exists = true;
    if (what == 0)
        role->is_aggregate = pick(w, 2);
    if (what == 5)
        role->is_aggregate = !role->is_aggregate;
    if (what == 0 || what == 1)
        pick_labels(w, role);
    if (what == 0 || what == 2)
        pick_selectors(w, role);
    if (what == 0 || what == 3 || what == 4)
        pick_rules(w, &role->stored);
}

static struct json object_of(struct arena *a, const struct selector_model *s)
{
    struct json object = json_obj(), list = json_arr();
    for (int i = 0; i < s->n; i++) {
        struct json e = json_obj(), set = json_arr();
        json_add(a, &e, S("key"), json_str(str_fmt(a, "k%d", s->terms[i].key)));
        json_add(a, &e, S("operator"), json_str(str_of(op_names[s->terms[i].op])));
        for (int v = 0; v < VALUES; v++)
            if (s->terms[i].op <= NOT_IN && (s->terms[i].values >> v & 1))
                json_push(a, &set, json_str(str_of(values[v])));
        json_add(a, &e, S("values"), set);
        json_push(a, &list, e);
    }
    json_add(a, &object, S("matchExpressions"), list);
    return object;
}

static str name_of(struct arena *a, int i)
{
    return str_fmt(a, "role-%02d", i);
}

static struct json rule_of(struct arena *a, int rule)
{
    struct json object = json_obj(), verbs = json_arr(), groups = json_arr(), resources = json_arr();
    json_push(a, &verbs, json_str(S("get")));
    json_push(a, &groups, json_str(S("")));
    json_push(a, &resources, json_str(str_fmt(a, "r%d", rule)));
    json_add(a, &object, S("verbs"), verbs);
    json_add(a, &object, S("apiGroups"), groups);
    json_add(a, &object, S("resources"), resources);
    return object;
}

static struct json cluster_role_of(struct arena *a, const struct world *w, int i)
{
    const struct role *role = &w->roles[i];
    struct json object = json_obj(), meta = json_obj(), labels = json_obj(), rules = json_arr();
    json_add(a, &meta, S("name"), json_str(name_of(a, i)));
    for (int k = 0; k < KEYS; k++)
        if (role->labels[k] >= 0)
            json_add(a, &labels, str_fmt(a, "k%d", k), json_str(str_of(values[role->labels[k]])));
    json_add(a, &meta, S("labels"), labels);
    json_add(a, &object, S("metadata"), meta);
    for (int k = 0; k < role->stored.n; k++)
        json_push(a, &rules, rule_of(a, role->stored.p[k]));
    json_add(a, &object, S("rules"), rules);
    if (role->is_aggregate) {
        struct json aggregation = json_obj(), list = json_arr();
        for (int k = 0; k < role->n; k++)
            json_push(a, &list, object_of(a, &role->selectors[k]));
        json_add(a, &aggregation, S("clusterRoleSelectors"), list);
        json_add(a, &object, S("aggregationRule"), aggregation);
    }
    return object;
}

static void step(struct world *w, struct aggregate_index *ix, struct arena *a)
{
    int i = pick(w, w->size);
    struct role *role = &w->roles[i];
    if (role->exists && pick(w, 4) == 0) {
        role->exists = false;
        assert_true(aggregate_index_delete(ix, name_of(a, i)));
        return;
    }
    struct err err;
    change(w, role);
    struct json object = cluster_role_of(a, w, i);
    if (aggregate_index_put(ix, &object, &err) < 0)
        fail_msg("%s", err.msg);
}

static bool same_rules(struct rules rules, const struct list *list)
{
    bool same = rules.n == (size_t)list->n;
    for (size_t i = 0; same && i < rules.n; i++) {
        str resource = rules.p[i].resources.p[0];
        same = resource.n == 2 && resource.p[1] - '0' == list->p[i];
    }
    return same;
}

/* The changes are those aggregates that are not stored as they should be, no others, in order, and right. */
static void check(struct world *w, struct aggregate_index *ix, struct arena *a)
{
    struct aggregate_changes changes = aggregate_index_settle(ix, a);
    size_t n = 0;
    solve_all(w);
    for (int i = 0; i < w->size; i++) {
        struct role *role = &w->roles[i];
        struct rules rules;
        assert_int_equal(aggregate_index_rules(ix, a, name_of(a, i), &rules), role->exists);
        if (!role->exists)
            continue;
        assert_true(same_rules(rules, &role->result));
        bool as_stored = role->stored.n == role->result.n &&
                         memcmp(role->stored.p, role->result.p, (size_t)role->stored.n * sizeof *role->stored.p) == 0;
        if (as_stored)
            continue;
        assert_true(n < changes.n);
        assert_true(str_eq(changes.p[n].name, name_of(a, i)));
        assert_true(same_rules(changes.p[n].rules, &role->result));
        role->stored = role->result;
        n++;
    }
    assert_int_equal(n, changes.n);
}

/* What one of the roles, or a newcomer, would have with other selectors: the index says it and stays as it was. */
static void check_select(struct world *w, struct aggregate_index *ix, struct arena *a)
{
    struct role draft = {.exists = true, .is_aggregate = true};
    struct json rule = json_obj(), list = json_arr();
    struct aggregate_selectors selectors;
    struct list want = {.n = 0};
    int self = pick(w, w->size + 1);
    pick_selectors(w, &draft);
    for (int s = 0; s < draft.n; s++) {
        json_push(a, &list, object_of(a, &draft.selectors[s]));
        for (int j = 0; j < w->size; j++)
            for (int k = 0; j != self && selects(&draft.selectors[s], &w->roles[j]) && k < w->roles[j].result.n; k++)
                add_once(&want, w->roles[j].result.p[k]);
    }
    json_add(a, &rule, S("clusterRoleSelectors"), list);
    assert_int_equal(aggregate_selectors_parse(a, &rule, &selectors, NULL), 0);
    assert_true(same_rules(aggregate_index_select(ix, a, name_of(a, self), selectors), &want));
}

static void live(uint64_t seed, int size, int steps)
{
    struct random_seeded fake = {seed};
    struct random random = random_of_seed(&fake);
    struct world w = {.random = &random, .size = size};
    struct aggregate_index *ix = aggregate_index_new();
    struct arena a ARENA_SCOPE = {0};
    printf("# %d steps with %d roles, seed %llu\n", steps, size, (unsigned long long)seed);
    (void)fflush(stdout);
    for (int i = 0; i < steps; i++) {
        arena_reset(&a);
        step(&w, ix, &a);
        while (pick(&w, 4) == 0) /* several changes, then one look */
            step(&w, ix, &a);
        check(&w, ix, &a);
        check_select(&w, ix, &a);
    }
    aggregate_index_free(ix);
}

static void test_few_roles(void **state)
{
    live(20261115, 4, 30000);
}

static void test_some_roles(void **state)
{
    live(69652, 8, 40000);
}

static void test_more_roles(void **state)
{
    live(118648, ROLES, 40000);
}

/* A chain and a circle of more aggregates than a stack has room for frames. */
static void long_way(bool is_circle, size_t n)
{
    struct arena a ARENA_SCOPE = {0};
    struct aggregate_index *ix = aggregate_index_new();
    struct err err;
    for (size_t i = 0; i < n; i++) {
        size_t below = i ? i - 1 : n - 1;
        str text = str_fmt(&a,
                           "{\"metadata\":{\"name\":\"c%06zu\",\"labels\":{\"me\":\"%zu\"}},\"rules\":[],"
                           "\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{\"%s\":\"%zu\"}}]}}",
                           i, i, i || is_circle ? "me" : "leaf", below);
        struct json role;
        assert_int_equal(json_decode(&a, text, NULL, NULL, &role, &err), 0);
        assert_int_equal(aggregate_index_put(ix, &role, &err), 0);
    }
    str leaf = str_fmt(&a,
                       "{\"metadata\":{\"name\":\"leaf\",\"labels\":{\"leaf\":\"%zu\",\"me\":\"%zu\"}},"
                       "\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]}",
                       n - 1, n - 1);
    struct json role;
    assert_int_equal(json_decode(&a, leaf, NULL, NULL, &role, &err), 0);
    assert_int_equal(aggregate_index_settle(ix, &a).n, 0);
    assert_int_equal(aggregate_index_put(ix, &role, &err), 0);
    assert_int_equal(aggregate_index_settle(ix, &a).n, n);
    assert_true(aggregate_index_delete(ix, S("leaf")));
    struct aggregate_changes gone = aggregate_index_settle(ix, &a);
    assert_int_equal(gone.n, n);
    for (size_t i = 0; i < gone.n; i++)
        assert_int_equal(gone.p[i].rules.n, 0);
    aggregate_index_free(ix);
}

static void test_long_chain(void **state)
{
    long_way(false, 20000);
}

static void test_long_circle(void **state)
{
    long_way(true, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_roles),  cmocka_unit_test(test_some_roles),  cmocka_unit_test(test_more_roles),
        cmocka_unit_test(test_long_chain), cmocka_unit_test(test_long_circle),
    };
    return cmocka_run_group_tests_name("aggregate", tests, NULL, NULL);
}
