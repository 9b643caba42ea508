/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* coordination.k8s.io/v1: Lease. */
#define SHAPE_PACKAGE "io.k8s.api.coordination.v1"

static const struct shape_field lease_spec_fields[] = {
    STRING("holderIdentity", 1, PTR),  INT32("leaseDurationSeconds", 2, PTR),
    MICRO_TIME("acquireTime", 3, PTR), MICRO_TIME("renewTime", 4, PTR),
    INT32("leaseTransitions", 5, PTR), STRING("strategy", 6, PTR, NAMED("v1.CoordinatedLeaseStrategy")),
    STRING("preferredHolder", 7, PTR),
};
SHAPE(lease_spec, "LeaseSpec");

static const struct shape_field lease_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, lease_spec),
};
SHAPE(lease, "Lease");

static const struct kind coordination_kinds[] = {
    {
        NAMES("coordination.k8s.io", "v1", "Lease", "leases", "lease"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_CREATE_ON_PUT,
        .shape = &lease,
        .columns = &columns_leases,
    },
};

const struct kind_table kinds_coordination = {coordination_kinds, ROWS(coordination_kinds)};

/* events.k8s.io/v1: Event, the same objects as core/v1 Event under other field names. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.events.v1"

static const struct shape_field event_series_fields[] = {
    INT32("count", 1, REQUIRED),
    MICRO_TIME("lastObservedTime", 2, REQUIRED),
};
SHAPE(event_series, "EventSeries");

static const struct shape_field event_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    MICRO_TIME("eventTime", 2, REQUIRED),
    RECORD("series", 3, event_series, PTR),
    STRING("reportingController", 4),
    STRING("reportingInstance", 5),
    STRING("action", 6),
    STRING("reason", 7),
    RECORD("regarding", 8, shape_object_reference),
    RECORD("related", 9, shape_object_reference, PTR),
    STRING("note", 10),
    STRING("type", 11),
    RECORD("deprecatedSource", 12, shape_event_source),
    TIME("deprecatedFirstTimestamp", 13),
    TIME("deprecatedLastTimestamp", 14),
    INT32("deprecatedCount", 15),
};
SHAPE(event, "Event");

static const struct kind events_kinds[] = {
    {
        NAMES("events.k8s.io", "v1", "Event", "events", "event"),
        .short_names = LIST_OF("ev"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .selectable =
            LIST_OF("regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
                    "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type"),
        .shape = &event,
        .columns = &columns_events,
    },
};

const struct kind_table kinds_events = {events_kinds, ROWS(events_kinds)};

/* node.k8s.io/v1: RuntimeClass. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.node.v1"

static const struct shape_field overhead_fields[] = {
    QUANTITY_MAP("podFixed", 1, NAMED("v1.ResourceList")),
};
SHAPE(overhead, "Overhead");

static const struct shape_field scheduling_fields[] = {
    STRING_MAP("nodeSelector", 1, ATOMIC),
    LIST("tolerations", 2, shape_toleration, ATOMIC),
};
SHAPE(scheduling, "Scheduling");

static const struct shape_field runtime_class_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    STRING("handler", 2, REQUIRED),
    RECORD("overhead", 3, overhead, PTR),
    RECORD("scheduling", 4, scheduling, PTR),
};
SHAPE(runtime_class, "RuntimeClass");

static const struct kind node_kinds[] = {
    {
        NAMES("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "runtimeclass"),
        .verbs = VERBS_ALL,
        .flags = KIND_CREATE_ON_PUT,
        .shape = &runtime_class,
        .columns = &columns_runtime_classes,
    },
};

const struct kind_table kinds_node = {node_kinds, ROWS(node_kinds)};

/* policy/v1: PodDisruptionBudget. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.policy.v1"

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

static const struct kind policy_kinds[] = {
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

const struct kind_table kinds_policy = {policy_kinds, ROWS(policy_kinds)};

/* scheduling.k8s.io/v1: PriorityClass. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.scheduling.v1"

static const struct shape_field priority_class_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    INT32("value", 2, REQUIRED),
    BOOL("globalDefault", 3),
    STRING("description", 4),
    STRING("preemptionPolicy", 5, PTR, NAMED("v1.PreemptionPolicy")),
};
SHAPE(priority_class, "PriorityClass");

static const struct kind scheduling_kinds[] = {
    {
        NAMES("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass"),
        .short_names = LIST_OF("pc"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        .shape = &priority_class,
        .columns = &columns_priority_classes,
    },
};

const struct kind_table kinds_scheduling = {scheduling_kinds, ROWS(scheduling_kinds)};

/* storage.k8s.io/v1: StorageClass. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.storage.v1"

static const struct shape_field storage_class_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    STRING("provisioner", 2, REQUIRED),
    STRING_MAP("parameters", 3),
    STRING("reclaimPolicy", 4, PTR, NAMED("v1.PersistentVolumeReclaimPolicy")),
    STRINGS("mountOptions", 5, ATOMIC),
    BOOL("allowVolumeExpansion", 6, PTR),
    STRING("volumeBindingMode", 7, PTR, NAMED("v1.VolumeBindingMode")),
    LIST("allowedTopologies", 8, shape_topology_selector_term, ATOMIC),
};
SHAPE(storage_class, "StorageClass");

static const struct kind storage_kinds[] = {
    {
        NAMES("storage.k8s.io", "v1", "StorageClass", "storageclasses", "storageclass"),
        .short_names = LIST_OF("sc"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        .shape = &storage_class,
        .columns = &columns_storage_classes,
    },
};

const struct kind_table kinds_storage = {storage_kinds, ROWS(storage_kinds)};
