/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent makes of ManifestWorks: delivered, kept, shared, taken back. Faults are in test_works_faults.c. */
#include "controllers/works/works.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "manifests.h"
#include "object/fleet.h"
#include "object/object.h"

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
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
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
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
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

static void put_template(struct fleet *f, const char *name)
{
    fleet_put(f, f->hub,
              str_cstr(&f->arena,
                       str_fmt(&f->arena,
                               "{'apiVersion':'" FLEET_WORK_GROUP
                               "/v1','kind':'ManifestWork','metadata':{'name':'w','namespace':'" CLUSTER
                               "','generation':1},'spec':{'workload':{'manifests':[{'apiVersion':'" RBAC
                               "/v1','kind':'Role','metadata':{'name':'%s','annotations':{'" FLEET_ANNOTATION_SELECTOR
                               "':'{}'}},'rules':[]}," ROLE("r", "'get'") "]}}}",
                               name)));
}

/* A status has an end: one entry of each manifest is there, and one that failed is not the one that is left out. */
static void test_status_has_an_end(void **state)
{
    enum { MANY = 1500 };
    struct fleet *f = *state;
    for (int i = 0; i < MANY; i++)
        fleet_namespace(f, str_cstr(&f->arena, str_fmt(&f->arena, "n%04d", i)), "");
    fleet_put(f, f->managed, IN_NAMESPACE("n1499", "t"));
    fleet_start(f);
    put_template(f, "t");
    fleet_settle(f);
    fleet_pass(f, 2);
    assert_true(fleet_has(f, "roles/n0000/t") && fleet_has(f, "roles/n1498/t"));
    struct json work = fleet_get_work(f, "w"), last = json_null();
    const struct json *list = json_dig(&work, "status.resourceStatus.manifests");
    struct buf text = {.arena = &f->arena};
    json_encode(&text, &work, 0);
    assert_true(text.n < 1000000);
    assert_in_range(json_len(list), 1000, MANY);
    bool has_failed = false;
    json_each_item(list, entry)
    {
        has_failed |= str_eq(json_text(json_dig(entry, "resourceMeta.namespace")), S("n1499"));
        last = *entry;
    }
    assert_true(has_failed);
    assert_text(json_text(json_dig(&last, "resourceMeta.name")), "r");
}

/* More than an AppliedManifestWork can name: said so, and the rest is delivered. */
static void test_too_many_namespaces(void **state)
{
    enum { MANY = 3000 };
    static const char name[] = "a-role-with-a-name-that-is-as-long-as-names-may-be-so-that-fewer-namespaces-are-enough-"
                               "to-come-to-more-than-an-object-may-hold-which-is-one-megabyte-and-a-half-for-those-who-"
                               "keep-it-in-etcd-and-not-much-more-elsewhere";
    struct fleet *f = *state;
    for (int i = 0; i < MANY + 200; i++)
        fleet_namespace(f, str_cstr(&f->arena, str_fmt(&f->arena, "n%04d", i)), "");
    fleet_start(f);
    put_template(f, name);
    fleet_settle(f);
    fleet_pass(f, 2);
    assert_true(fleet_has(f, "clusterroles/r"));
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Applied"),
                        "False AppliedManifestFailed: Failed to apply manifest: the namespaces that are selected are "
                        "more than one ManifestWork can deliver to");
    assert_string_equal(fleet_manifest_condition(f, "w", 1, "Applied"), DONE);
}

/* ---- Whose it is. ---- */

static void test_leaves_foreign_objects_alone(void **state)
{
    struct fleet *f = *state;
    fleet_put(f, f->managed, ROLE("r", "'watch'"));
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'") "," ROLE("s", "'get'"));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "watch");
    assert_string_equal(fleet_verb(f, "clusterroles/s"), "get");
    assert_string_equal(fleet_condition(f, "w", "Applied"),
                        "False AppliedManifestWorkFailed: Failed to apply manifest work");
    assert_string_equal(
        fleet_manifest_condition(f, "w", 0, "Applied"),
        "False Conflict: Failed to apply manifest: ClusterRole \"r\" exists already and was not created by this agent; "
        "it is left as it is. Its owner can let works change it by annotation reeve.dev/adopt: \"true\" on that object "
        "of the managed cluster");
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
    str uid = str_dup(&f->arena, object_uid(&role));
    fleet_delete_work(f, "w");
    fleet_settle(f);
    role = fleet_get(f, "clusterroles/r");
    assert_int_equal(json_len(object_owners(&role)), 1);
    assert_true(str_eq(object_uid(&role), uid)); /* never away, not even for a moment */
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

/* ---- Strategies. ---- */

#define WITH(strategy, manifests)                               \
    "{'manifestConfigs':[{'resourceIdentifier':{'group':'" RBAC \
    "','resource':'clusterroles','name':'r','namespace':''},"   \
    "'updateStrategy':{" strategy "}}],'workload':{'manifests':[" manifests "]}}"

static void test_creates_only(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_work(f, "w", WITH("'type':'CreateOnly'", ROLE("r", "'get'")));
    fleet_settle(f);
    fleet_work(f, "w", WITH("'type':'CreateOnly'", ROLE("r", "'list'")));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
}

static void test_only_reads(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_work(f, "w", WITH("'type':'ReadOnly'", ROLE("r", "'get'")));
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterroles/r"));
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Applied"), DONE);
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Available"),
                        "False ResourceNotAvailable: Resource is not available");
    assert_string_equal(fleet_condition(f, "w", "Available"),
                        "False ResourcesNotAvailable: 1 of 1 resources are not available");
    fleet_put(f, f->managed, ROLE("r", "'watch'"));
    fleet_pass(f, 30);
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Available"),
                        "True ResourceAvailable: Resource is available");
    assert_int_equal(fleet_owners(f, "clusterroles/r"), 0);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "watch");
}

