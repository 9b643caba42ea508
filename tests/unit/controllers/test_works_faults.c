/* SPDX-License-Identifier: Apache-2.0 */
/* An agent that is killed at every step, whose servers fail, go away, come back with an older state, or whose clock jumps. */
#include "controllers/works/works.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "manifests.h"
#include "object/object.h"

#define WORKS_PATH "/apis/" FLEET_WORK_GROUP "/v1/namespaces/" CLUSTER "/manifestworks/"

/* ---- Killed at every step. ---- */

enum away { NOTHING, DROPPED, CHANGED, DELETED, AWAYS };

static const char *const before =
    ROLE("r", "'get'") "," ROLE("s", "'get'") "," BINDING("b", "r") "," IN_NAMESPACE("n", "q");

/* What happens on the hub while nobody is there. */
static void go_away(struct fleet *f, enum away away)
{
    if (away == DROPPED)
        fleet_manifests(f, "w", ROLE("r", "'get'"));
    else if (away == CHANGED)
        fleet_manifests(f, "w", ROLE("r", "'list'") "," BINDING("b", "t"));
    else if (away == DELETED && fleet_has_work(f, "w"))
        fleet_delete_work(f, "w");
}

static void expect(struct fleet *f, enum away away)
{
    bool is_whole = away == NOTHING, has_role = away != DELETED;
    assert_int_equal(fleet_has(f, "clusterroles/r"), has_role);
    assert_int_equal(fleet_has(f, "clusterroles/s"), is_whole);
    assert_int_equal(fleet_has(f, "clusterrolebindings/b"), is_whole || away == CHANGED);
    assert_int_equal(fleet_has(f, "roles/n/q"), is_whole);
    assert_int_equal(fleet_has_applied(f, "w"), has_role);
    assert_string_equal(fleet_verb(f, "clusterroles/foreign"), "watch");
    if (away == CHANGED) {
        struct json binding = fleet_get(f, "clusterrolebindings/b");
        assert_true(str_eq(json_text(json_dig(&binding, "roleRef.name")), S("t")));
        assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    }
    if (has_role)
        assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    else
        assert_false(fleet_has_work(f, "w"));
}

/* Killed after n writes of the first delivery; then something changes; then it comes back. */
static bool kill_while_delivering(size_t n, enum away away)
{
    void *state;
    fleet_set_up(&state);
    struct fleet *f = state;
    fleet_put(f, f->managed, ROLE("foreign", "'watch'"));
    fleet_manifests(f, "w", before);
    control_start(f->control);
    bool is_cut = fleet_run_writes(f, n);
    fleet_kill(f);
    go_away(f, away);
    fleet_start(f);
    fleet_pass(f, 5);
    if (away == DELETED && !fleet_has_work(f, "w"))
        assert_false(fleet_has_applied(f, "w"));
    expect(f, away);
    fleet_tear_down(&state);
    return is_cut;
}

/* Killed after n writes of a change of what was delivered well. */
static bool kill_while_changing(size_t n, enum away away)
{
    void *state;
    fleet_set_up(&state);
    struct fleet *f = state;
    fleet_put(f, f->managed, ROLE("foreign", "'watch'"));
    fleet_manifests(f, "w", before);
    fleet_start(f);
    fake_log_clear(f->hub);
    fake_log_clear(f->managed);
    go_away(f, away);
    bool is_cut = fleet_run_writes(f, n);
    fleet_kill(f);
    fleet_start(f);
    fleet_pass(f, 5);
    expect(f, away);
    fleet_tear_down(&state);
    return is_cut;
}

static void test_killed_while_delivering(void **state)
{
    (void)state;
    for (enum away away = NOTHING; away < AWAYS; away++)
        for (size_t n = 1; kill_while_delivering(n, away); n++)
            assert_true(n < 50);
}

static void test_killed_while_changing(void **state)
{
    (void)state;
    for (enum away away = DROPPED; away < AWAYS; away++)
        for (size_t n = 1; kill_while_changing(n, away); n++)
            assert_true(n < 50);
}

/* The list was lost, as it was in an older backup of the managed cluster: owner references know. */
static void test_finds_by_owner_what_no_list_names(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", before);
    fleet_start(f);
    fleet_kill(f);
    fleet_edit(f, f->managed, fleet_applied_path(f, "w"), "status.appliedResources", "[]");
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    assert_true(fleet_has(f, "clusterroles/r"));
    assert_false(fleet_has(f, "clusterroles/s"));
    assert_false(fleet_has(f, "clusterrolebindings/b"));
    assert_false(fleet_has(f, "roles/n/q"));
}

