/* SPDX-License-Identifier: Apache-2.0 */
/* The heartbeat of an agent: as often as the hub says, whatever clocks say, and with what is wrong with its cluster. */
#include "controllers/accounts/accounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent_world.h"
#include "object/fleet.h"
#include "object/object.h"

#define LEASE "/apis/coordination.k8s.io/v1/namespaces/one/leases/managed-cluster-lease"

static void put_lease(struct agent_world *w)
{
    fake_put(w->hub, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
                     "\"managed-cluster-lease\",\"namespace\":\"one\",\"annotations\":{\"theirs\":\"x\"}},\"spec\":{"
                     "\"leaseDurationSeconds\":60}}");
}

static void answer(struct agent_world *w, const char *path, int status, const char *body)
{
    fake_fault(
        w->managed,
        &(struct fake_fault){
            .type = FAKE_ANSWER, .method = S("GET"), .prefix = str_of(path), .status = status, .body = str_of(body)});
}

static void be_well(struct agent_world *w)
{
    fake_heal(w->managed);
    answer(w, "/livez", 200, "ok");
    answer(w, "/version", 200, "{\"gitVersion\":\"v1.32.4\"}");
}

static str note_of(struct agent_world *w, const char *key)
{
    struct json lease;
    assert_true(fake_get(w->hub, &w->arena, LEASE, &lease));
    return object_annotation(&lease, str_of(key));
}

static str renewed(struct agent_world *w)
{
    struct json lease;
    return fake_get(w->hub, &w->arena, LEASE, &lease) ? json_text(json_dig(&lease, "spec.renewTime")) : (str){0};
}

static size_t renewals(struct agent_world *w)
{
    return fake_count(w->hub, "PUT", LEASE);
}

static void begin(struct agent_world *w)
{
    be_well(w);
    put_lease(w);
    agent_world_start(w);
    AWAIT(w, renewed(w).n > 0);
    agent_world_rest(w);
}

/* ---- Tests. ---- */

static void a_beat_says_who_is_there(void **state)
{
    struct agent_world *w = *state;
    struct json lease;
    begin(w);
    assert_text(note_of(w, FLEET_ANNOTATION_AGENT), "0.1.0");
    assert_text(note_of(w, FLEET_ANNOTATION_RENEWED), str_cstr(&w->arena, renewed(w))); /* whose renewal it is */
    assert_text(note_of(w, FLEET_ANNOTATION_KUBERNETES), "v1.32.4");
    assert_text(note_of(w, FLEET_ANNOTATION_TROUBLE), "");
    assert_text(note_of(w, "theirs"), "x");
    assert_text(renewed(w), "2026-01-02T03:04:05.000000Z");
    assert_true(fake_get(w->hub, &w->arena, LEASE, &lease));
    assert_int_equal(json_dig(&lease, "spec.leaseDurationSeconds")->i, 60);
}

static void it_beats_as_often_as_the_lease_says(void **state)
{
    struct agent_world *w = *state;
    begin(w);
    agent_world_pass(w, 55);
    assert_int_equal(renewals(w), 1);
    agent_world_pass(w, 25);
    assert_int_equal(renewals(w), 2);
    agent_world_pass(w, 520); /* ten minutes in all: between a minute and a quarter more each */
    assert_in_range(renewals(w), 9, 11);
    fleet_patch(w->hub, LEASE, "{\"spec\":{\"leaseDurationSeconds\":10}}");
    agent_world_pass(w, 80);
    size_t before = renewals(w);
    agent_world_pass(w, 100);
    assert_in_range(renewals(w) - before, 6, 11); /* time comes in steps of five seconds here */
}

/* The hub only sees that the time is another. */
static void a_clock_that_stands_or_goes_back_renews_all_the_same(void **state)
{
    struct agent_world *w = *state;
    begin(w);
    str before = renewed(w);
    for (int i = 0; i < 16; i++) {
        clock_fake_advance(&w->time, 5 * SECOND);
        w->time.wall -= 5 * SECOND;
        agent_world_rest(w);
    }
    assert_text(before, "2026-01-02T03:04:05.000000Z");
    assert_text(renewed(w), "2026-01-02T03:04:05.000001Z");
    before = renewed(w);
    w->time.wall = INT64_C(1767323045) * SECOND - 86400 * SECOND;
    agent_world_pass(w, 80);
    AWAIT(w, !str_eq(renewed(w), before));
}

