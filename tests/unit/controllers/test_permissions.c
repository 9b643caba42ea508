/* SPDX-License-Identifier: Apache-2.0 */
/* The controller of ClusterPermissions on a fake server: what each change makes it visit and write, what it leaves alone, and what
 * it makes of a server that fails. What is built, and how it is told, have tests of their own. */
#include "controllers/permissions/permissions.h"

#include "world.h"

#include "object/conditions.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PERMISSIONS "/apis/rbac.open-cluster-management.io/v1alpha1"
#define WORKS "/apis/work.open-cluster-management.io/v1"
#define PERMISSION(name) PERMISSIONS "/namespaces/cluster1/clusterpermissions/" name
#define WORK(name) WORKS "/namespaces/cluster1/manifestworks/" name
#define REVIEWS "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* ---- Objects, with ' for ". ---- */

static void put(struct world *w, const char *text)
{
    char *json = str_cstr(&w->arena, str_of(text));
    for (char *c = json; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    fake_put(w->fake, json);
}

static void put_crd(struct world *w, const char *group, const char *version, const char *plural, const char *kind,
                    const char *scope)
{
    str names = str_fmt(&w->arena, "{'plural':'%s','singular':'x%s','kind':'%s','listKind':'%sList'}", plural, plural,
                        kind, kind);
    put(w, str_cstr(&w->arena,
                    str_fmt(&w->arena,
                            "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"
                            "'name':'%s.%s'},'spec':{'group':'%s','scope':'%s','names':%.*s,'versions':[{'name':'%s',"
                            "'served':true,'storage':true,'subresources':{'status':{}},'schema':{'openAPIV3Schema':{"
                            "'type':'object','x-kubernetes-preserve-unknown-fields':true}}}]},'status':{"
                            "'acceptedNames':%.*s,'storedVersions':['%s'],'conditions':[{'type':'NamesAccepted',"
                            "'status':'True'},{'type':'Established','status':'True'}]}}",
                            plural, group, group, scope, STR(names), version, STR(names), version)));
}

static void put_kinds(struct world *w)
{
    put_crd(w, "rbac.open-cluster-management.io", "v1alpha1", "clusterpermissions", "ClusterPermission", "Namespaced");
    put_crd(w, "work.open-cluster-management.io", "v1", "manifestworks", "ManifestWork", "Namespaced");
    put_crd(w, "cluster.open-cluster-management.io", "v1", "managedclusters", "ManagedCluster", "Cluster");
    put_crd(w, "authentication.open-cluster-management.io", "v1beta1", "managedserviceaccounts",
            "ManagedServiceAccount", "Namespaced");
    put_crd(w, "addon.open-cluster-management.io", "v1alpha1", "managedclusteraddons", "ManagedClusterAddOn",
            "Namespaced");
}

static void put_cluster(struct world *w, const char *name, const char *more)
{
    put(w, str_cstr(&w->arena, str_fmt(&w->arena,
                                       "{'apiVersion':'cluster.open-cluster-management.io/v1','kind':'ManagedCluster',"
                                       "'metadata':{'name':'%s'%s},'spec':{'hubAcceptsClient':true}}",
                                       name, more)));
}

static void put_permission(struct world *w, const char *name, const char *meta, const char *spec)
{
    put(w, str_cstr(&w->arena, str_fmt(&w->arena,
                                       "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':"
                                       "'ClusterPermission','metadata':{'namespace':'cluster1','name':'%s','uid':"
                                       "'%s000-uid',%s},'spec':{%s}}",
                                       name, name, meta, spec)));
}

#define GENERATION(n) "'generation':" #n
#define RULES(verb) "'rules':[{'apiGroups':[''],'resources':['pods'],'verbs':['" verb "']}]"
#define ROLE(verb) "'clusterRole':{" RULES(verb) "}"
#define USER "'subjects':[{'apiGroup':'rbac.authorization.k8s.io','kind':'User','name':'jane'}]"
#define BINDING "'clusterRoleBinding':{" USER "}"
#define ACCOUNT(name)                                                                               \
    "'roleBindings':[{'namespace':'apps','roleRef':{'kind':'ClusterRole'},'subjects':[{'apiGroup':" \
    "'authentication.open-cluster-management.io','kind':'ManagedServiceAccount','name':'" name "'}]}]"
#define SELECTOR \
    "'roleBindings':[{'namespaceSelector':{'matchLabels':{'team':'a'}},'roleRef':{'kind':'ClusterRole'}," USER "}]"
#define PLAIN ROLE("get") "," BINDING

/* ---- At work. ---- */

static int set_up_row(void **state, const struct controller_row *row)
{
    world_set_up(state, row);
    struct world *w = *state;
    put_kinds(w);
    put_cluster(w, "cluster1", "");
    return 0;
}

static int set_up(void **state)
{
    return set_up_row(state, &permissions_row);
}

static int add_strict(const struct controller_env *env, struct err *err)
{
    struct controller_env strict = *env;
    strict.is_embedded = strict.requires_approval = true;
    return permissions_row.add(&strict, err);
}

static int set_up_strict(void **state)
{
    static const struct controller_row row = {.add = add_strict};
    return set_up_row(state, &row);
}

static int64_t figure(struct world *w, const char *name)
{
    struct buf text = {.arena = &w->arena};
    control_metrics_write(w->control, &text);
    ptrdiff_t at = str_find(buf_str(&text), str_of(name));
    assert_true(at >= 0);
    return strtoll(text.p + at + strlen(name), NULL, 10);
}

static bool is_idle(struct world *w)
{
    return figure(w, "workqueue_depth{name=\"permissions\"} ") == 0 &&
           figure(w, "controller_runtime_active_workers{controller=\"permissions\"} ") == 0;
}

/* Until nobody has anything to do, and nobody was asked for anything for a while. Time stands still. */
static void settle(struct world *w)
{
    size_t n, last = 0;
    int quiet = 0;
    for (int i = 0; i < TURNS && quiet < 20; i++) {
        loop_turn(w->loop, TURN_NS);
        (void)fake_log(w->fake, &n);
        quiet = n == last && is_idle(w) ? quiet + 1 : 0;
        last = n;
    }
    assert_int_equal(quiet, 20);
}

/* Some seconds go by, too: what failed is tried again. */
static void pass(struct world *w, int seconds)
{
    for (int i = 0; i < seconds * 20; i++) {
        clock_fake_advance(&w->time, SECOND / 20);
        loop_turn(w->loop, TURN_NS);
    }
    settle(w);
}

static void start(struct world *w)
{
    control_start(w->control);
    settle(w);
    fake_log_clear(w->fake);
}

static bool find(struct world *w, const char *path, struct json *ret)
{
    return fake_get(w->fake, &w->arena, path, ret);
}

static size_t visits(struct world *w, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, PERMISSIONS "/namespaces/cluster1/clusterpermissions/%s", name);
    return fake_count(w->fake, "GET", path);
}

