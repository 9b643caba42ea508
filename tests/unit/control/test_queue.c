/* SPDX-License-Identifier: Apache-2.0 */
/* The queue around the backlog: its timer on the loop, and its end. Time is a fake clock's. */
#include "control/queue.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

struct world {
    struct clock_fake time;
    struct random_seeded seed;
    struct loop *loop;
    struct queue *q;
};

static void setup(struct world *w)
{
    *w = (struct world){.time = {.mono = 1000}, .seed = {3}};
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->q = queue_new(&(struct queue_options){
        .loop = w->loop, .clock = clock, .random = random_of_seed(&w->seed), .base_ns = 100 * MS, .max_ns = 1000 * MS});
}

static void teardown(struct world *w)
{
    queue_free(w->q);
    loop_free(w->loop);
}

static void pass(struct world *w, int64_t ns)
{
    loop_turn(w->loop, 0); /* whatever was posted sets the timer now */
    clock_fake_advance(&w->time, ns);
    loop_turn(w->loop, 0);
}

static void assert_takes(struct world *w, const char *want)
{
    str key;
    if (want == NULL) {
        assert_false(queue_try_take(w->q, &key));
        return;
    }
    assert_true(queue_try_take(w->q, &key));
    assert_true(str_eq(key, str_of(want)));
}

static void later_keys_come_in_their_time(void **state)
{
    struct world w;
    setup(&w);
    queue_add_after(w.q, S("c"), 30 * MS);
    queue_add_after(w.q, S("a"), 10 * MS);
    pass(&w, 5 * MS);
    queue_add_after(w.q, S("b"), 4 * MS); /* earlier than the timer was set to */
    assert_takes(&w, NULL);
    pass(&w, 4 * MS);
    assert_takes(&w, "b");
    assert_takes(&w, NULL);
    pass(&w, 1 * MS);
    assert_takes(&w, "a");
    pass(&w, 20 * MS - 1);
    assert_takes(&w, NULL);
    pass(&w, 1);
    assert_takes(&w, "c");
    teardown(&w);
}

static void no_delay_is_now(void **state)
{
    struct world w;
    setup(&w);
    queue_add_after(w.q, S("a"), 0);
    queue_add_after(w.q, S("b"), -1);
    assert_takes(&w, "a");
    assert_takes(&w, "b");
    queue_add_after(w.q, S("c"), INT64_MAX); /* some day */
    pass(&w, INT64_MAX / 2);
    assert_takes(&w, NULL);
    teardown(&w);
}

static void failures_come_back(void **state)
{
    struct world w;
    setup(&w);
    queue_add(w.q, S("a"));
    assert_takes(&w, "a");
    assert_int_equal(queue_retry(w.q, S("a")), 1);
    queue_done(w.q, S("a"));
    pass(&w, 89 * MS);
    assert_takes(&w, NULL);
    pass(&w, 22 * MS);
    assert_takes(&w, "a");
    assert_int_equal(queue_failures(w.q, S("a")), 1);
    assert_int_equal(queue_retry(w.q, S("a")), 2);
    queue_done(w.q, S("a"));
    pass(&w, 179 * MS);
    assert_takes(&w, NULL);
    pass(&w, 42 * MS);
    assert_takes(&w, "a");
    queue_forget(w.q, S("a"));
    assert_int_equal(queue_failures(w.q, S("a")), 0);
    queue_done(w.q, S("a"));
    assert_int_equal(queue_stats(w.q).retries, 2);
    teardown(&w);
}

/* A retry whose time comes while the key is at work is not lost. */
static void time_that_comes_at_work_counts(void **state)
{
    struct world w;
    setup(&w);
    queue_add_after(w.q, S("a"), 10 * MS);
    queue_add(w.q, S("a"));
    assert_takes(&w, "a");
    pass(&w, 10 * MS);
    assert_takes(&w, NULL);
    queue_done(w.q, S("a"));
    assert_takes(&w, "a");
    queue_done(w.q, S("a"));
    assert_takes(&w, NULL);
    teardown(&w);
}

static void a_closed_queue_gives_and_takes_nothing(void **state)
{
    struct world w;
    str key;
    setup(&w);
    queue_add(w.q, S("at work"));
    assert_takes(&w, "at work");
    queue_add(w.q, S("a"));
    queue_add_after(w.q, S("b"), 1 * MS);
    loop_turn(w.loop, 0);
    queue_close(w.q);
    assert_false(queue_take(w.q, &key));
    assert_takes(&w, NULL);
    queue_add(w.q, S("c"));
    queue_add_after(w.q, S("d"), 1 * MS);
    assert_int_equal(queue_retry(w.q, S("at work")), 0);
    queue_done(w.q, S("at work"));
    pass(&w, 1 * MS);
    assert_takes(&w, NULL);
    struct backlog_stats s = queue_stats(w.q);
    assert_int_equal(s.depth, 1);
    assert_int_equal(s.later, 1);
    assert_int_equal(s.at_work, 0);
    teardown(&w);
}

/* The loop still has the queue's work, and its timer, when it goes. */
static void can_be_freed_at_any_time(void **state)
{
    struct world w;
    setup(&w);
    queue_add_after(w.q, S("a"), 10 * MS);
    loop_turn(w.loop, 0);
    queue_add_after(w.q, S("b"), 5 * MS);
    queue_free(w.q);
    w.q = NULL;
    pass(&w, 10 * MS);
    queue_free(NULL);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_keys_come_in_their_time),
        cmocka_unit_test(no_delay_is_now),
        cmocka_unit_test(failures_come_back),
        cmocka_unit_test(time_that_comes_at_work_counts),
        cmocka_unit_test(a_closed_queue_gives_and_takes_nothing),
        cmocka_unit_test(can_be_freed_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