static void test_says_who_stands_in_the_way_of_an_apply(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_put(
        f, f->managed,
        "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m','namespace':'a','labels':{'" FLEET_LABEL_DELIVERED
        "':'true'}},'data':{'k':'theirs'}}");
    fake_fault(f->managed,
               &(struct fake_fault){.type = FAKE_ANSWER,
                                    .method = S("PATCH"),
                                    .prefix = S("/api/v1/namespaces/a/configmaps/m?fieldManager=work-agent"),
                                    .status = 409});
    fleet_work(
        f, "w",
        "{'manifestConfigs':[{'resourceIdentifier':{'group':'','resource':'configmaps','name':'m','namespace':'a'},"
        "'updateStrategy':{'type':'ServerSideApply'}}],'workload':{'manifests':[{'apiVersion':'v1','kind':'ConfigMap',"
        "'metadata':{'name':'m','namespace':'a'},'data':{'k':'ours'}}]}}");
    fleet_settle(f);
    assert_string_equal(fleet_condition(f, "w", "Applied"), FAILED);
    assert_non_null(
        strstr(fleet_manifest_condition(f, "w", 0, "Applied"), "False AppliedManifestFailed: Failed to apply"));
    fake_heal(f->managed);
    fleet_pass(f, 20);
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
}

static void test_applies_other_kinds(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w",
                    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m','namespace':'a','uid':'u',"
                    "'resourceVersion':'77'},'data':{'k':'v'}}");
    fleet_settle(f);
    struct json map = fleet_get(f, "configmaps/a/m");
    assert_text(json_text(json_dig(&map, "data.k")), "v");
    assert_int_equal(json_len(object_owners(&map)), 1);
    fleet_edit(f, f->managed, fleet_path(f, "configmaps/a/m"), "data.k", "'other'");
    fleet_settle(f);
    map = fleet_get(f, "configmaps/a/m");
    assert_text(json_text(json_dig(&map, "data.k")), "v");
    fake_log_clear(f->managed);
    fleet_pass(f, 3600);
    assert_int_equal(fake_writes(f->managed), 0);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has(f, "configmaps/a/m"));
    size_t watches = fake_watches(f->managed);
    fleet_pass(f, 3600);
    assert_int_equal(fake_watches(f->managed), watches - 1); /* of ConfigMaps: nobody needs it any more */
}

static void test_delivers_kinds_that_it_has_to_ask_for(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", "{'apiVersion':'example.com/v1','kind':'Widget','metadata':{'name':'x','namespace':'a'}}");
    fleet_settle(f);
    assert_string_equal(
        fleet_manifest_condition(f, "w", 0, "Applied"),
        "False AppliedManifestFailed: Failed to apply manifest: no matches for kind \"Widget\" in version "
        "\"example.com/v1\"");
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Available"),
                        "Unknown IncompleteResourceMeta: Resource meta is incomplete");
    fleet_put(
        f, f->managed,
        "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{'name':"
        "'widgets.example.com'},'spec':{'group':'example.com','scope':'Namespaced','names':{'plural':'widgets','kind':"
        "'Widget','singular':'widget','listKind':'WidgetList'},'versions':[{'name':'v1','served':true,'storage':true,"
        "'schema':{'openAPIV3Schema':{'type':'object'}}}]},'status':{'conditions':[{'type':'Established','status':"
        "'True'}],'acceptedNames':{'plural':'widgets','kind':'Widget'},'storedVersions':['v1']}}");
    fleet_pass(f, 120);
    struct json o;
    assert_true(fake_get(f->managed, &f->arena, "/apis/example.com/v1/namespaces/a/widgets/x", &o));
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
}

/* ---- What stays. ---- */

