/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of ClusterPermissions on a fake server: whom a change concerns, and nobody else is visited. */
#include "hub.h"

#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Who is visited. ---- */

static void clusters_concern_their_namespace(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_put(w, "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':'ClusterPermission','metadata':{"
               "'namespace':'cluster2','name':'far','uid':'far00-uid','generation':1},'spec':{" PLAIN "}}");
    hub_start(w);
    assert_false(hub_find(w, WORKS "/namespaces/cluster2/manifestworks/far-far00", &work));
    hub_put_cluster(w, "cluster1", ",'annotations':{'heart':'beats'}");
    hub_put_cluster(w, "cluster3", "");
    hub_settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    hub_put_cluster(w, "cluster2", "");
    hub_settle(w);
    assert_int_equal(hub_visits(w, "one"), 0);
    assert_true(hub_find(w, WORKS "/namespaces/cluster2/manifestworks/far-far00", &work));
    hub_put_cluster(w, "cluster1", ",'labels':{'agent.reeve.dev/present':'true'}");
    hub_settle(w);
    assert_int_equal(hub_visits(w, "one"), 1);
    fake_remove(w->fake, "/apis/cluster.open-cluster-management.io/v1/managedclusters/cluster1");
    hub_settle(w);
    assert_int_equal(hub_visits(w, "one"), 2);
    hub_assert_str(hub_condition(w, "one", "Validation", "message"), "namespace value is not a managed cluster");
    assert_true(hub_find(w, WORK("one-one00"), &work));
}

/* Whoever removes a cluster deletes its works: they must not come back. */
static void a_leaving_cluster_gets_no_works(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    hub_put_cluster(w, "cluster1", ",'deletionTimestamp':'2026-01-02T03:04:05Z','finalizers':['x/y']");
    hub_settle(w);
    fake_remove(w->fake, WORK("one-one00"));
    hub_settle(w);
    assert_false(hub_find(w, WORK("one-one00"), &work));
}

/* As somebody else does who changes metadata of what is there. */
static void edit(struct world *w, const char *path, const char *field, const char *value)
{
    struct json object, v;
    struct buf text = {.arena = &w->arena};
    assert_true(hub_find(w, path, &object));
    assert_int_equal(json_decode(&w->arena, str_of(value), NULL, NULL, &v, NULL), 0);
    json_set(&w->arena, json_get_mut(&object, S("metadata")), str_of(field), v);
    json_encode(&text, &object, 0);
    buf_add_char(&text, '\0');
    fake_put(w->fake, text.p);
}

static void labels_and_finalizers_concern_nobody(void **state)
{
    struct world *w = *state;
    hub_put_permission(w, "one", GENERATION(1), PLAIN);
    hub_start(w);
    edit(w, PERMISSION("one"), "labels", "{\"a\":\"b\"}");
    edit(w, WORK("one-one00"), "finalizers", "[\"x/y\"]");
    hub_settle(w);
    assert_int_equal(hub_visits(w, "one"), 0);
    edit(w, WORK("one-one00"), "ownerReferences", "[]"); /* but who lost a work has to know */
    hub_settle(w);
    assert_int_equal(hub_visits(w, "one"), 1);
    hub_assert_str(hub_condition(w, "one", "AppliedRBACManifestWork", "reason"), "FailedWriteManifestWork");
}

#define MSA(name)                                                                                                   \
    "{'apiVersion':'authentication.open-cluster-management.io/v1beta1','kind':'ManagedServiceAccount','metadata':{" \
    "'namespace':'cluster1','name':'" name "'},'spec':{'rotation':{}}}"
#define MSAS "/apis/authentication.open-cluster-management.io/v1beta1/namespaces/cluster1/managedserviceaccounts/"
#define ADDON(name, namespace)                                                                            \
    "{'apiVersion':'addon.open-cluster-management.io/v1alpha1','kind':'ManagedClusterAddOn','metadata':{" \
    "'namespace':'cluster1','name':'" name "'},'spec':{},'status':{'namespace':'" namespace "'}}"

static void accounts_concern_who_names_them(void **state)
{
    struct world *w = *state;
    struct json work;
    hub_put(w, ADDON("managed-serviceaccount", "addons"));
    hub_put_permission(w, "plain", GENERATION(1), PLAIN);
    hub_put_permission(w, "robot", GENERATION(1), PLAIN "," ACCOUNT("robot"));
    hub_put_permission(w, "other", GENERATION(1), PLAIN "," ACCOUNT("other"));
    hub_start(w);
    assert_false(hub_find(w, WORK("robot-robot"), &work));
    hub_assert_str(hub_condition(w, "robot", "SubjectPresent", "status"), "False");
    hub_put(w, MSA("robot"));
    hub_settle(w);
    assert_int_equal(hub_visits(w, "robot"), 1);
    assert_int_equal(hub_visits(w, "other") + hub_visits(w, "plain"), 0);
    const struct json *binding = hub_manifest(w, WORK("robot-robot"), 2);
    const struct json *subject = &json_get(binding, S("subjects"))->items[0];
    hub_assert_str(json_get_text(subject, S("namespace")), "addons");
    hub_assert_str(hub_condition(w, "robot", "SubjectPresent", "status"), "True");
    fake_log_clear(w->fake);
    hub_put(w, MSA("robot")); /* nothing that matters */
    hub_settle(w);
    assert_int_equal(hub_visits(w, "robot"), 0);
    fake_remove(w->fake, MSAS "robot");
    hub_settle(w);
    assert_int_equal(hub_visits(w, "robot"), 1);
    hub_assert_str(hub_condition(w, "robot", "SubjectPresent", "status"), "False");
    assert_true(hub_find(w, WORK("robot-robot"), &work));
    assert_int_equal(json_len(json_dig(&work, "spec.workload.manifests")), 2); /* without the binding */
}

