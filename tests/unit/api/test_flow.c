/* SPDX-License-Identifier: Apache-2.0 */
/* Turns, seats and queues of users, on a clock that only moves when an entry runs. */
#include "api/flow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US INT64_C(1000)

struct world {
    struct clock_fake clock;
    struct loop *loop;
    struct flows *flows;
    char log[8192]; /* the names of the entries, in the order in which they ran */
    size_t n;
};

/* An entry that takes so much time each time it runs, and runs so often. */
struct job {
    struct flow_entry entry;
    struct world *world;
    int64_t takes_ns;
    int runs_left;
    char name;
    bool stays; /* keeps its seat when it has run */
};

static void run_job(struct flow_entry *e)
{
    struct job *job = (struct job *)e;
    struct world *w = job->world;
    w->log[w->n++] = job->name;
    clock_fake_advance(&w->clock, job->takes_ns);
    if (--job->runs_left > 0)
        flow_later(e);
    else if (!job->stays)
        flow_end(e);
}

static void world_init(struct world *w, uint32_t reads, uint32_t writes)
{
    *w = (struct world){.clock = {.mono = 1}};
    struct clock clock = clock_of_fake(&w->clock);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    struct flows_options options = {.loop = w->loop, .clock = clock, .seats = {reads, writes}};
    w->flows = flows_new(&options);
}

static void world_done(struct world *w)
{
    flows_free(w->flows);
    loop_free(w->loop);
}

static struct job job_of(struct world *w, char name, int64_t takes_ns, int runs)
{
    return (struct job){.entry = {.run = run_job}, .world = w, .name = name, .takes_ns = takes_ns, .runs_left = runs};
}

static bool start(struct job *job, const char *user, enum flow_class class)
{
    return flow_start(job->world->flows, &job->entry, str_of(user), class);
}

/* What ran in one more turn of the loop. */
static const char *turn(struct world *w)
{
    memset(w->log, 0, sizeof w->log);
    w->n = 0;
    clock_fake_advance(&w->clock, US);
    loop_turn(w->loop, 0);
    return w->log;
}

static void test_runs_at_once(void **state)
{
    struct world w;
    world_init(&w, 0, 0);
    struct job a = job_of(&w, 'a', 10 * US, 1), b = job_of(&w, 'b', 10 * US, 1);
    assert_true(start(&a, "ann", FLOW_READ));
    assert_true(start(&b, "ann", FLOW_WRITE));
    assert_string_equal(w.log, "ab");
    assert_int_equal(flows_stats(w.flows).users, 0);
    world_done(&w);
}

/* Past its slice of a turn a user waits; another one does not. */
static void test_past_the_slice(void **state)
{
    struct world w;
    world_init(&w, 0, 0);
    struct job a = job_of(&w, 'a', 900 * US, 1), b = job_of(&w, 'b', 900 * US, 1), c = job_of(&w, 'c', 900 * US, 1);
    struct job d = job_of(&w, 'd', 1 * US, 1);
    start(&a, "ann", FLOW_READ);
    start(&b, "ann", FLOW_READ);
    start(&c, "ann", FLOW_READ);
    start(&d, "bob", FLOW_READ);
    assert_string_equal(w.log, "abd");
    assert_int_equal(flows_stats(w.flows).waiting, 1);
    assert_string_equal(turn(&w), "c");
    world_done(&w);
}

/* One user with many requests, and two with one each: users take turns, not requests. */
static void test_round_robin(void **state)
{
    struct world w;
    struct job many[6], b, c;
    world_init(&w, 0, 0);
    for (int i = 0; i < 6; i++) {
        many[i] = job_of(&w, 'a', 2000 * US, 1);
        start(&many[i], "ann", FLOW_READ);
    }
    b = job_of(&w, 'b', 2000 * US, 2);
    c = job_of(&w, 'c', 2000 * US, 2);
    start(&b, "bob", FLOW_READ);
    start(&c, "cat", FLOW_READ);
    assert_string_equal(w.log, "abc"); /* nobody had used anything of this turn; the rest of ann's waits */
    assert_string_equal(turn(&w), "ab");
    assert_string_equal(turn(&w), "ca");
    assert_string_equal(turn(&w), "aa");
    assert_string_equal(turn(&w), "a");
    assert_string_equal(turn(&w), "");
    world_done(&w);
}

