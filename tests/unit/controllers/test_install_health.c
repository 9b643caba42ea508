/* SPDX-License-Identifier: Apache-2.0 */
/* Ready means ready: what the status of a Deployment says about the health of an install. */
#include "controllers/installs/installs_status.h"

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PROGRESS(status, reason, message) \
    "{\"type\":\"Progressing\",\"status\":\"" status "\",\"reason\":\"" reason "\",\"message\":\"" message "\"}"
#define AVAILABLE(status) "{\"type\":\"Available\",\"status\":\"" status "\"}"

/* generation 2 and two replicas; counts: observedGeneration, replicas, updatedReplicas and availableReplicas. */
static struct status_word health(struct arena *a, const char *counts, const char *conditions)
{
    struct json d;
    struct err err;
    str text = str_fmt(a,
                       "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\","
                       "\"generation\":2},\"spec\":{\"replicas\":2},\"status\":{%s,\"conditions\":[%s]}}",
                       counts, conditions);
    assert_int_equal(json_decode(a, text, NULL, NULL, &d, &err), 0);
    return health_of_deployment(a, &d);
}

static void expect(const char *counts, const char *conditions, int value, const char *reason, const char *message)
{
    struct arena a ARENA_SCOPE = {0};
    struct status_word w = health(&a, counts, conditions);
    assert_int_equal(w.value, value);
    assert_string_equal(str_cstr(&a, w.reason), reason);
    assert_string_equal(str_cstr(&a, w.message), message);
}

#define COUNTS(observed, all, updated, available)                                              \
    "\"observedGeneration\":" #observed ",\"replicas\":" #all ",\"updatedReplicas\":" #updated \
    ",\"availableReplicas\":" #available

static void test_generation(void **state)
{
    (void)state;
    /* All that is available belongs to the generation before. */
    expect(COUNTS(1, 2, 2, 2), AVAILABLE("True") "," PROGRESS("True", "NewReplicaSetAvailable", ""), STATUS_FALSE,
           "WaitingForDeployment", "Waiting for the Deployment controller to observe Deployment d.");
}

static void test_rollout(void **state)
{
    (void)state;
    expect(COUNTS(2, 3, 1, 2), AVAILABLE("True") "," PROGRESS("True", "ReplicaSetUpdated", ""), STATUS_FALSE,
           "WaitingForDeployment", "Deployment d: 1 of 2 pods are updated, 2 available.");
    /* Updated pods exist, but those that are available are old ones. */
    expect(COUNTS(2, 4, 2, 2), AVAILABLE("True") "," PROGRESS("True", "ReplicaSetUpdated", ""), STATUS_FALSE,
           "WaitingForDeployment", "Deployment d: 2 of 2 pods are updated, 2 available.");
    expect(COUNTS(2, 2, 2, 2), AVAILABLE("True") "," PROGRESS("True", "ReplicaSetUpdated", ""), STATUS_TRUE,
           "Available", "");
    expect(COUNTS(2, 2, 1, 1), AVAILABLE("True") "," PROGRESS("False", "ProgressDeadlineExceeded", "timed out"),
           STATUS_FALSE, "RolloutFailed", "Deployment d: timed out");
}

static void test_steady(void **state)
{
    (void)state;
    /* One pod of many restarts: the Deployment is still available. */
    expect(COUNTS(2, 2, 2, 1), AVAILABLE("True") "," PROGRESS("True", "NewReplicaSetAvailable", ""), STATUS_TRUE,
           "Available", "");
    expect(COUNTS(2, 2, 2, 0), AVAILABLE("False") "," PROGRESS("True", "NewReplicaSetAvailable", ""), STATUS_FALSE,
           "Unavailable", "Deployment d is not available: 0 of 2 pods are.");
}

static void test_pods_refused(void **state)
{
    (void)state;
    expect(
        COUNTS(2, 0, 0, 0),
        AVAILABLE("False") "," PROGRESS("True", "NewReplicaSetCreated", "") ",{\"type\":\"ReplicaFailure\",\"status\":"
                                                                            "\"True\",\"reason\":\"FailedCreate\","
                                                                            "\"message\":\"violates PodSecurity\"}",
        STATUS_FALSE, "PodsRefused", "Deployment d cannot create pods: violates PodSecurity");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_rollout),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_pods_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
