/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue does, step by step, and against a model that is too simple to be wrong. */
#include "control/backlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static struct backlog *make(struct arena *a)
{
    struct backlog *b = ARENA_NEW(a, struct backlog);
    backlog_init(b, 5 * MS, 300 * SECOND, 1);
    return b;
}

static void assert_takes(struct backlog *b, int64_t now, const char *want)
{
    str key;
    if (want == NULL) {
        assert_false(backlog_take(b, now, &key));
        return;
    }
    assert_true(backlog_take(b, now, &key));
    if (!str_eq(key, str_of(want)))
        fail_msg("%.*s, not %s", STR(key), want);
}

static void each_key_waits_once_and_in_order(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct backlog *b = make(&a);
    assert_true(backlog_add(b, S("x"), 0));
    assert_true(backlog_add(b, S("y"), 0));
    assert_false(backlog_add(b, S("x"), 1));
    assert_true(backlog_add(b, S(""), 1)); /* a key like any other */
    assert_takes(b, 2, "x");
    assert_takes(b, 2, "y");
    assert_takes(b, 2, "");
    assert_takes(b, 2, NULL);
    backlog_done(b);
}

static void what_is_added_at_work_comes_again_after_it(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct backlog *b = make(&a);
    backlog_add(b, S("x"), 0);
    assert_takes(b, 0, "x");
    assert_false(backlog_add(b, S("x"), 1)); /* nobody else may have it */
    assert_false(backlog_add(b, S("x"), 1));
    assert_takes(b, 1, NULL);
    assert_int_equal(backlog_stats(b, 1).depth, 1);
    assert_true(backlog_finish(b, S("x"), 2));
    assert_takes(b, 2, "x");
    assert_false(backlog_finish(b, S("x"), 3));
    assert_takes(b, 3, NULL);
    assert_int_equal(b->keys.n, 0); /* forgotten altogether */
    backlog_done(b);
}

static void of_two_times_the_earlier_counts(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct backlog *b = make(&a);
    assert_int_equal(backlog_next(b), INT64_MAX);
    backlog_add_at(b, S("x"), 100, 0);
    backlog_add_at(b, S("x"), 200, 0);
    assert_int_equal(backlog_next(b), 100);
    backlog_add_at(b, S("x"), 50, 0);
    assert_int_equal(backlog_next(b), 50);
    assert_int_equal(backlog_wake(b, 49), 0);
    assert_int_equal(backlog_wake(b, 50), 1);
    assert_int_equal(backlog_next(b), INT64_MAX);
    assert_takes(b, 50, "x");
    assert_true(backlog_add_at(b, S("y"), 50, 50)); /* now is no later */
    assert_takes(b, 50, "y");
    backlog_done(b);
}

/* A time that was asked for is kept, though the key came by for another reason before. */
static void an_earlier_visit_takes_no_time_back(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct backlog *b = make(&a);
    backlog_add_at(b, S("x"), 100, 0);
    backlog_add(b, S("x"), 1);
    assert_takes(b, 1, "x");
    assert_int_equal(backlog_wake(b, 100), 0); /* it is at work */
    assert_true(backlog_finish(b, S("x"), 101));
    assert_takes(b, 101, "x");
    backlog_done(b);
}

static void failures_wait_twice_as_long_each_time(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct backlog *b = make(&a);
    int64_t now = 0, want = 5 * MS;
    int64_t least = INT64_MAX, most = 0; /* of a thousand delays at the upper end */
    for (uint32_t i = 1; i <= 1000; i++) {
        assert_int_equal(backlog_failures(b, S("x")), i - 1);
        assert_int_equal(backlog_retry(b, S("x"), now), i);
        int64_t delay = backlog_next(b) - now;
        assert_in_range(delay, want * 9 / 10, want * 11 / 10);
        if (want == 300 * SECOND) {
            least = delay < least ? delay : least;
            most = delay > most ? delay : most;
        }
        want = want * 2 > 300 * SECOND ? 300 * SECOND : want * 2;
        now += delay;
        assert_int_equal(backlog_wake(b, now), 1);
        assert_takes(b, now, "x");
        backlog_finish(b, S("x"), now);
    }
    assert_true(least < 275 * SECOND && most > 325 * SECOND); /* spread over the whole range */
    backlog_forget(b, S("x"));
    assert_int_equal(b->keys.n, 0);
    assert_int_equal(backlog_retry(b, S("x"), now), 1);
    assert_in_range(backlog_next(b) - now, 4500000, 5500000);
    backlog_done(b);
}