static void trouble_of_the_managed_cluster_is_told(void **state)
{
    struct agent_world *w = *state;
    begin(w);
    fake_heal(w->managed);
    answer(w, "/livez", 500, "etcd\nis \xff away");
    size_t before = renewals(w);
    agent_world_pass(w, 80);
    assert_true(renewals(w) > before);
    assert_text(note_of(w, FLEET_ANNOTATION_TROUBLE), "status code: 500, etcd is   away");
    fake_heal(w->managed);
    fake_fault(w->managed, &(struct fake_fault){.type = FAKE_LOST, .prefix = S("/livez")});
    agent_world_pass(w, 80);
    assert_true(str_has_prefix(note_of(w, FLEET_ANNOTATION_TROUBLE), S("status code: 0, ")));
    assert_text(note_of(w, FLEET_ANNOTATION_KUBERNETES), "v1.32.4");
    be_well(w);
    agent_world_pass(w, 80);
    assert_text(note_of(w, FLEET_ANNOTATION_TROUBLE), "");
}

/* A managed cluster that does not answer must not silence the agent. */
static void a_cluster_that_hangs_is_not_waited_for(void **state)
{
    struct agent_world *w = *state;
    begin(w);
    fake_heal(w->managed);
    fake_fault(w->managed, &(struct fake_fault){.type = FAKE_HELD, .prefix = S("/livez")});
    size_t before = renewals(w);
    agent_world_pass(w, 100);
    assert_true(renewals(w) > before);
    assert_true(note_of(w, FLEET_ANNOTATION_TROUBLE).n > 0);
}

static void who_refuses_is_there(void **state)
{
    struct agent_world *w = *state;
    begin(w);
    fake_heal(w->managed);
    answer(w, "/livez", 404, "");
    answer(w, "/healthz", 200, "ok");
    size_t asked = fake_count(w->managed, "GET", "/healthz");
    agent_world_pass(w, 80);
    assert_true(fake_count(w->managed, "GET", "/healthz") > asked);
    assert_text(note_of(w, FLEET_ANNOTATION_TROUBLE), "");
    fake_heal(w->managed);
    answer(w, "/livez", 403, "");
    answer(w, "/healthz", 401, "who?");
    agent_world_pass(w, 80);
    assert_text(note_of(w, FLEET_ANNOTATION_TROUBLE), "status code: 401, who?");
}

static void a_hub_that_was_away_is_told_soon(void **state)
{
    struct agent_world *w = *state;
    begin(w);
    fake_fault(w->hub, &(struct fake_fault){.type = FAKE_LOST, .prefix = S(LEASE)});
    agent_world_pass(w, 600);
    str before = renewed(w);
    fake_heal(w->hub);
    agent_world_pass(w, 10);
    assert_false(str_eq(renewed(w), before));
    before = renewed(w);
    fake_fault(w->hub, &(struct fake_fault){
                           .type = FAKE_ANSWER, .status = 409, .method = S("PUT"), .prefix = S(LEASE), .times = 1});
    agent_world_pass(w, 90);
    assert_false(str_eq(renewed(w), before));
}

static void without_a_lease_it_waits(void **state)
{
    struct agent_world *w = *state;
    be_well(w);
    agent_world_start(w);
    agent_world_pass(w, 60);
    assert_int_equal(fake_count(w->hub, "POST", "/apis/coordination.k8s.io"), 0);
    put_lease(w);
    agent_world_pass(w, 10);
    assert_true(renewed(w).n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, agent_world_set_up, agent_world_tear_down)
        TEST(a_beat_says_who_is_there),
        TEST(it_beats_as_often_as_the_lease_says),
        TEST(a_clock_that_stands_or_goes_back_renews_all_the_same),
        TEST(trouble_of_the_managed_cluster_is_told),
        TEST(a_cluster_that_hangs_is_not_waited_for),
        TEST(who_refuses_is_there),
        TEST(a_hub_that_was_away_is_told_soon),
        TEST(without_a_lease_it_waits),
    };
    return cmocka_run_group_tests_name("heartbeat", tests, NULL, NULL);
}
