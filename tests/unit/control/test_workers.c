/* SPDX-License-Identifier: Apache-2.0 */
/* The worker threads of a controller: started when keys wait, ended when they are not needed, and refused by the system. Threads are
 * counted by standing between the program and pthread_create and pthread_join (see meson.build). The thread sanitizer watches this
 * program too (tools/test). */
#include "control/control.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000000)

enum { WORKERS = 4, KEYS = 100 };

/* ---- Threads that can be refused. ---- */

static size_t n_created, n_joined;
static bool is_refusing;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __real_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_join(pthread_t thread, void **ret);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    if (is_refusing)
        return EAGAIN;
    n_created++;
    return __real_pthread_create(thread, attr, fn, arg);
}

int __wrap_pthread_join(pthread_t thread, void **ret)
{
    n_joined++;
    return __real_pthread_join(thread, ret);
}

/* ---- A controller whose visits wait as long as the test wants. ---- */

struct world {
    struct clock_fake time;
    struct random_seeded seed;
    struct loop *loop;
    struct log log;
    struct control *c;
    struct controller *k;
    atomic_int visits, at_work;
    atomic_bool is_held;
    atomic_bool is_key_at_work[KEYS];
    atomic_uint wanted[KEYS]; /* counted up before each addition… */
    atomic_uint seen[KEYS];   /* …and read at the beginning of each visit */
    atomic_uint wrong;
    char lines[1024]; /* of the log */
    bool is_stopped;
};

static int key_number(str name)
{
    return (name.p[0] - '0') * 10 + name.p[1] - '0';
}

static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct world *w = ctx;
    int key = key_number(r->name);
    (void)err;
    if (atomic_exchange(&w->is_key_at_work[key], true))
        atomic_fetch_add(&w->wrong, 1);
    atomic_store(&w->seen[key], atomic_load(&w->wanted[key]));
    atomic_fetch_add(&w->at_work, 1);
    atomic_fetch_add(&w->visits, 1);
    while (atomic_load(&w->is_held))
        (void)sched_yield();
    atomic_fetch_sub(&w->at_work, 1);
    atomic_store(&w->is_key_at_work[key], false);
    return 0;
}

static void write_line(void *ctx, str line)
{
    struct world *w = ctx;
    size_t n = strlen(w->lines);
    (void)snprintf(w->lines + n, sizeof w->lines - n, "%.*s", STR(line));
}

static void setup(struct world *w, unsigned workers)
{
    memset(w, 0, sizeof *w);
    w->time.mono = 1000;
    w->seed.state = 3;
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->log = (struct log){.level = LOG_INFO, .clock = clock, .write = write_line, .ctx = w};
    w->c = control_new(
        &(struct control_options){.loop = w->loop, .clock = clock, .random = random_of_seed(&w->seed), .log = &w->log});
    w->k = control_add(
        w->c, &(struct controller_options){.name = "keys", .reconcile = reconcile, .ctx = w, .workers = workers});
    n_created = n_joined = 0;
    control_start(w->c);
}

static void on_stopped(void *ctx)
{
    ((struct world *)ctx)->is_stopped = true;
}

static void teardown(struct world *w)
{
    control_stop(w->c, on_stopped, w);
    while (!w->is_stopped)
        loop_turn(w->loop, -1);
    assert_int_equal(n_joined, n_created);
    assert_int_equal(atomic_load(&w->wrong), 0);
    control_free(w->c);
    loop_free(w->loop);
}

static void add_key(struct world *w, int key)
{
    char name[3] = {(char)('0' + key / 10), (char)('0' + key % 10), 0};
    atomic_fetch_add(&w->wanted[key], 1);
    control_enqueue(w->k, (str){0}, str_of(name));
}

static void await_count(struct world *w, const atomic_int *count, int n)
{
    while (atomic_load(count) != n) {
        loop_turn(w->loop, 0);
        (void)sched_yield();
    }
}