static void times_do_not_overflow(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct backlog *b = make(&a);
    backlog_retry(b, S("x"), INT64_MAX - 5);
    backlog_add_at(b, S("y"), INT64_MAX, 0);
    assert_int_equal(backlog_next(b), INT64_MAX - 1);
    backlog_done(b);
}

static void figures_are_those_of_client_go(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct backlog *b = make(&a);
    backlog_add(b, S("x"), 1 * SECOND);
    backlog_add(b, S("x"), 2 * SECOND); /* waits already: no addition */
    backlog_add(b, S("y"), 1 * SECOND);
    assert_takes(b, 3 * SECOND, "x");
    assert_takes(b, 4 * SECOND, "y");
    backlog_add(b, S("x"), 5 * SECOND);                 /* one more to do, though it cannot be taken yet */
    backlog_add_at(b, S("z"), 10 * SECOND, 5 * SECOND); /* counted as a retry, whatever it is for */
    struct backlog_stats s = backlog_stats(b, 6 * SECOND);
    assert_int_equal(s.adds, 3);
    assert_int_equal(s.retries, 1);
    assert_int_equal(s.depth, 1);
    assert_int_equal(s.later, 1);
    assert_int_equal(s.at_work, 2);
    assert_int_equal(s.longest_ns, 3 * SECOND);
    assert_int_equal(s.at_work_ns, 5 * SECOND);
    assert_int_equal(histogram_count(&s.waited), 2);
    assert_true(s.waited.sum == 5);
    backlog_finish(b, S("x"), 7 * SECOND);
    backlog_finish(b, S("y"), 7 * SECOND);
    assert_takes(b, 8 * SECOND, "x");
    s = backlog_stats(b, 9 * SECOND);
    assert_true(s.waited.sum == 8); /* x waited from 5 to 8 */
    assert_true(s.worked.sum == 7);
    assert_int_equal(s.at_work_ns, SECOND);
    assert_int_equal(s.longest_ns, SECOND);
    backlog_done(b);
}

/* ---- The model: arrays, looked through from end to end. ---- */

enum { KEYS = 12, STEPS = 200000, BASE = 4, MAX = 9 }; /* a tenth of these is nothing: delays are exact */

struct model {
    int waiting[KEYS], n_waiting; /* in order */
    int at_work[KEYS], n_at_work; /* in order */
    bool again[KEYS];
    int64_t due[KEYS]; /* 0: not later */
    uint32_t failures[KEYS];
    uint64_t adds;
};

static int find(const int *p, int n, int k)
{
    for (int i = 0; i < n; i++)
        if (p[i] == k)
            return i;
    return -1;
}

static void take_out(int *p, int *n, int i)
{
    for ((*n)--; i < *n; i++)
        p[i] = p[i + 1];
}

static bool model_add(struct model *m, int k)
{
    if (find(m->waiting, m->n_waiting, k) >= 0 || m->again[k])
        return false;
    m->adds++;
    if (find(m->at_work, m->n_at_work, k) >= 0) {
        m->again[k] = true;
        return false;
    }
    m->waiting[m->n_waiting++] = k;
    return true;
}

static int64_t model_next(const struct model *m)
{
    int64_t next = INT64_MAX;
    for (int k = 0; k < KEYS; k++)
        if (m->due[k] && m->due[k] < next)
            next = m->due[k];
    return next;
}

/* All that is due, the earliest first; no two are due at once. */
static size_t model_wake(struct model *m, int64_t now)
{
    size_t n = 0;
    for (int64_t next; (next = model_next(m)) <= now;)
        for (int k = 0; k < KEYS; k++)
            if (m->due[k] == next) {
                m->due[k] = 0;
                n += model_add(m, k);
            }
    return n;
}

static bool is_taken_time(const struct model *m, int64_t at)
{
    for (int k = 0; k < KEYS; k++)
        if (m->due[k] == at)
            return true;
    return false;
}

static void model_later(struct model *m, int k, int64_t at)
{
    if (m->due[k] == 0 || at < m->due[k])
        m->due[k] = at;
}

struct run {
    struct backlog *b;
    struct model m;
    struct random random;
    int64_t now;
};

static str name_of(int k)
{
    static const char names[KEYS + 1] = "abcdefghijkl";
    return (str){names + k, 1};
}