static str condition(struct world *w, const char *name, const char *type, const char *field)
{
    struct json permission;
    char path[256];
    (void)snprintf(path, sizeof path, PERMISSIONS "/namespaces/cluster1/clusterpermissions/%s", name);
    assert_true(find(w, path, &permission));
    return json_get_text(condition_find(json_dig(&permission, "status.conditions"), str_of(type)), str_of(field));
}

static void assert_str(str got, const char *want)
{
    struct arena scratch ARENA_SCOPE = {0};
    assert_string_equal(str_cstr(&scratch, got), want);
}

static const struct json *manifest(struct world *w, const char *path, size_t i)
{
    struct json *work = ARENA_NEW(&w->arena, struct json);
    assert_true(find(w, path, work));
    const struct json *list = json_dig(work, "spec.workload.manifests");
    assert_true(i < json_len(list));
    return &list->items[i];
}

static str verb_of(struct world *w, const char *path)
{
    const struct json *rules = json_get(manifest(w, path, 0), S("rules"));
    return json_text(&json_get(&rules->items[0], S("verbs"))->items[0]);
}

/* ---- What is written. ---- */

static void a_permission_becomes_a_work(void **state)
{
    struct world *w = *state;
    struct json work;
    start(w);
    put_permission(w, "one", GENERATION(1), PLAIN);
    settle(w);
    assert_true(find(w, WORK("one-one00"), &work));
    const struct json *owner = &object_owners(&work)->items[0];
    assert_str(json_get_text(owner, S("uid")), "one000-uid");
    assert_str(json_get_text(owner, S("kind")), "ClusterPermission");
    assert_true(json_true(json_get(owner, S("controller"))));
    assert_str(object_kind(manifest(w, WORK("one-one00"), 0)), "ClusterRole");
    assert_str(object_kind(manifest(w, WORK("one-one00"), 1)), "ClusterRoleBinding");
    assert_str(condition(w, "one", "AppliedRBACManifestWork", "reason"), "ApplyRBACManifestWorkNotComplete");
    assert_int_equal(visits(w, "one"), 1); /* its own writes call for no other */
    assert_int_equal(fake_writes(w->fake), 2);
}

