/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: Pod, its status, and the template other kinds make pods from. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field sysctl_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("value", 2, REQUIRED),
};
SHAPE(sysctl, "Sysctl");

static const struct shape_field pod_security_context_fields[] = {
    RECORD("seLinuxOptions", 1, shape_selinux_options, PTR),
    RECORD("windowsOptions", 8, shape_windows_security_context_options, PTR),
    INT64("runAsUser", 2, PTR),
    INT64("runAsGroup", 6, PTR),
    BOOL("runAsNonRoot", 3, PTR),
    INT64_LIST("supplementalGroups", 4, ATOMIC),
    STRING("supplementalGroupsPolicy", 12, PTR, NAMED("v1.SupplementalGroupsPolicy")),
    INT64("fsGroup", 5, PTR),
    LIST("sysctls", 7, sysctl, ATOMIC),
    STRING("fsGroupChangePolicy", 9, PTR, NAMED("v1.PodFSGroupChangePolicy")),
    RECORD("seccompProfile", 10, shape_seccomp_profile, PTR),
    RECORD("appArmorProfile", 11, shape_app_armor_profile, PTR),
    STRING("seLinuxChangePolicy", 13, PTR, NAMED("v1.PodSELinuxChangePolicy")),
};
SHAPE(pod_security_context, "PodSecurityContext");

static const struct shape_field host_alias_fields[] = {
    STRING("ip", 1, REQUIRED),
    STRINGS("hostnames", 2, ATOMIC),
};
SHAPE(host_alias, "HostAlias");

static const struct shape_field pod_dns_config_option_fields[] = {
    STRING("name", 1),
    STRING("value", 2, PTR),
};
SHAPE(pod_dns_config_option, "PodDNSConfigOption");

static const struct shape_field pod_dns_config_fields[] = {
    STRINGS("nameservers", 1, ATOMIC),
    STRINGS("searches", 2, ATOMIC),
    LIST("options", 3, pod_dns_config_option, ATOMIC),
};
SHAPE(pod_dns_config, "PodDNSConfig");

static const struct shape_field pod_readiness_gate_fields[] = {
    STRING("conditionType", 1, REQUIRED, NAMED("v1.PodConditionType")),
};
SHAPE(pod_readiness_gate, "PodReadinessGate");

static const struct shape_field pod_os_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.OSName")),
};
SHAPE(pod_os, "PodOS");

static const struct shape_field pod_scheduling_gate_fields[] = {
    STRING("name", 1, REQUIRED),
};
SHAPE(pod_scheduling_gate, "PodSchedulingGate");

static const struct shape_field pod_resource_claim_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("resourceClaimName", 3, PTR),
    STRING("resourceClaimTemplateName", 4, PTR),
};
SHAPE(pod_resource_claim, "PodResourceClaim");

static const struct shape_field pod_spec_fields[] = {
    LIST("volumes", 1, shape_volume, KEYED("name"), MERGE_RETAIN("name")),
    LIST("initContainers", 20, shape_container, KEYED("name"), MERGE("name")),
    LIST("containers", 2, shape_container, REQUIRED, KEYED("name"), MERGE("name")),
    LIST("ephemeralContainers", 34, shape_ephemeral_container, KEYED("name"), MERGE("name")),
    STRING("restartPolicy", 3, NAMED("v1.RestartPolicy")),
    INT64("terminationGracePeriodSeconds", 4, PTR),
    INT64("activeDeadlineSeconds", 5, PTR),
    STRING("dnsPolicy", 6, NAMED("v1.DNSPolicy")),
    STRING_MAP("nodeSelector", 7, ATOMIC),
    STRING("serviceAccountName", 8),
    STRING("serviceAccount", 9),
    BOOL("automountServiceAccountToken", 21, PTR),
    STRING("nodeName", 10),
    BOOL("hostNetwork", 11),
    BOOL("hostPID", 12),
    BOOL("hostIPC", 13),
    BOOL("shareProcessNamespace", 27, PTR),
    RECORD("securityContext", 14, pod_security_context, PTR),
    LIST("imagePullSecrets", 15, shape_local_object_reference, KEYED("name"), MERGE("name")),
    STRING("hostname", 16),
    STRING("subdomain", 17),
    RECORD("affinity", 18, shape_affinity, PTR),
    STRING("schedulerName", 19),
    LIST("tolerations", 22, shape_toleration, ATOMIC),
    LIST("hostAliases", 23, host_alias, KEYED("ip"), MERGE("ip")),
    STRING("priorityClassName", 24),
    INT32("priority", 25, PTR),
    RECORD("dnsConfig", 26, pod_dns_config, PTR),
    LIST("readinessGates", 28, pod_readiness_gate, ATOMIC),
    STRING("runtimeClassName", 29, PTR),
    BOOL("enableServiceLinks", 30, PTR),
    STRING("preemptionPolicy", 31, PTR, NAMED("v1.PreemptionPolicy")),
    QUANTITY_MAP("overhead", 32, NAMED("v1.ResourceList")),
    LIST("topologySpreadConstraints", 33, shape_topology_spread_constraint, KEYED("topologyKey,whenUnsatisfiable"),
         MERGE("topologyKey")),
    BOOL("setHostnameAsFQDN", 35, PTR),
    RECORD("os", 36, pod_os, PTR),
    BOOL("hostUsers", 37, PTR),
    LIST("schedulingGates", 38, pod_scheduling_gate, KEYED("name"), MERGE("name")),
    LIST("resourceClaims", 39, pod_resource_claim, KEYED("name"), MERGE_RETAIN("name")),
    RECORD("resources", 40, shape_resource_requirements, PTR),
};
SHAPE(pod_spec, "PodSpec");

