/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: timers in their order, descriptors that go away, work that waits its turn. */
#include "net/loop.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define PATIENCE (20 * INT64_C(1000000000))

static struct loop *make_loop(void)
{
    struct loop *l;
    struct err err;
    if (loop_new(&l, &err) < 0)
        fail_msg("%s", err.msg);
    return l;
}

/* ---- Timers. ---- */

enum { TIMERS = 500 };

struct clockwork {
    struct loop *loop;
    struct tick {
        struct loop_timer timer;
        struct clockwork *of;
        int64_t due; /* what it was last set to; 0: not set */
    } ticks[TIMERS];
    int fired;
    int64_t last;
};

static void on_tick(void *ctx)
{
    struct tick *t = ctx;
    struct clockwork *c = t->of;
    assert_true(t->due != 0);                 /* not one that was cancelled, and no one twice */
    assert_true(t->due <= loop_now(c->loop)); /* not before its time */
    assert_true(t->due >= c->last);           /* not after one that was due later */
    c->last = t->due;
    t->due = 0;
    c->fired++;
}

/* Sets, moves and cancels at random; whoever is set at the end must fire, once and in order. */
static void timers_fire_in_order(void **state)
{
    static struct clockwork c;
    struct random_seeded seed = {42};
    struct random r = random_of_seed(&seed);
    c = (struct clockwork){.loop = make_loop()};
    for (int i = 0; i < TIMERS; i++) {
        c.ticks[i].of = &c;
        c.ticks[i].timer = (struct loop_timer){.fn = on_tick, .ctx = &c.ticks[i]};
    }
    int set = 0;
    for (int i = 0; i < TIMERS * 20; i++) {
        struct tick *t = &c.ticks[random_below(&r, TIMERS)];
        if (random_below(&r, 4) == 0) {
            loop_timer_cancel(c.loop, &t->timer);
            t->due = 0;
        } else {
            int64_t delay = 1 + (int64_t)random_below(&r, 20 * MS);
            loop_timer_set(c.loop, &t->timer, delay);
            t->due = loop_now(c.loop) + delay;
        }
    }
    for (int i = 0; i < TIMERS; i++)
        set += c.ticks[i].due != 0;
    int64_t end = loop_now(c.loop) + PATIENCE;
    while (c.fired < set && loop_now(c.loop) < end) {
        c.last = 0; /* of one turn: moved later ones may come in any turn after their time */
        loop_turn(c.loop, MS);
    }
    assert_int_equal(c.fired, set);
    loop_turn(c.loop, 0);
    assert_int_equal(c.fired, set);
    loop_free(c.loop);
}

struct again {
    struct loop *loop;
    struct loop_timer timer;
    int n;
};

static void set_again(void *ctx)
{
    struct again *a = ctx;
    a->n++;
    loop_timer_set(a->loop, &a->timer, 0);
}

static void timers_set_by_timers_wait_a_turn(void **state)
{
    struct again a = {.loop = make_loop()};
    a.timer = (struct loop_timer){.fn = set_again, .ctx = &a};
    loop_timer_set(a.loop, &a.timer, -5);
    for (int i = 1; i <= 10; i++) {
        loop_turn(a.loop, -1);
        assert_int_equal(a.n, i);
    }
    loop_timer_set(a.loop, &a.timer, INT64_MAX); /* for ever is no overflow */
    loop_turn(a.loop, 0);
    assert_int_equal(a.n, 10);
    loop_timer_cancel(a.loop, &a.timer);
    loop_timer_cancel(a.loop, &a.timer);
    loop_free(a.loop);
}

/* ---- Descriptors. ---- */

struct pair {
    struct loop *loop;
    struct loop_fd fd;
    struct pair *other;
    int far;
    int calls;
    unsigned events;
};

static void on_pair(void *ctx, unsigned events)
{
    struct pair *p = ctx;
    p->calls++;
    p->events |= events;
    if (p->other)
        loop_fd_remove(p->loop, &p->other->fd);
}

static void pair_open(struct pair *p, struct loop *l, unsigned events)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    *p = (struct pair){.loop = l, .fd = {.fd = fds[0], .fn = on_pair, .ctx = p}, .far = fds[1]};
    assert_int_equal(loop_fd_add(l, &p->fd, events, NULL), 0);
}

static void pair_close(struct pair *p)
{
    loop_fd_remove(p->loop, &p->fd);
    (void)close(p->fd.fd);
    if (p->far >= 0)
        (void)close(p->far);
}

static void tells_edges(void **state)
{
    struct loop *l = make_loop();
    struct pair p;
    pair_open(&p, l, LOOP_READ);
    loop_turn(l, 0);
    assert_int_equal(p.calls, 0);
    assert_int_equal(write(p.far, "x", 1), 1);
    loop_turn(l, -1);
    assert_int_equal(p.calls, 1);
    assert_int_equal(p.events, LOOP_READ);
    loop_turn(l, 0); /* said once */
    assert_int_equal(p.calls, 1);
    (void)close(p.far);
    p.far = -1;
    loop_turn(l, -1);
    assert_true(p.events & LOOP_HANGUP);
    pair_close(&p);
    loop_free(l);
}

