/* SPDX-License-Identifier: Apache-2.0 */
/* How the manifests of a ClusterPermission are distributed over works: nothing is lost, no work is too large, few of them move. */
#include "controllers/permissions/permissions_build.h"

#include "base/clock.h"
#include "object/fleet.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct world {
    struct arena a;
    struct json permission, *spec;
};

static void begin(struct world *w)
{
    struct json meta = json_obj();
    *w = (struct world){.permission = json_obj()};
    json_add(&w->a, &meta, S("name"), json_str(S("p")));
    json_add(&w->a, &meta, S("uid"), json_str(S("12345-6")));
    json_add(&w->a, &w->permission, S("metadata"), meta);
    w->spec = json_add(&w->a, &w->permission, S("spec"), json_obj());
    json_add(&w->a, w->spec, S("roles"), json_arr());
}

static struct json strings(struct arena *a, str text)
{
    struct json list = json_arr();
    json_push(a, &list, json_str(text));
    return list;
}

/* A role of about this size. */
static struct json role_of(struct arena *a, str namespace, size_t bytes)
{
    struct json role = json_obj(), rule = json_obj(), rules = json_arr();
    char *fill = arena_alloc(a, bytes + 1);
    memset(fill, 'r', bytes + 1);
    json_add(a, &rule, S("apiGroups"), strings(a, S("")));
    json_add(a, &rule, S("resources"), strings(a, (str){fill, bytes + 1}));
    json_add(a, &rule, S("verbs"), strings(a, S("get")));
    json_push(a, &rules, rule);
    json_add(a, &role, S("namespace"), json_str(namespace));
    json_add(a, &role, S("rules"), rules);
    return role;
}

static void add_role(struct world *w, str namespace, size_t bytes)
{
    json_push(&w->a, json_get_mut(w->spec, S("roles")), role_of(&w->a, namespace, bytes));
}

static struct permission_build build(struct world *w)
{
    struct permission_facts facts = {.has_cluster = true};
    struct permission_build b = permission_build(&w->a, &w->permission, &facts);
    if (b.outcome != PERMISSION_BUILT)
        fail_msg("%.*s", STR(b.message));
    return b;
}

static const struct json *manifests_of(const struct permission_work *work)
{
    return json_dig(&work->spec, "workload.manifests");
}

/* Namespace of each role → its work. Fails if a role is there twice, or a work is too large. */
static void index_build(struct world *w, const struct permission_build *b, struct map *ret)
{
    for (size_t i = 0; i < b->n; i++) {
        const struct json *manifests = manifests_of(&b->works[i]);
        size_t bytes = 0;
        json_each_item(manifests, m)
        {
            struct buf text = {.arena = &w->a};
            json_encode(&text, m, 0);
            bytes += text.n + 2 + (text.n >= 128) + (text.n >= 16384);
            assert_null(map_set(ret, object_namespace(m), (void *)&b->works[i]));
        }
        assert_in_range(json_len(manifests), 1, PERMISSION_PART_MANIFESTS);
        assert_in_range(bytes, 1, FLEET_WORK_BYTES);
    }
    assert_int_equal(ret->n, json_len(json_get(w->spec, S("roles"))));
}

static size_t count_moved(const struct map *before, const struct map *after, str *ret_new)
{
    size_t at = 0, moved = 0;
    str key;
    void *value;
    while (map_next(before, &at, &key, &value)) {
        const struct permission_work *was = value, *is = map_get(after, key);
        if (is && !str_eq(was->name, is->name)) {
            moved++;
            *ret_new = is->name;
        }
    }
    return moved;
}

/* Roles of all sizes, more and more of them. */
static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct random_seeded fake = {seed};
        struct random random = random_of_seed(&fake);
        struct world w;
        begin(&w);
        for (size_t i = 0; i < 60; i++) {
            size_t most = random_below(&random, 4) ? 4000 : 500000;
            add_role(&w, str_fmt(&w.a, "ns-%zu", i), random_below(&random, (uint32_t)most));
        }
        struct permission_build b = build(&w);
        struct map all = {0};
        index_build(&w, &b, &all);
        map_done(&all);
        arena_done(&w.a);
    }
}

/* Small roles, one after the other, from one part to several: while their number stays nothing moves, and when it grows all that moves
 * goes to the new one. */
static void test_growth(void **state)
{
    (void)state;
    struct world w;
    struct map before = {0};
    size_t n_before = 0;
    begin(&w);
    for (size_t i = 0; i < 2600; i += 50) {
        for (size_t k = 0; k < 50; k++)
            add_role(&w, str_fmt(&w.a, "ns-%zu", i + k), 20);
        struct permission_build b = build(&w);
        struct map after = {0};
        str gainer = {0};
        index_build(&w, &b, &after);
        size_t moved = count_moved(&before, &after, &gainer);
        if (b.n == n_before)
            assert_int_equal(moved, 0);
        else if (n_before)
            assert_in_range(moved, 1, (i + 50) * 6 / 5 / b.n); /* about one of n */
        if (moved)
            assert_true(str_eq(gainer, b.works[b.n - 1].name));
        map_done(&before);
        before = after;
        n_before = b.n;
    }
    assert_int_equal(n_before, 4);
    map_done(&before);
    arena_done(&w.a);
}

/* Names that somebody chose so that all of them belong to the first of two works. */
static void test_chosen_names(void **state)
{
    (void)state;
    struct world w, chosen;
    begin(&chosen);
    for (size_t round = 0; json_len(json_get(chosen.spec, S("roles"))) < 1400; round++) {
        begin(&w);
        for (size_t i = 0; i < 1500; i++)
            add_role(&w, str_fmt(&w.a, "ns-%zu-%zu", round, i), 20);
        struct permission_build b = build(&w);
        assert_int_equal(b.n, 2);
        const struct json *first = manifests_of(&b.works[0]);
        json_each_item(first, m) add_role(&chosen, str_dup(&chosen.a, object_namespace(m)), 20);
        arena_done(&w.a);
    }
    while (json_len(json_get(chosen.spec, S("roles"))) > 1400)
        json_erase(json_get_mut(chosen.spec, S("roles")), 1400);
    struct permission_build b = build(&chosen);
    struct map all = {0};
    index_build(&chosen, &b, &all);
    assert_int_equal(b.n, 2);
    assert_int_equal(json_len(manifests_of(&b.works[0])), PERMISSION_PART_MANIFESTS);
    assert_int_equal(json_len(manifests_of(&b.works[1])), 400);
    map_done(&all);
    arena_done(&chosen.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_chosen_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
