/* SPDX-License-Identifier: Apache-2.0 */
/* Managed clusters on a hub: whom their agents are allowed to be, and when they are no longer heard of. */
#include "controllers/clusters/clusters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "controllers/clusters/clusters_role.h"
#include "fleet_kinds.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"
#include "world.h"

#define GROUP "/apis/cluster.open-cluster-management.io/v1/managedclusters"
#define ONE GROUP "/one"
#define NAMESPACE "/api/v1/namespaces/one"
#define ACCOUNT NAMESPACE "/serviceaccounts/reeve-agent"
#define RBAC "/apis/rbac.authorization.k8s.io/v1/namespaces/"
#define BINDING RBAC "one/rolebindings/reeve-agent"
#define LEASE "/apis/coordination.k8s.io/v1/namespaces/one/leases/managed-cluster-lease"
#define WORK "/apis/work.open-cluster-management.io/v1/namespaces/one/manifestworks/grant"
#define ADDON "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/one/managedclusteraddons/a"
#define AVAILABLE "ManagedClusterConditionAvailable"
#define ACCEPTED "HubAcceptedManagedCluster"

static int set_up(void **state)
{
    int code = world_set_up(state, &clusters_row);
    fleet_kinds(((struct world *)*state)->fake);
    return code;
}

/* ---- The hub. ---- */

static void put_cluster(struct world *w, const char *name, bool is_accepted)
{
    str text =
        str_fmt(&w->arena,
                "{\"apiVersion\":\"cluster.open-cluster-management.io/v1\",\"kind\":\"ManagedCluster\",\"metadata\":"
                "{\"name\":\"%s\"},\"spec\":{\"hubAcceptsClient\":%s}}",
                name, is_accepted ? "true" : "false");
    fake_put(w->fake, str_cstr(&w->arena, text));
}

static void put_namespace(struct world *w, const char *name, const char *labels)
{
    str text = str_fmt(&w->arena,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\",\"labels\":{%s}}}",
                       name, labels);
    fake_put(w->fake, str_cstr(&w->arena, text));
}

static void put_work(struct world *w, const char *finalizers)
{
    str text = str_fmt(&w->arena,
                       "{\"apiVersion\":\"work.open-cluster-management.io/v1\",\"kind\":\"ManifestWork\",\"metadata\":"
                       "{\"name\":\"grant\",\"namespace\":\"one\",\"finalizers\":[%s]}}",
                       finalizers);
    fake_put(w->fake, str_cstr(&w->arena, text));
}

static bool is_there(struct world *w, const char *path)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json object;
    return fake_get(w->fake, &scratch, path, &object);
}

#define AWAIT(w, condition)                                      \
    do {                                                         \
        for (int turn = 0; turn < TURNS && !(condition); turn++) \
            loop_turn((w)->loop, TURN_NS);                       \
        assert_true(condition);                                  \
    } while (0)

static bool is_condition(struct world *w, const char *path, const char *type, const char *status)
{
    struct arena scratch ARENA_SCOPE = {0};
    return str_eq(fleet_condition(w->fake, &scratch, path, type), str_of(status));
}

static str condition_part(struct world *w, const char *path, const char *type, const char *part)
{
    struct json object;
    assert_true(fake_get(w->fake, &w->arena, path, &object));
    return json_get_text(condition_find(json_dig(&object, "status.conditions"), str_of(type)), str_of(part));
}

static void assert_text(str have, const char *want)
{
    char *text = malloc(have.n + 1);
    assert_non_null(text);
    (void)snprintf(text, have.n + 1, "%.*s", STR(have));
    assert_string_equal(text, want);
    free(text);
}

static bool has_taint(struct world *w, const char *key)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json object;
    assert_true(fake_get(w->fake, &scratch, ONE, &object));
    const struct json *taints = json_dig(&object, "spec.taints");
    json_each_item(taints, taint)
    {
        if (str_eq(json_get_text(taint, S("key")), str_of(key)))
            return str_eq(json_get_text(taint, S("effect")), S("NoSelect")) && json_get(taint, S("timeAdded"));
    }
    return false;
}

