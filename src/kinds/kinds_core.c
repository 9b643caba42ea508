/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* The core group v1: Namespace, ConfigMap, Secret, ServiceAccount, and the kinds of the core_*.c files. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

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

/* core/v1: ReplicationController. */

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

/* core/v1: Event. */

static const struct shape_field shape_event_source_fields[] = {
    STRING("component", 1),
    STRING("host", 2),
};
SHARED_SHAPE(shape_event_source, "EventSource");

static const struct shape_field event_series_fields[] = {
    INT32("count", 1),
    MICRO_TIME("lastObservedTime", 2),
};
SHAPE(event_series, "EventSeries");

static const struct shape_field shape_event_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta, REQUIRED),
    RECORD("involvedObject", 2, shape_object_reference, REQUIRED),
    STRING("reason", 3),
    STRING("message", 4),
    RECORD("source", 5, shape_event_source),
    TIME("firstTimestamp", 6),
    TIME("lastTimestamp", 7),
    INT32("count", 8),
    STRING("type", 9),
    MICRO_TIME("eventTime", 10),
    RECORD("series", 11, event_series, PTR),
    STRING("action", 12),
    RECORD("related", 13, shape_object_reference, PTR),
    STRING("reportingComponent", 14, WRITTEN),
    STRING("reportingInstance", 15, WRITTEN),
};
SHARED_SHAPE(shape_event, "Event");

/* core/v1: Node. */

static const struct shape_field config_map_node_config_source_fields[] = {
    STRING("namespace", 1, REQUIRED),        STRING("name", 2, REQUIRED),
    STRING("uid", 3, NAMED("types.UID")),    STRING("resourceVersion", 4),
    STRING("kubeletConfigKey", 5, REQUIRED),
};
SHAPE(config_map_node_config_source, "ConfigMapNodeConfigSource");

static const struct shape_field node_config_source_fields[] = {
    RECORD("configMap", 2, config_map_node_config_source, PTR),
};
SHAPE(node_config_source, "NodeConfigSource");

static const struct shape_field node_spec_fields[] = {
    STRING("podCIDR", 1),
    STRINGS("podCIDRs", 7, SET, MERGE_SET),
    STRING("providerID", 3),
    BOOL("unschedulable", 4),
    LIST("taints", 5, shape_taint, ATOMIC),
    RECORD("configSource", 6, node_config_source, PTR),
    STRING("externalID", 2),
};
SHAPE(node_spec, "NodeSpec");

static const struct shape_field node_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.NodeConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastHeartbeatTime", 3),
    TIME("lastTransitionTime", 4),
    STRING("reason", 5),
    STRING("message", 6),
};
SHAPE(node_condition, "NodeCondition");

static const struct shape_field node_address_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.NodeAddressType")),
    STRING("address", 2, REQUIRED),
};
SHAPE(node_address, "NodeAddress");

static const struct shape_field daemon_endpoint_fields[] = {
    INT32("Port", 1, REQUIRED),
};
SHAPE(daemon_endpoint, "DaemonEndpoint");

static const struct shape_field node_daemon_endpoints_fields[] = {
    RECORD("kubeletEndpoint", 1, daemon_endpoint),
};
SHAPE(node_daemon_endpoints, "NodeDaemonEndpoints");

static const struct shape_field node_system_info_fields[] = {
    STRING("machineID", 1, REQUIRED),       STRING("systemUUID", 2, REQUIRED),
    STRING("bootID", 3, REQUIRED),          STRING("kernelVersion", 4, REQUIRED),
    STRING("osImage", 5, REQUIRED),         STRING("containerRuntimeVersion", 6, REQUIRED),
    STRING("kubeletVersion", 7, REQUIRED),  STRING("kubeProxyVersion", 8, REQUIRED),
    STRING("operatingSystem", 9, REQUIRED), STRING("architecture", 10, REQUIRED),
};
SHAPE(node_system_info, "NodeSystemInfo");

static const struct shape_field container_image_fields[] = {
    STRINGS("names", 1, ATOMIC, WRITTEN),
    INT64("sizeBytes", 2),
};
SHAPE(container_image, "ContainerImage");

static const struct shape_field attached_volume_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.UniqueVolumeName")),
    STRING("devicePath", 2, REQUIRED),
};
SHAPE(attached_volume, "AttachedVolume");

static const struct shape_field node_config_status_fields[] = {
    RECORD("assigned", 1, node_config_source, PTR),
    RECORD("active", 2, node_config_source, PTR),
    RECORD("lastKnownGood", 3, node_config_source, PTR),
    STRING("error", 4),
};
SHAPE(node_config_status, "NodeConfigStatus");

