/* SPDX-License-Identifier: Apache-2.0 */
/* The cache against the plainest thing that does the same: an array that is walked from end to end. */
#include "control/informer_cache.h"

#include "base/clock.h"
#include "control/order.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NAMESPACES = 4, NAMES = 400, VALUES = 5, OWNERS = 7, ROUNDS = 20000 };

/* One object as the test knows it; version 0: there is none. */
struct plain {
    uint32_t version;
    int app, tier;           /* values of labels; -1: no label */
    int owners[2], n_owners; /* may be the same twice */
};

static struct plain plain[NAMESPACES][NAMES];
static const str labels[] = {S_INIT("app"), S_INIT("tier")};

static str namespace_of(struct arena *a, int i)
{
    return i ? str_fmt(a, "ns%d", i) : (str){0};
}

static struct item *make(struct arena *a, int namespace, int name, const struct plain *p,
                         const struct item_shape *shape)
{
    struct json object = json_obj(), meta = json_obj(), names = json_obj(), owners = json_arr();
    json_set(a, &meta, S("name"), json_str(str_fmt(a, "n%d", name)));
    if (namespace)
        json_set(a, &meta, S("namespace"), json_str(namespace_of(a, namespace)));
    json_set(a, &meta, S("uid"), json_str(str_fmt(a, "uid-%d-%d", namespace, name)));
    json_set(a, &meta, S("resourceVersion"), json_str(str_fmt(a, "%u", p->version)));
    if (p->app >= 0)
        json_set(a, &names, S("app"), json_str(str_fmt(a, "app%d", p->app)));
    if (p->tier >= 0)
        json_set(a, &names, S("tier"), json_str(p->tier ? str_fmt(a, "tier%d", p->tier) : (str){0}));
    json_set(a, &meta, S("labels"), names);
    for (int i = 0; i < p->n_owners; i++) {
        struct json owner = json_obj();
        json_set(a, &owner, S("uid"), json_str(str_fmt(a, "owner%d", p->owners[i])));
        json_push(a, &owners, owner);
    }
    json_set(a, &meta, S("ownerReferences"), owners);
    json_set(a, &object, S("metadata"), meta);
    struct item *item = item_new_shaped(&object, shape);
    assert_non_null(item);
    return item;
}

enum question { ALL, NAMESPACE, APP, TIER, OWNER };

static bool is_asked_for(const struct plain *p, int namespace, enum question question, int value)
{
    if (p->version == 0)
        return false;
    switch (question) {
    case ALL:
        return true;
    case NAMESPACE:
        return namespace == value;
    case APP:
        return p->app == value;
    case TIER:
        return p->tier == value;
    case OWNER:
        return (p->n_owners > 0 && p->owners[0] == value) || (p->n_owners > 1 && p->owners[1] == value);
    }
    return false;
}

static struct items ask(struct cache *c, struct arena *a, enum question question, int value)
{
    switch (question) {
    case ALL:
        return cache_list(c, (str){0});
    case NAMESPACE:
        return cache_list(c, namespace_of(a, value));
    case APP:
        return cache_by_label(c, S("app"), str_fmt(a, "app%d", value));
    case TIER:
        return cache_by_label(c, S("tier"), value ? str_fmt(a, "tier%d", value) : (str){0});
    case OWNER:
        return cache_by_owner(c, str_fmt(a, "owner%d", value));
    }
    return (struct items){0};
}

static void check(struct cache *c, enum question question, int value)
{
    struct arena a ARENA_SCOPE = {0};
    struct items got ITEMS_SCOPE = ask(c, &a, question, value);
    size_t expected = 0;
    for (int ns = 0; ns < NAMESPACES; ns++) {
        for (int n = 0; n < NAMES; n++)
            expected += is_asked_for(&plain[ns][n], ns, question, value);
    }
    assert_int_equal(got.n, expected);
    for (size_t i = 0; i < got.n; i++) {
        str namespace = item_namespace(got.p[i]), name = item_name(got.p[i]);
        int64_t ns = 0, n = 0, version = 0;
        assert_true(namespace.n == 0 || str_to_int64(str_from(namespace, 2), &ns));
        assert_true(str_to_int64(str_from(name, 1), &n) && str_to_int64(item_version(got.p[i]), &version));
        const struct plain *p = &plain[ns][n];
        assert_true(is_asked_for(p, (int)ns, question, value));
        assert_int_equal(p->version, version);
        if (i == 0)
            continue;
        int order = str_cmp(item_namespace(got.p[i - 1]), namespace);
        assert_true(order < 0 || (order == 0 && str_cmp(item_name(got.p[i - 1]), name) < 0));
    }
}

