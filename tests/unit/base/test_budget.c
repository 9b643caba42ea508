/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"
#include "base/fiber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void nothing_is_counted_without_a_budget(void **state)
{
    (void)state;
    assert_true(budget_charge(SIZE_MAX / 4));
    assert_false(budget_is_exhausted());
    budget_hold();
    budget_release();
}

static void past_the_total_it_stays_exhausted(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, 100000);
    struct budget *before = budget_swap(&b);
    size_t charged = 0;
    while (budget_charge(1000))
        charged += 1000;
    assert_in_range(charged, 100000, 200000);
    assert_true(budget_is_exhausted());
    assert_false(budget_charge(1));
    budget_renew(&b, 1000000);
    assert_false(budget_charge(1));
    assert_ptr_equal(budget_swap(before), &b);
}

static void renewed_budget_starts_again(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, 1000000);
    struct budget *before = budget_swap(&b);
    for (int i = 0; i < 20; i++) {
        assert_true(budget_charge(400000));
        assert_true(budget_charge(400000));
        budget_renew(&b, 1000000);
    }
    budget_swap(before);
}

struct worker {
    struct budget budget;
    size_t done;
    bool holds;
};

static void work(void *arg)
{
    struct worker *w = arg;
    if (w->holds)
        budget_hold();
    for (int i = 0; i < 100; i++) {
        w->done++;
        if (!budget_charge(10))
            break;
    }
    if (w->holds)
        budget_release();
    w->done += 1000;
}

static struct fiber *run(struct fiber_pool *pool, struct worker *w, struct fiber *f)
{
    budget_grant(&w->budget, 100);
    struct budget *before = budget_swap(&w->budget);
    f = f ? (fiber_resume(f) ? f : NULL) : fiber_start(pool, work, w);
    budget_swap(before);
    budget_settle(&w->budget);
    return f;
}

static void slice_that_is_used_up_yields(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    struct worker w = {0};
    budget_init(&w.budget, 1000000);
    struct fiber *f = NULL;
    int slices = 0;
    do {
        f = run(&pool, &w, f);
        slices++;
    } while (f);
    assert_int_equal(w.done, 1100);
    assert_in_range(slices, 9, 11);
    assert_int_equal(w.budget.used, 1000);
    fiber_pool_done(&pool);
}

static void exhausted_work_ends_early(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    struct worker w = {0};
    budget_init(&w.budget, 300);
    struct fiber *f = NULL;
    do
        f = run(&pool, &w, f);
    while (f);
    assert_true(w.budget.is_exhausted);
    assert_in_range(w.done, 1030, 1045);
    fiber_pool_done(&pool);
}

static void work_that_is_told_to_end_ends(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    struct worker w = {0};
    budget_init(&w.budget, 1000000);
    struct fiber *f = run(&pool, &w, NULL);
    assert_non_null(f);
    budget_exhaust(&w.budget);
    while (f)
        f = run(&pool, &w, f);
    assert_in_range(w.done, 1001, 1015);
    fiber_pool_done(&pool);
}

static void held_work_yields_at_the_release(void **state)
{
    (void)state;
    struct fiber_pool pool = {0};
    struct worker w = {.holds = true};
    budget_init(&w.budget, 1000000);
    struct fiber *f = run(&pool, &w, NULL);
    assert_non_null(f);
    assert_int_equal(w.done, 100);
    assert_null(run(&pool, &w, f));
    assert_int_equal(w.done, 1100);
    fiber_pool_done(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_counted_without_a_budget), cmocka_unit_test(past_the_total_it_stays_exhausted),
        cmocka_unit_test(renewed_budget_starts_again),         cmocka_unit_test(slice_that_is_used_up_yields),
        cmocka_unit_test(exhausted_work_ends_early),           cmocka_unit_test(work_that_is_told_to_end_ends),
        cmocka_unit_test(held_work_yields_at_the_release),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