static void the_agents_report_becomes_its_status(void **state)
{
    struct world *w = *state;
    struct json work;
    start(w);
    put_permission(w, "one", GENERATION(1), PLAIN);
    settle(w);
    assert_true(find(w, WORK("one-one00"), &work));
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
    settle(w);
    assert_str(condition(w, "one", "AppliedRBACManifestWork", "status"), "True");
    assert_int_equal(visits(w, "one"), 1);
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
    w->control = control_new(&(struct control_options){w->loop, clock, random_of_fake(&w->chance), &w->log});
    struct controller_env env = {
        .control = w->control, .loop = w->loop, .clock = clock, .client = w->client, .reader = w->client};
    assert_int_equal(row->add(&env, NULL), 0);
    fake_log_clear(w->fake);
    control_start(w->control);
    settle(w);
}

static void nothing_is_written_when_nothing_differs(void **state)
{
    struct world *w = *state;
    put_permission(w, "one", GENERATION(1), PLAIN);
    put_permission(w, "two", GENERATION(1), PLAIN ",'validate':true");
    put_permission(w, "bad", GENERATION(1), ROLE("get"));
    start(w);
    restart(w, &permissions_row);
    assert_int_equal(visits(w, "one"), 1);
    assert_int_equal(visits(w, "two"), 1);
    assert_int_equal(visits(w, "bad"), 1);
    assert_int_equal(fake_writes(w->fake), 0);
}

static void a_changed_permission_changes_its_work_alone(void **state)
{
    struct world *w = *state;
    put_permission(w, "one", GENERATION(1), PLAIN);
    put_permission(w, "two", GENERATION(1), PLAIN);
    start(w);
    put_permission(w, "one", GENERATION(2), ROLE("list") "," BINDING);
    settle(w);
    assert_str(verb_of(w, WORK("one-one00")), "list");
    assert_int_equal(fake_count(w->fake, "PUT", WORK("one-one00")), 1);
    assert_int_equal(visits(w, "two"), 0);
}

static void what_others_do_to_a_work_is_undone(void **state)
{
    struct world *w = *state;
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    struct json work, spec = json_obj(), option = json_obj();
    struct buf text = {.arena = &w->arena};
    assert_true(find(w, WORK("one-one00"), &work));
    spec = json_dup(&w->arena, json_get(&work, S("spec")));
    json_add(&w->arena, &option, S("propagationPolicy"), json_str(S("Orphan")));
    json_add(&w->arena, &spec, S("deleteOption"), option);
    json_set(&w->arena, &work, S("spec"), spec);
    json_set(&w->arena, json_get_mut(&work, S("metadata")), S("generation"), json_int(2));
    json_encode(&text, &work, 0);
    buf_add_char(&text, '\0');
    fake_put(w->fake, text.p);
    settle(w);
    assert_true(find(w, WORK("one-one00"), &work));
    assert_null(json_dig(&work, "spec.deleteOption"));
    fake_remove(w->fake, WORK("one-one00"));
    settle(w);
    assert_true(find(w, WORK("one-one00"), &work));
}

static void an_emptied_permission_loses_its_works(void **state)
{
    struct world *w = *state;
    struct json work;
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    put_permission(w, "one", GENERATION(2), "");
    settle(w);
    assert_false(find(w, WORK("one-one00"), &work));
    assert_str(condition(w, "one", "Validation", "message"), "no bindings defined");
}