static str label_of(struct world *w)
{
    struct json object;
    assert_true(fake_get(w->fake, &w->arena, ONE, &object));
    return object_label(&object, S(FLEET_LABEL_AGENT));
}

static long metric(struct world *w, const char *line)
{
    struct buf text = {0};
    control_metrics_write(w->control, &text);
    ptrdiff_t at = str_find(buf_str(&text), str_of(line));
    buf_add_char(&text, '\0');
    long n = at < 0 ? 0 : strtol(text.p + at + strlen(line), NULL, 10);
    buf_done(&text);
    return n;
}

static long visits(struct world *w)
{
    return metric(w, "controller_runtime_reconcile_time_seconds_count{controller=\"clusters\"} ");
}

static bool is_busy(struct world *w)
{
    return metric(w, "workqueue_depth{name=\"clusters\"} ") > 0 ||
           metric(w, "controller_runtime_active_workers{controller=\"clusters\"} ") > 0;
}

/* Until no key is at work or waits, and the loop has told all that it knows. */
static void rest(struct world *w)
{
    size_t asked = 0;
    for (int calm = 0, turns = 0; calm < 4; calm++) {
        size_t n;
        assert_true(turns++ < TURNS);
        loop_turn(w->loop, is_busy(w) ? TURN_NS : 0);
        (void)fake_log(w->fake, &n);
        if (is_busy(w) || n != asked)
            calm = 0;
        asked = n;
    }
}

static void advance(struct world *w, int64_t seconds)
{
    clock_fake_advance(&w->time, seconds * SECOND);
}

/* In steps: a watch that comes to its end is opened again after a moment. */
static void pass(struct world *w, int64_t seconds)
{
    for (; seconds > 0; seconds -= 10) {
        advance(w, seconds < 10 ? seconds : 10);
        rest(w);
    }
}

/* As an agent does it; the civil time is its own. */
static void renew(struct world *w, int count, const char *annotations)
{
    str text = str_fmt(
        &w->arena, "{\"metadata\":{\"annotations\":{%s}},\"spec\":{\"renewTime\":\"2001-01-01T00:%02d:00.000000Z\"}}",
        annotations, count);
    fleet_patch(w->fake, LEASE, str_cstr(&w->arena, text));
}

#define BY_REEVE                              \
    "\"" FLEET_ANNOTATION_AGENT "\":\"0.1\"," \
    "\"" FLEET_ANNOTATION_KUBERNETES "\":\"v1.32.4\""

/* one, accepted, with all that belongs to it. */
static void join(struct world *w)
{
    put_cluster(w, "one", true);
    control_start(w->control);
    AWAIT(w, is_there(w, LEASE) && is_condition(w, ONE, ACCEPTED, "True"));
    rest(w);
}

static void join_and_live(struct world *w)
{
    join(w);
    renew(w, 1, BY_REEVE);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "True") && str_eq(label_of(w), S("true")));
    rest(w);
}

/* ---- Accepted. ---- */

static void an_accepted_cluster_gets_its_agents_rights(void **state)
{
    struct world *w = *state;
    struct json object;
    join(w);
    assert_true(fake_get(w->fake, &w->arena, ONE, &object));
    assert_true(object_has_finalizer(&object, S(FLEET_FINALIZER_CLUSTER)));
    assert_text(condition_part(w, ONE, ACCEPTED, "reason"), "HubClusterAdminAccepted");
    assert_text(condition_part(w, ONE, ACCEPTED, "message"), "Accepted by hub cluster admin");
    assert_true(is_there(w, ACCOUNT));
    assert_true(fake_get(w->fake, &w->arena, NAMESPACE, &object));
    assert_text(object_label(&object, S(FLEET_LABEL_CLUSTER)), "one");
    assert_true(fake_get(w->fake, &w->arena, BINDING, &object));
    assert_text(json_get_text(json_get(&object, S("roleRef")), S("name")), FLEET_AGENT_ROLE);
    const struct json *subjects = json_get(&object, S("subjects"));
    assert_int_equal(json_len(subjects), 1);
    assert_text(json_get_text(&subjects->items[0], S("namespace")), "one");
    assert_text(json_get_text(&subjects->items[0], S("name")), "reeve-agent");
    assert_true(is_condition(w, ONE, AVAILABLE, ""));
    assert_true(is_condition(w, ONE, "ManagedClusterJoined", ""));
}