/* ---- The hub. ---- */

static void cut(struct fake *server)
{
    fake_fault(server, &(struct fake_fault){.type = FAKE_LOST});
    fake_cut_watches(server, FAKE_CUT_EVENT);
}

static void test_repairs_while_the_hub_is_away(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'") "," IN_NAMESPACE("n", "q"));
    fleet_start(f);
    cut(f->hub);
    fleet_pass(f, 7200);
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_edit(f, f->managed, fleet_path(f, "roles/n/q"), "rules", "[]");
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    assert_string_equal(fleet_verb(f, "roles/n/q"), "get");
    fake_heal(f->hub);
    fleet_manifests(f, "w", ROLE("r", "'list'"));
    fleet_pass(f, 60);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    assert_false(fleet_has(f, "roles/n/q"));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
}

/* What cannot be told to the hub holds nobody up, and is told when it is back. */
static void test_tells_the_hub_later(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->hub,
              "{'apiVersion':'" FLEET_WORK_GROUP
              "/v1','kind':'ManifestWork','metadata':{'name':'w','namespace':'" CLUSTER
              "','generation':1},'spec':{'workload':{'manifests':[" SELECTED("r", "{}") "]}}}");
    fleet_start(f);
    fake_fault(f->hub, &(struct fake_fault){.type = FAKE_LOST, .method = S("PATCH")});
    for (int i = 0; i < 20; i++) {
        const char *name = str_cstr(&f->arena, str_fmt(&f->arena, "n%d", i));
        fleet_namespace(f, name, "");
        fleet_settle(f);
        assert_true(fleet_has(f, str_cstr(&f->arena, str_fmt(&f->arena, "roles/%s/r", name))));
    }
    fake_heal(f->hub);
    fleet_pass(f, 120);
    struct json work = fleet_get_work(f, "w");
    assert_int_equal(json_len(json_dig(&work, "status.resourceStatus.manifests")), 20);
}

static void test_holds_works_again(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    fleet_edit(f, f->hub, WORKS_PATH "w", "metadata.finalizers", "[]");
    fleet_settle(f);
    struct json work = fleet_get_work(f, "w");
    assert_true(object_has_finalizer(&work, S(FLEET_FINALIZER_WORK)));
}

/* ---- Works that vanish. ---- */

static void test_evicts_after_a_long_while(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    assert_true(fake_remove(f->hub, WORKS_PATH "w"));
    fleet_settle(f);
    fleet_pass(f, 3500);
    assert_true(fleet_has(f, "clusterroles/r"));
    struct json applied = fleet_applied(f, "w");
    assert_true(json_is_str(json_dig(&applied, "status.evictionStartTime")));
    fleet_pass(f, 200);
    assert_false(fleet_has(f, "clusterroles/r"));
    assert_false(fleet_has_applied(f, "w"));
}

static void test_forgives_works_that_come_back(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    assert_true(fake_remove(f->hub, WORKS_PATH "w"));
    fleet_pass(f, 3000);
    fleet_manifests(f, "w", ROLE("r", "'list'"));
    fleet_settle(f);
    struct json applied = fleet_applied(f, "w");
    assert_true(json_is_null(json_dig(&applied, "status.evictionStartTime")));
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    fleet_pass(f, 7200);
    assert_true(fleet_has(f, "clusterroles/r"));
}

/* A clock that jumps by a day, in the middle or while the agent was away, shortens nothing. */
static void test_clocks_that_jump_shorten_nothing(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    assert_true(fake_remove(f->hub, WORKS_PATH "w"));
    fleet_settle(f);
    f->time.wall += 86400 * SECOND;
    fleet_pass(f, 1800);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_kill(f);
    f->time.wall += 86400 * SECOND;
    fleet_start(f);
    fleet_pass(f, 1800);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_pass(f, 2000);
    assert_false(fleet_has(f, "clusterroles/r"));
}

/* The copy says that it is gone and the hub, asked once more, says something else, or nothing. */
static void test_evicts_only_with_the_hubs_word(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    assert_true(fake_remove(f->hub, WORKS_PATH "w"));
    fleet_settle(f);
    fake_fault(f->hub, &(struct fake_fault){
                           .type = FAKE_ANSWER, .method = S("GET"), .prefix = S(WORKS_PATH "w"), .status = 403});
    fleet_pass(f, 7200);
    assert_true(fleet_has(f, "clusterroles/r"));
    fake_heal(f->hub);
    fleet_pass(f, 120);
    assert_false(fleet_has(f, "clusterroles/r"));
}