static const struct shape_field node_runtime_handler_features_fields[] = {
    BOOL("recursiveReadOnlyMounts", 1, PTR),
    BOOL("userNamespaces", 2, PTR),
};
SHAPE(node_runtime_handler_features, "NodeRuntimeHandlerFeatures");

static const struct shape_field node_runtime_handler_fields[] = {
    STRING("name", 1, WRITTEN),
    RECORD("features", 2, node_runtime_handler_features, PTR),
};
SHAPE(node_runtime_handler, "NodeRuntimeHandler");

static const struct shape_field node_features_fields[] = {
    BOOL("supplementalGroupsPolicy", 1, PTR),
};
SHAPE(node_features, "NodeFeatures");

static const struct shape_field node_status_fields[] = {
    QUANTITY_MAP("capacity", 1, NAMED("v1.ResourceList")),
    QUANTITY_MAP("allocatable", 2, NAMED("v1.ResourceList")),
    STRING("phase", 3, NAMED("v1.NodePhase")),
    LIST("conditions", 4, node_condition, KEYED("type"), MERGE("type")),
    LIST("addresses", 5, node_address, KEYED("type"), MERGE("type")),
    RECORD("daemonEndpoints", 6, node_daemon_endpoints),
    RECORD("nodeInfo", 7, node_system_info),
    LIST("images", 8, container_image, ATOMIC),
    STRINGS("volumesInUse", 9, ATOMIC, NAMED("v1.UniqueVolumeName")),
    LIST("volumesAttached", 10, attached_volume, ATOMIC),
    RECORD("config", 11, node_config_status, PTR),
    LIST("runtimeHandlers", 12, node_runtime_handler, ATOMIC),
    RECORD("features", 13, node_features, PTR),
};
SHAPE(node_status, "NodeStatus");

static const struct shape_field shape_node_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, node_spec),
    RECORD("status", 3, node_status),
};
SHARED_SHAPE(shape_node, "Node");

/* core/v1: ResourceQuota and LimitRange. */

static const struct shape_field scoped_resource_selector_requirement_fields[] = {
    STRING("scopeName", 1, REQUIRED, NAMED("v1.ResourceQuotaScope")),
    STRING("operator", 2, REQUIRED, NAMED("v1.ScopeSelectorOperator")),
    STRINGS("values", 3, ATOMIC),
};
SHAPE(scoped_resource_selector_requirement, "ScopedResourceSelectorRequirement");

static const struct shape_field scope_selector_fields[] = {
    LIST("matchExpressions", 1, scoped_resource_selector_requirement, ATOMIC),
};
ATOMIC_SHAPE(scope_selector, "ScopeSelector");

static const struct shape_field resource_quota_spec_fields[] = {
    QUANTITY_MAP("hard", 1, NAMED("v1.ResourceList")),
    STRINGS("scopes", 2, ATOMIC, NAMED("v1.ResourceQuotaScope")),
    RECORD("scopeSelector", 3, scope_selector, PTR),
};
SHAPE(resource_quota_spec, "ResourceQuotaSpec");

static const struct shape_field resource_quota_status_fields[] = {
    QUANTITY_MAP("hard", 1, NAMED("v1.ResourceList")),
    QUANTITY_MAP("used", 2, NAMED("v1.ResourceList")),
};
SHAPE(resource_quota_status, "ResourceQuotaStatus");

static const struct shape_field shape_resource_quota_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, resource_quota_spec),
    RECORD("status", 3, resource_quota_status),
};
SHARED_SHAPE(shape_resource_quota, "ResourceQuota");

static const struct shape_field limit_range_item_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.LimitType")),
    QUANTITY_MAP("max", 2, NAMED("v1.ResourceList")),
    QUANTITY_MAP("min", 3, NAMED("v1.ResourceList")),
    QUANTITY_MAP("default", 4, NAMED("v1.ResourceList")),
    QUANTITY_MAP("defaultRequest", 5, NAMED("v1.ResourceList")),
    QUANTITY_MAP("maxLimitRequestRatio", 6, NAMED("v1.ResourceList")),
};
SHAPE(limit_range_item, "LimitRangeItem");

static const struct shape_field limit_range_spec_fields[] = {
    LIST("limits", 1, limit_range_item, REQUIRED, ATOMIC),
};
SHAPE(limit_range_spec, "LimitRangeSpec");

static const struct shape_field shape_limit_range_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, limit_range_spec),
};
SHARED_SHAPE(shape_limit_range, "LimitRange");

/* core/v1: Service and Endpoints. */

