/* SPDX-License-Identifier: Apache-2.0 */
/* A queue among threads: nothing is lost, nothing runs twice at once, whatever the others do. The thread sanitizer watches this
 * program too (tools/test). */
#include "control/queue.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KEYS = 50, WORKERS = 4, ADDERS = 3, ADDS = 5000 };

struct crowd {
    struct loop *loop;
    struct queue *q;
    atomic_bool is_at_work[KEYS];
    atomic_uint wanted[KEYS]; /* counted up before each addition… */
    atomic_uint seen[KEYS];   /* …and read at the beginning of each visit */
    atomic_uint visits, wrong;
};

static str name_of(int k)
{
    static const char names[KEYS * 2 + 1] = "00010203040506070809101112131415161718192021222324"
                                            "25262728293031323334353637383940414243444546474849";
    return (str){names + (size_t)k * 2, 2};
}

static int key_of(str name)
{
    return (name.p[0] - '0') * 10 + name.p[1] - '0';
}

static void *work(void *arg)
{
    struct crowd *c = arg;
    str key;
    while (queue_take(c->q, &key)) {
        int k = key_of(key);
        if (atomic_exchange(&c->is_at_work[k], true))
            atomic_fetch_add(&c->wrong, 1);
        atomic_store(&c->seen[k], atomic_load(&c->wanted[k]));
        unsigned n = atomic_fetch_add(&c->visits, 1);
        if (n % 7 == 0)
            queue_retry(c->q, key);
        else if (n % 7 == 1)
            queue_add_after(c->q, key, 1000);
        else
            queue_forget(c->q, key);
        atomic_store(&c->is_at_work[k], false);
        queue_done(c->q, key);
    }
    return NULL;
}

static void *add_all(void *arg)
{
    struct crowd *c = arg;
    struct random_seeded seed = {(uintptr_t)&seed};
    struct random random = random_of_seed(&seed);
    for (int i = 0; i < ADDS; i++) {
        int k = (int)random_below(&random, KEYS);
        atomic_fetch_add(&c->wanted[k], 1);
        if (i % 3 == 0)
            queue_add_after(c->q, name_of(k), random_below(&random, 100000));
        else
            queue_add(c->q, name_of(k));
        if (i % 100 == 0)
            (void)queue_stats(c->q);
    }
    return NULL;
}

/* Every addition is followed by a visit that began after it. */
static bool all_seen(struct crowd *c)
{
    for (int k = 0; k < KEYS; k++)
        if (atomic_load(&c->seen[k]) != atomic_load(&c->wanted[k]))
            return false;
    return true;
}

static void nothing_is_lost_and_nothing_runs_twice_at_once(void **state)
{
    struct crowd *c = calloc(1, sizeof *c);
    pthread_t workers[WORKERS], adders[ADDERS];
    assert_non_null(c);
    assert_int_equal(loop_new(&c->loop, NULL), 0);
    c->q = queue_new(&(struct queue_options){
        .loop = c->loop, .clock = clock_system, .random = random_system, .base_ns = 1000, .max_ns = 100000});
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, work, c), 0);
    for (int i = 0; i < ADDERS; i++)
        assert_int_equal(pthread_create(&adders[i], NULL, add_all, c), 0);
    unsigned total = 0;
    while (total < ADDERS * ADDS || !all_seen(c)) {
        loop_turn(c->loop, 1000000);
        total = 0;
        for (int k = 0; k < KEYS; k++)
            total += atomic_load(&c->wanted[k]);
    }
    queue_close(c->q);
    for (int i = 0; i < ADDERS; i++)
        assert_int_equal(pthread_join(adders[i], NULL), 0);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(workers[i], NULL), 0);
    assert_int_equal(atomic_load(&c->wrong), 0);
    assert_int_equal(queue_stats(c->q).at_work, 0);
    queue_free(c->q);
    loop_free(c->loop);
    free(c);
}

static void *take_one(void *arg)
{
    str key;
    struct queue *q = arg;
    return queue_take(q, &key) ? arg : NULL;
}

static void closing_wakes_everybody(void **state)
{
    struct loop *loop;
    pthread_t threads[WORKERS];
    assert_int_equal(loop_new(&loop, NULL), 0);
    struct queue *q = queue_new(&(struct queue_options){.loop = loop, .clock = clock_system, .random = random_system});
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_one, q), 0);
    queue_close(q);
    for (int i = 0; i < WORKERS; i++) {
        void *took;
        assert_int_equal(pthread_join(threads[i], &took), 0);
        assert_null(took);
    }
    queue_free(q);
    loop_free(loop);
}

struct holder {
    struct queue *q;
    atomic_uint taken;
    atomic_bool can_go;
};

static void *take_and_hold(void *arg)
{
    struct holder *h = arg;
    str key;
    while (queue_take(h->q, &key)) {
        atomic_fetch_add(&h->taken, 1);
        while (!atomic_load(&h->can_go))
            (void)sched_yield();
        queue_done(h->q, key);
    }
    return NULL;
}

/* Keys that are due together go to as many workers as there are. */
static void all_workers_get_what_is_due(void **state)
{
    struct loop *loop;
    pthread_t threads[WORKERS];
    struct holder h = {0};
    assert_int_equal(loop_new(&loop, NULL), 0);
    h.q = queue_new(&(struct queue_options){.loop = loop, .clock = clock_system, .random = random_system});
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_hold, &h), 0);
    for (int i = 0; i < WORKERS; i++)
        queue_add_after(h.q, name_of(i), 2000000);
    while (atomic_load(&h.taken) < WORKERS)
        loop_turn(loop, 1000000);
    atomic_store(&h.can_go, true);
    queue_close(h.q);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    queue_free(h.q);
    loop_free(loop);
}

static void come_again(struct loop *loop)
{
    pthread_t thread;
    str key;
    struct holder h = {.can_go = true};
    h.q = queue_new(&(struct queue_options){.loop = loop, .clock = clock_system, .random = random_system});
    queue_add(h.q, S("k"));
    assert_true(queue_try_take(h.q, &key));
    assert_int_equal(pthread_create(&thread, NULL, take_and_hold, &h), 0);
    for (int k = 0; k < 100; k++)
        (void)sched_yield(); /* most of the time it waits by now */
    queue_add(h.q, key);
    queue_done(h.q, key);
    while (atomic_load(&h.taken) == 0)
        (void)sched_yield();
    queue_close(h.q);
    assert_int_equal(pthread_join(thread, NULL), 0);
    queue_free(h.q);
}

/* What comes again is for whoever waits, not only for the one that has it. */
static void what_comes_again_wakes_a_worker(void **state)
{
    struct loop *loop;
    assert_int_equal(loop_new(&loop, NULL), 0);
    for (int i = 0; i < 50; i++)
        come_again(loop);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_and_nothing_runs_twice_at_once),
        cmocka_unit_test(closing_wakes_everybody),
        cmocka_unit_test(all_workers_get_what_is_due),
        cmocka_unit_test(what_comes_again_wakes_a_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
