/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static int one, two;

static void empty_map_has_nothing(void **state)
{
    struct map m = {0};
    size_t at = 0;
    str key;
    void *value;
    assert_null(map_get(&m, S("a")));
    assert_null(map_del(&m, S("a")));
    assert_false(map_next(&m, &at, &key, &value));
    map_done(&m);
    map_done(&m);
}

static void set_get_replace_delete(void **state)
{
    struct map m = {0};
    assert_null(map_set(&m, S("a"), &one));
    assert_ptr_equal(map_get(&m, S("a")), &one);
    assert_ptr_equal(map_set(&m, S("a"), &two), &one);
    assert_ptr_equal(map_get(&m, S("a")), &two);
    assert_int_equal(m.n, 1);
    assert_ptr_equal(map_del(&m, S("a")), &two);
    assert_null(map_get(&m, S("a")));
    assert_null(map_del(&m, S("a")));
    assert_int_equal(m.n, 0);
    map_done(&m);
}

static void keys_are_bytes(void **state)
{
    struct map m = {0};
    map_set(&m, S(""), &one);
    map_set(&m, S("a\0b"), &two);
    assert_ptr_equal(map_get(&m, (str){0}), &one);
    assert_ptr_equal(map_get(&m, S("a\0b")), &two);
    assert_null(map_get(&m, S("a")));
    assert_null(map_get(&m, S("a\0c")));
    map_done(&m);
}

enum { KEYS = 500 };

/* Against an array with the same content; the seed is fixed, so a failure comes again. */
static void agrees_with_a_plain_array(void **state)
{
    struct random_seeded seed = {42};
    struct random r = random_of_seed(&seed);
    struct arena a ARENA_SCOPE = {0};
    struct map m = {0};
    static int values[KEYS];
    void *plain[KEYS] = {0};
    str keys[KEYS];
    size_t n = 0;
    for (size_t i = 0; i < KEYS; i++)
        keys[i] = str_fmt(&a, "key-%zu", i);
    for (int step = 0; step < 20000; step++) {
        size_t i = random_below(&r, KEYS);
        if (random_below(&r, 2)) {
            assert_ptr_equal(map_set(&m, keys[i], &values[i]), plain[i]);
            n += plain[i] == NULL;
            plain[i] = &values[i];
        } else {
            assert_ptr_equal(map_del(&m, keys[i]), plain[i]);
            n -= plain[i] != NULL;
            plain[i] = NULL;
        }
        assert_int_equal(m.n, n);
        size_t k = random_below(&r, KEYS);
        assert_ptr_equal(map_get(&m, keys[k]), plain[k]);
    }
    for (size_t i = 0; i < KEYS; i++)
        assert_ptr_equal(map_get(&m, keys[i]), plain[i]);
    map_done(&m);
}

static void next_comes_by_every_entry_once(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct map m = {0};
    int seen[KEYS] = {0};
    for (size_t i = 0; i < KEYS; i++)
        map_set(&m, str_fmt(&a, "%zu", i), &seen[i]);
    size_t at = 0, n = 0;
    str key;
    void *value;
    while (map_next(&m, &at, &key, &value)) {
        uint64_t i = 0;
        assert_true(str_to_uint64(key, &i));
        assert_ptr_equal(value, &seen[i]);
        seen[i]++;
        n++;
    }
    assert_int_equal(n, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(seen[i], 1);
    map_done(&m);
}

static void hash_depends_on_all_bytes(void **state)
{
    assert_true(hash_str(S("abc")) == hash_str(S("abc")));
    assert_true(hash_str(S("abc")) != hash_str(S("abd")));
    assert_true(hash_str(S("")) == hash_str((str){0}));
    assert_true(hash_str(S("a")) != hash_str(S("a\0")));
}

static void interned_strings_are_one(void **state)
{
    struct intern in = {0};
    char text[] = "name";
    str first = intern_str(&in, str_of(text));
    assert_ptr_equal(first.p, intern_str(&in, S("name")).p);
    assert_ptr_not_equal(first.p, text);
    assert_ptr_not_equal(first.p, intern_str(&in, S("names")).p);
    text[0] = 'x';
    assert_string_equal(first.p, "name");
    str empty = intern_str(&in, (str){0});
    assert_ptr_equal(empty.p, intern_str(&in, S("")).p);
    assert_string_equal(empty.p, "");
    for (int i = 0; i < 1000; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i % 100);
        (void)intern_str(&in, str_of(number));
    }
    assert_int_equal(in.known.n, 103);
    assert_ptr_equal(first.p, intern_str(&in, S("name")).p);
    intern_done(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_map_has_nothing),
        cmocka_unit_test(set_get_replace_delete),
        cmocka_unit_test(keys_are_bytes),
        cmocka_unit_test(agrees_with_a_plain_array),
        cmocka_unit_test(next_comes_by_every_entry_once),
        cmocka_unit_test(hash_depends_on_all_bytes),
        cmocka_unit_test(interned_strings_are_one),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
