/* SPDX-License-Identifier: Apache-2.0 */
/* A work that has vanished from the hub, and clocks that jump: what it delivered stays for the time of grace at least, and goes in
 * the end. The time of grace is an hour. */
#include "controllers/works/works.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fleet.h"
#include "object/fleet.h"
#include "object/object.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 24 * HOUR, YEAR = 365 * DAY };

#define ROLE                                                                                               \
    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRole','metadata':{'name':'r'},'rules':[{'apiGroups':['']," \
    "'resources':['pods'],'verbs':['get']}]}"
#define WORK_PATH "/apis/" FLEET_WORK_GROUP "/v1/namespaces/" CLUSTER "/manifestworks/w"

/* The work is delivered; then the hub has never heard of it. */
static void lose_the_work(struct fleet *f)
{
    fleet_start(f);
    fleet_manifests(f, "w", ROLE);
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterroles/r"));
    assert_true(fake_remove(f->hub, WORK_PATH));
    fleet_settle(f);
}

static bool is_being_evicted(struct fleet *f)
{
    struct json applied = fleet_applied(f, "w");
    return json_text(json_dig(&applied, "status.evictionStartTime")).n > 0;
}

/* The clock that everybody has, and nothing else. */
static void jump(struct fleet *f, int64_t seconds)
{
    f->time.wall += seconds * SECOND;
    fleet_settle(f);
}

static void assert_gone(struct fleet *f)
{
    assert_false(fleet_has(f, "clusterroles/r"));
    assert_false(fleet_has_applied(f, "w"));
}

static void test_goes_after_its_time(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    assert_true(is_being_evicted(f));
    fleet_pass(f, 59 * MINUTE);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_pass(f, 2 * MINUTE);
    assert_gone(f);
}

static void test_comes_back_in_time(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    fleet_pass(f, 50 * MINUTE);
    struct json role = fleet_get(f, "clusterroles/r");
    fleet_manifests(f, "w", ROLE);
    fleet_settle(f);
    assert_false(is_being_evicted(f));
    fleet_pass(f, 2 * HOUR);
    struct json now = fleet_get(f, "clusterroles/r");
    assert_true(object_uid(&role).n && str_eq(object_uid(&role), object_uid(&now)));
    /* …and is lost once more: the time begins anew. */
    assert_true(fake_remove(f->hub, WORK_PATH));
    fleet_settle(f);
    fleet_pass(f, 50 * MINUTE);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_pass(f, 12 * MINUTE);
    assert_gone(f);
}

/* A jump ahead, as from a clock that was wrong since the start: nobody has had an hour to notice. */
static void test_a_jump_ahead_shortens_nothing(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    jump(f, YEAR);
    fleet_pass(f, 50 * MINUTE);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_pass(f, 12 * MINUTE);
    assert_gone(f);
}

/* A jump back, as from a clock that was set: it goes, if later. */
static void test_a_jump_back_keeps_nothing_for_ever(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    jump(f, -YEAR);
    fleet_pass(f, 50 * MINUTE);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_pass(f, 2 * HOUR);
    assert_gone(f);
}

/* Back and forth, as when time servers disagree. */
static void test_a_clock_that_swings(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    for (int i = 0; i < 5; i++) {
        jump(f, i % 2 ? -2 * DAY : 2 * DAY);
        fleet_pass(f, 10 * MINUTE);
        assert_true(fleet_has(f, "clusterroles/r"));
    }
    fleet_pass(f, 3 * HOUR);
    assert_gone(f);
}

/* Our own clock counts on while that of the day stands still: it takes both. */
static void test_our_own_clock_is_not_enough(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    f->time.mono += INT64_C(2) * HOUR * SECOND;
    fleet_settle(f);
    fleet_pass(f, 50 * MINUTE);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_pass(f, 12 * MINUTE);
    assert_gone(f);
}

/* An agent that was killed does not know how long it has been away: its own clock begins anew. */
static void test_a_restart_shortens_nothing(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    fleet_pass(f, 50 * MINUTE);
    fleet_kill(f);
    jump(f, YEAR);
    fleet_start(f);
    fleet_pass(f, 50 * MINUTE);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_pass(f, 12 * MINUTE);
    assert_gone(f);
}

/* While the hub does not answer nobody knows whether the work is there again. */
static void test_stays_while_the_hub_is_away(void **state)
{
    struct fleet *f = *state;
    lose_the_work(f);
    fleet_pass(f, 50 * MINUTE);
    fake_fault(f->hub, &(struct fake_fault){.type = FAKE_ANSWER, .status = 500});
    fake_cut_watches(f->hub, FAKE_CUT_CLEAN);
    fleet_pass(f, 10 * HOUR);
    assert_true(fleet_has(f, "clusterroles/r"));
    fake_heal(f->hub);
    fleet_pass(f, 10 * MINUTE);
    assert_gone(f);
}

/* Repairs do not depend on the time of day. */
static void test_repairs_at_any_time(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE);
    fleet_settle(f);
    static const int64_t jumps[] = {YEAR, INT64_C(-2) * YEAR, DAY};
    for (size_t i = 0; i < COUNT(jumps); i++) {
        jump(f, jumps[i]);
        assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
        fleet_settle(f);
        assert_true(fleet_has(f, "clusterroles/r"));
        assert_false(is_being_evicted(f));
    }
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, fleet_set_up, fleet_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_goes_after_its_time),           TEST(test_comes_back_in_time),
        TEST(test_a_jump_ahead_shortens_nothing), TEST(test_a_jump_back_keeps_nothing_for_ever),
        TEST(test_a_clock_that_swings),           TEST(test_our_own_clock_is_not_enough),
        TEST(test_a_restart_shortens_nothing),    TEST(test_stays_while_the_hub_is_away),
        TEST(test_repairs_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
