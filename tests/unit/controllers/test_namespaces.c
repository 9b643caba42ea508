/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts of the controller of namespaces. Texts are those that a kube-controller-manager 1.32 wrote into the namespaces of
 * a real server. */
#include "controllers/namespaces/namespaces_pass.h"
#include "controllers/namespaces/namespaces_publication.h"
#include "controllers/namespaces/namespaces_refusal.h"
#include "controllers/root_ca.h"
#include "object/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define AT INT64_C(1767323045) /* 2026-01-02T03:04:05Z */
#define SECOND INT64_C(1000000000)

static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);
static const struct client_resource pods = CLIENT_RESOURCE("", "v1", "pods", "Pod", true);
static const struct client_resource deployments = CLIENT_RESOURCE("apps", "v1", "deployments", "Deployment", true);

static struct json parse(struct arena *a, const char *text)
{
    struct json tree;
    struct err err;
    if (json_decode(a, str_of(text), NULL, NULL, &tree, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return tree;
}

static void assert_text(str got, const char *want)
{
    struct arena scratch ARENA_SCOPE = {0};
    assert_string_equal(str_cstr(&scratch, got), want);
}

static void assert_json(struct arena *a, const struct json *got, const char *want)
{
    struct buf b = {.arena = a};
    struct json tree = parse(a, want);
    json_encode(&b, got, JSON_SORTED);
    if (!json_equal(got, &tree))
        fail_msg("got %.*s\nwant %s", STR(buf_str(&b)), want);
}

/* ---- Where to. ---- */

static void pods_come_first_and_what_cannot_be_deleted_not_at_all(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    const struct client_discovered list[] = {
        {.resource = CLIENT_RESOURCE("", "v1", "bindings", "Binding", true), .verbs = VERB_CREATE},
        {.resource = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true), .verbs = VERBS_ALL},
        {.resource = CLIENT_RESOURCE("", "v1", "nodes", "Node", false), .verbs = VERBS_ALL},
        {.resource = CLIENT_RESOURCE("", "v1", "pods", "Pod", true), .verbs = VERBS_ALL},
        {.resource = CLIENT_RESOURCE("", "v1", "services", "Service", true), .verbs = VERB_DELETE | VERB_LIST},
        {.resource = CLIENT_RESOURCE("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", true),
         .verbs = VERB_GET | VERB_LIST},
        {.resource = CLIENT_RESOURCE("other.io", "v1", "pods", "Pod", true), .verbs = VERB_DELETE | VERB_LIST},
        {.resource = CLIENT_RESOURCE("other.io", "v1", "unseen", "Unseen", true), .verbs = VERB_DELETE},
    };
    struct client_discovery discovery = {.p = list, .n = COUNT(list)};
    struct pass_targets targets = pass_targets(&a, &discovery);
    const struct client_discovered *want[] = {&list[3], &list[1], &list[4], &list[6]};
    assert_int_equal(targets.n, 4);
    for (size_t i = 0; i < targets.n; i++)
        assert_ptr_equal(targets.p[i], want[i]);
    assert_int_equal(pass_targets(&a, &(struct client_discovery){0}).n, 0);
}

static void the_slowest_pod_counts_unless_it_has_ended(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json list =
        parse(&a, "[{\"spec\":{\"terminationGracePeriodSeconds\":7},\"status\":{\"phase\":\"Running\"}},"
                  "{\"spec\":{\"terminationGracePeriodSeconds\":30}},"
                  "{\"spec\":{}},"
                  "{\"spec\":{\"terminationGracePeriodSeconds\":90},\"status\":{\"phase\":\"Failed\"}},"
                  "{\"spec\":{\"terminationGracePeriodSeconds\":80},\"status\":{\"phase\":\"Succeeded\"}}]");
    assert_int_equal(pass_pods_grace(&list), 30);
    assert_int_equal(pass_pods_grace(NULL), 0);
}

/* ---- What is told. ---- */

struct telling {
    struct arena a;
    struct clock_fake time;
    struct clock clock;
    struct pass pass;
    struct json namespace;
};

static void begin(struct telling *t)
{
    *t = (struct telling){.time = {.wall = AT * SECOND}};
    t->clock = clock_of_fake(&t->time);
    t->pass.arena = &t->a;
    t->namespace = parse(&t->a, "{\"metadata\":{\"name\":\"x\",\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"},"
                                "\"status\":{\"phase\":\"Terminating\"}}");
}