/* A visit is over a moment after reconcile has returned. */
static void await_idle(struct world *w)
{
    for (;;) {
        struct arena a ARENA_SCOPE = {0};
        struct buf b = {.arena = &a};
        control_metrics_write(w->c, &b);
        if (str_find(buf_str(&b), S("controller_runtime_active_workers{controller=\"keys\"} 0\n")) >= 0)
            return;
        (void)sched_yield();
    }
}

static void await_threads(struct world *w, size_t n)
{
    while (n_created - n_joined != n)
        loop_turn(w->loop, -1);
}

/* Whatever was posted is served before, and what is due then after. */
static void pass(struct world *w, int64_t ns)
{
    loop_turn(w->loop, 0);
    clock_fake_advance(&w->time, ns);
    loop_turn(w->loop, 0);
}

/* ---- Starting. ---- */

static void keys_start_workers_and_nothing_else_does(void **state)
{
    struct world w;
    setup(&w, WORKERS);
    pass(&w, SECOND);
    assert_int_equal(n_created, 0);
    atomic_store(&w.is_held, true);
    for (int i = 0; i < WORKERS - 1; i++) {
        add_key(&w, i);
        await_count(&w, &w.at_work, i + 1);
        assert_int_equal(n_created, i + 1);
    }
    for (int i = 0; i < KEYS; i++)
        add_key(&w, i);
    await_count(&w, &w.at_work, WORKERS);
    assert_int_equal(n_created, WORKERS); /* and no more */
    atomic_store(&w.is_held, false);
    await_count(&w, &w.visits, KEYS + WORKERS - 1); /* those that were at work came again */
    assert_int_equal(n_created, WORKERS);
    teardown(&w);
}

static void a_worker_that_is_free_is_used_again(void **state)
{
    struct world w;
    setup(&w, WORKERS);
    for (int i = 0; i < 50; i++) {
        add_key(&w, i);
        await_count(&w, &w.visits, i + 1);
        await_idle(&w);
    }
    assert_int_equal(n_created, 1);
    teardown(&w);
}

/* ---- Ending. ---- */

static void fill_workers(struct world *w)
{
    atomic_store(&w->is_held, true);
    for (int i = 0; i < WORKERS; i++)
        add_key(w, i);
    await_count(w, &w->at_work, WORKERS);
    atomic_store(&w->is_held, false);
    await_idle(w);
}

static void workers_end_when_nothing_is_left_to_do(void **state)
{
    struct world w;
    setup(&w, WORKERS);
    for (size_t round = 1; round <= 3; round++) {
        fill_workers(&w);
        pass(&w, 5 * SECOND - 1);
        assert_int_equal(n_created - n_joined, WORKERS);
        pass(&w, 1); /* they were needed within these five seconds… */
        assert_int_equal(n_created - n_joined, WORKERS);
        pass(&w, 5 * SECOND); /* …and not within these */
        await_threads(&w, 0);
        assert_int_equal(n_created, round * WORKERS);
        for (int i = 0; i < 5; i++)
            pass(&w, 60 * SECOND); /* nothing wakes up any more, and nothing starts */
        assert_int_equal(n_created, round * WORKERS);
    }
    teardown(&w);
}

static void as_many_stay_as_are_needed(void **state)
{
    struct world w;
    setup(&w, WORKERS);
    fill_workers(&w);
    int visits = atomic_load(&w.visits);
    for (int i = 0; i < 20; i++) { /* a key now and then, whichever worker takes it */
        pass(&w, SECOND);
        add_key(&w, 50);
        await_count(&w, &w.visits, ++visits);
        await_idle(&w);
    }
    await_threads(&w, 1);
    assert_int_equal(n_created, WORKERS);
    atomic_store(&w.is_held, true);
    add_key(&w, 7);
    await_count(&w, &w.at_work, 1);
    for (int i = 0; i < 5; i++)
        pass(&w, 5 * SECOND);
    assert_int_equal(n_created - n_joined, 1); /* one at work stays however long it takes */
    atomic_store(&w.is_held, false);
    teardown(&w);
}

/* ---- The system refuses. ---- */

