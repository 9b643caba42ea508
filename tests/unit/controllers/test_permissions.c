/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of ClusterPermissions on a fake server: what it writes, what it leaves alone, and what it makes of a server that
 * fails. What is built, and how it is told, have tests of their own. */
#include "controllers/permissions/permissions.h"

#include "hub.h"

#include "object/conditions.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- What is written. ---- */

static void a_permission_becomes_a_work(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_settle(w);
    assert_true(hub_find(w, WORK("one-one00"), &work));
    const struct json *owner = &object_owners(&work)->items[0];
    hub_assert_str(json_get_text(owner, S("uid")), "one000-uid");
    hub_assert_str(json_get_text(owner, S("kind")), "ClusterPermission");
    assert_true(json_true(json_get(owner, S("controller"))));
    hub_assert_str(object_kind(hub_manifest(w, WORK("one-one00"), 0)), "ClusterRole");
    hub_assert_str(object_kind(hub_manifest(w, WORK("one-one00"), 1)), "ClusterRoleBinding");
    hub_assert_str(hub_condition(w, "one", "AppliedRBACManifestWork", "reason"), "ApplyRBACManifestWorkNotComplete");
    assert_int_equal(hub_visits(w, "one"), 1); /* its own writes call for no other */
    assert_int_equal(fake_writes(w->fake), 2);
}

static void the_agents_report_becomes_its_status(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_settle(w);
    assert_true(hub_find(w, WORK("one-one00"), &work));
    fake_log_clear(w->fake);
    struct buf text = {.arena = &w->arena};
    struct json status = json_obj(), *conditions;
    json_add(&w->arena, &work, S("status"), status);
    conditions = conditions_of(&w->arena, &work);
    struct clock clock = clock_of_fake(&w->time);
    condition_set(&w->arena, conditions,
                  &(struct condition){.type = S("Applied"),
                                      .status = S("True"),
                                      .reason = S("AppliedManifestWorkComplete"),
                                      .message = S("Apply manifest work complete"),
                                      .observed_generation = 1},
                  &clock);
    json_encode(&text, &work, 0);
    buf_add_char(&text, '\0');
    fake_put(w->fake, text.p);
    hub_settle(w);
    hub_assert_str(hub_condition(w, "one", "AppliedRBACManifestWork", "status"), "True");
    assert_int_equal(hub_visits(w, "one"), 1);
    assert_int_equal(fake_writes(w->fake), 1);
}

static void on_stopped(void *ctx)
{
    struct world *w = ctx;
    w->is_stopped = true;
}

/* Another one, to which all is new: as after a restart. */
static void restart(struct world *w, const struct controller_row *row)
{
    struct clock clock = clock_of_fake(&w->time);
    control_stop(w->control, on_stopped, w);
    for (int i = 0; i < TURNS && !w->is_stopped; i++)
        loop_turn(w->loop, TURN_NS);
    assert_true(w->is_stopped);
    control_free(w->control);
    w->is_stopped = false;
    w->control = control_new(&(struct control_options){w->loop, clock, random_of_seed(&w->chance), &w->log});
    struct controller_env env = {
        .control = w->control, .loop = w->loop, .clock = clock, .client = w->client, .reader = w->client};
    assert_int_equal(row->add(&env, NULL), 0);
    fake_log_clear(w->fake);
    control_start(w->control);
    hub_settle(w);
}

static void nothing_is_written_when_nothing_differs(void **state)
{
    struct world *w = *state;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_put_permission(w, "two", GENERATION(1), PLAIN ",'validate':true");
    hub_put_permission(w, "bad", GENERATION(1), ROLE("get"));
    hub_start(w);
    restart(w, &permissions_row);
    assert_int_equal(hub_visits(w, "one"), 1);
    assert_int_equal(hub_visits(w, "two"), 1);
    assert_int_equal(hub_visits(w, "bad"), 1);
    assert_int_equal(fake_writes(w->fake), 0);
}

static void a_changed_permission_changes_its_work_alone(void **state)
{
    struct world *w = *state;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_put_permission(w, "two", GENERATION(1), PLAIN);
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(2), ROLE("list") "," BINDING);
    hub_settle(w);
    hub_assert_str(hub_verb_of(w, WORK("one-one00")), "list");
    assert_int_equal(fake_count(w->fake, "PUT", WORK("one-one00")), 1);
    assert_int_equal(hub_visits(w, "two"), 0);
}

