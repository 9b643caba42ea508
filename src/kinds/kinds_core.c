/* SPDX-License-Identifier: Apache-2.0 */
/* The core group v1: Namespace, ConfigMap, Secret, ServiceAccount, and the kinds of the core_*.c files. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field shape_object_reference_fields[] = {
    STRING("kind", 1),       STRING("namespace", 2),       STRING("name", 3),      STRING("uid", 4, NAMED("types.UID")),
    STRING("apiVersion", 5), STRING("resourceVersion", 6), STRING("fieldPath", 7),
};
SHARED_ATOMIC_SHAPE(shape_object_reference, "ObjectReference");

static const struct shape_field shape_local_object_reference_fields[] = {
    STRING("name", 1),
};
SHARED_ATOMIC_SHAPE(shape_local_object_reference, "LocalObjectReference");

static const struct shape_field namespace_spec_fields[] = {
    STRINGS("finalizers", 1, ATOMIC, NAMED("v1.FinalizerName")),
};
SHAPE(namespace_spec, "NamespaceSpec");

static const struct shape_field namespace_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.NamespaceConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 4),
    STRING("reason", 5),
    STRING("message", 6),
};
SHAPE(namespace_condition, "NamespaceCondition");

static const struct shape_field namespace_status_fields[] = {
    STRING("phase", 1, NAMED("v1.NamespacePhase")),
    LIST("conditions", 2, namespace_condition, KEYED("type"), MERGE("type")),
};
SHAPE(namespace_status, "NamespaceStatus");

static const struct shape_field namespace_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, namespace_spec),
    RECORD("status", 3, namespace_status),
};
SHAPE(namespace, "Namespace");

static const struct shape_field config_map_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    BOOL("immutable", 4, PTR),
    STRING_MAP("data", 2),
    BYTES_MAP("binaryData", 3),
};
SHAPE(config_map, "ConfigMap");

static const struct shape_field secret_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    BOOL("immutable", 5, PTR),
    BYTES_MAP("data", 2),
    STRING_MAP("stringData", 4),
    STRING("type", 3, NAMED("v1.SecretType")),
};
SHAPE(secret, "Secret");

static const struct shape_field service_account_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    LIST("secrets", 2, shape_object_reference, KEYED("name"), MERGE("name")),
    LIST("imagePullSecrets", 3, shape_local_object_reference, ATOMIC),
    BOOL("automountServiceAccountToken", 4, PTR),
};
SHAPE(service_account, "ServiceAccount");

static const struct kind kinds[] = {
    {
        NAMES("", "v1", "ConfigMap", "configmaps", "configmap"),
        .short_names = LIST_OF("cm"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        .shape = &config_map,
        .columns = &columns_config_maps,
    },
    {
        NAMES("", "v1", "Endpoints", "endpoints", "endpoints"),
        .short_names = LIST_OF("ep"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .shape = &shape_endpoints,
        .columns = &columns_endpoints,
    },
    {
        NAMES("", "v1", "Event", "events", "event"),
        .short_names = LIST_OF("ev"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .name_rule = NAME_PATH_SEGMENT,
        .selectable = LIST_OF("involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
                              "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
                              "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"),
        .shape = &shape_event,
        .columns = &columns_events,
    },
    {
        NAMES("", "v1", "LimitRange", "limitranges", "limitrange"),
        .short_names = LIST_OF("limits"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .shape = &shape_limit_range,
    },
    {
        NAMES("", "v1", "Namespace", "namespaces", "namespace"),
        .short_names = LIST_OF("ns"),
        .verbs = VERBS_ALL & ~VERB_DELETECOLLECTION,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        .name_rule = NAME_DNS_LABEL,
        SUBRESOURCES({"finalize", .verbs = VERB_UPDATE}, STATUS),
        .selectable = LIST_OF("status.phase"),
        .shape = &namespace,
        .columns = &columns_namespaces,
    },
    {
        NAMES("", "v1", "Node", "nodes", "node"),
        .short_names = LIST_OF("no"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        SUBRESOURCES(STATUS),
        .selectable = LIST_OF("spec.unschedulable"),
        .shape = &shape_node,
        .columns = &columns_nodes,
    },
    {
        NAMES("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "persistentvolumeclaim"),
        .short_names = LIST_OF("pvc"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        SUBRESOURCES(STATUS),
        .shape = &shape_persistent_volume_claim,
        .columns = &columns_persistent_volume_claims,
    },
    {
        NAMES("", "v1", "PersistentVolume", "persistentvolumes", "persistentvolume"),
        .short_names = LIST_OF("pv"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        SUBRESOURCES(STATUS),
        .shape = &shape_persistent_volume,
        .columns = &columns_persistent_volumes,
    },
    {
        NAMES("", "v1", "Pod", "pods", "pod"),
        .short_names = LIST_OF("po"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        SUBRESOURCES({"ephemeralcontainers", .verbs = VERBS_STATUS}, STATUS),
        .selectable =
            LIST_OF("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
                    "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
        .shape = &shape_pod,
        .columns = &columns_pods,
    },
    {
        NAMES("", "v1", "PodTemplate", "podtemplates", "podtemplate"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION | KIND_DELETE_OBJECT,
        .shape = &shape_pod_template,
        .columns = &columns_pod_templates,
    },
    {
        NAMES("", "v1", "ReplicationController", "replicationcontrollers", "replicationcontroller"),
        .short_names = LIST_OF("rc"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION | KIND_ORPHANS,
        SUBRESOURCES({"scale", "autoscaling", "v1", "Scale", VERBS_STATUS}, STATUS),
        .selectable = LIST_OF("status.replicas"),
        .shape = &shape_replication_controller,
        .columns = &columns_replication_controllers,
    },
    {
        NAMES("", "v1", "ResourceQuota", "resourcequotas", "resourcequota"),
        .short_names = LIST_OF("quota"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        SUBRESOURCES(STATUS),
        .shape = &shape_resource_quota,
        .columns = &columns_resource_quotas,
    },
    {
        NAMES("", "v1", "Secret", "secrets", "secret"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        .selectable = LIST_OF("type"),
        .shape = &secret,
        .columns = &columns_secrets,
    },
    {
        NAMES("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount"),
        .short_names = LIST_OF("sa"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_DELETE_OBJECT,
        SUBRESOURCES({"token", "authentication.k8s.io", "v1", "TokenRequest", VERB_CREATE}),
        .shape = &service_account,
        .columns = &columns_service_accounts,
    },
    {
        NAMES("", "v1", "Service", "services", "service"),
        .short_names = LIST_OF("svc"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT | KIND_DELETE_OBJECT,
        .name_rule = NAME_DNS1035_LABEL,
        SUBRESOURCES(STATUS),
        .selectable = LIST_OF("spec.clusterIP", "spec.type"),
        .shape = &shape_service,
        .columns = &columns_services,
    },
};

const struct kind_table kinds_core = {kinds, ROWS(kinds)};
