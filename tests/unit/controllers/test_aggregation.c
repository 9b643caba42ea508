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

#include "object/object.h"
#include "world.h"

#define ROLES "/apis/rbac.authorization.k8s.io/v1/clusterroles"
#define ROLE "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\","

static int set_up(void **state)
{
    return world_set_up(state, &aggregation_row);
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
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(rules_are_applied),
        TEST(a_role_that_was_just_deleted_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