static void change(struct cache *c, const struct random *random, uint32_t round, bool grows)
{
    struct arena a ARENA_SCOPE = {0};
    int ns = (int)random_below(random, NAMESPACES), n = (int)random_below(random, NAMES);
    struct plain *p = &plain[ns][n];
    uint32_t before = p->version;
    const struct item *former;
    if (random_below(random, 10) < (grows ? 8U : 3U)) {
        *p = (struct plain){.version = round + 1,
                            .app = (int)random_below(random, VALUES) - 1,
                            .tier = (int)random_below(random, VALUES) - 1,
                            .n_owners = (int)random_below(random, 3)};
        for (int i = 0; i < p->n_owners; i++)
            p->owners[i] = (int)random_below(random, OWNERS);
        former = cache_put(c, make(&a, ns, n, p, cache_shape(c)));
    } else {
        *p = (struct plain){0};
        former = cache_del(c, namespace_of(&a, ns), str_fmt(&a, "n%d", n));
    }
    int64_t version = 0;
    assert_int_equal(former != NULL, before != 0);
    assert_true(former == NULL || (str_to_int64(item_version(former), &version) && version == before));
    item_unref(former);
}

static void it_answers_as_a_plain_array_would(void **state)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct random_seeded fake = {seed};
        struct random random = random_of_seed(&fake);
        struct cache *c = cache_new(&(struct item_shape){seed == 2, labels, 2, true, NULL});
        memset(plain, 0, sizeof plain);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            change(c, &random, round, round / 4000 % 2 == 0);
            if (round % 500 == 0) {
                check(c, ALL, 0);
                for (int v = 1; v < NAMESPACES; v++)
                    check(c, NAMESPACE, v);
            }
            check(c, APP + random_below(&random, 3), (int)random_below(&random, VALUES));
        }
        struct items nothing = cache_by_label(c, S("other"), S("app1"));
        assert_int_equal(nothing.n, 0);
        cache_free(c);
    }
}

static void sizes_follow_what_is_there(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct cache *c = cache_new(&(struct item_shape){false, labels, 2, true, NULL});
    assert_int_equal(cache_size(c).n, 0);
    size_t text = 0;
    struct plain p = {.version = 1, .app = 1, .tier = -1, .owners = {1, 1}, .n_owners = 2};
    for (int i = 0; i < NAMES; i++) {
        struct item *item = make(&a, 1, i, &p, cache_shape(c));
        text += item_text(item).n;
        assert_null(cache_put(c, item));
    }
    struct cache_size full = cache_size(c);
    assert_int_equal(full.n, NAMES);
    assert_int_equal(full.text, text);
    assert_true(full.bytes > full.text);
    for (int i = 0; i < NAMES; i++)
        item_unref(cache_del(c, S("ns1"), str_fmt(&a, "n%d", i)));
    struct cache_size empty = cache_size(c);
    assert_int_equal(empty.n, 0);
    assert_int_equal(empty.text, 0);
    assert_true(empty.bytes < 1000); /* the rows of chunks remain, no chunk does */
    assert_int_equal(cache_by_owner(c, S("owner1")).n, 0);
    cache_free(c);
}

/* Chunks that have become small are joined, with the one behind or the one before. */
static void what_has_shrunk_takes_less(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct order o = {0};
    struct items all = {.p = calloc((size_t)3 * ORDER_CHUNK, sizeof *all.p)};
    struct plain p = {.version = 1, .app = -1, .tier = -1};
    for (; all.n < (size_t)3 * ORDER_CHUNK; all.n++) {
        all.p[all.n] = make(&a, 0, 1000 + (int)all.n, &p, &(struct item_shape){0});
        assert_null(order_put(&o, (struct order_entry){.item = all.p[all.n]}));
    }
    assert_int_equal(o.n_chunks, 3); /* put in by their order, they fill their chunks */
    for (size_t i = 0; i < ORDER_CHUNK + 40; i++) {
        if (i >= 43 && i < ORDER_CHUNK)
            continue;
        struct order_key key = {.name = item_name(all.p[i])};
        assert_ptr_equal(order_del(&o, &key), all.p[i]);
        assert_ptr_equal(order_del(&o, &key), NULL);
    }
    assert_int_equal(o.n_chunks, 2);
    assert_int_equal(o.n, 20 + 23 + ORDER_CHUNK);
    const struct order_entry *e;
    size_t n = 43;
    for (struct order_at at = {0}; (e = order_next(&o, &at)); n++) {
        n = n == ORDER_CHUNK ? ORDER_CHUNK + 40 : n;
        assert_ptr_equal(e->item, all.p[n]);
    }
    assert_int_equal(n, all.n);
    order_done(&o);
    items_done(&all);
}

static void a_reference_outlives_the_cache(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct cache *c = cache_new(&(struct item_shape){0});
    struct plain p = {.version = 3, .app = -1, .tier = -1};
    assert_null(cache_put(c, make(&a, 2, 9, &p, cache_shape(c))));
    const struct item *item = cache_get(c, S("ns2"), S("n9"));
    assert_null(cache_get(c, S("ns2"), S("n8")));
    assert_null(cache_get(c, S(""), S("n9")));
    cache_free(c);
    assert_true(str_eq(item_name(item), S("n9")));
    item_unref(item);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_answers_as_a_plain_array_would),
        cmocka_unit_test(sizes_follow_what_is_there),
        cmocka_unit_test(what_has_shrunk_takes_less),
        cmocka_unit_test(a_reference_outlives_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