#define LEFT(hash, agent)                                                                            \
    "{'apiVersion':'" FLEET_WORK_GROUP "/v1','kind':'AppliedManifestWork','metadata':{'name':'" hash \
    "-w','uid':'u-" hash "','finalizers':['" FLEET_FINALIZER_APPLIED "']},'spec':{'hubHash':'" hash  \
    "','agentID':'" agent "','manifestWorkName':'w'},'status':{'appliedResources':[{'group':'" RBAC  \
    "','version':'v1','resource':'clusterroles','name':'" hash "','namespace':'','uid':'u-r-" hash "'}]}}"
#define OF_LEFT(hash)                                                                                     \
    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRole','metadata':{'name':'" hash "','uid':'u-r-" hash     \
    "','labels':{'" FLEET_LABEL_DELIVERED "':'true'},'ownerReferences':[{'apiVersion':'" FLEET_WORK_GROUP \
    "/v1','kind':'AppliedManifestWork','name':'" hash "-w','uid':'u-" hash "'}]},'rules':[]}"

/* The hub has a new address: what this agent made for the old one goes in the end. Another agent's stays. */
static void test_what_another_address_left(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, LEFT("aa", "agent-a"));
    fleet_put(f, f->managed, OF_LEFT("aa"));
    fleet_put(f, f->managed, LEFT("bb", "agent-b"));
    fleet_put(f, f->managed, OF_LEFT("bb"));
    fleet_start(f);
    fleet_pass(f, 3000);
    assert_true(fleet_has(f, "clusterroles/aa"));
    fleet_pass(f, 1000);
    assert_false(fleet_has(f, "clusterroles/aa"));
    assert_true(fleet_has(f, "clusterroles/bb"));
}

/* ---- The managed cluster. ---- */

/* Our copy has yet to hear of the AppliedManifestWork that we made: a work is not let go for that. */
static void test_leaves_though_the_copy_is_behind(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fake_fault(f->managed, &(struct fake_fault){.type = FAKE_LOST,
                                                .method = S("GET"),
                                                .prefix = S("/apis/" FLEET_WORK_GROUP "/v1/appliedmanifestworks?")});
    assert_true(fake_cut_watches(f->managed, FAKE_CUT_CLEAN) > 0);
    fleet_settle(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterroles/r"));
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterroles/r"));
    assert_false(fleet_has_applied(f, "w"));
    assert_false(fleet_has_work(f, "w"));
}

/* The cluster has lost all that it had, and our copy of the AppliedManifestWork is behind: nothing is made for an owner that is gone,
 * since it would go with it. */
static void test_makes_nothing_for_an_owner_that_is_gone(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    fake_fault(f->managed, &(struct fake_fault){.type = FAKE_LOST,
                                                .method = S("GET"),
                                                .prefix = S("/apis/" FLEET_WORK_GROUP "/v1/appliedmanifestworks?")});
    assert_true(fake_cut_watches(f->managed, FAKE_CUT_CLEAN) > 0);
    fleet_settle(f);
    assert_true(fake_remove(f->managed, fleet_applied_path(f, "w")));
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_pass(f, 10);
    assert_false(fleet_has(f, "clusterroles/r"));
    fake_heal(f->managed);
    fleet_pass(f, 120);
    struct json now = fleet_applied(f, "w"), role = fleet_get(f, "clusterroles/r");
    assert_true(str_eq(json_get_text(&object_owners(&role)->items[0], S("uid")), object_uid(&now)));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
}

static void test_one_failure_stops_no_other(void **state)
{
    struct fleet *f = *state;
    fake_fault(f->managed, &(struct fake_fault){.type = FAKE_ANSWER,
                                                .method = S("POST"),
                                                .prefix = S("/apis/" RBAC "/v1/clusterroles?"),
                                                .status = 500});
    fleet_manifests(f, "w", ROLE("r", "'get'") "," BINDING("b", "view") "," BINDING("c", "r"));
    fleet_start(f);
    assert_true(fleet_has(f, "clusterrolebindings/b"));
    assert_string_equal(fleet_condition(f, "w", "Applied"), FAILED);
    assert_string_equal(fleet_manifest_condition(f, "w", 1, "Applied"), DONE);
    assert_false(
        fleet_has(f, "clusterrolebindings/c")); /* of a role that is not there yet: whoever makes it, it is not bound */
    assert_string_equal(
        fleet_manifest_condition(f, "w", 2, "Applied"),
        "False AppliedManifestFailed: Failed to apply manifest: ClusterRoleBinding \"c\" is withheld: its role, "
        "ClusterRole \"r\", is not there yet, though a ManifestWork delivers it");
    fake_heal(f->managed);
    fleet_pass(f, 90);
    assert_true(fleet_has(f, "clusterroles/r"));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
}

static void test_namespaces_that_come_later(void **state)
{
    struct fleet *f = *state;
    fake_fault(f->managed, &(struct fake_fault){
                               .type = FAKE_ANSWER,
                               .method = S("POST"),
                               .prefix = S("/apis/" RBAC "/v1/namespaces/n/roles"),
                               .status = 404,
                               .body = S("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"
                                         "\"NotFound\",\"message\":\"namespaces \\\"n\\\" not found\",\"code\":404}")});
    fleet_manifests(f, "w", IN_NAMESPACE("n", "q"));
    fleet_start(f);
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Applied"),
                        "False AppliedManifestFailed: Failed to apply manifest: namespaces \"n\" not found");
    fake_heal(f->managed);
    fleet_namespace(f, "n", "");
    fleet_settle(f); /* no time passes to speak of */
    assert_true(fleet_has(f, "roles/n/q"));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
}

