/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: Node. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

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