static void nothing_is_written_twice(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    fake_log_clear(w->fake);
    fleet_patch(w->fake, ONE, "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}");
    long before = visits(w);
    AWAIT(w, visits(w) > before);
    rest(w);
    assert_int_equal(fake_writes(w->fake), 0);
}

static void who_was_never_accepted_gets_nothing(void **state)
{
    struct world *w = *state;
    put_cluster(w, "one", false);
    control_start(w->control);
    AWAIT(w, visits(w) > 0);
    rest(w);
    assert_int_equal(fake_writes(w->fake), 0);
}

static void what_others_change_is_mended(void **state)
{
    struct world *w = *state;
    struct json object;
    join(w);
    fake_remove(w->fake, BINDING);
    AWAIT(w, is_there(w, BINDING));
    rest(w);
    fake_remove(w->fake, ACCOUNT);
    AWAIT(w, is_there(w, ACCOUNT));
    rest(w);
    fake_remove(w->fake, LEASE);
    AWAIT(w, is_there(w, LEASE));
    rest(w);
    fleet_patch(w->fake, BINDING, "{\"subjects\":[{\"kind\":\"User\",\"name\":\"eve\"}]}");
    AWAIT(w, fake_get(w->fake, &w->arena, BINDING, &object) &&
                 str_eq(json_get_text(&json_get(&object, S("subjects"))->items[0], S("name")), S("reeve-agent")));
    rest(w);
    fleet_patch(w->fake, BINDING, "{\"roleRef\":{\"name\":\"cluster-admin\"}}");
    AWAIT(w, fake_get(w->fake, &w->arena, BINDING, &object) &&
                 str_eq(json_get_text(json_get(&object, S("roleRef")), S("name")), S(FLEET_AGENT_ROLE)));
    rest(w);
    fleet_patch(w->fake, LEASE, "{\"spec\":{\"leaseDurationSeconds\":7}}");
    AWAIT(w, fake_get(w->fake, &w->arena, LEASE, &object) && json_dig(&object, "spec.leaseDurationSeconds")->i == 60);
}

static void the_lease_has_the_duration_of_the_cluster(void **state)
{
    struct world *w = *state;
    struct json object;
    join(w);
    fleet_patch(w->fake, ONE, "{\"spec\":{\"leaseDurationSeconds\":10}}");
    AWAIT(w, fake_get(w->fake, &w->arena, LEASE, &object) && json_dig(&object, "spec.leaseDurationSeconds")->i == 10);
    renew(w, 1, BY_REEVE);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "True"));
    rest(w);
    pass(w, 49);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
    advance(w, 2);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "Unknown"));
}

/* An agent reads it when it renews. */
static void a_shorter_duration_counts_from_the_next_renewal(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    fleet_patch(w->fake, ONE, "{\"spec\":{\"leaseDurationSeconds\":2}}");
    rest(w);
    pass(w, 70);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
    renew(w, 2, BY_REEVE);
    rest(w);
    pass(w, 12);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "Unknown"));
}

/* ---- Denied. ---- */

static void who_is_denied_loses_its_rights(void **state)
{
    struct world *w = *state;
    join(w);
    fleet_patch(w->fake, ONE, "{\"spec\":{\"hubAcceptsClient\":false}}");
    AWAIT(w, !is_there(w, BINDING) && is_condition(w, ONE, ACCEPTED, "False"));
    rest(w);
    assert_text(condition_part(w, ONE, ACCEPTED, "reason"), "HubClusterAdminDenied");
    assert_text(condition_part(w, ONE, ACCEPTED, "message"), "Denied by hub cluster admin");
    assert_true(is_there(w, ACCOUNT));
    fleet_patch(w->fake, ONE, "{\"spec\":{\"hubAcceptsClient\":true}}");
    AWAIT(w, is_there(w, BINDING) && is_condition(w, ONE, ACCEPTED, "True"));
}