static void test_orphans(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_work(
        f, "w",
        "{'deleteOption':{'propagationPolicy':'SelectivelyOrphan','selectivelyOrphans':{'orphaningRules':[{'group':"
        "'" RBAC "','resource':'clusterroles','name':'r','namespace':''}]}},'workload':{'manifests':[" ROLE(
            "r", "'get'") "," ROLE("s", "'get'") "]}}");
    fleet_settle(f);
    assert_int_equal(fleet_owners(f, "clusterroles/r"), 0);
    assert_int_equal(fleet_owners(f, "clusterroles/s"), 1);
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "rules", "[]"); /* repaired all the same */
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_true(fleet_has(f, "clusterroles/r"));
    assert_false(fleet_has(f, "clusterroles/s"));
}

static void test_orphans_when_told_at_the_last_moment(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_edit(f, f->hub, "/apis/work.open-cluster-management.io/v1/namespaces/" CLUSTER "/manifestworks/w",
               "spec.deleteOption", "{'propagationPolicy':'Orphan'}");
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has_work(f, "w"));
    assert_int_equal(fleet_owners(f, "clusterroles/r"), 0);
}

static void test_cleans_what_is_orphaned_no_longer(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_work(f, "w",
               "{'deleteOption':{'propagationPolicy':'Orphan'},'workload':{'manifests':[" ROLE("r", "'get'") "]}}");
    fleet_settle(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    assert_int_equal(fleet_owners(f, "clusterroles/r"), 1);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterroles/r"));
}

static void test_waits_for_what_goes_slowly(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_edit(f, f->managed, fleet_path(f, "clusterroles/r"), "metadata.finalizers", "['example.com/slow']");
    fleet_settle(f);
    fleet_delete_work(f, "w");
    fleet_pass(f, 10);
    assert_true(fleet_has_work(f, "w"));
    assert_string_equal(fleet_condition(f, "w", "Deleting"), "True WorkDeleting: ManifestWork is being deleted");
    assert_true(fleet_has_applied(f, "w"));
    assert_true(fake_remove(f->managed, fleet_path(f, "clusterroles/r")));
    fleet_settle(f);
    assert_false(fleet_has_applied(f, "w"));
    assert_false(fleet_has_work(f, "w"));
}

/* ---- Whose it is, again: adoption is in test_works_adoption.c. ---- */

static void test_first_come_stays(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_manifests(f, "x", ROLE("r", "'list'"));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    assert_string_equal(
        fleet_manifest_condition(f, "x", 0, "Applied"),
        "False Conflict: Failed to apply manifest: ClusterRole \"r\" is delivered by ManifestWork \"w\" with "
        "other content");
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    assert_string_equal(fleet_condition(f, "x", "Applied"), COMPLETE);
}

/* Sharers do not fight: the first leads, and the other says that it differs. */
static void test_sharers_do_not_fight(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_manifests(f, "x", ROLE("r", "'get'"));
    fleet_settle(f);
    fleet_manifests(f, "w", ROLE("r", "'list'"));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    assert_string_equal(fleet_condition(f, "x", "Applied"), FAILED);
    fleet_manifests(f, "x", ROLE("r", "'list'"));
    fleet_settle(f);
    assert_string_equal(fleet_condition(f, "x", "Applied"), COMPLETE);
    assert_int_equal(fleet_owners(f, "clusterroles/r"), 2);
}

#define PART(name, verb)                                                                                 \
    "{'apiVersion':'work.open-cluster-management.io/v1','kind':'ManifestWork','metadata':{'name':'" name \
    "','namespace':'" CLUSTER                                                                            \
    "','generation':1,'ownerReferences':[{'apiVersion':'x/v1','kind':'ClusterPermission','name':"        \
    "'p','uid':'u-p','controller':true}]},'spec':{'workload':{'manifests':[" ROLE("r", verb) "]}}}"

/* A permission that is split moved an object from one part to another, and changed it. */
static void test_the_part_that_gains_is_right(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_put(f, f->hub, PART("p-1", "'get'"));
    fleet_settle(f);
    fleet_put(f, f->hub, PART("p-2", "'list'"));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    assert_string_equal(fleet_condition(f, "p-2", "Applied"), COMPLETE);
    assert_string_equal(fleet_condition(f, "p-1", "Applied"), FAILED);
    fleet_delete_work(f, "p-1");
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "list");
    assert_int_equal(fleet_owners(f, "clusterroles/r"), 1);
}

static void test_works_of_other_clusters_are_nothing(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_put(
        f, f->hub,
        "{'apiVersion':'work.open-cluster-management.io/v1','kind':'ManifestWork','metadata':{'name':'w','namespace':"
        "'cluster2'},'spec':{'workload':{'manifests':[" ROLE("r", "'get'") "]}}}");
    fleet_pass(f, 60);
    assert_false(fleet_has(f, "clusterroles/r"));
    assert_int_equal(fake_writes(f->hub), 0);
}

