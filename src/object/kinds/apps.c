/* SPDX-License-Identifier: Apache-2.0 */
/* apps/v1: Deployment and ReplicaSet. */
#define SHAPE_PACKAGE "io.k8s.api.apps.v1"

#include "object/kinds/columns.h"
#include "object/kinds/rows.h"
#include "object/kinds/shapes.h"
#include "object/kinds/tables.h"

static const struct shape_field rolling_update_deployment_fields[] = {
    INT_OR_STRING("maxUnavailable", 1, PTR),
    INT_OR_STRING("maxSurge", 2, PTR),
};
SHAPE(rolling_update_deployment, "RollingUpdateDeployment");

static const struct shape_field deployment_strategy_fields[] = {
    STRING("type", 1, NAMED("v1.DeploymentStrategyType")),
    RECORD("rollingUpdate", 2, rolling_update_deployment, PTR),
};
SHAPE(deployment_strategy, "DeploymentStrategy");

static const struct shape_field deployment_spec_fields[] = {
    INT32("replicas", 1, PTR),
    RECORD("selector", 2, shape_label_selector, PTR, REQUIRED),
    RECORD("template", 3, shape_pod_template_spec, REQUIRED),
    RECORD("strategy", 4, deployment_strategy, RETAIN_KEYS),
    INT32("minReadySeconds", 5),
    INT32("revisionHistoryLimit", 6, PTR),
    BOOL("paused", 7),
    INT32("progressDeadlineSeconds", 9, PTR),
};
SHAPE(deployment_spec, "DeploymentSpec");

static const struct shape_field deployment_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.DeploymentConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastUpdateTime", 6),
    TIME("lastTransitionTime", 7),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(deployment_condition, "DeploymentCondition");

static const struct shape_field deployment_status_fields[] = {
    INT64("observedGeneration", 1),
    INT32("replicas", 2),
    INT32("updatedReplicas", 3),
    INT32("readyReplicas", 7),
    INT32("availableReplicas", 4),
    INT32("unavailableReplicas", 5),
    LIST("conditions", 6, deployment_condition, KEYED("type"), MERGE("type")),
    INT32("collisionCount", 8, PTR),
};
SHAPE(deployment_status, "DeploymentStatus");

static const struct shape_field deployment_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, deployment_spec),
    RECORD("status", 3, deployment_status),
};
SHAPE(deployment, "Deployment");

static const struct shape_field replica_set_spec_fields[] = {
    INT32("replicas", 1, PTR),
    INT32("minReadySeconds", 4),
    RECORD("selector", 2, shape_label_selector, PTR, REQUIRED),
    RECORD("template", 3, shape_pod_template_spec),
};
SHAPE(replica_set_spec, "ReplicaSetSpec");

static const struct shape_field replica_set_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.ReplicaSetConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 3),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(replica_set_condition, "ReplicaSetCondition");

static const struct shape_field replica_set_status_fields[] = {
    INT32("replicas", 1, REQUIRED), INT32("fullyLabeledReplicas", 2),
    INT32("readyReplicas", 4),      INT32("availableReplicas", 5),
    INT64("observedGeneration", 3), LIST("conditions", 6, replica_set_condition, KEYED("type"), MERGE("type")),
};
SHAPE(replica_set_status, "ReplicaSetStatus");

static const struct shape_field replica_set_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, replica_set_spec),
    RECORD("status", 3, replica_set_status),
};
SHAPE(replica_set, "ReplicaSet");

static const struct kind kinds[] = {
    {
        NAMES("apps", "v1", "Deployment", "deployments", "deployment"),
        .short_names = LIST_OF("deploy"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        SUBRESOURCES({"scale", "autoscaling", "v1", "Scale", VERBS_STATUS}, STATUS),
        .shape = &deployment,
        .columns = &columns_deployments,
    },
    {
        NAMES("apps", "v1", "ReplicaSet", "replicasets", "replicaset"),
        .short_names = LIST_OF("rs"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        SUBRESOURCES({"scale", "autoscaling", "v1", "Scale", VERBS_STATUS}, STATUS),
        .shape = &replica_set,
        .columns = &columns_replica_sets,
    },
};

const struct kind_table kinds_apps = {kinds, ROWS(kinds)};