/* Taking the label away does not keep the rights. */
static void a_denial_finds_the_binding_whatever_its_label(void **state)
{
    struct world *w = *state;
    join(w);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD, .method = S("PUT"), .prefix = S(BINDING), .times = 1});
    fleet_patch(w->fake, BINDING, "{\"metadata\":{\"labels\":null}}");
    AWAIT(w, fake_held(w->fake) == 1);
    fleet_patch(w->fake, ONE, "{\"spec\":{\"hubAcceptsClient\":false}}");
    fake_remove(w->fake, BINDING);
    fake_put(w->fake,
             "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\",\"metadata\":{\"name\":"
             "\"reeve-agent\",\"namespace\":\"one\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\","
             "\"kind\":\"ClusterRole\",\"name\":\"reeve:agent\"},\"subjects\":[]}");
    fake_release(w->fake);
    AWAIT(w, !is_there(w, BINDING));
}

static void rights_stay_as_long_as_works_have_to_be_removed(void **state)
{
    struct world *w = *state;
    join(w);
    put_work(w, "\"" FLEET_FINALIZER_WORK "\"");
    fleet_patch(w->fake, ONE, "{\"spec\":{\"hubAcceptsClient\":false}}");
    AWAIT(w, is_condition(w, ONE, ACCEPTED, "False"));
    rest(w);
    assert_true(is_there(w, BINDING));
    assert_text(condition_part(w, ONE, ACCEPTED, "reason"), "HubClusterAdminDenied");
    put_work(w, ""); /* of a work that nothing was delivered of nothing has to be removed */
    advance(w, 61);
    AWAIT(w, !is_there(w, BINDING));
}

/* ---- Names. ---- */

static void nobody_gets_rights_in_a_namespace_of_something_else(void **state)
{
    struct world *w = *state;
    put_namespace(w, "kube-system", "\"" FLEET_LABEL_CLUSTER "\":\"kube-system\"");
    put_namespace(w, "default", "\"" FLEET_LABEL_CLUSTER "\":\"default\"");
    put_namespace(w, "billing", "");
    put_namespace(w, "two", "\"" FLEET_LABEL_CLUSTER "\":\"one\"");
    static const char *const names[] = {"kube-system", "default", "billing", "two", "a.b", "kube-anything"};
    for (size_t i = 0; i < COUNT(names); i++)
        put_cluster(w, names[i], true);
    control_start(w->control);
    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = str_cstr(&w->arena, str_fmt(&w->arena, GROUP "/%s", names[i]));
        AWAIT(w, is_condition(w, path, ACCEPTED, "False"));
        assert_text(condition_part(w, path, ACCEPTED, "reason"), "NamespaceRefused");
    }
    rest(w);
    assert_int_equal(fake_count(w->fake, "POST", ""), 0);
    assert_int_equal(fake_count(w->fake, "DELETE", ""), 0);
    assert_int_equal(fake_count(w->fake, "PUT", ""), 6); /* of conditions */
}

static void a_namespace_that_is_labelled_for_it_is_used(void **state)
{
    struct world *w = *state;
    put_namespace(w, "one", "");
    put_cluster(w, "one", true);
    control_start(w->control);
    AWAIT(w, is_condition(w, ONE, ACCEPTED, "False"));
    rest(w);
    assert_true(str_find(condition_part(w, ONE, ACCEPTED, "message"),
                         S("kubectl label namespace one open-cluster-management.io/cluster-name=one")) > 0);
    fleet_patch(w->fake, NAMESPACE, "{\"metadata\":{\"labels\":{\"" FLEET_LABEL_CLUSTER "\":\"one\"}}}");
    AWAIT(w, is_there(w, BINDING) && is_condition(w, ONE, ACCEPTED, "True"));
}