static void refused_workers_are_started_later(void **state)
{
    struct world w;
    setup(&w, WORKERS);
    is_refusing = true;
    add_key(&w, 1);
    for (int i = 0; i < 3; i++)
        pass(&w, SECOND);
    add_key(&w, 2); /* does not try before its time */
    pass(&w, SECOND - 1);
    assert_int_equal(atomic_load(&w.visits), 0);
    assert_string_equal(w.lines,
                        "time=1970-01-01T00:00:00.000Z level=error msg=\"cannot start a worker thread, trying again "
                        "every second\" controller=keys error=\"Resource temporarily unavailable\" workers=0\n");
    is_refusing = false;
    pass(&w, 1);
    await_count(&w, &w.visits, 2);
    assert_int_equal(n_created, 2);
    teardown(&w);
}

static void one_worker_is_enough_for_all_keys(void **state)
{
    struct world w;
    setup(&w, WORKERS);
    atomic_store(&w.is_held, true);
    add_key(&w, 0);
    await_count(&w, &w.at_work, 1);
    is_refusing = true;
    for (int i = 1; i < KEYS; i++)
        add_key(&w, i);
    pass(&w, 0);
    atomic_store(&w.is_held, false);
    await_count(&w, &w.visits, KEYS);
    await_idle(&w);
    assert_int_equal(n_created, 1);
    for (int i = 0; i < 2; i++)
        pass(&w, 5 * SECOND);
    await_threads(&w, 0);
    is_refusing = false;
    add_key(&w, 0);
    await_count(&w, &w.visits, KEYS + 1);
    teardown(&w);
}

static void stops_while_workers_are_refused(void **state)
{
    for (int with_worker = 0; with_worker < 2; with_worker++) {
        struct world w;
        setup(&w, WORKERS);
        if (with_worker) {
            atomic_store(&w.is_held, true);
            add_key(&w, 0);
            await_count(&w, &w.at_work, 1);
        }
        is_refusing = true;
        add_key(&w, 1);
        pass(&w, 0);
        assert_string_not_equal(w.lines, "");
        atomic_store(&w.is_held, false);
        teardown(&w);
        is_refusing = false;
    }
}

/* ---- Nothing is lost while workers come and go. ---- */

static void *add_keys(void *arg)
{
    struct world *w = arg;
    struct random_seeded seed = {(uintptr_t)&seed};
    struct random random = random_of_seed(&seed);
    for (int i = 0; i < 3000; i++) {
        add_key(w, (int)random_below(&random, KEYS));
        if (i % 8 == 0)
            (void)sched_yield();
    }
    return NULL;
}

static bool is_all_seen(struct world *w)
{
    for (int k = 0; k < KEYS; k++)
        if (atomic_load(&w->seen[k]) != atomic_load(&w->wanted[k]))
            return false;
    return true;
}

static void nothing_is_lost_while_workers_come_and_go(void **state)
{
    struct world w;
    pthread_t adders[2];
    struct random_seeded seed = {1};
    struct random random = random_of_seed(&seed);
    setup(&w, WORKERS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(__real_pthread_create(&adders[i], NULL, add_keys, &w), 0);
    for (unsigned total = 0; total < 2 * 3000 || !is_all_seen(&w);) {
        is_refusing = random_below(&random, 4) == 0;
        pass(&w, 5 * SECOND);
        total = 0;
        for (int k = 0; k < KEYS; k++)
            total += atomic_load(&w.wanted[k]);
    }
    is_refusing = false;
    for (int i = 0; i < 2; i++)
        assert_int_equal(__real_pthread_join(adders[i], NULL), 0);
    await_idle(&w);
    for (int i = 0; i < 3; i++)
        pass(&w, 5 * SECOND);
    await_threads(&w, 0);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_start_workers_and_nothing_else_does),
        cmocka_unit_test(a_worker_that_is_free_is_used_again),
        cmocka_unit_test(workers_end_when_nothing_is_left_to_do),
        cmocka_unit_test(as_many_stay_as_are_needed),
        cmocka_unit_test(refused_workers_are_started_later),
        cmocka_unit_test(one_worker_is_enough_for_all_keys),
        cmocka_unit_test(stops_while_workers_are_refused),
        cmocka_unit_test(nothing_is_lost_while_workers_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
