/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent makes of ManifestWorks: delivered, kept, shared, taken back. Faults are in test_works_faults.c. */
#include "controllers/works/works.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fleet.h"
#include "object/fleet.h"
#include "object/object.h"

#define ROLE(name, verbs)                                                                                         \
    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRole','metadata':{'name':'" name "'},'rules':[{'apiGroups':['']," \
    "'resources':['pods'],'verbs':[" verbs "]}]}"
#define BINDING(name, role)                                                                              \
    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRoleBinding','metadata':{'name':'" name "'},'roleRef':{" \
    "'apiGroup':'" RBAC "','kind':'ClusterRole','name':'" role "'},'subjects':[{'kind':'Group','name':'g'}]}"
#define IN_NAMESPACE(ns, name)                                                                                 \
    "{'apiVersion':'" RBAC "/v1','kind':'Role','metadata':{'name':'" name "','namespace':'" ns "'},'rules':[{" \
    "'apiGroups':[''],'resources':['pods'],'verbs':['get']}]}"
#define SELECTED(name, selector)                                          \
    "{'apiVersion':'" RBAC "/v1','kind':'Role','metadata':{'name':'" name \
    "','annotations':{'" FLEET_ANNOTATION_SELECTOR "':'" selector         \
    "'}},'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':['get']}]}"

#define COMPLETE "True AppliedManifestWorkComplete: Apply manifest work complete"
#define DONE "True AppliedManifestComplete: Apply manifest complete"

static str verb_of(struct fleet *f, const char *role)
{
    struct json o = fleet_get(f, role);
    const struct json *rules = json_get(&o, S("rules"));
    return json_len(rules) ? json_text(&json_get(&rules->items[0], S("verbs"))->items[0]) : S("none");
}

#define assert_text(s, text) assert_string_equal(str_cstr(&f->arena, (s)), (text))

/* ---- Delivered. ---- */

static void test_delivers(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", BINDING("b", "r") "," ROLE("r", "'get'"));
    fleet_settle(f);
    struct json role = fleet_get(f, "clusterroles/r"), applied = fleet_applied(f, "w"), work = fleet_get_work(f, "w");
    assert_true(object_has_finalizer(&work, S(FLEET_FINALIZER_WORK)));
    assert_true(object_has_finalizer(&applied, S(FLEET_FINALIZER_APPLIED)));
    assert_text(object_label(&role, S(FLEET_LABEL_DELIVERED)), "true");
    const struct json *owner = &object_owners(&role)->items[0];
    assert_text(json_get_text(owner, S("uid")), str_cstr(&f->arena, object_uid(&applied)));
    assert_text(json_get_text(owner, S("kind")), "AppliedManifestWork");
    assert_null(json_get(owner, S("controller")));
    assert_true(fleet_has(f, "clusterrolebindings/b"));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    assert_string_equal(fleet_condition(f, "w", "Available"), "True ResourcesAvailable: All resources are available");
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Applied"), DONE);
    assert_string_equal(fleet_manifest_condition(f, "w", 1, "Available"),
                        "True ResourceAvailable: Resource is available");
    assert_string_equal(fleet_manifest_condition(f, "w", 1, "StatusFeedbackSynced"), "True NoStatusFeedbackSynced: ");
    assert_int_equal(json_len(json_dig(&applied, "status.appliedResources")), 2);
    json_each_item(json_dig(&applied, "status.appliedResources"), entry)
    {
        assert_true(json_get_text(entry, S("uid")).n > 0);
    }
}

static void test_writes_nothing_when_nothing_differs(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", BINDING("b", "r") "," ROLE("r", "'get'"));
    fleet_settle(f);
    fake_log_clear(f->hub);
    fake_log_clear(f->managed);
    fleet_pass(f, 3600);
    assert_int_equal(fake_writes(f->hub), 0);
    assert_int_equal(fake_writes(f->managed), 0);
    fleet_kill(f);
    fleet_start(f);
    assert_int_equal(fake_writes(f->hub), 0);
    assert_int_equal(fake_writes(f->managed), 0);
}

static void test_follows_changes(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'") "," ROLE("s", "'get'"));
    fleet_settle(f);
    fleet_manifests(f, "w", ROLE("r", "'list'"));
    fleet_settle(f);
    assert_text(verb_of(f, "clusterroles/r"), "list");
    assert_false(fleet_has(f, "clusterroles/s"));
    struct json applied = fleet_applied(f, "w");
    assert_int_equal(json_len(json_dig(&applied, "status.appliedResources")), 1);
}

static void test_takes_back(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", BINDING("b", "r") "," ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterroles/r"));
    assert_false(fleet_has(f, "clusterrolebindings/b"));
    assert_false(fleet_has_applied(f, "w"));
    assert_false(fleet_has_work(f, "w"));
}

/* ---- Kept. ---- */

