/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void fake_repeats_itself(void **state)
{
    struct random_seeded a = {7}, b = {7}, c = {8};
    struct random x = random_of_seed(&a), y = random_of_seed(&b), z = random_of_seed(&c);
    bool other = false;
    for (int i = 0; i < 100; i++) {
        uint64_t v = random_uint64(&x);
        assert_true(v == random_uint64(&y));
        other |= v != random_uint64(&z);
    }
    assert_true(other);
}

static void fills_any_length(void **state)
{
    struct random_seeded seed = {1};
    struct random r = random_of_seed(&seed);
    for (size_t n = 0; n < 40; n++) {
        unsigned char bytes[48];
        memset(bytes, 0xaa, sizeof bytes);
        r.fill(r.ctx, bytes, n);
        for (size_t i = n; i < sizeof bytes; i++)
            assert_int_equal(bytes[i], 0xaa);
    }
}

static void below_is_even_and_in_range(void **state)
{
    struct random_seeded seed = {99};
    struct random r = random_of_seed(&seed);
    int count[27] = {0};
    for (int i = 0; i < 27000; i++)
        count[random_below(&r, 27)]++;
    for (int i = 0; i < 27; i++)
        assert_in_range(count[i], 850, 1150);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(random_below(&r, 1), 0);
        assert_true(random_below(&r, UINT32_MAX) < UINT32_MAX);
        assert_true(random_below(&r, 0x80000001U) <= 0x80000000U);
    }
}

static void system_gives_something_new(void **state)
{
    unsigned char bytes[1000] = {0};
    assert_true(random_uint64(&random_system) != random_uint64(&random_system));
    random_system.fill(random_system.ctx, bytes, sizeof bytes);
    size_t zeros = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        zeros += bytes[i] == 0;
    assert_true(zeros < 100);
    random_system.fill(random_system.ctx, bytes, 0);
}

static void a_pool_gives_each_byte_once(void **state)
{
    enum { N = 1000 };
    static uint64_t seen[N];
    struct random_pool pool = {0};
    struct random r = random_of_pool(&pool);
    for (size_t i = 0; i < N; i++) {
        seen[i] = random_uint64(&r);
        for (size_t j = pool.left; j < sizeof pool.bytes; j++)
            assert_int_equal(pool.bytes[j], 0); /* what was given out is not kept */
        for (size_t j = 0; j < i; j++)
            assert_true(seen[i] != seen[j]);
    }
    unsigned char large[4 * sizeof pool.bytes] = {0};
    size_t zeros = 0;
    r.fill(r.ctx, large, sizeof large);
    for (size_t i = 0; i < sizeof large; i++)
        zeros += large[i] == 0;
    assert_true(zeros < sizeof large / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fake_repeats_itself),         cmocka_unit_test(fills_any_length),
        cmocka_unit_test(below_is_even_and_in_range),  cmocka_unit_test(system_gives_something_new),
        cmocka_unit_test(a_pool_gives_each_byte_once),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