/* ---- Heartbeats. ---- */

static void the_first_renewal_joins(void **state)
{
    struct world *w = *state;
    struct json object;
    join_and_live(w);
    assert_text(condition_part(w, ONE, "ManagedClusterJoined", "reason"), "ManagedClusterJoined");
    assert_text(condition_part(w, ONE, AVAILABLE, "reason"), "ManagedClusterAvailable");
    assert_text(condition_part(w, ONE, AVAILABLE, "message"), "Managed cluster is available");
    assert_true(fake_get(w->fake, &w->arena, ONE, &object));
    assert_text(json_text(json_dig(&object, "status.version.kubernetes")), "v1.32.4");
    assert_false(has_taint(w, FLEET_TAINT_UNREACHABLE));
}

static void an_agent_of_somebody_else_is_not_labelled(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    renew(w, 2, "\"" FLEET_ANNOTATION_AGENT "\":null");
    AWAIT(w, label_of(w).n == 0);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
}

/* A renewal as Reeve's agent does it: it writes down the time. */
static void renew_by_reeve(struct world *w, int count)
{
    renew(w, count,
          str_cstr(&w->arena,
                   str_fmt(&w->arena, BY_REEVE ",\"" FLEET_ANNOTATION_RENEWED "\":\"2001-01-01T00:%02d:00.000000Z\"",
                           count)));
    rest(w);
}

/* And as that of Open Cluster Management does it, which leaves annotations alone. */
static void renew_by_other(struct world *w, int count)
{
    renew(w, count, "");
    rest(w);
}

static bool has_notes(struct world *w)
{
    struct json lease;
    assert_true(fake_get(w->fake, &w->arena, LEASE, &lease));
    return json_len(object_annotations(&lease)) > 0;
}

static void another_agent_takes_the_place_of_reeves(void **state)
{
    struct world *w = *state;
    join(w);
    renew_by_reeve(w, 1);
    renew_by_reeve(w, 2);
    AWAIT(w, str_eq(label_of(w), S("true")));
    renew_by_other(w, 3);
    renew_by_other(w, 4);
    assert_text(label_of(w), "true");
    renew_by_other(w, 5);
    AWAIT(w, label_of(w).n == 0 && !has_notes(w));
    rest(w);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
    renew_by_other(w, 6);
    assert_text(label_of(w), "");
    renew_by_reeve(w, 7);
    AWAIT(w, str_eq(label_of(w), S("true")));
    assert_true(has_notes(w));
}

/* What its last words were says nothing about the cluster any more. */
static void trouble_that_reeves_agent_told_ends_with_it(void **state)
{
    struct world *w = *state;
    join(w);
    renew(w, 1,
          BY_REEVE ",\"" FLEET_ANNOTATION_RENEWED "\":\"2001-01-01T00:01:00.000000Z\",\"" FLEET_ANNOTATION_TROUBLE
                   "\":\"down\"");
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "False"));
    rest(w);
    for (int i = 2; i < 5; i++)
        renew_by_other(w, i);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "True"));
}

/* While both run, neither the label nor the works go to and fro. */
static void two_agents_at_once_change_nothing(void **state)
{
    struct world *w = *state;
    join(w);
    renew_by_reeve(w, 1);
    renew_by_reeve(w, 2);
    AWAIT(w, str_eq(label_of(w), S("true")));
    for (int i = 3; i < 21; i += 3) {
        renew_by_other(w, i);
        renew_by_other(w, i + 1);
        assert_text(label_of(w), "true");
        renew_by_reeve(w, i + 2);
        assert_text(label_of(w), "true");
    }
}

