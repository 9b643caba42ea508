/* SPDX-License-Identifier: Apache-2.0 */
/* The aggregation controller on a server that is late. What it does when all is well is in tests/cases/aggregation and tests/e2e. */
#include "controllers/aggregation/aggregation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/fake.h"
#include "object/object.h"

#define SECOND INT64_C(1000000000)
enum { TURNS = 20000, TURN_NS = 1000000 };

#define ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"
#define ROLE "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\","

struct world {
    struct clock_fake time;
    struct random_fake chance;
    struct loop *loop;
    struct fake *fake;
    struct client *client;
    struct log log;
    struct control *control;
    bool is_stopped;
    struct arena arena;
};

static void discard(void *ctx, str line)
{
    (void)ctx;
    (void)line;
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    *w = (struct world){.time = {.wall = INT64_C(1767323045) * SECOND, .mono = SECOND}, .chance = {.state = 3}};
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->fake = fake_new(&(struct fake_options){.loop = w->loop, .clock = clock});
    w->client = client_new(&(struct client_options){w->loop, fake_transport(w->fake), random_of_fake(&w->chance)});
    w->log = (struct log){.level = LOG_ERROR, .clock = clock, .write = discard};
    w->control = control_new(&(struct control_options){w->loop, clock, random_of_fake(&w->chance), &w->log});
    struct controller_env env = {
        .control = w->control, .loop = w->loop, .clock = clock, .client = w->client, .reader = w->client};
    assert_int_equal(aggregation_row.add(&env, NULL), 0);
    *state = w;
    return 0;
}

static void on_stopped(void *ctx)
{
    struct world *w = ctx;
    w->is_stopped = true;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    control_stop(w->control, on_stopped, w);
    client_stop(w->client);
    for (int i = 0; i < TURNS && !w->is_stopped; i++)
        loop_turn(w->loop, TURN_NS);
    assert_true(w->is_stopped);
    control_free(w->control);
    client_free(w->client);
    fake_free(w->fake);
    loop_free(w->loop);
    arena_done(&w->arena);
    free(w);
    return 0;
}

/* Until so many visits are over, whatever came of them. */
static void await_visits(struct world *w, int n)
{
    for (int i = 0; i < TURNS; i++) {
        struct buf text = {0};
        char line[80];
        (void)snprintf(line, sizeof line,
                       "controller_runtime_reconcile_time_seconds_count{controller=\"aggregation\"} %d\n", n);
        loop_turn(w->loop, TURN_NS);
        control_metrics_write(w->control, &text);
        bool is_done = str_find(buf_str(&text), str_of(line)) >= 0;
        buf_done(&text);
        if (is_done)
            return;
    }
    fail_msg("no %d visits", n);
}

static void await_held(struct world *w)
{
    for (int i = 0; i < TURNS && fake_held(w->fake) == 0; i++)
        loop_turn(w->loop, TURN_NS);
    assert_int_equal(fake_held(w->fake), 1);
}

static void put_roles(struct world *w)
{
    fake_put(w->fake,
             ROLE "\"metadata\":{\"name\":\"all\",\"uid\":\"u-all\"},\"aggregationRule\":{\"clusterRoleSelectors\":["
                  "{\"matchLabels\":{\"a\":\"b\"}}]},\"rules\":[]}");
    fake_put(w->fake, ROLE "\"metadata\":{\"name\":\"leaf\",\"labels\":{\"a\":\"b\"}},\"rules\":[{\"apiGroups\":[\"\"],"
                           "\"resources\":[\"secrets\"],\"verbs\":[\"get\"]}]}");
}

static void rules_are_applied(void **state)
{
    struct world *w = *state;
    struct json role;
    put_roles(w);
    control_start(w->control);
    await_visits(w, 1);
    assert_true(fake_get(w->fake, &w->arena, ROLES "/all", &role));
    assert_int_equal(json_len(json_get(&role, S("rules"))), 1);
}

/* An apply makes what is not there. It must not give back what somebody took away while it was on its way. */
static void a_role_that_was_just_deleted_stays_so(void **state)
{
    struct world *w = *state;
    struct json role;
    put_roles(w);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD, .method = S("PATCH"), .times = 1});
    control_start(w->control);
    await_held(w);
    assert_true(fake_remove(w->fake, ROLES "/all"));
    fake_release(w->fake);
    await_visits(w, 1);
    assert_false(fake_get(w->fake, &w->arena, ROLES "/all", &role));
    loop_turn(w->loop, TURN_NS); /* the time of the next visit is set */
    clock_fake_advance(&w->time, SECOND);
    await_visits(w, 2);
    assert_false(fake_get(w->fake, &w->arena, ROLES "/all", &role));
    assert_int_equal(fake_writes(w->fake), 1); /* it has learned of it */
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(rules_are_applied),
        TEST(a_role_that_was_just_deleted_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