static void test_repairs_edits(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    struct json before = fleet_get_work(f, "w");
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "rules", "[]");
    fleet_settle(f);
    assert_text(verb_of(f, "clusterroles/r"), "get");
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "aggregationRule", "{'clusterRoleSelectors':[]}");
    fleet_settle(f);
    struct json role = fleet_get(f, "clusterroles/r");
    assert_true(json_is_null(json_get(&role, S("aggregationRule"))));
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "metadata.ownerReferences", "[]");
    fleet_settle(f);
    role = fleet_get(f, "clusterroles/r");
    assert_int_equal(json_len(object_owners(&role)), 1);
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "metadata.labels", "{'foreign':'stays'}");
    fleet_settle(f);
    role = fleet_get(f, "clusterroles/r");
    assert_text(object_label(&role, S(FLEET_LABEL_DELIVERED)), "true");
    assert_text(object_label(&role, S("foreign")), "stays");
    struct json after = fleet_get_work(f, "w");
    assert_true(json_equal(json_get(&before, S("status")), json_get(&after, S("status"))));
}

static void test_makes_anew_what_was_deleted(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_settle(f);
    assert_true(fleet_has(f, "clusterroles/r"));
}

/* ---- Namespaces. ---- */

static void test_expands_over_namespaces(void **state)
{
    struct fleet *f = *state;
    fleet_namespace(f, "a", "'team':'x'");
    fleet_namespace(f, "b", "'team':'y'");
    fleet_start(f);
    fleet_put(f, f->hub,
              "{'apiVersion':'" FLEET_WORK_GROUP
              "/v1','kind':'ManifestWork','metadata':{'name':'w','namespace':'" CLUSTER
              "','generation':1},'spec':{'workload':{'manifests':[" SELECTED(
                  "r", "{\\'matchLabels\\':{\\'team\\':\\'x\\'}}") "]}}}");
    fleet_settle(f);
    fleet_pass(f, 2);
    assert_true(fleet_has(f, "roles/a/r"));
    assert_false(fleet_has(f, "roles/b/r"));
    fleet_namespace(f, "c", "'team':'x'");
    fleet_settle(f);
    assert_true(fleet_has(f, "roles/c/r"));
    struct json work = fleet_get_work(f, "w");
    assert_int_equal(json_len(json_dig(&work, "status.resourceStatus.manifests")), 2);
    fleet_namespace(f, "a", "'team':'y'");
    fleet_namespace(f, "b", "'team':'x'");
    fleet_settle(f);
    assert_false(fleet_has(f, "roles/a/r"));
    assert_true(fleet_has(f, "roles/b/r"));
    struct json role = fleet_get(f, "roles/b/r");
    assert_null(json_get(object_annotations(&role), S(FLEET_ANNOTATION_SELECTOR)));
}

/* ---- Whose it is. ---- */

static void test_leaves_foreign_objects_alone(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, ROLE("r", "'watch'"));
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'") "," ROLE("s", "'get'"));
    fleet_settle(f);
    assert_text(verb_of(f, "clusterroles/r"), "watch");
    assert_text(verb_of(f, "clusterroles/s"), "get");
    assert_string_equal(fleet_condition(f, "w", "Applied"),
                        "False AppliedManifestWorkFailed: Failed to apply manifest work");
    assert_string_equal(
        fleet_manifest_condition(f, "w", 0, "Applied"),
        "False Conflict: Failed to apply manifest: ClusterRole \"r\" exists already and was not delivered "
        "by this agent; annotation reeve.dev/adopt: \"true\" on the manifest takes it over");
    assert_string_equal(fleet_manifest_condition(f, "w", 1, "Applied"), DONE);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_true(fleet_has(f, "clusterroles/r"));
    assert_false(fleet_has(f, "clusterroles/s"));
}

static void test_shares_objects(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_manifests(f, "x", ROLE("r", "'get'") "," ROLE("s", "'get'"));
    fleet_settle(f);
    struct json role = fleet_get(f, "clusterroles/r");
    assert_int_equal(json_len(object_owners(&role)), 2);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    role = fleet_get(f, "clusterroles/r");
    assert_int_equal(json_len(object_owners(&role)), 1);
    fleet_manifests(f, "x", ROLE("s", "'get'"));
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterroles/r"));
}

static void test_makes_bindings_anew_whose_role_changes(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", BINDING("b", "r"));
    fleet_settle(f);
    struct json before = fleet_get(f, "clusterrolebindings/b");
    fleet_manifests(f, "w", BINDING("b", "s"));
    fleet_settle(f);
    struct json after = fleet_get(f, "clusterrolebindings/b");
    assert_text(json_text(json_dig(&after, "roleRef.name")), "s");
    assert_false(str_eq(object_uid(&before), object_uid(&after)));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    struct json applied = fleet_applied(f, "w");
    assert_text(json_get_text(&json_dig(&applied, "status.appliedResources")->items[0], S("uid")),
                str_cstr(&f->arena, object_uid(&after)));
}

#define T(name) cmocka_unit_test_setup_teardown(test_##name, fleet_set_up, fleet_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(delivers),
        T(writes_nothing_when_nothing_differs),
        T(follows_changes),
        T(takes_back),
        T(repairs_edits),
        T(makes_anew_what_was_deleted),
        T(expands_over_namespaces),
        T(leaves_foreign_objects_alone),
        T(shares_objects),
        T(makes_bindings_anew_whose_role_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