static void a_broken_permission_keeps_what_it_delivered(void **state)
{
    struct world *w = *state;
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    put_permission(w, "one", GENERATION(2), ROLE("list") "," BINDING ",'roles':[{" RULES("get") "}]");
    settle(w);
    assert_str(verb_of(w, WORK("one-one00")), "get");
    assert_str(condition(w, "one", "AppliedRBACManifestWork", "reason"), "FailedBuildManifestWork");
    assert_str(condition(w, "one", "Stale", "status"), "True");
    put_permission(w, "one", GENERATION(3), ROLE("list") "," BINDING);
    settle(w);
    assert_str(verb_of(w, WORK("one-one00")), "list");
}

static void a_stranger_of_that_name_is_left_alone(void **state)
{
    struct world *w = *state;
    put(w, "{'apiVersion':'work.open-cluster-management.io/v1','kind':'ManifestWork','metadata':{'namespace':"
           "'cluster1','name':'one-one00','uid':'theirs'},'spec':{'workload':{'manifests':[{'kind':'X'}]}}}");
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    assert_str(object_kind(manifest(w, WORK("one-one00"), 0)), "X");
    assert_str(condition(w, "one", "AppliedRBACManifestWork", "status"), "False");
    fake_remove(w->fake, WORK("one-one00"));
    pass(w, 20);
    assert_str(object_kind(manifest(w, WORK("one-one00"), 0)), "ClusterRole");
}

static void one_that_is_deleted_is_left_to_others(void **state)
{
    struct world *w = *state;
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    put_permission(w, "one", GENERATION(2) ",'deletionTimestamp':'2026-01-02T03:04:05Z','finalizers':['x/y']",
                   ROLE("list") "," BINDING);
    settle(w);
    assert_int_equal(fake_writes(w->fake), 0);
    fake_remove(w->fake, PERMISSION("one"));
    settle(w);
    assert_int_equal(fake_writes(w->fake), 0);
}

/* The work of the first has the name that the second's would have. */
static void one_made_anew_waits_until_the_old_work_is_gone(void **state)
{
    struct world *w = *state;
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    fake_remove(w->fake, PERMISSION("one"));
    put(w, "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':'ClusterPermission','metadata':{"
           "'namespace':'cluster1','name':'one','uid':'one00-another','generation':1},'spec':{" ROLE("list") "," BINDING
                                                                                                             "}}");
    settle(w);
    assert_str(verb_of(w, WORK("one-one00")), "get");
    fake_remove(w->fake, WORK("one-one00")); /* garbage */
    settle(w);
    assert_str(verb_of(w, WORK("one-one00")), "list");
}

/* ---- Who is visited. ---- */

static void clusters_concern_their_namespace(void **state)
{
    struct world *w = *state;
    struct json work;
    put_permission(w, "one", GENERATION(1), PLAIN);
    put(w, "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':'ClusterPermission','metadata':{"
           "'namespace':'cluster2','name':'far','uid':'far00-uid','generation':1},'spec':{" PLAIN "}}");
    start(w);
    assert_false(find(w, WORKS "/namespaces/cluster2/manifestworks/far-far00", &work));
    put_cluster(w, "cluster1", ",'annotations':{'heart':'beats'}");
    put_cluster(w, "cluster3", "");
    settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    put_cluster(w, "cluster2", "");
    settle(w);
    assert_int_equal(visits(w, "one"), 0);
    assert_true(find(w, WORKS "/namespaces/cluster2/manifestworks/far-far00", &work));
    put_cluster(w, "cluster1", ",'labels':{'agent.reeve.dev/present':'true'}");
    settle(w);
    assert_int_equal(visits(w, "one"), 1);
    fake_remove(w->fake, "/apis/cluster.open-cluster-management.io/v1/managedclusters/cluster1");
    settle(w);
    assert_int_equal(visits(w, "one"), 2);
    assert_str(condition(w, "one", "Validation", "message"), "namespace value is not a managed cluster");
    assert_true(find(w, WORK("one-one00"), &work));
}

/* Whoever removes a cluster deletes its works: they must not come back. */
static void a_leaving_cluster_gets_no_works(void **state)
{
    struct world *w = *state;
    struct json work;
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    put_cluster(w, "cluster1", ",'deletionTimestamp':'2026-01-02T03:04:05Z','finalizers':['x/y']");
    settle(w);
    fake_remove(w->fake, WORK("one-one00"));
    settle(w);
    assert_false(find(w, WORK("one-one00"), &work));
}