static void what_others_do_to_a_work_is_undone(void **state)
{
    struct world *w = *state;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    struct json work, spec = json_obj(), option = json_obj();
    struct buf text = {.arena = &w->arena};
    assert_true(hub_find(w, WORK("one-one00"), &work));
    spec = json_dup(&w->arena, json_get(&work, S("spec")));
    json_add(&w->arena, &option, S("propagationPolicy"), json_str(S("Orphan")));
    json_add(&w->arena, &spec, S("deleteOption"), option);
    json_set(&w->arena, &work, S("spec"), spec);
    json_set(&w->arena, json_get_mut(&work, S("metadata")), S("generation"), json_int(2));
    json_encode(&text, &work, 0);
    buf_add_char(&text, '\0');
    fake_put(w->fake, text.p);
    hub_settle(w);
    assert_true(hub_find(w, WORK("one-one00"), &work));
    assert_null(json_dig(&work, "spec.deleteOption"));
    fake_remove(w->fake, WORK("one-one00"));
    hub_settle(w);
    assert_true(hub_find(w, WORK("one-one00"), &work));
}

static void an_emptied_permission_loses_its_works(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(2), "");
    hub_settle(w);
    assert_false(hub_find(w, WORK("one-one00"), &work));
    hub_assert_str(hub_condition(w, "one", "Validation", "message"), "no bindings defined");
}

static void a_broken_permission_keeps_what_it_delivered(void **state)
{
    struct world *w = *state;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(2), ROLE("list") "," BINDING ",'roles':[{" RULES("get") "}]");
    hub_settle(w);
    hub_assert_str(hub_verb_of(w, WORK("one-one00")), "get");
    hub_assert_str(hub_condition(w, "one", "AppliedRBACManifestWork", "reason"), "FailedBuildManifestWork");
    hub_assert_str(hub_condition(w, "one", "Stale", "status"), "True");
    hub_put_permission(w, "one", GENERATION(3), ROLE("list") "," BINDING);
    hub_settle(w);
    hub_assert_str(hub_verb_of(w, WORK("one-one00")), "list");
}

static void a_stranger_of_that_name_is_left_alone(void **state)
{
    struct world *w = *state;
    hub_put(w, "{'apiVersion':'work.open-cluster-management.io/v1','kind':'ManifestWork','metadata':{'namespace':"
               "'cluster1','name':'one-one00','uid':'theirs'},'spec':{'workload':{'manifests':[{'kind':'X'}]}}}");
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    hub_assert_str(object_kind(hub_manifest(w, WORK("one-one00"), 0)), "X");
    hub_assert_str(hub_condition(w, "one", "AppliedRBACManifestWork", "status"), "False");
    fake_remove(w->fake, WORK("one-one00"));
    hub_pass(w, 20);
    hub_assert_str(object_kind(hub_manifest(w, WORK("one-one00"), 0)), "ClusterRole");
}

static void one_that_is_deleted_is_left_to_others(void **state)
{
    struct world *w = *state;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    hub_put_permission(w, "one", GENERATION(2) ",'deletionTimestamp':'2026-01-02T03:04:05Z','finalizers':['x/y']",
                       ROLE("list") "," BINDING);
    hub_settle(w);
    assert_int_equal(fake_writes(w->fake), 0);
    fake_remove(w->fake, PERMISSION("one"));
    hub_settle(w);
    assert_int_equal(fake_writes(w->fake), 0);
}

/* The work of the first has the name that the second's would have. */
static void one_made_anew_waits_until_the_old_work_is_gone(void **state)
{
    struct world *w = *state;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    fake_remove(w->fake, PERMISSION("one"));
    hub_put(w, "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':'ClusterPermission','metadata':{"
               "'namespace':'cluster1','name':'one','uid':'one00-another','generation':1},'spec':{" ROLE(
                   "list") "," BINDING "}}");
    hub_settle(w);
    hub_assert_str(hub_verb_of(w, WORK("one-one00")), "get");
    fake_remove(w->fake, WORK("one-one00")); /* garbage */
    hub_settle(w);
    hub_assert_str(hub_verb_of(w, WORK("one-one00")), "list");
}

/* ---- Trouble. ---- */