static void test_applied_work_deleted_by_hand(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    struct json was = fleet_applied(f, "w");
    fleet_edit(f, f->managed, fleet_applied_path(f, "w"), "metadata.deletionTimestamp", "'2026-01-02T03:04:05Z'");
    fleet_pass(f, 2);
    struct json now = fleet_applied(f, "w"), role = fleet_get(f, "clusterroles/r");
    assert_false(str_eq(object_uid(&was), object_uid(&now)));
    assert_true(str_eq(json_get_text(&object_owners(&role)->items[0], S("uid")), object_uid(&now)));
}

/* Torn out, finalizer and all: the objects are ours by its name, and get the new one as owner. */
static void test_applied_work_torn_out(void **state)
{
    struct fleet *f = *state;
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_start(f);
    assert_true(fake_remove(f->managed, fleet_applied_path(f, "w")));
    fleet_settle(f);
    struct json now = fleet_applied(f, "w"), role = fleet_get(f, "clusterroles/r");
    assert_int_equal(json_len(object_owners(&role)), 1);
    assert_true(str_eq(json_get_text(&object_owners(&role)->items[0], S("uid")), object_uid(&now)));
}

/* Kinds that nobody can tell about now are not gone: what was made from them stays. */
static void test_removes_nothing_while_kinds_are_unknown(void **state)
{
    struct fleet *f = *state;
    fleet_put(
        f, f->managed,
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{'name':"
        "'widgets.example.com'},'spec':{'group':'example.com','scope':'Namespaced','names':{'plural':'widgets','kind':"
        "'Widget','singular':'widget','listKind':'WidgetList'},'versions':[{'name':'v1','served':true,'storage':true,"
        "'schema':{'openAPIV3Schema':{'type':'object'}}}]},'status':{'conditions':[{'type':'Established','status':"
        "'True'}],'acceptedNames':{'plural':'widgets','kind':'Widget'},'storedVersions':['v1']}}");
    fleet_manifests(f, "w", "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'x','namespace':'a'}}");
    fleet_start(f);
    fleet_kill(f);
    fake_fault(f->managed,
               &(struct fake_fault){
                   .type = FAKE_ANSWER, .method = S("GET"), .prefix = S("/apis/example.com/v1"), .status = 500});
    fleet_start(f);
    fleet_pass(f, 600);
    struct json o;
    assert_true(fake_get(f->managed, &f->arena, "/apis/example.com/v1/namespaces/a/widgets/x", &o));
    struct json applied = fleet_applied(f, "w");
    assert_int_equal(json_len(json_dig(&applied, "status.appliedResources")), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, fleet_set_up, fleet_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed_while_delivering),
        cmocka_unit_test(test_killed_while_changing),
        T(finds_by_owner_what_no_list_names),
        T(repairs_while_the_hub_is_away),
        T(tells_the_hub_later),
        T(holds_works_again),
        T(evicts_after_a_long_while),
        T(forgives_works_that_come_back),
        T(clocks_that_jump_shorten_nothing),
        T(evicts_only_with_the_hubs_word),
        T(what_another_address_left),
        T(leaves_though_the_copy_is_behind),
        T(makes_nothing_for_an_owner_that_is_gone),
        T(one_failure_stops_no_other),
        T(namespaces_that_come_later),
        T(applied_work_deleted_by_hand),
        T(applied_work_torn_out),
        T(removes_nothing_while_kinds_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