/* As somebody else does who changes metadata of what is there. */
static void edit(struct world *w, const char *path, const char *field, const char *value)
{
    struct json object, v;
    struct buf text = {.arena = &w->arena};
    assert_true(find(w, path, &object));
    assert_int_equal(json_decode(&w->arena, str_of(value), NULL, NULL, &v, NULL), 0);
    json_set(&w->arena, json_get_mut(&object, S("metadata")), str_of(field), v);
    json_encode(&text, &object, 0);
    buf_add_char(&text, '\0');
    fake_put(w->fake, text.p);
}

static void labels_and_finalizers_concern_nobody(void **state)
{
    struct world *w = *state;
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    edit(w, PERMISSION("one"), "labels", "{\"a\":\"b\"}");
    edit(w, WORK("one-one00"), "finalizers", "[\"x/y\"]");
    settle(w);
    assert_int_equal(visits(w, "one"), 0);
    edit(w, WORK("one-one00"), "ownerReferences", "[]"); /* but who lost a work has to know */
    settle(w);
    assert_int_equal(visits(w, "one"), 1);
    assert_str(condition(w, "one", "AppliedRBACManifestWork", "reason"), "FailedWriteManifestWork");
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
    put(w, ADDON("managed-serviceaccount", "addons"));
    put_permission(w, "plain", GENERATION(1), PLAIN);
    put_permission(w, "robot", GENERATION(1), PLAIN "," ACCOUNT("robot"));
    put_permission(w, "other", GENERATION(1), PLAIN "," ACCOUNT("other"));
    start(w);
    assert_false(find(w, WORK("robot-robot"), &work));
    assert_str(condition(w, "robot", "SubjectPresent", "status"), "False");
    put(w, MSA("robot"));
    settle(w);
    assert_int_equal(visits(w, "robot"), 1);
    assert_int_equal(visits(w, "other") + visits(w, "plain"), 0);
    const struct json *binding = manifest(w, WORK("robot-robot"), 2);
    const struct json *subject = &json_get(binding, S("subjects"))->items[0];
    assert_str(json_get_text(subject, S("namespace")), "addons");
    assert_str(condition(w, "robot", "SubjectPresent", "status"), "True");
    fake_log_clear(w->fake);
    put(w, MSA("robot")); /* nothing that matters */
    settle(w);
    assert_int_equal(visits(w, "robot"), 0);
    fake_remove(w->fake, MSAS "robot");
    settle(w);
    assert_int_equal(visits(w, "robot"), 1);
    assert_str(condition(w, "robot", "SubjectPresent", "status"), "False");
    assert_true(find(w, WORK("robot-robot"), &work));
    assert_int_equal(json_len(json_dig(&work, "spec.workload.manifests")), 2); /* without the binding */
}

static void addons_concern_those_with_accounts(void **state)
{
    struct world *w = *state;
    put(w, ADDON("managed-serviceaccount", "addons"));
    put(w, MSA("robot"));
    put_permission(w, "plain", GENERATION(1), PLAIN);
    put_permission(w, "robot", GENERATION(1), PLAIN "," ACCOUNT("robot"));
    start(w);
    put(w, ADDON("something-else", "elsewhere"));
    settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    put(w, ADDON("managed-serviceaccount", "elsewhere"));
    settle(w);
    assert_int_equal(visits(w, "plain"), 0);
    assert_int_equal(visits(w, "robot"), 1);
    const struct json *subjects = json_get(manifest(w, WORK("robot-robot"), 2), S("subjects"));
    assert_str(json_get_text(&subjects->items[0], S("namespace")), "elsewhere");
}

#define NAMESPACE(name, meta) "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'" name "'" meta "}}"
#define TEAM_A ",'labels':{'team':'a'}"