static void trouble_goes_by(void **state)
{
    struct world *w = *state;
    static const struct fake_fault faults[] = {
        {.type = FAKE_ANSWER, .method = S_INIT("POST"), .prefix = S_INIT(WORKS), .status = 500, .times = 2},
        {.type = FAKE_ANSWER, .method = S_INIT("PUT"), .prefix = S_INIT(PERMISSIONS), .status = 409, .times = 2},
        {.type = FAKE_ANSWER, .method = S_INIT("GET"), .prefix = S_INIT(WORKS), .status = 500, .times = 1},
        {.type = FAKE_LOST, .method = S_INIT("POST"), .prefix = S_INIT(WORKS), .is_done = true, .times = 1},
        {.type = FAKE_CUT, .method = S_INIT("PUT"), .prefix = S_INIT(PERMISSIONS), .times = 1},
        {.type = FAKE_LOST, .method = S_INIT("GET"), .prefix = S_INIT(PERMISSION("")), .times = 1},
    };
    hub_start(w);
    for (size_t i = 0; i < COUNT(faults); i++) {
        char name[16], path[256];
        struct json work;
        (void)snprintf(name, sizeof name, "n%zu", i);
        hub_fault(w, faults[i]);
        hub_put_permission(w, name, GENERATION(1), PLAIN);
        hub_pass(w, 5);
        fake_heal(w->fake);
        (void)snprintf(path, sizeof path, WORKS "/namespaces/cluster1/manifestworks/%s-n%zu000", name, i);
        assert_true(hub_find(w, path, &work));
        hub_assert_str(hub_condition(w, name, "AppliedRBACManifestWork", "reason"), "ApplyRBACManifestWorkNotComplete");
    }
    restart(w, &permissions_row);
    assert_int_equal(fake_writes(w->fake), 0);
}

static void what_the_server_refuses_is_told_and_tried_again(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_fault(w, (struct fake_fault){
                     .type = FAKE_ANSWER,
                     .method = S("POST"),
                     .prefix = S(WORKS),
                     .status = 400,
                     .body = S("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"
                               "\"BadRequest\",\"code\":400,\"message\":\"the size of manifests is wrong\"}")});
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    str message = hub_condition(w, "one", "AppliedRBACManifestWork", "message");
    assert_true(str_find(message, S("the size of manifests is wrong")) >= 0);
    fake_heal(w->fake);
    hub_pass(w, 10);
    assert_true(hub_find(w, WORK("one-one00"), &work));
    hub_assert_str(hub_condition(w, "one", "AppliedRBACManifestWork", "reason"), "ApplyRBACManifestWorkNotComplete");
}

/* What was delivered must not change because the hub cannot say what a role is. */
static void an_unreadable_role_changes_nothing(void **state)
{
    struct world *w = *state;
    hub_put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'reader'", "get"));
    hub_put(w, ROLE_OBJECT("ClusterRole", "'name':'seer'", "get"));
    hub_put_permission(w, "refer", GENERATION(1), ROLE_REFS);
    hub_start(w);
    hub_fault(w, (struct fake_fault){.type = FAKE_ANSWER,
                                     .method = S("GET"),
                                     .prefix = S("/apis/rbac.authorization.k8s.io/v1/namespaces/apps/roles/reader"),
                                     .status = 500});
    hub_put_permission(w, "refer", GENERATION(2), ROLE_REFS "," PLAIN);
    hub_pass(w, 2);
    assert_int_equal(fake_writes(w->fake), 0);
    fake_heal(w->fake);
    hub_pass(w, 10);
    assert_int_equal(fake_count(w->fake, "PUT", WORK("refer-refer")), 1);
}

static void somebody_elses_status_is_put_right(void **state)
{
    struct world *w = *state;
    struct json one;
    struct buf text = {.arena = &w->arena};
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    assert_true(hub_find(w, PERMISSION("one"), &one));
    json_remove(&one, S("status"));
    json_encode(&text, &one, 0);
    buf_add_char(&text, '\0');
    fake_put(w->fake, text.p);
    hub_settle(w);
    assert_int_equal(hub_visits(w, "one"), 1);
    hub_assert_str(hub_condition(w, "one", "AppliedRBACManifestWork", "status"), "False");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hub_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_permission_becomes_a_work),
        TEST(the_agents_report_becomes_its_status),
        TEST(nothing_is_written_when_nothing_differs),
        TEST(a_changed_permission_changes_its_work_alone),
        TEST(what_others_do_to_a_work_is_undone),
        TEST(an_emptied_permission_loses_its_works),
        TEST(a_broken_permission_keeps_what_it_delivered),
        TEST(a_stranger_of_that_name_is_left_alone),
        TEST(one_that_is_deleted_is_left_to_others),
        TEST(one_made_anew_waits_until_the_old_work_is_gone),
        TEST(trouble_goes_by),
        TEST(what_the_server_refuses_is_told_and_tried_again),
        TEST(an_unreadable_role_changes_nothing),
        TEST(somebody_elses_status_is_put_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