static void finish(struct telling *t)
{
    pass_done(&t->pass);
    arena_done(&t->a);
}

static void add_rest(struct telling *t, const struct client_resource *resource, const char *items, bool is_expected)
{
    struct json tree = parse(&t->a, items);
    pass_add_rest(&t->pass, resource, &tree, is_expected);
}

static bool tell(struct telling *t)
{
    return pass_tell(&t->a, &t->pass, &t->namespace, &t->clock);
}

static void assert_condition(struct telling *t, size_t i, const char *want)
{
    const struct json *list = json_dig(&t->namespace, "status.conditions");
    assert_true(i < json_len(list));
    assert_json(&t->a, &list->items[i], want);
}

#define CONDITION(time, message, reason, status, type)                                                        \
    "{\"lastTransitionTime\":\"2026-01-02T03:04:" time "Z\",\"message\":\"" message "\",\"reason\":\"" reason \
    "\",\"status\":\"" status "\",\"type\":\"" type "\"}"
#define DISCOVERED(time)                                                                     \
    CONDITION(time, "All resources successfully discovered", "ResourcesDiscovered", "False", \
              "NamespaceDeletionDiscoveryFailure")
#define PARSED(time)                                                                             \
    CONDITION(time, "All legacy kube types successfully parsed", "ParsedGroupVersions", "False", \
              "NamespaceDeletionGroupVersionParsingFailure")
#define DELETED(time)                                                                                              \
    CONDITION(time, "All content successfully deleted, may be waiting on finalization", "ContentDeleted", "False", \
              "NamespaceDeletionContentFailure")
#define REMOVED(time) \
    CONDITION(time, "All content successfully removed", "ContentRemoved", "False", "NamespaceContentRemaining")
#define UNHELD(time)                                                                                 \
    CONDITION(time, "All content-preserving finalizers finished", "ContentHasNoFinalizers", "False", \
              "NamespaceFinalizersRemaining")

static void an_empty_namespace_has_five_good_conditions(void **state)
{
    struct telling t;
    begin(&t);
    assert_true(pass_is_over(&t.pass));
    assert_true(tell(&t));
    assert_int_equal(json_len(json_dig(&t.namespace, "status.conditions")), 5);
    assert_condition(&t, 0, DISCOVERED("05"));
    assert_condition(&t, 1, PARSED("05"));
    assert_condition(&t, 2, DELETED("05"));
    assert_condition(&t, 3, REMOVED("05"));
    assert_condition(&t, 4, UNHELD("05"));
    clock_fake_advance(&t.time, 9 * SECOND);
    assert_false(tell(&t));
    assert_condition(&t, 4, UNHELD("05"));
    finish(&t);
}

static void what_is_left_is_counted_by_resource_and_by_finalizer(void **state)
{
    struct telling t;
    begin(&t);
    add_rest(&t, &pods, "[{\"metadata\":{\"name\":\"p\"}}]", true);
    add_rest(&t, &configmaps, "[{\"metadata\":{\"finalizers\":[\"x.y/z\",\"a.b/c\"]}}]", false);
    add_rest(&t, &configmaps, "[{\"metadata\":{\"name\":\"plain\"}}]", false); /* the next page */
    add_rest(&t, &deployments, "[{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}]", false);
    pass_check_rests(&t.pass, S("x"));
    assert_false(pass_is_over(&t.pass));
    assert_true(tell(&t));
    assert_condition(&t, 2, DELETED("05"));
    assert_condition(
        &t, 3,
        CONDITION("05",
                  "Some resources are remaining: configmaps. has 2 resource instances, deployments.apps has "
                  "1 resource instances, pods. has 1 resource instances",
                  "SomeResourcesRemain", "True", "NamespaceContentRemaining"));
    assert_condition(&t, 4,
                     CONDITION("05",
                               "Some content in the namespace has finalizers remaining: a.b/c in 2 resource instances, "
                               "x.y/z in 1 resource instances",
                               "SomeFinalizersRemain", "True", "NamespaceFinalizersRemaining"));
    finish(&t);
}