static void namespaces_concern_who_selects_here(void **state)
{
    struct world *w = *state;
    put_cluster(w, "cluster2", ",'labels':{'agent.reeve.dev/present':'true'}");
    put(w, NAMESPACE("a1", TEAM_A));
    put_permission(w, "plain", GENERATION(1), PLAIN);
    put_permission(w, "chooser", GENERATION(1), PLAIN "," SELECTOR);
    put(w, "{'apiVersion':'rbac.open-cluster-management.io/v1alpha1','kind':'ClusterPermission','metadata':{"
           "'namespace':'cluster2','name':'far','uid':'far00-uid','generation':1},'spec':{" PLAIN "," SELECTOR "}}");
    start(w);
    assert_str(object_namespace(manifest(w, WORK("chooser-choos"), 2)), "a1");
    put(w, NAMESPACE("a1", TEAM_A ",'annotations':{'x':'y'}"));
    settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    put(w, NAMESPACE("a2", TEAM_A));
    settle(w);
    assert_int_equal(visits(w, "chooser"), 1);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 1);
    assert_str(object_namespace(manifest(w, WORK("chooser-choos"), 3)), "a2");
    fake_remove(w->fake, "/api/v1/namespaces/a1");
    settle(w);
    assert_str(object_namespace(manifest(w, WORK("chooser-choos"), 2)), "a2");
}

#define ROLE_OBJECT(kind, meta, verb) \
    "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'" kind "','metadata':{" meta "}," RULES(verb) "}"
#define ROLE_REFS                                                                                             \
    "'roleRefs':[{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'reader','namespace':'apps'},{" \
    "'apiGroup':'rbac.authorization.k8s.io','kind':'ClusterRole','name':'seer'}]"

static void roles_concern_who_refers_to_them(void **state)
{
    struct world *w = *state;
    put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'reader'", "get"));
    put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'other'", "get"));
    put(w, ROLE_OBJECT("ClusterRole", "'name':'seer'", "get"));
    put_permission(w, "plain", GENERATION(1), PLAIN);
    put_permission(w, "refer", GENERATION(1), ROLE_REFS);
    start(w);
    put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'other'", "list"));
    put(w, ROLE_OBJECT("Role", "'namespace':'cluster1','name':'reader'", "list"));
    put(w, ROLE_OBJECT("ClusterRole", "'name':'reader'", "list"));
    settle(w);
    assert_int_equal(fake_count(w->fake, "GET", PERMISSIONS), 0);
    put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'reader'", "list"));
    settle(w);
    put(w, ROLE_OBJECT("ClusterRole", "'name':'seer'", "watch"));
    settle(w);
    assert_int_equal(visits(w, "refer"), 2);
    assert_int_equal(visits(w, "plain"), 0);
    str seen[2] = {0};
    for (size_t i = 0; i < 2; i++) {
        const struct json *m = manifest(w, WORK("refer-refer"), i);
        seen[str_eq(object_kind(m), S("ClusterRole"))] =
            json_text(&json_get(&json_get(m, S("rules"))->items[0], S("verbs"))->items[0]);
    }
    assert_str(seen[0], "list");
    assert_str(seen[1], "watch");
}

#define SELECT(team) \
    "{'namespaceSelector':{'matchLabels':{'team':'" team "'}},'roleRef':{'kind':'ClusterRole'}," USER "}"

/* Two templates of one name are two parts, and one of them cannot be written now. */
static void parts_that_wait_for_others_do_not_spin(void **state)
{
    struct world *w = *state;
    put_cluster(w, "cluster1", ",'labels':{'agent.reeve.dev/present':'true'}");
    put_permission(w, "one", GENERATION(1), ROLE("get") ",'roleBindings':[" SELECT("a") "," SELECT("b") "]");
    start(w);
    edit(w, WORK("one-one00-1"), "deletionTimestamp", "\"2026-01-02T03:04:05Z\"");
    settle(w);
    put_permission(w, "one", GENERATION(2), ROLE("get") ",'roleBindings':[" SELECT("b") "," SELECT("a") "]");
    settle(w);
    fake_log_clear(w->fake);
    pass(w, 5);
    assert_true(visits(w, "one") < 3);
    fake_remove(w->fake, WORK("one-one00-1"));
    pass(w, 1);
    struct json work;
    assert_true(find(w, WORK("one-one00-1"), &work));
}

/* ---- Trouble. ---- */