/* A hub that starts later finds a Lease that another agent renews: what stands on it is no reason to believe in Reeve's. */
static void notes_of_an_agent_that_is_gone_are_not_believed(void **state)
{
    struct world *w = *state;
    put_cluster(w, "one", true);
    fake_put(w->fake,
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"" FLEET_LEASE
             "\",\"namespace\":\"one\",\"annotations\":{\"" FLEET_ANNOTATION_AGENT
             "\":\"0.1\",\"" FLEET_ANNOTATION_RENEWED
             "\":\"2001-01-01T00:01:00.000000Z\"}},\"spec\":{\"leaseDurationSeconds\":60,\"renewTime\":"
             "\"2001-01-01T00:02:00.000000Z\"}}");
    control_start(w->control);
    AWAIT(w, is_condition(w, ONE, ACCEPTED, "True"));
    rest(w);
    renew_by_other(w, 3);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "True"));
    assert_text(label_of(w), "");
    renew_by_other(w, 4);
    AWAIT(w, !has_notes(w));
    assert_text(label_of(w), "");
}

static void silence_is_told_and_ends(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    pass(w, 299);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
    pass(w, 2);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "Unknown"));
    rest(w);
    assert_text(condition_part(w, ONE, AVAILABLE, "reason"), "ManagedClusterLeaseUpdateStopped");
    assert_text(condition_part(w, ONE, AVAILABLE, "message"), "Registration agent stopped updating its lease.");
    assert_true(has_taint(w, FLEET_TAINT_UNREACHABLE));
    assert_text(label_of(w), "true"); /* who its agent is does not change by silence */
    renew(w, 2, BY_REEVE);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "True"));
    rest(w);
    assert_false(has_taint(w, FLEET_TAINT_UNREACHABLE));
}

static void clocks_may_jump(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    w->time.wall += INT64_C(10) * 365 * 86400 * SECOND;
    pass(w, 290);
    renew(w, 2, BY_REEVE);
    rest(w);
    w->time.wall -= INT64_C(20) * 365 * 86400 * SECOND;
    pass(w, 290);
    renew(w, 1, BY_REEVE); /* an earlier time than before, but another */
    rest(w);
    pass(w, 290);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
    pass(w, 11);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "Unknown"));
}

static void a_renewal_costs_no_visit(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    fake_log_clear(w->fake);
    long before = visits(w);
    for (int i = 2; i < 50; i++) {
        pass(w, 60);
        renew(w, i, BY_REEVE);
        rest(w);
    }
    assert_in_range(visits(w), before, before + 2); /* watches were opened again */
    assert_int_equal(fake_writes(w->fake), 0);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
}

/* What somebody wrote before this process began says nothing about now: neither that it lives, nor that it is silent. */
static void time_begins_anew_with_the_process(void **state)
{
    struct world *w = *state;
    put_namespace(w, "one", "\"" FLEET_LABEL_CLUSTER "\":\"one\"");
    put_cluster(w, "one", true);
    fake_put(w->fake, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
                      "\"managed-cluster-lease\",\"namespace\":\"one\"},\"spec\":{\"leaseDurationSeconds\":60,"
                      "\"renewTime\":\"2001-01-01T00:00:00.000000Z\"}}");
    control_start(w->control);
    AWAIT(w, is_condition(w, ONE, "ManagedClusterJoined", "True"));
    rest(w);
    assert_true(is_condition(w, ONE, AVAILABLE, ""));
    pass(w, 299);
    assert_true(is_condition(w, ONE, AVAILABLE, ""));
    pass(w, 2);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "Unknown"));
    renew(w, 1, BY_REEVE);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "True"));
}

/* A hub that is away hears nobody: that is its own fault. */
static void a_hub_that_was_away_blames_nobody(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    fake_log_clear(w->fake);
    fake_fault(w->fake,
               &(struct fake_fault){.type = FAKE_ANSWER, .status = 500, .method = S("GET"), .prefix = S(LEASE)});
    advance(w, 301);
    AWAIT(w, fake_count(w->fake, "GET", LEASE) > 0);
    rest(w);
    fake_heal(w->fake);
    pass(w, 200);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
    pass(w, 150);
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "Unknown"));
}

