/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fiber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char trace[64];

static char name_a[] = "a", name_b[] = "b", name_i[] = "i", name_x[] = "x";

static void put(char c)
{
    trace[strlen(trace)] = c;
}

static int clear_trace(void **state)
{
    (void)state;
    memset(trace, 0, sizeof trace);
    return 0;
}

static void run_at_once(void *arg)
{
    put(*(char *)arg);
}

static void yield_twice(void *arg)
{
    put(*(char *)arg);
    fiber_yield();
    put(*(char *)arg);
    fiber_yield();
    put(*(char *)arg);
}

static void function_that_does_not_yield_ends_at_once(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    assert_false(fiber_is_inside());
    assert_null(fiber_start(&pool, run_at_once, name_a));
    assert_string_equal(trace, name_a);
    assert_int_equal(pool.n_busy, 0);
    assert_int_equal(pool.n_idle, 1);
    fiber_pool_done(&pool);
}

static void fibers_take_turns(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    struct fiber *a = fiber_start(&pool, yield_twice, name_a), *b = fiber_start(&pool, yield_twice, name_b);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(pool.n_busy, 2);
    assert_true(fiber_resume(a));
    assert_true(fiber_resume(b));
    assert_false(fiber_resume(b));
    assert_false(fiber_resume(a));
    assert_string_equal(trace, "ababba");
    assert_int_equal(pool.n_busy, 0);
    fiber_pool_done(&pool);
}

static struct fiber *inner;

static void start_another(void *arg)
{
    inner = fiber_start(arg, yield_twice, name_i);
    assert_true(fiber_is_inside());
    put('o');
    fiber_yield();
    put('o');
}

/* The inner one yields to the outer one first, and to the thread later. */
static void fiber_starts_a_fiber(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    struct fiber *outer = fiber_start(&pool, start_another, &pool);
    assert_non_null(outer);
    assert_true(fiber_resume(inner));
    assert_false(fiber_resume(outer));
    assert_false(fiber_resume(inner));
    assert_string_equal(trace, "ioioi");
    fiber_pool_done(&pool);
}

static uint64_t recurse(uint64_t depth)
{
    volatile char frame[1024];
    frame[depth % sizeof frame] = (char)depth;
    if (depth == 0) {
        fiber_yield();
        return 0;
    }
    return recurse(depth - 1) + (unsigned char)frame[depth % sizeof frame] % 2;
}

static void go_deep(void *arg)
{
    *(uint64_t *)arg = recurse(2000);
}

/* Far deeper than JSON may be nested. */
static void deep_recursion_fits(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    for (int i = 0; i < 3; i++) {
        uint64_t odd = 0;
        struct fiber *f = fiber_start(&pool, go_deep, &odd);
        assert_non_null(f);
        assert_false(fiber_resume(f));
        assert_int_equal(odd, 1000);
    }
    assert_int_equal(pool.n_idle, 1);
    fiber_pool_done(&pool);
}

static void few_idle_stacks_are_kept(void **state)
{
    (void)state;
    enum { MANY = 50 };
    struct fiber_pool pool = {0};
    struct fiber *list[MANY];
    for (int i = 0; i < MANY; i++)
        list[i] = fiber_start(&pool, yield_twice, name_x);
    assert_int_equal(pool.n_busy, MANY);
    clear_trace(NULL);
    for (int i = 0; i < MANY; i++) {
        assert_true(fiber_resume(list[i]));
        clear_trace(NULL);
        assert_false(fiber_resume(list[i]));
    }
    assert_int_equal(pool.n_busy, 0);
    assert_in_range(pool.n_idle, 1, 16);
    fiber_pool_done(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(function_that_does_not_yield_ends_at_once, clear_trace),
        cmocka_unit_test_setup(fibers_take_turns, clear_trace),
        cmocka_unit_test_setup(fiber_starts_a_fiber, clear_trace),
        cmocka_unit_test_setup(deep_recursion_fits, clear_trace),
        cmocka_unit_test_setup(few_idle_stacks_are_kept, clear_trace),
    };
    return cmocka_run_group_tests_name("fiber", tests, NULL, NULL);
}