static void fault(struct world *w, struct fake_fault f)
{
    fake_fault(w->fake, &f);
}

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
    start(w);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char name[16], path[256];
        struct json work;
        (void)snprintf(name, sizeof name, "n%zu", i);
        fault(w, faults[i]);
        put_permission(w, name, GENERATION(1), PLAIN);
        pass(w, 5);
        fake_heal(w->fake);
        (void)snprintf(path, sizeof path, WORKS "/namespaces/cluster1/manifestworks/%s-n%zu000", name, i);
        assert_true(find(w, path, &work));
        assert_str(condition(w, name, "AppliedRBACManifestWork", "reason"), "ApplyRBACManifestWorkNotComplete");
    }
    restart(w, &permissions_row);
    assert_int_equal(fake_writes(w->fake), 0);
}

static void what_the_server_refuses_is_told_and_tried_again(void **state)
{
    struct world *w = *state;
    struct json work;
    fault(w, (struct fake_fault){.type = FAKE_ANSWER,
                                 .method = S("POST"),
                                 .prefix = S(WORKS),
                                 .status = 400,
                                 .body =
                                     S("{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":"
                                       "\"BadRequest\",\"code\":400,\"message\":\"the size of manifests is wrong\"}")});
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    str message = condition(w, "one", "AppliedRBACManifestWork", "message");
    assert_true(str_find(message, S("the size of manifests is wrong")) >= 0);
    fake_heal(w->fake);
    pass(w, 10);
    assert_true(find(w, WORK("one-one00"), &work));
    assert_str(condition(w, "one", "AppliedRBACManifestWork", "reason"), "ApplyRBACManifestWorkNotComplete");
}

/* What was delivered must not change because the hub cannot say what a role is. */
static void an_unreadable_role_changes_nothing(void **state)
{
    struct world *w = *state;
    put(w, ROLE_OBJECT("Role", "'namespace':'apps','name':'reader'", "get"));
    put(w, ROLE_OBJECT("ClusterRole", "'name':'seer'", "get"));
    put_permission(w, "refer", GENERATION(1), ROLE_REFS);
    start(w);
    fault(w, (struct fake_fault){.type = FAKE_ANSWER,
                                 .method = S("GET"),
                                 .prefix = S("/apis/rbac.authorization.k8s.io/v1/namespaces/apps/roles/reader"),
                                 .status = 500});
    put_permission(w, "refer", GENERATION(2), ROLE_REFS "," PLAIN);
    pass(w, 2);
    assert_int_equal(fake_writes(w->fake), 0);
    fake_heal(w->fake);
    pass(w, 10);
    assert_int_equal(fake_count(w->fake, "PUT", WORK("refer-refer")), 1);
}

static void somebody_elses_status_is_put_right(void **state)
{
    struct world *w = *state;
    struct json one;
    struct buf text = {.arena = &w->arena};
    put_permission(w, "one", GENERATION(1), PLAIN);
    start(w);
    assert_true(find(w, PERMISSION("one"), &one));
    json_remove(&one, S("status"));
    json_encode(&text, &one, 0);
    buf_add_char(&text, '\0');
    fake_put(w->fake, text.p);
    settle(w);
    assert_int_equal(visits(w, "one"), 1);
    assert_str(condition(w, "one", "AppliedRBACManifestWork", "status"), "False");
}

/* ---- Approval. ---- */

#define STAMP "'reeve.dev/requested-by':'{\\\"user\\\":\\\"jane\\\",\\\"groups\\\":[\\\"dev\\\"]}'"
#define REVIEW(allowed) \
    "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\",\"status\":{\"allowed\":" allowed "}}"

static void answer_reviews(struct world *w, const char *body)
{
    fake_heal(w->fake);
    fault(w, (struct fake_fault){
                 .type = FAKE_ANSWER, .method = S("POST"), .prefix = S(REVIEWS), .status = 201, .body = str_of(body)});
}