/* Two are ready in the same turn; whoever is served first removes the other. */
static void removed_descriptors_are_silent(void **state)
{
    struct loop *l = make_loop();
    struct pair p, q;
    pair_open(&p, l, LOOP_READ);
    pair_open(&q, l, LOOP_READ);
    p.other = &q;
    q.other = &p;
    assert_int_equal(write(p.far, "x", 1), 1);
    assert_int_equal(write(q.far, "x", 1), 1);
    loop_turn(l, -1);
    assert_int_equal(p.calls + q.calls, 1);
    loop_turn(l, 0);
    assert_int_equal(p.calls + q.calls, 1);
    pair_close(&p);
    pair_close(&q);
    loop_free(l);
}

/* ---- Work. ---- */

struct job {
    struct loop_work work;
    struct loop *loop;
    struct job *next; /* deferred by this one */
    struct job *off;  /* cancelled by this one */
    char *log;
    char name;
};

static void on_job(struct loop_work *w)
{
    struct job *j = (struct job *)w;
    j->log[strlen(j->log)] = j->name;
    if (j->next)
        loop_defer(j->loop, &j->next->work);
    if (j->off)
        loop_defer_cancel(j->loop, &j->off->work);
}

static void deferred_work_waits_its_turn(void **state)
{
    char log[16] = "";
    struct loop *l = make_loop();
    struct job jobs[5];
    for (int i = 0; i < 5; i++)
        jobs[i] = (struct job){.work = {.fn = on_job}, .loop = l, .log = log, .name = (char)('a' + i)};
    jobs[0].next = &jobs[3];
    jobs[1].off = &jobs[2];
    for (int i = 0; i < 3; i++)
        loop_defer(l, &jobs[i].work);
    loop_turn(l, -1); /* work that waits is no reason to wait */
    assert_string_equal(log, "ab");
    loop_turn(l, -1);
    assert_string_equal(log, "abd");
    loop_defer(l, &jobs[0].work);
    loop_defer(l, &jobs[4].work);
    loop_defer_cancel(l, &jobs[4].work); /* the last: what comes next must find its place */
    loop_defer(l, &jobs[1].work);
    loop_defer_cancel(l, &jobs[2].work); /* not there */
    loop_turn(l, -1);
    assert_string_equal(log, "abdab");
    loop_turn(l, -1);
    assert_string_equal(log, "abdabd");
    loop_free(l);
}

static void posted_work_keeps_its_order(void **state)
{
    char log[16] = "";
    struct loop *l = make_loop();
    struct job jobs[5];
    for (int i = 0; i < 5; i++) {
        jobs[i] = (struct job){.work = {.fn = on_job}, .loop = l, .log = log, .name = (char)('a' + i)};
        loop_post(l, &jobs[i].work);
    }
    loop_turn(l, -1);
    assert_string_equal(log, "abcde");
    loop_stop(l);
    loop_run(l); /* stopped beforehand: comes back */
    loop_free(l);
}

static void cancel_other(struct loop_work *w)
{
    struct job *j = (struct job *)w;
    j->log[strlen(j->log)] = j->name;
    loop_post_cancel(j->loop, &j->off->work);
}

static void posted_work_can_be_taken_back(void **state)
{
    char log[16] = "";
    struct loop *l = make_loop();
    struct job jobs[5];
    for (int i = 0; i < 5; i++) {
        jobs[i] = (struct job){.work = {.fn = on_job}, .loop = l, .log = log, .name = (char)('a' + i)};
        loop_post(l, &jobs[i].work);
    }
    loop_post_cancel(l, &jobs[4].work); /* the last: what comes next must find its place */
    loop_post_cancel(l, &jobs[4].work); /* not there any more */
    jobs[4].off = &jobs[2];
    jobs[4].work.fn = cancel_other;
    loop_post(l, &jobs[4].work);
    loop_post_cancel(l, &jobs[0].work);
    loop_turn(l, -1); /* what has arrived is no reason to wait */
    assert_string_equal(log, "bcde");
    loop_post(l, &jobs[4].work);
    loop_post(l, &jobs[2].work); /* taken back by the one before it, within the turn */
    loop_post(l, &jobs[3].work);
    loop_turn(l, -1);
    assert_string_equal(log, "bcdeed");
    loop_free(l);
}

static void count(void *ctx)
{
    ++*(int *)ctx;
}

/* An hour passes when the test says so, and not before. */
static void timers_follow_the_clock_given(void **state)
{
    struct clock_fake hands = {.wall = 1, .mono = 1};
    struct clock clock = clock_of_fake(&hands);
    struct loop *l;
    struct err err;
    int fired = 0;
    struct loop_timer timer = {.fn = count, .ctx = &fired};
    if (loop_new_on(&clock, &l, &err) < 0)
        fail_msg("%s", err.msg);
    loop_timer_set(l, &timer, 3600000 * MS);
    loop_turn(l, MS);
    clock_fake_advance(&hands, 3600000 * MS - 1);
    loop_turn(l, MS);
    assert_int_equal(fired, 0);
    clock_fake_advance(&hands, 1);
    loop_turn(l, -1); /* something is due: comes back at once */
    assert_int_equal(fired, 1);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_fire_in_order),
        cmocka_unit_test(timers_set_by_timers_wait_a_turn),
        cmocka_unit_test(tells_edges),
        cmocka_unit_test(removed_descriptors_are_silent),
        cmocka_unit_test(deferred_work_waits_its_turn),
        cmocka_unit_test(posted_work_keeps_its_order),
        cmocka_unit_test(posted_work_can_be_taken_back),
        cmocka_unit_test(timers_follow_the_clock_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