static void step_later(struct run *r, int k)
{
    int64_t at = r->now + 1 + random_below(&r->random, 60);
    if (is_taken_time(&r->m, at))
        return;
    assert_false(backlog_add_at(r->b, name_of(k), at, r->now));
    model_later(&r->m, k, at);
}

static void step_retry(struct run *r, int k)
{
    static const int64_t delays[] = {BASE, INT64_C(2) * BASE, MAX};
    uint32_t failures = r->m.failures[k];
    int64_t at = r->now + delays[failures < 2 ? failures : 2];
    if (is_taken_time(&r->m, at))
        return;
    assert_int_equal(backlog_retry(r->b, name_of(k), r->now), failures + 1);
    r->m.failures[k]++;
    model_later(&r->m, k, at);
}

static void step_take(struct run *r)
{
    str key;
    struct model *m = &r->m;
    bool taken = backlog_take(r->b, r->now, &key);
    assert_int_equal(taken, m->n_waiting > 0);
    if (!taken)
        return;
    int k = m->waiting[0];
    assert_true(str_eq(key, name_of(k)));
    take_out(m->waiting, &m->n_waiting, 0);
    m->at_work[m->n_at_work++] = k;
}

static void step_finish(struct run *r)
{
    struct model *m = &r->m;
    if (m->n_at_work == 0)
        return;
    int i = (int)random_below(&r->random, (uint32_t)m->n_at_work), k = m->at_work[i];
    bool again = m->again[k];
    assert_int_equal(backlog_finish(r->b, name_of(k), r->now), again);
    take_out(m->at_work, &m->n_at_work, i);
    m->again[k] = false;
    if (again)
        m->waiting[m->n_waiting++] = k;
}

static void step(struct run *r)
{
    int k = (int)random_below(&r->random, KEYS);
    switch (random_below(&r->random, 8)) {
    case 0:
        assert_int_equal(backlog_add(r->b, name_of(k), r->now), model_add(&r->m, k));
        break;
    case 1:
        step_later(r, k);
        break;
    case 2:
        step_retry(r, k);
        break;
    case 3:
        backlog_forget(r->b, name_of(k));
        r->m.failures[k] = 0;
        break;
    case 4:
        r->now += random_below(&r->random, 20);
        assert_int_equal(backlog_wake(r->b, r->now), model_wake(&r->m, r->now));
        break;
    case 5:
    case 6:
        step_take(r);
        break;
    default:
        step_finish(r);
    }
}

static void assert_same(struct run *r)
{
    const struct model *m = &r->m;
    struct backlog_stats s = backlog_stats(r->b, r->now);
    size_t known = 0, later = 0, again = 0;
    for (int k = 0; k < KEYS; k++) {
        assert_int_equal(backlog_failures(r->b, name_of(k)), m->failures[k]);
        later += m->due[k] != 0;
        again += m->again[k];
        known += m->due[k] || m->failures[k] || find(m->waiting, m->n_waiting, k) >= 0 ||
                 find(m->at_work, m->n_at_work, k) >= 0;
    }
    assert_int_equal(r->b->keys.n, known); /* nothing is kept that nobody needs */
    assert_int_equal(s.depth, (size_t)m->n_waiting + again);
    assert_int_equal(s.at_work, m->n_at_work);
    assert_int_equal(s.later, later);
    assert_int_equal(s.adds, m->adds);
    assert_int_equal(backlog_next(r->b), model_next(m));
}

static void does_what_the_model_does(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct random_seeded seed = {20261116};
    struct run r = {.b = ARENA_NEW(&a, struct backlog), .random = random_of_seed(&seed), .now = 1000};
    backlog_init(r.b, BASE, MAX, 7);
    for (int i = 0; i < STEPS; i++) {
        step(&r);
        assert_same(&r);
    }
    assert_true(r.m.adds > STEPS / 20);
    backlog_done(r.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_waits_once_and_in_order),
        cmocka_unit_test(what_is_added_at_work_comes_again_after_it),
        cmocka_unit_test(of_two_times_the_earlier_counts),
        cmocka_unit_test(an_earlier_visit_takes_no_time_back),
        cmocka_unit_test(failures_wait_twice_as_long_each_time),
        cmocka_unit_test(times_do_not_overflow),
        cmocka_unit_test(figures_are_those_of_client_go),
        cmocka_unit_test(does_what_the_model_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