/* A renewal that the watch has not told of yet. */
static void who_is_heard_at_the_last_moment_is_not_silent(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD, .method = S("GET"), .prefix = S(LEASE), .times = 1});
    advance(w, 301);
    AWAIT(w, fake_held(w->fake) == 1);
    renew(w, 2, BY_REEVE);
    fake_release(w->fake);
    fake_log_clear(w->fake);
    rest(w);
    assert_true(is_condition(w, ONE, AVAILABLE, "True"));
    assert_false(has_taint(w, FLEET_TAINT_UNREACHABLE));
    assert_int_equal(fake_writes(w->fake), 0);
}

static void trouble_of_the_cluster_is_told(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    renew(w, 2, BY_REEVE ",\"" FLEET_ANNOTATION_TROUBLE "\":\"status code: 500, etcd is away\"");
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "False"));
    rest(w);
    assert_text(condition_part(w, ONE, AVAILABLE, "reason"), "ManagedClusterKubeAPIServerUnavailable");
    assert_text(condition_part(w, ONE, AVAILABLE, "message"),
                "The kube-apiserver is not ok, status code: 500, etcd is away");
    assert_true(has_taint(w, FLEET_TAINT_UNAVAILABLE));
    assert_false(has_taint(w, FLEET_TAINT_UNREACHABLE));
    renew(w, 3, BY_REEVE ",\"" FLEET_ANNOTATION_TROUBLE "\":null");
    AWAIT(w, is_condition(w, ONE, AVAILABLE, "True"));
    rest(w);
    assert_false(has_taint(w, FLEET_TAINT_UNAVAILABLE));
}

/* ---- Deletion. ---- */

static void ask_for_deletion(struct world *w)
{
    fleet_patch(w->fake, ONE, "{\"metadata\":{\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"}}");
}

static void a_deletion_waits_for_works(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    put_work(w, "\"" FLEET_FINALIZER_WORK "\"");
    fake_put(w->fake, "{\"apiVersion\":\"addon.open-cluster-management.io/v1alpha1\",\"kind\":\"ManagedClusterAddOn\","
                      "\"metadata\":{\"name\":\"a\",\"namespace\":\"one\",\"finalizers\":[\"example.com/hold\"]}}");
    ask_for_deletion(w);
    AWAIT(w, is_condition(w, ONE, "Deleting", "False"));
    rest(w);
    assert_text(condition_part(w, ONE, "Deleting", "reason"), "ResourceRemaining");
    assert_text(
        condition_part(w, ONE, "Deleting", "message"),
        "The resource managedclusteraddons is remaining, the remaining count is 1, the finalizer pending count is "
        "1");
    assert_int_equal(fake_count(w->fake, "DELETE", WORK), 0); /* one after the other */
    fake_remove(w->fake, ADDON);
    advance(w, 61);
    AWAIT(w, fake_count(w->fake, "DELETE", WORK) == 1);
    rest(w);
    assert_text(condition_part(w, ONE, "Deleting", "message"),
                "The resource manifestworks is remaining, the remaining count is 1, the finalizer pending count is 1");
    assert_true(is_there(w, BINDING) && is_there(w, ACCOUNT));
    fake_remove(w->fake, WORK);
    advance(w, 61);
    AWAIT(w, !is_there(w, ONE));
    assert_false(is_there(w, BINDING));
    assert_false(is_there(w, ACCOUNT));
    assert_false(is_there(w, LEASE));
    assert_true(is_there(w, NAMESPACE));
}

/* A list that does not come is not an empty one. */
static void a_deletion_believes_no_failure(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    put_work(w, "\"" FLEET_FINALIZER_WORK "\"");
    fake_fault(w->fake, &(struct fake_fault){
                            .type = FAKE_ANSWER,
                            .status = 404,
                            .method = S("GET"),
                            .prefix = S("/apis/work.open-cluster-management.io/v1/namespaces/one/manifestworks?")});
    fake_log_clear(w->fake);
    ask_for_deletion(w);
    AWAIT(w, fake_count(w->fake, "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/manifestworks.") > 0);
    rest(w);
    assert_true(is_there(w, ONE) && is_there(w, BINDING) && is_there(w, WORK));
    fake_heal(w->fake);
    advance(w, 600);
    AWAIT(w, is_condition(w, ONE, "Deleting", "False"));
}