static void addons_concern_those_with_accounts(void **state)
{
    struct world *w = *state;
    hub_put(w, ADDON("managed-serviceaccount", "addons"));
    hub_put(w, MSA("robot"));
    hub_put_permission(w, "plain", GENERATION(1), PLAIN);
    hub_put_permission(w, "robot", GENERATION(1), PLAIN "," ACCOUNT("robot"));
    hub_start(w);
    hub_put(w, ADDON("something-else", "elsewhere"));
    hub_settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    hub_put(w, ADDON("managed-serviceaccount", "elsewhere"));
    hub_settle(w);
    assert_int_equal(hub_visits(w, "plain"), 0);
    assert_int_equal(hub_visits(w, "robot"), 1);
    const struct json *subjects = json_get(hub_manifest(w, WORK("robot-robot"), 2), S("subjects"));
    hub_assert_str(json_get_text(&subjects->items[0], S("namespace")), "elsewhere");
}

#define NAMESPACE(name, meta) "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'" name "'" meta "}}"
#define TEAM_A ",'labels':{'team':'a'}"

static void namespaces_concern_who_selects_here(void **state)
{
    struct world *w = *state;
    hub_put_cluster(w, "cluster2", ",'labels':{'agent.reeve.dev/present':'true'}");
    hub_put(w, NAMESPACE("a1", TEAM_A));
    hub_put_permission(w, "plain", GENERATION(1), PLAIN);
    hub_put_permission(w, "chooser", GENERATION(1), PLAIN "," SELECTOR);
    hub_put(w,
            "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':'ClusterPermission','metadata':{"
            "'namespace':'cluster2','name':'far','uid':'far00-uid','generation':1},'spec':{" PLAIN "," SELECTOR "}}");
    hub_start(w);
    hub_assert_str(object_namespace(hub_manifest(w, WORK("chooser-choos"), 2)), "a1");
    hub_put(w, NAMESPACE("a1", TEAM_A ",'annotations':{'x':'y'}"));
    hub_settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    hub_put(w, NAMESPACE("a2", TEAM_A));
    hub_settle(w);
    assert_int_equal(hub_visits(w, "chooser"), 1);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 1);
    hub_assert_str(object_namespace(hub_manifest(w, WORK("chooser-choos"), 3)), "a2");
    fake_remove(w->fake, "/api/v1/namespaces/a1");
    hub_settle(w);
    hub_assert_str(object_namespace(hub_manifest(w, WORK("chooser-choos"), 2)), "a2");
}

static void roles_concern_who_refers_to_them(void **state)
{
    struct world *w = *state;
    hub_put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'reader'", "get"));
    hub_put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'other'", "get"));
    hub_put(w, ROLE_OBJECT("ClusterRole", "'name':'seer'", "get"));
    hub_put_permission(w, "plain", GENERATION(1), PLAIN);
    hub_put_permission(w, "refer", GENERATION(1), ROLE_REFS);
    hub_start(w);
    hub_put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'other'", "list"));
    hub_put(w, ROLE_OBJECT("Role", "'namespace':'cluster1','name':'reader'", "list"));
    hub_put(w, ROLE_OBJECT("ClusterRole", "'name':'reader'", "list"));
    hub_settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    hub_put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'reader'", "list"));
    hub_settle(w);
    hub_put(w, ROLE_OBJECT("ClusterRole", "'name':'seer'", "watch"));
    hub_settle(w);
    assert_int_equal(hub_visits(w, "refer"), 2);
    assert_int_equal(hub_visits(w, "plain"), 0);
    str seen[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        const struct json *m = hub_manifest(w, WORK("refer-refer"), i);
        seen[str_eq(object_kind(m), S("ClusterRole"))] =
            json_text(&json_get(&json_get(m, S("rules"))->items[0], S("verbs"))->items[0]);
    }
    hub_assert_str(seen[0], "list");
    hub_assert_str(seen[1], "watch");
}

#define SELECT(team) \
    "{'namespaceSelector':{'matchLabels':{'team':'" team "'}},'roleRef':{'kind':'ClusterRole'}," USER "}"

/* Two templates of one name are two parts, and one of them cannot be written now. */
static void parts_that_wait_for_others_do_not_spin(void **state)
{
    struct world *w = *state;
    hub_put_cluster(w, "cluster1", ",'labels':{'agent.reeve.dev/present':'true'}");
    hub_put_permission(w, "one", GENERATION(1), ROLE("get") ",'roleBindings':[" SELECT("a") "," SELECT("b") "]");
    hub_start(w);
    edit(w, WORK("one-one00-1"), "deletionTimestamp", "\"2026-01-02T03:04:05Z\"");
    hub_settle(w);
    hub_put_permission(w, "one", GENERATION(2), ROLE("get") ",'roleBindings':[" SELECT("b") "," SELECT("a") "]");
    hub_settle(w);
    fake_log_clear(w->fake);
    hub_pass(w, 5);
    assert_true(hub_visits(w, "one") < 3);
    fake_remove(w->fake, WORK("one-one00-1"));
    hub_pass(w, 1);
    struct json work;
    assert_true(hub_find(w, WORK("one-one00-1"), &work));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, hub_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(clusters_concern_their_namespace),     TEST(a_leaving_cluster_gets_no_works),
        TEST(labels_and_finalizers_concern_nobody), TEST(accounts_concern_who_names_them),
        TEST(addons_concern_those_with_accounts),   TEST(namespaces_concern_who_selects_here),
        TEST(roles_concern_who_refers_to_them),     TEST(parts_that_wait_for_others_do_not_spin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
