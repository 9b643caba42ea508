/* SPDX-License-Identifier: Apache-2.0 */
/* policy/v1: PodDisruptionBudget. */
#define SHAPE_PACKAGE "io.k8s.api.policy.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field pod_disruption_budget_spec_fields[] = {
    INT_OR_STRING("minAvailable", 1, PTR),
    RECORD("selector", 2, shape_label_selector, PTR, REPLACE),
    INT_OR_STRING("maxUnavailable", 3, PTR),
    STRING("unhealthyPodEvictionPolicy", 4, PTR, NAMED("v1.UnhealthyPodEvictionPolicyType")),
};
SHAPE(pod_disruption_budget_spec, "PodDisruptionBudgetSpec");

static const struct shape_field pod_disruption_budget_status_fields[] = {
    INT64("observedGeneration", 1),
    TIME_MAP("disruptedPods", 2),
    INT32("disruptionsAllowed", 3, REQUIRED),
    INT32("currentHealthy", 4, REQUIRED),
    INT32("desiredHealthy", 5, REQUIRED),
    INT32("expectedPods", 6, REQUIRED),
    LIST("conditions", 7, shape_condition, KEYED("type"), MERGE("type")),
};
SHAPE(pod_disruption_budget_status, "PodDisruptionBudgetStatus");

static const struct shape_field pod_disruption_budget_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, pod_disruption_budget_spec),
    RECORD("status", 3, pod_disruption_budget_status),
};
SHAPE(pod_disruption_budget, "PodDisruptionBudget");

static const struct kind kinds[] = {
    {
        NAMES("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "poddisruptionbudget"),
        .short_names = LIST_OF("pdb"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_GENERATION,
        SUBRESOURCES(STATUS),
        .shape = &pod_disruption_budget,
        .columns = &columns_pod_disruption_budgets,
    },
};

const struct kind_table kinds_policy = {kinds, ROWS(kinds)};