static void what_stays_though_nothing_holds_it_is_a_failure(void **state)
{
    struct telling t;
    begin(&t);
    add_rest(&t, &pods, "[{\"metadata\":{\"name\":\"p\"}}]", false);
    add_rest(&t, &deployments, "[{\"metadata\":{\"name\":\"d\"}}]", false);
    add_rest(&t, &configmaps, "[]", false);
    pass_check_rests(&t.pass, S("nsorc2"));
    tell(&t);
    assert_condition(&t, 2,
                     CONDITION("05",
                               "Failed to delete all resource types, 2 remaining: unexpected items still remain in "
                               "namespace: nsorc2 for gvr: /v1, Resource=pods, unexpected items still remain in "
                               "namespace: nsorc2 for gvr: apps/v1, Resource=deployments",
                               "ContentDeletionFailed", "True", "NamespaceDeletionContentFailure"));
    finish(&t);
}

static void failures_are_told_in_order(void **state)
{
    struct telling t;
    begin(&t);
    pass_fail(&t.pass, S("widgets is broken"));
    pass_fail(&t.pass, S("gadgets is broken"));
    assert_false(pass_is_over(&t.pass));
    tell(&t);
    assert_condition(&t, 2,
                     CONDITION("05",
                               "Failed to delete all resource types, 2 remaining: gadgets is broken, widgets is broken",
                               "ContentDeletionFailed", "True", "NamespaceDeletionContentFailure"));
    finish(&t);
}

static void a_group_that_cannot_be_discovered_holds_the_namespace(void **state)
{
    struct telling t;
    begin(&t);
    str failed[] = {S_INIT("metrics.k8s.io/v1beta1")};
    struct client_discovery discovery = {
        .failed = failed,
        .n_failed = 1,
        .text = S("unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale GroupVersion "
                  "discovery: metrics.k8s.io/v1beta1"),
    };
    pass_add_discovery(&t.pass, &discovery, NULL);
    assert_false(pass_is_over(&t.pass));
    tell(&t);
    assert_condition(
        &t, 0,
        CONDITION("05",
                  "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of "
                  "server APIs: metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1",
                  "DiscoveryFailed", "True", "NamespaceDeletionDiscoveryFailure"));
    t.pass.discovery_failure = (str){0};
    pass_add_discovery(&t.pass, &(struct client_discovery){0}, NULL);
    assert_true(pass_is_over(&t.pass));
    struct err err;
    (void)err_set(&err, ERR_UNAVAILABLE, "the server is currently unable to handle the request");
    pass_add_discovery(&t.pass, NULL, &err);
    assert_false(pass_is_over(&t.pass));
    tell(&t);
    assert_condition(&t, 0,
                     CONDITION("05", "the server is currently unable to handle the request", "DiscoveryFailed", "True",
                               "NamespaceDeletionDiscoveryFailure"));
    finish(&t);
}

static void the_time_of_a_condition_moves_with_its_status_alone(void **state)
{
    struct telling t;
    begin(&t);
    add_rest(&t, &configmaps,
             "[{\"metadata\":{\"finalizers\":[\"a.b/c\"]}},{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}]", false);
    tell(&t);
    clock_fake_advance(&t.time, 1 * SECOND);
    pass_done(&t.pass);
    t.pass = (struct pass){.arena = &t.a};
    add_rest(&t, &configmaps, "[{\"metadata\":{\"finalizers\":[\"a.b/c\"]}}]", false);
    assert_true(tell(&t));
    assert_condition(&t, 3,
                     CONDITION("05", "Some resources are remaining: configmaps. has 1 resource instances",
                               "SomeResourcesRemain", "True", "NamespaceContentRemaining"));
    clock_fake_advance(&t.time, 1 * SECOND);
    pass_done(&t.pass);
    t.pass = (struct pass){.arena = &t.a};
    assert_true(tell(&t));
    assert_condition(&t, 2, DELETED("05"));
    assert_condition(&t, 3, REMOVED("07"));
    assert_condition(&t, 4, UNHELD("07"));
    finish(&t);
}

