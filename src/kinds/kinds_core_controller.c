/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: ReplicationController. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field replication_controller_spec_fields[] = {
    INT32("replicas", 1, PTR),
    INT32("minReadySeconds", 4),
    STRING_MAP("selector", 2, ATOMIC),
    RECORD("template", 3, shape_pod_template_spec, PTR),
};
SHAPE(replication_controller_spec, "ReplicationControllerSpec");

static const struct shape_field replication_controller_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.ReplicationControllerConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 3),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(replication_controller_condition, "ReplicationControllerCondition");

static const struct shape_field replication_controller_status_fields[] = {
    INT32("replicas", 1, REQUIRED),
    INT32("fullyLabeledReplicas", 2),
    INT32("readyReplicas", 4),
    INT32("availableReplicas", 5),
    INT64("observedGeneration", 3),
    LIST("conditions", 6, replication_controller_condition, KEYED("type"), MERGE("type")),
};
SHAPE(replication_controller_status, "ReplicationControllerStatus");

static const struct shape_field shape_replication_controller_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, replication_controller_spec),
    RECORD("status", 3, replication_controller_status),
};
SHARED_SHAPE(shape_replication_controller, "ReplicationController");