static void test_removes_labels_when_asked(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w",
                    "{'apiVersion':'" RBAC "/v1','kind':'ClusterRole','metadata':{'name':'r','labels':{'a':'1'}},"
                    "'rules':[]}");
    fleet_settle(f);
    fleet_manifests(f, "w",
                    "{'apiVersion':'" RBAC
                    "/v1','kind':'ClusterRole','metadata':{'name':'r','labels':{'a-':'','b':'2'}},"
                    "'rules':[]}");
    fleet_settle(f);
    struct json role = fleet_get(f, "clusterroles/r");
    assert_null(json_get(object_labels(&role), S("a")));
    assert_null(json_get(object_labels(&role), S("a-")));
    assert_text(object_label(&role, S("b")), "2");
    fake_log_clear(f->managed);
    fleet_pass(f, 3600);
    assert_int_equal(fake_writes(f->managed), 0);
}

static void test_one_object_twice_in_a_work(void **state)
{
    struct fleet *f = *state;
    fleet_start(f);
    fleet_manifests(f, "w", ROLE("r", "'get'") "," ROLE("r", "'get'") "," ROLE("r", "'list'"));
    fleet_settle(f);
    assert_string_equal(fleet_verb(f, "clusterroles/r"), "get");
    assert_string_equal(fleet_manifest_condition(f, "w", 1, "Applied"), DONE);
    assert_string_equal(
        fleet_manifest_condition(f, "w", 2, "Applied"),
        "False Conflict: Failed to apply manifest: ClusterRole \"r\" is in this work already, with other "
        "content");
    assert_string_equal(fleet_manifest_condition(f, "w", 2, "Available"),
                        "True ResourceAvailable: Resource is available");
}

/* ---- Executors. ---- */

#define EXECUTED(manifests)                                                                                         \
    "{'executor':{'subject':{'type':'ServiceAccount','serviceAccount':{'namespace':'a','name':'sa'}}},'workload':{" \
    "'manifests':[" manifests "]}}"
#define REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

static void answer_reviews(struct fleet *f, const char *allowed)
{
    str body = str_fmt(&f->arena,
                       "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"status\":{"
                       "\"allowed\":%s}}",
                       allowed);
    fake_heal(f->managed);
    fake_fault(f->managed,
               &(struct fake_fault){
                   .type = FAKE_ANSWER, .method = S("POST"), .prefix = S(REVIEWS), .status = 201, .body = body});
}

static void test_asks_for_the_executor(void **state)
{
    struct fleet *f = *state;
    answer_reviews(f, "false");
    fleet_start(f);
    fleet_work(f, "w", EXECUTED(ROLE("r", "'get'")));
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterroles/r"));
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Applied"),
                        "False AppliedManifestFailed: Failed to apply manifest: not allowed to apply the resource " RBAC
                        " clusterroles,  r, will try again in 1m0s");
    assert_string_equal(fleet_manifest_condition(f, "w", 0, "Available"),
                        "False ResourceNotAvailable: Resource is not available");
    struct json applied = fleet_applied(f, "w");
    assert_int_equal(json_len(json_dig(&applied, "status.appliedResources")), 0);
    answer_reviews(f, "true");
    fleet_pass(f, 70);
    assert_string_equal(fleet_condition(f, "w", "Applied"), COMPLETE);
    assert_true(fleet_has(f, "clusterroles/r"));
    answer_reviews(f, "false");
    fleet_pass(f, 600);
    assert_string_equal(fleet_condition(f, "w", "Applied"), FAILED);
    assert_true(fleet_has(f, "clusterroles/r"));
    applied = fleet_applied(f, "w");
    assert_int_equal(json_len(json_dig(&applied, "status.appliedResources")), 1);
    fleet_delete_work(f, "w");
    fleet_settle(f);
    assert_false(fleet_has(f, "clusterroles/r"));
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
        T(status_has_an_end),
        T(too_many_namespaces),
        T(leaves_foreign_objects_alone),
        T(shares_objects),
        T(makes_bindings_anew_whose_role_changes),
        T(creates_only),
        T(only_reads),
        T(says_who_stands_in_the_way_of_an_apply),
        T(applies_other_kinds),
        T(delivers_kinds_that_it_has_to_ask_for),
        T(orphans),
        T(orphans_when_told_at_the_last_moment),
        T(cleans_what_is_orphaned_no_longer),
        T(waits_for_what_goes_slowly),
        T(first_come_stays),
        T(sharers_do_not_fight),
        T(the_part_that_gains_is_right),
        T(works_of_other_clusters_are_nothing),
        T(removes_labels_when_asked),
        T(one_object_twice_in_a_work),
        T(asks_for_the_executor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