static const struct shape_field shape_pod_template_spec_fields[] = {
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, pod_spec),
};
SHARED_SHAPE(shape_pod_template_spec, "PodTemplateSpec");

static const struct shape_field pod_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.PodConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastProbeTime", 3),
    TIME("lastTransitionTime", 4),
    STRING("reason", 5),
    STRING("message", 6),
};
SHAPE(pod_condition, "PodCondition");

static const struct shape_field host_ip_fields[] = {
    STRING("ip", 1, REQUIRED),
};
SHAPE(host_ip, "HostIP");

static const struct shape_field pod_ip_fields[] = {
    STRING("ip", 1, REQUIRED),
};
SHAPE(pod_ip, "PodIP");

static const struct shape_field container_state_waiting_fields[] = {
    STRING("reason", 1),
    STRING("message", 2),
};
SHAPE(container_state_waiting, "ContainerStateWaiting");

static const struct shape_field container_state_running_fields[] = {
    TIME("startedAt", 1),
};
SHAPE(container_state_running, "ContainerStateRunning");

static const struct shape_field container_state_terminated_fields[] = {
    INT32("exitCode", 1, REQUIRED), INT32("signal", 2),    STRING("reason", 3),      STRING("message", 4),
    TIME("startedAt", 5),           TIME("finishedAt", 6), STRING("containerID", 7),
};
SHAPE(container_state_terminated, "ContainerStateTerminated");

static const struct shape_field container_state_fields[] = {
    RECORD("waiting", 1, container_state_waiting, PTR),
    RECORD("running", 2, container_state_running, PTR),
    RECORD("terminated", 3, container_state_terminated, PTR),
};
SHAPE(container_state, "ContainerState");

static const struct shape_field volume_mount_status_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("mountPath", 2, REQUIRED),
    BOOL("readOnly", 3),
    STRING("recursiveReadOnly", 4, PTR, NAMED("v1.RecursiveReadOnlyMode")),
};
SHAPE(volume_mount_status, "VolumeMountStatus");

static const struct shape_field linux_container_user_fields[] = {
    INT64("uid", 1, REQUIRED),
    INT64("gid", 2, REQUIRED),
    INT64_LIST("supplementalGroups", 3, ATOMIC),
};
SHAPE(linux_container_user, "LinuxContainerUser");

static const struct shape_field container_user_fields[] = {
    RECORD("linux", 1, linux_container_user, PTR),
};
SHAPE(container_user, "ContainerUser");

static const struct shape_field resource_health_fields[] = {
    STRING("resourceID", 1, REQUIRED, NAMED("v1.ResourceID")),
    STRING("health", 2, NAMED("v1.ResourceHealthStatus")),
};
SHAPE(resource_health, "ResourceHealth");

static const struct shape_field resource_status_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    LIST("resources", 2, resource_health, KEYED("resourceID")),
};
SHAPE(resource_status, "ResourceStatus");

static const struct shape_field container_status_fields[] = {
    STRING("name", 1, REQUIRED),
    RECORD("state", 2, container_state),
    RECORD("lastState", 3, container_state),
    BOOL("ready", 4, REQUIRED),
    INT32("restartCount", 5, REQUIRED),
    STRING("image", 6, REQUIRED),
    STRING("imageID", 7, REQUIRED),
    STRING("containerID", 8),
    BOOL("started", 9, PTR),
    QUANTITY_MAP("allocatedResources", 10, NAMED("v1.ResourceList")),
    RECORD("resources", 11, shape_resource_requirements, PTR),
    LIST("volumeMounts", 12, volume_mount_status, KEYED("mountPath"), MERGE("mountPath")),
    RECORD("user", 13, container_user, PTR),
    LIST("allocatedResourcesStatus", 14, resource_status, KEYED("name"), MERGE("name")),
};
SHAPE(container_status, "ContainerStatus");

static const struct shape_field pod_resource_claim_status_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("resourceClaimName", 2, PTR),
};
SHAPE(pod_resource_claim_status, "PodResourceClaimStatus");

static const struct shape_field pod_status_fields[] = {
    STRING("phase", 1, NAMED("v1.PodPhase")),
    LIST("conditions", 2, pod_condition, KEYED("type"), MERGE("type")),
    STRING("message", 3),
    STRING("reason", 4),
    STRING("nominatedNodeName", 11),
    STRING("hostIP", 5),
    LIST("hostIPs", 16, host_ip, ATOMIC, MERGE("ip")),
    STRING("podIP", 6),
    LIST("podIPs", 12, pod_ip, KEYED("ip"), MERGE("ip")),
    TIME("startTime", 7, PTR),
    LIST("initContainerStatuses", 10, container_status, ATOMIC),
    LIST("containerStatuses", 8, container_status, ATOMIC),
    STRING("qosClass", 9, NAMED("v1.PodQOSClass")),
    LIST("ephemeralContainerStatuses", 13, container_status, ATOMIC),
    STRING("resize", 14, NAMED("v1.PodResizeStatus")),
    LIST("resourceClaimStatuses", 15, pod_resource_claim_status, KEYED("name"), MERGE_RETAIN("name")),
};
SHAPE(pod_status, "PodStatus");

static const struct shape_field shape_pod_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, pod_spec),
    RECORD("status", 3, pod_status),
};
SHARED_SHAPE(shape_pod, "Pod");

static const struct shape_field shape_pod_template_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("template", 2, shape_pod_template_spec),
};
SHARED_SHAPE(shape_pod_template, "PodTemplate");