static void conditions_of_others_stay_where_they_are(void **state)
{
    struct telling t;
    begin(&t);
    t.namespace =
        parse(&t.a, "{\"status\":{\"conditions\":[{\"type\":\"Mine\",\"status\":\"True\"},"
                    "{\"type\":\"NamespaceContentRemaining\",\"status\":\"False\",\"reason\":\"ContentRemoved\","
                    "\"message\":\"All content successfully removed\","
                    "\"lastTransitionTime\":\"2026-01-02T03:04:01Z\"}]}}");
    assert_true(tell(&t));
    assert_int_equal(json_len(json_dig(&t.namespace, "status.conditions")), 6);
    assert_condition(&t, 0, "{\"type\":\"Mine\",\"status\":\"True\"}");
    assert_condition(&t, 1, REMOVED("01"));
    assert_condition(&t, 2, DISCOVERED("05"));
    assert_condition(&t, 5, UNHELD("05"));
    finish(&t);
}

static void finalizing_takes_one_name_and_sorts_the_others(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json namespace = parse(&a, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\","
                                      "\"uid\":\"u\",\"resourceVersion\":\"7\"},\"spec\":{\"finalizers\":[\"z.io/b\","
                                      "\"kubernetes\",\"a.io/a\",\"z.io/b\"]},\"status\":{\"phase\":\"Terminating\"}}");
    assert_true(pass_finalize(&a, &namespace, &namespace));
    assert_json(&a, &namespace,
                "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\",\"uid\":\"u\","
                "\"resourceVersion\":\"7\"},\"spec\":{\"finalizers\":[\"a.io/a\",\"z.io/b\"]}}");
    struct json none = parse(&a, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"finalizers\":[\"a.io/a\"]}}"), ret;
    assert_false(pass_finalize(&a, &none, &ret));
    struct json bare = parse(&a, "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}");
    assert_false(pass_finalize(&a, &bare, &ret));
}

static void waits_grow_with_the_age_of_the_deletion(void **state)
{
    struct telling t;
    begin(&t);
    const struct {
        int64_t age_ms, wait_ms;
    } rows[] = {{0, 100}, {400, 100}, {2000, 500}, {20000, 5000}, {60000, 8000}, {86400000, 8000}, {-5000, 100}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        t.time.wall = AT * SECOND + rows[i].age_ms * 1000000;
        assert_int_equal(pass_wait_ns(&t.namespace, &t.clock), rows[i].wait_ms * 1000000);
    }
    finish(&t);
}

/* ---- kube-root-ca.crt. ---- */

#define DESCRIPTION                                                                                                 \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the " \
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "          \
    "Kubernetes clusters."