/* Half of all seats for one user, the rest for others, and one for each user in any case. */
static void test_seats(void **state)
{
    struct world w;
    struct job a[3], b[3], c, d;
    world_init(&w, 4, 4);
    for (int i = 0; i < 3; i++) {
        a[i] = job_of(&w, (char)('1' + i), US, 1);
        b[i] = job_of(&w, (char)('4' + i), US, 1);
        a[i].stays = b[i].stays = true;
        start(&a[i], "ann", FLOW_READ);
        start(&b[i], "bob", FLOW_READ);
    }
    assert_string_equal(w.log, "1425");
    assert_int_equal(flows_stats(w.flows).at_work[FLOW_READ], 4);
    c = job_of(&w, 'c', US, 1);
    c.stays = true;
    start(&c, "cat", FLOW_READ);
    assert_string_equal(w.log, "1425c");
    d = job_of(&w, 'd', US, 1); /* writes have seats of their own; but ann's come in order */
    start(&d, "dan", FLOW_WRITE);
    assert_string_equal(w.log, "1425cd");
    assert_string_equal(turn(&w), "");
    flow_end(&a[0].entry);
    assert_string_equal(turn(&w), ""); /* still as many as there are seats */
    flow_end(&c.entry);
    assert_string_equal(turn(&w), "3");
    flow_end(&b[0].entry);
    flow_end(&a[1].entry);
    assert_string_equal(turn(&w), "6");
    flow_end(&a[2].entry);
    flow_end(&b[1].entry);
    flow_end(&b[2].entry);
    world_done(&w);
}

/* What has begun goes on although nothing more of its user may begin: else no seat would ever become free. */
static void test_going_before_starts(void **state)
{
    struct world w;
    world_init(&w, 2, 2);
    struct job a = job_of(&w, 'a', 5000 * US, 3), b = job_of(&w, 'b', US, 1);
    start(&a, "ann", FLOW_READ);
    start(&b, "ann", FLOW_READ);
    assert_string_equal(w.log, "a"); /* two seats, one for a user: b cannot begin before a has ended */
    assert_string_equal(turn(&w), "a");
    assert_string_equal(turn(&w), "a");
    assert_string_equal(turn(&w), "b");
    world_done(&w);
}

static void test_watches_hold_no_seats(void **state)
{
    struct world w;
    struct job watches[10], last;
    world_init(&w, 2, 2);
    for (int i = 0; i < 10; i++) {
        watches[i] = job_of(&w, 'w', US, 1);
        watches[i].stays = true;
        start(&watches[i], "ann", FLOW_LONG);
    }
    last = job_of(&w, 'r', US, 1);
    start(&last, "ann", FLOW_READ);
    assert_string_equal(w.log, "wwwwwwwwwwr");
    for (int i = 0; i < 10; i++)
        flow_end(&watches[i].entry);
    world_done(&w);
}

static void test_too_many_wait(void **state)
{
    enum { N = 5000 };
    struct world w;
    world_init(&w, 2, 2);
    struct job *jobs = calloc(N, sizeof *jobs), own = job_of(&w, 'm', US, 1);
    int taken = 0;
    assert_non_null(jobs);
    for (int i = 0; i < N; i++) {
        jobs[i] = job_of(&w, 'a', 0, 1);
        jobs[i].stays = true;
        taken += start(&jobs[i], "ann", FLOW_WRITE);
    }
    assert_int_equal(taken, 4001);
    assert_int_equal(flows_stats(w.flows).refused, N - 4001);
    assert_true(start(&own, "ann", FLOW_FREE)); /* never refused */
    struct job other = job_of(&w, 'b', US, 1);
    assert_true(start(&other, "bob", FLOW_WRITE));
    for (int i = 0; i < N; i++)
        flow_end(&jobs[i].entry); /* also of those that never began */
    assert_int_equal(flows_stats(w.flows).waiting, 1);
    assert_string_equal(turn(&w), "m");
    free(jobs);
    world_done(&w);
}