static const struct shape_field service_port_fields[] = {
    STRING("name", 1),
    STRING("protocol", 2, NAMED("v1.Protocol")),
    STRING("appProtocol", 6, PTR),
    INT32("port", 3, REQUIRED),
    INT_OR_STRING("targetPort", 4),
    INT32("nodePort", 5),
};
SHAPE(service_port, "ServicePort");

static const struct shape_field client_ip_config_fields[] = {
    INT32("timeoutSeconds", 1, PTR),
};
SHAPE(client_ip_config, "ClientIPConfig");

static const struct shape_field session_affinity_config_fields[] = {
    RECORD("clientIP", 1, client_ip_config, PTR),
};
SHAPE(session_affinity_config, "SessionAffinityConfig");

static const struct shape_field service_spec_fields[] = {
    LIST("ports", 1, service_port, KEYED("port,protocol"), MERGE("port")),
    STRING_MAP("selector", 2, ATOMIC),
    STRING("clusterIP", 3),
    STRINGS("clusterIPs", 18, ATOMIC),
    STRING("type", 4, NAMED("v1.ServiceType")),
    STRINGS("externalIPs", 5, ATOMIC),
    STRING("sessionAffinity", 7, NAMED("v1.ServiceAffinity")),
    STRING("loadBalancerIP", 8),
    STRINGS("loadBalancerSourceRanges", 9, ATOMIC),
    STRING("externalName", 10),
    STRING("externalTrafficPolicy", 11, NAMED("v1.ServiceExternalTrafficPolicy")),
    INT32("healthCheckNodePort", 12),
    BOOL("publishNotReadyAddresses", 13),
    RECORD("sessionAffinityConfig", 14, session_affinity_config, PTR),
    STRINGS("ipFamilies", 19, ATOMIC, NAMED("v1.IPFamily")),
    STRING("ipFamilyPolicy", 17, PTR, NAMED("v1.IPFamilyPolicy")),
    BOOL("allocateLoadBalancerNodePorts", 20, PTR),
    STRING("loadBalancerClass", 21, PTR),
    STRING("internalTrafficPolicy", 22, PTR, NAMED("v1.ServiceInternalTrafficPolicy")),
    STRING("trafficDistribution", 23, PTR),
};
SHAPE(service_spec, "ServiceSpec");

static const struct shape_field port_status_fields[] = {
    INT32("port", 1, REQUIRED),
    STRING("protocol", 2, REQUIRED, NAMED("v1.Protocol")),
    STRING("error", 3, PTR),
};
SHAPE(port_status, "PortStatus");

static const struct shape_field load_balancer_ingress_fields[] = {
    STRING("ip", 1),
    STRING("hostname", 2),
    STRING("ipMode", 3, PTR, NAMED("v1.LoadBalancerIPMode")),
    LIST("ports", 4, port_status, ATOMIC),
};
SHAPE(load_balancer_ingress, "LoadBalancerIngress");

static const struct shape_field load_balancer_status_fields[] = {
    LIST("ingress", 1, load_balancer_ingress, ATOMIC),
};
SHAPE(load_balancer_status, "LoadBalancerStatus");

static const struct shape_field service_status_fields[] = {
    RECORD("loadBalancer", 1, load_balancer_status),
    LIST("conditions", 2, shape_condition, KEYED("type"), MERGE("type")),
};
SHAPE(service_status, "ServiceStatus");

static const struct shape_field shape_service_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, service_spec),
    RECORD("status", 3, service_status),
};
SHARED_SHAPE(shape_service, "Service");

static const struct shape_field endpoint_address_fields[] = {
    STRING("ip", 1, REQUIRED),
    STRING("hostname", 3),
    STRING("nodeName", 4, PTR),
    RECORD("targetRef", 2, shape_object_reference, PTR),
};
ATOMIC_SHAPE(endpoint_address, "EndpointAddress");

static const struct shape_field endpoint_port_fields[] = {
    STRING("name", 1),
    INT32("port", 2, REQUIRED),
    STRING("protocol", 3, NAMED("v1.Protocol")),
    STRING("appProtocol", 4, PTR),
};
ATOMIC_SHAPE(endpoint_port, "EndpointPort");

static const struct shape_field endpoint_subset_fields[] = {
    LIST("addresses", 1, endpoint_address, ATOMIC),
    LIST("notReadyAddresses", 2, endpoint_address, ATOMIC),
    LIST("ports", 3, endpoint_port, ATOMIC),
};
SHAPE(endpoint_subset, "EndpointSubset");

static const struct shape_field shape_endpoints_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    LIST("subsets", 2, endpoint_subset, ATOMIC),
};
SHARED_SHAPE(shape_endpoints, "Endpoints");