static void a_hub_without_works_has_none(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    fake_remove(w->fake, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                         "managedclusteraddons.addon.open-cluster-management.io");
    ask_for_deletion(w);
    AWAIT(w, !is_there(w, ONE));
}

static void a_cluster_that_comes_again_has_yet_to_join(void **state)
{
    struct world *w = *state;
    join_and_live(w);
    ask_for_deletion(w);
    AWAIT(w, !is_there(w, ONE));
    rest(w);
    put_cluster(w, "one", true);
    AWAIT(w, is_there(w, LEASE) && is_condition(w, ONE, ACCEPTED, "True"));
    rest(w);
    assert_true(is_condition(w, ONE, "ManagedClusterJoined", ""));
    renew(w, 9, BY_REEVE);
    AWAIT(w, is_condition(w, ONE, "ManagedClusterJoined", "True"));
}

/* ---- The role of agents. ---- */

/* In its own namespace alone, and there neither the rights of others nor more of its own. */
static void the_role_of_agents_is_small(void **state)
{
    struct world *w = *state;
    struct json role = clusters_agent_role(&w->arena);
    const struct json *rules = json_get(&role, S("rules"));
    assert_true(json_len(rules) > 5);
    json_each_item(rules, rule)
    {
        struct buf text = {.arena = &w->arena};
        json_encode(&text, rule, 0);
        assert_true(str_find(buf_str(&text), S("\"*\"")) < 0);
        assert_true(str_find(buf_str(&text), S("rbac.authorization")) < 0);
        assert_true(str_find(buf_str(&text), S("impersonate")) < 0);
        bool is_token = str_find(buf_str(&text), S("serviceaccounts/token")) >= 0;
        assert_true(!is_token || str_find(buf_str(&text), S("[\"reeve-agent\"]")) >= 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, world_tear_down)
        TEST(an_accepted_cluster_gets_its_agents_rights),
        TEST(nothing_is_written_twice),
        TEST(who_was_never_accepted_gets_nothing),
        TEST(what_others_change_is_mended),
        TEST(the_lease_has_the_duration_of_the_cluster),
        TEST(a_shorter_duration_counts_from_the_next_renewal),
        TEST(who_is_denied_loses_its_rights),
        TEST(a_denial_finds_the_binding_whatever_its_label),
        TEST(rights_stay_as_long_as_works_have_to_be_removed),
        TEST(nobody_gets_rights_in_a_namespace_of_something_else),
        TEST(a_namespace_that_is_labelled_for_it_is_used),
        TEST(the_first_renewal_joins),
        TEST(an_agent_of_somebody_else_is_not_labelled),
        TEST(another_agent_takes_the_place_of_reeves),
        TEST(trouble_that_reeves_agent_told_ends_with_it),
        TEST(two_agents_at_once_change_nothing),
        TEST(notes_of_an_agent_that_is_gone_are_not_believed),
        TEST(silence_is_told_and_ends),
        TEST(clocks_may_jump),
        TEST(a_renewal_costs_no_visit),
        TEST(time_begins_anew_with_the_process),
        TEST(a_hub_that_was_away_blames_nobody),
        TEST(who_is_heard_at_the_last_moment_is_not_silent),
        TEST(trouble_of_the_cluster_is_told),
        TEST(a_deletion_waits_for_works),
        TEST(a_deletion_believes_no_failure),
        TEST(a_hub_without_works_has_none),
        TEST(a_cluster_that_comes_again_has_yet_to_join),
        TEST(the_role_of_agents_is_small),
    };
    return cmocka_run_group_tests_name("clusters", tests, NULL, NULL);
}