static void the_map_is_made_and_repaired(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json want, again;
    assert_true(publication_render(&a, NULL, S("PEM"), &want));
    assert_json(&a, &want,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"kube-root-ca.crt\","
                "\"annotations\":{\"kubernetes.io/description\":\"" DESCRIPTION "\"}},\"data\":{\"ca.crt\":\"PEM\"}}");
    assert_false(publication_render(&a, &want, S("PEM"), &again));
    assert_true(publication_render(&a, &want, S("NEW"), &again));
    assert_text(json_text(json_get(json_get(&again, S("data")), S("ca.crt"))), "NEW");

    struct json spoilt =
        parse(&a, "{\"metadata\":{\"name\":\"kube-root-ca.crt\",\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"},"
                  "\"annotations\":{\"mine\":\"x\"}},\"data\":{\"ca.crt\":\"PEM\"}}");
    assert_true(publication_render(&a, &spoilt, S("PEM"), &again));
    assert_json(&a, &again,
                "{\"metadata\":{\"name\":\"kube-root-ca.crt\",\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"},"
                "\"annotations\":{\"mine\":\"x\",\"kubernetes.io/description\":\"" DESCRIPTION "\"}},"
                "\"data\":{\"ca.crt\":\"PEM\"}}");
    struct json more = parse(&a, "{\"metadata\":{\"annotations\":{\"kubernetes.io/description\":\"mine\"}},"
                                 "\"data\":{\"ca.crt\":\"PEM\",\"other\":\"x\"}}");
    assert_true(publication_render(&a, &more, S("PEM"), &again));
    struct json described = parse(&a, "{\"metadata\":{\"annotations\":{\"kubernetes.io/description\":\"mine\"}},"
                                      "\"data\":{\"ca.crt\":\"PEM\"}}");
    assert_false(publication_render(&a, &described, S("PEM"), &again));
}

static void count(void *ctx)
{
    ++*(int *)ctx;
}

static void a_renewed_ca_is_told_once(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct root_ca *ca = root_ca_new(S("one"));
    int told = 0;
    assert_text(root_ca_dup(ca, &a), "one");
    root_ca_set(ca, S("two"));
    root_ca_listen(ca, count, &told);
    root_ca_set(ca, S("two"));
    assert_int_equal(told, 0);
    root_ca_set(ca, S("three"));
    assert_int_equal(told, 1);
    assert_text(root_ca_dup(ca, &a), "three");
    root_ca_listen(ca, NULL, NULL);
    root_ca_set(ca, S("four"));
    assert_int_equal(told, 1);
    root_ca_free(ca);
    root_ca_free(NULL);
}

/* ---- Refusals. ---- */

static void only_refusals_that_a_watch_explains_are_final(void **state)
{
    const struct {
        const char *text;
        enum err_code code;
        bool is_final;
    } rows[] = {
        {"serviceaccounts \"default\" is forbidden: unable to create new content in namespace x because it is being "
         "terminated",
         ERR_FORBIDDEN, true},
        {"serviceaccounts is forbidden: User \"u\" cannot create resource", ERR_FORBIDDEN, false},
        {"namespaces \"x\" not found", ERR_NOT_FOUND, true},
        {"serviceaccounts \"default\" already exists", ERR_ALREADY_EXISTS, true},
        {"the server answered 404: <html>", ERR_NOT_FOUND, false},
        {"the object has been modified", ERR_CONFLICT, false},
        {"because it is being terminated", ERR_UNAVAILABLE, false},
        {"", ERR_INTERNAL, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct err err;
        (void)err_set(&err, rows[i].code, "%s", rows[i].text);
        assert_int_equal(refusal_is_final(rows[i].code, &err), rows[i].is_final);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_come_first_and_what_cannot_be_deleted_not_at_all),
        cmocka_unit_test(the_slowest_pod_counts_unless_it_has_ended),
        cmocka_unit_test(an_empty_namespace_has_five_good_conditions),
        cmocka_unit_test(what_is_left_is_counted_by_resource_and_by_finalizer),
        cmocka_unit_test(what_stays_though_nothing_holds_it_is_a_failure),
        cmocka_unit_test(failures_are_told_in_order),
        cmocka_unit_test(a_group_that_cannot_be_discovered_holds_the_namespace),
        cmocka_unit_test(the_time_of_a_condition_moves_with_its_status_alone),
        cmocka_unit_test(conditions_of_others_stay_where_they_are),
        cmocka_unit_test(finalizing_takes_one_name_and_sorts_the_others),
        cmocka_unit_test(waits_grow_with_the_age_of_the_deletion),
        cmocka_unit_test(the_map_is_made_and_repaired),
        cmocka_unit_test(a_renewed_ca_is_told_once),
        cmocka_unit_test(only_refusals_that_a_watch_explains_are_final),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