static void who_holds_it_needs_no_approval(void **state)
{
    struct world *w = *state;
    struct json work;
    answer_reviews(w, REVIEW("true"));
    start(w);
    put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP "}", PLAIN);
    settle(w);
    assert_true(find(w, WORK("one-one00"), &work));
    assert_str(condition(w, "one", "Approved", "status"), "True");
    size_t n;
    const struct fake_request *log = fake_log(w->fake, &n);
    bool has_asked = false;
    for (size_t i = 0; i < n; i++)
        has_asked |= str_find(log[i].body, S("\"user\":\"jane\",\"groups\":[\"dev\"]")) >= 0;
    assert_true(has_asked);
    /* Once is enough for one generation. */
    answer_reviews(w, REVIEW("false"));
    fake_log_clear(w->fake);
    fake_remove(w->fake, WORK("one-one00"));
    settle(w);
    assert_true(find(w, WORK("one-one00"), &work));
    assert_int_equal(fake_count(w->fake, "POST", REVIEWS), 0);
}

static void who_does_not_waits_for_approval(void **state)
{
    struct world *w = *state;
    struct json work;
    answer_reviews(w, REVIEW("false"));
    start(w);
    put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP "}", PLAIN);
    settle(w);
    assert_false(find(w, WORK("one-one00"), &work));
    assert_str(condition(w, "one", "Approved", "status"), "False");
    put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP ",'reeve.dev/approved-generation':'2'}", PLAIN);
    settle(w);
    assert_false(find(w, WORK("one-one00"), &work));
    put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP ",'reeve.dev/approved-generation':'1'}", PLAIN);
    settle(w);
    assert_true(find(w, WORK("one-one00"), &work));
    assert_str(condition(w, "one", "Approved", "status"), "True");
    /* What changes later waits again, and what was approved stays meanwhile. */
    put_permission(w, "one", GENERATION(2) ",'annotations':{" STAMP ",'reeve.dev/approved-generation':'1'}",
                   ROLE("delete") "," BINDING);
    settle(w);
    assert_str(verb_of(w, WORK("one-one00")), "get");
    assert_str(condition(w, "one", "Approved", "status"), "False");
    /* Who gains the rights meanwhile needs nobody any more. */
    answer_reviews(w, REVIEW("true"));
    clock_fake_advance(&w->time, 301 * SECOND);
    settle(w);
    assert_str(verb_of(w, WORK("one-one00")), "delete");
}

static void nobody_knows_who_asked(void **state)
{
    struct world *w = *state;
    struct json work;
    answer_reviews(w, REVIEW("true"));
    start(w);
    put_permission(w, "one", GENERATION(1), PLAIN);
    put_permission(w, "two", GENERATION(1) ",'annotations':{'reeve.dev/requested-by':'jane'}", PLAIN);
    settle(w);
    assert_false(find(w, WORK("one-one00"), &work));
    assert_false(find(w, WORK("two-two00"), &work));
    assert_int_equal(fake_count(w->fake, "POST", REVIEWS), 0);
}

static void reviews_that_fail_let_nothing_through(void **state)
{
    struct world *w = *state;
    struct json work;
    fault(w, (struct fake_fault){.type = FAKE_ANSWER, .method = S("POST"), .prefix = S(REVIEWS), .status = 500});
    start(w);
    put_permission(w, "one", GENERATION(1) ",'annotations':{" STAMP "}", PLAIN);
    pass(w, 2);
    assert_false(find(w, WORK("one-one00"), &work));
    answer_reviews(w, REVIEW("true"));
    pass(w, 10);
    assert_true(find(w, WORK("one-one00"), &work));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, world_tear_down)
#define STRICT(name) cmocka_unit_test_setup_teardown(name, set_up_strict, world_tear_down)
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
        TEST(clusters_concern_their_namespace),
        TEST(a_leaving_cluster_gets_no_works),
        TEST(labels_and_finalizers_concern_nobody),
        TEST(accounts_concern_who_names_them),
        TEST(addons_concern_those_with_accounts),
        TEST(namespaces_concern_who_selects_here),
        TEST(roles_concern_who_refers_to_them),
        TEST(parts_that_wait_for_others_do_not_spin),
        TEST(trouble_goes_by),
        TEST(what_the_server_refuses_is_told_and_tried_again),
        TEST(an_unreadable_role_changes_nothing),
        TEST(somebody_elses_status_is_put_right),
        STRICT(who_holds_it_needs_no_approval),
        STRICT(who_does_not_waits_for_approval),
        STRICT(nobody_knows_who_asked),
        STRICT(reviews_that_fail_let_nothing_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