/* Users who have gone are forgotten, but not what they have used of this turn. */
static void test_forgets(void **state)
{
    struct world w;
    world_init(&w, 0, 0);
    struct job a = job_of(&w, 'a', 2000 * US, 1), b = job_of(&w, 'b', US, 1);
    start(&a, "ann", FLOW_READ);
    start(&b, "ann", FLOW_READ);
    assert_string_equal(w.log, "a");
    assert_string_equal(turn(&w), "b");
    for (int i = 0; i < 1000; i++) {
        char user[32];
        (void)snprintf(user, sizeof user, "user-%d", i);
        struct job one = job_of(&w, 'x', 0, 1);
        start(&one, user, FLOW_READ);
    }
    assert_int_equal(flows_stats(w.flows).users, 0);
    world_done(&w);
}

/* Computations of one user go on one after the other, those of two users take turns; only a few of a user are begun. */
static void test_heavy(void **state)
{
    struct world w;
    struct job a[10], b, request = {0};
    world_init(&w, 0, 0);
    request = job_of(&w, 'r', US, 1);
    request.stays = true;
    start(&request, "ann", FLOW_WRITE);
    for (int i = 0; i < 10; i++) {
        a[i] = job_of(&w, (char)('0' + i), 2000 * US, 2);
        assert_int_equal(flow_can_begin(&request.entry), i < 8);
        flow_join(&a[i].entry, &request.entry, i < 8);
        flow_later(&a[i].entry);
    }
    struct job other = job_of(&w, 'o', US, 1);
    other.stays = true;
    start(&other, "bob", FLOW_WRITE);
    assert_true(flow_can_begin(&other.entry));
    b = job_of(&w, 'b', 2000 * US, 3);
    flow_join(&b.entry, &other.entry, true);
    flow_later(&b.entry);
    assert_string_equal(turn(&w), "0b");
    assert_string_equal(turn(&w), "0b");
    assert_string_equal(turn(&w), "1b");
    assert_string_equal(turn(&w), "12");
    for (int i = 2; i < 10; i++)
        flow_end(&a[i].entry);
    assert_true(flow_can_begin(&request.entry));
    flow_end(&request.entry);
    flow_end(&other.entry);
    world_done(&w);
}

/* Streams: their work is done outside and charged; what one is expected to take bounds how many are resumed in a turn. */
static void test_streams(void **state)
{
    struct world w;
    struct job a[8];
    world_init(&w, 0, 0);
    for (int i = 0; i < 8; i++) {
        a[i] = job_of(&w, (char)('1' + i), 0, 1);
        a[i].stays = true;
        start(&a[i], "ann", FLOW_READ);
    }
    for (int i = 0; i < 8; i++) {
        flow_charge(&a[i].entry, 1000 * US);
        assert_false(flow_has_time(&a[i].entry));
        a[i].runs_left = 1;
        flow_later(&a[i].entry);
        flow_later(&a[i].entry);
    }
    assert_string_equal(turn(&w), "123");
    assert_string_equal(turn(&w), "456");
    flow_end(&a[6].entry);
    assert_string_equal(turn(&w), "8");
    for (int i = 0; i < 8; i++)
        flow_end(&a[i].entry);
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_at_once),
        cmocka_unit_test(test_past_the_slice),
        cmocka_unit_test(test_round_robin),
        cmocka_unit_test(test_seats),
        cmocka_unit_test(test_going_before_starts),
        cmocka_unit_test(test_watches_hold_no_seats),
        cmocka_unit_test(test_too_many_wait),
        cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_heavy),
        cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
