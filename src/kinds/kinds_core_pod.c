/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* core/v1: containers: environment, ports, probes, hooks, security. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

static const struct shape_field container_port_fields[] = {
    STRING("name", 1),
    INT32("hostPort", 2),
    INT32("containerPort", 3, REQUIRED),
    STRING("protocol", 4, NAMED("v1.Protocol")),
    STRING("hostIP", 5),
};
SHAPE(container_port, "ContainerPort");

static const struct shape_field config_map_env_source_fields[] = {
    STRING("name", 1, WITHIN(1)),
    BOOL("optional", 2, PTR),
};
SHAPE(config_map_env_source, "ConfigMapEnvSource");

static const struct shape_field secret_env_source_fields[] = {
    STRING("name", 1, WITHIN(1)),
    BOOL("optional", 2, PTR),
};
SHAPE(secret_env_source, "SecretEnvSource");

static const struct shape_field env_from_source_fields[] = {
    STRING("prefix", 1),
    RECORD("configMapRef", 2, config_map_env_source, PTR),
    RECORD("secretRef", 3, secret_env_source, PTR),
};
SHAPE(env_from_source, "EnvFromSource");

static const struct shape_field config_map_key_selector_fields[] = {
    STRING("name", 1, WITHIN(1)),
    STRING("key", 2, REQUIRED),
    BOOL("optional", 3, PTR),
};
ATOMIC_SHAPE(config_map_key_selector, "ConfigMapKeySelector");

static const struct shape_field secret_key_selector_fields[] = {
    STRING("name", 1, WITHIN(1)),
    STRING("key", 2, REQUIRED),
    BOOL("optional", 3, PTR),
};
ATOMIC_SHAPE(secret_key_selector, "SecretKeySelector");

static const struct shape_field env_var_source_fields[] = {
    RECORD("fieldRef", 1, shape_object_field_selector, PTR),
    RECORD("resourceFieldRef", 2, shape_resource_field_selector, PTR),
    RECORD("configMapKeyRef", 3, config_map_key_selector, PTR),
    RECORD("secretKeyRef", 4, secret_key_selector, PTR),
};
SHAPE(env_var_source, "EnvVarSource");

static const struct shape_field env_var_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("value", 2),
    RECORD("valueFrom", 3, env_var_source, PTR),
};
SHAPE(env_var, "EnvVar");

static const struct shape_field resource_claim_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("request", 2),
};
SHAPE(resource_claim, "ResourceClaim");

static const struct shape_field shape_resource_requirements_fields[] = {
    QUANTITY_MAP("limits", 1, NAMED("v1.ResourceList")),
    QUANTITY_MAP("requests", 2, NAMED("v1.ResourceList")),
    LIST("claims", 3, resource_claim, KEYED("name")),
};
SHARED_SHAPE(shape_resource_requirements, "ResourceRequirements");

static const struct shape_field container_resize_policy_fields[] = {
    STRING("resourceName", 1, REQUIRED, NAMED("v1.ResourceName")),
    STRING("restartPolicy", 2, REQUIRED, NAMED("v1.ResourceResizeRestartPolicy")),
};
SHAPE(container_resize_policy, "ContainerResizePolicy");

static const struct shape_field volume_mount_fields[] = {
    STRING("name", 1, REQUIRED),
    BOOL("readOnly", 2),
    STRING("recursiveReadOnly", 7, PTR, NAMED("v1.RecursiveReadOnlyMode")),
    STRING("mountPath", 3, REQUIRED),
    STRING("subPath", 4),
    STRING("mountPropagation", 5, PTR, NAMED("v1.MountPropagationMode")),
    STRING("subPathExpr", 6),
};
SHAPE(volume_mount, "VolumeMount");

static const struct shape_field volume_device_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("devicePath", 2, REQUIRED),
};
SHAPE(volume_device, "VolumeDevice");

static const struct shape_field exec_action_fields[] = {
    STRINGS("command", 1, ATOMIC),
};
SHAPE(exec_action, "ExecAction");

static const struct shape_field http_header_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("value", 2, REQUIRED),
};
SHAPE(http_header, "HTTPHeader");

static const struct shape_field http_get_action_fields[] = {
    STRING("path", 1),
    INT_OR_STRING("port", 2, REQUIRED),
    STRING("host", 3),
    STRING("scheme", 4, NAMED("v1.URIScheme")),
    LIST("httpHeaders", 5, http_header, ATOMIC),
};
SHAPE(http_get_action, "HTTPGetAction");

static const struct shape_field tcp_socket_action_fields[] = {
    INT_OR_STRING("port", 1, REQUIRED),
    STRING("host", 2),
};
SHAPE(tcp_socket_action, "TCPSocketAction");

static const struct shape_field grpc_action_fields[] = {
    INT32("port", 1, REQUIRED),
    STRING("service", 2, PTR, WRITTEN),
};
SHAPE(grpc_action, "GRPCAction");

static const struct shape_field probe_fields[] = {
    RECORD("exec", 1, exec_action, PTR, WITHIN(1)),
    RECORD("httpGet", 2, http_get_action, PTR, WITHIN(1)),
    RECORD("tcpSocket", 3, tcp_socket_action, PTR, WITHIN(1)),
    RECORD("grpc", 4, grpc_action, PTR, WITHIN(1)),
    INT32("initialDelaySeconds", 2),
    INT32("timeoutSeconds", 3),
    INT32("periodSeconds", 4),
    INT32("successThreshold", 5),
    INT32("failureThreshold", 6),
    INT64("terminationGracePeriodSeconds", 7, PTR),
};
SHAPE(probe, "Probe");

static const struct shape_field sleep_action_fields[] = {
    INT64("seconds", 1, REQUIRED),
};
SHAPE(sleep_action, "SleepAction");

static const struct shape_field lifecycle_handler_fields[] = {
    RECORD("exec", 1, exec_action, PTR),
    RECORD("httpGet", 2, http_get_action, PTR),
    RECORD("tcpSocket", 3, tcp_socket_action, PTR),
    RECORD("sleep", 4, sleep_action, PTR),
};
SHAPE(lifecycle_handler, "LifecycleHandler");

static const struct shape_field lifecycle_fields[] = {
    RECORD("postStart", 1, lifecycle_handler, PTR),
    RECORD("preStop", 2, lifecycle_handler, PTR),
};
SHAPE(lifecycle, "Lifecycle");

static const struct shape_field capabilities_fields[] = {
    STRINGS("add", 1, ATOMIC, NAMED("v1.Capability")),
    STRINGS("drop", 2, ATOMIC, NAMED("v1.Capability")),
};
SHAPE(capabilities, "Capabilities");

static const struct shape_field shape_selinux_options_fields[] = {
    STRING("user", 1),
    STRING("role", 2),
    STRING("type", 3),
    STRING("level", 4),
};
SHARED_SHAPE(shape_selinux_options, "SELinuxOptions");

static const struct shape_field shape_windows_security_context_options_fields[] = {
    STRING("gmsaCredentialSpecName", 1, PTR),
    STRING("gmsaCredentialSpec", 2, PTR),
    STRING("runAsUserName", 3, PTR),
    BOOL("hostProcess", 4, PTR),
};
SHARED_SHAPE(shape_windows_security_context_options, "WindowsSecurityContextOptions");

static const struct shape_field shape_seccomp_profile_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.SeccompProfileType")),
    STRING("localhostProfile", 2, PTR),
};
SHARED_SHAPE(shape_seccomp_profile, "SeccompProfile");

static const struct shape_field shape_app_armor_profile_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.AppArmorProfileType")),
    STRING("localhostProfile", 2, PTR),
};
SHARED_SHAPE(shape_app_armor_profile, "AppArmorProfile");

static const struct shape_field security_context_fields[] = {
    RECORD("capabilities", 1, capabilities, PTR),
    BOOL("privileged", 2, PTR),
    RECORD("seLinuxOptions", 3, shape_selinux_options, PTR),
    RECORD("windowsOptions", 10, shape_windows_security_context_options, PTR),
    INT64("runAsUser", 4, PTR),
    INT64("runAsGroup", 8, PTR),
    BOOL("runAsNonRoot", 5, PTR),
    BOOL("readOnlyRootFilesystem", 6, PTR),
    BOOL("allowPrivilegeEscalation", 7, PTR),
    STRING("procMount", 9, PTR, NAMED("v1.ProcMountType")),
    RECORD("seccompProfile", 11, shape_seccomp_profile, PTR),
    RECORD("appArmorProfile", 12, shape_app_armor_profile, PTR),
};
SHAPE(security_context, "SecurityContext");

static const struct shape_field shape_container_fields[] = {
    STRING("name", 1, REQUIRED),
    STRING("image", 2),
    STRINGS("command", 3, ATOMIC),
    STRINGS("args", 4, ATOMIC),
    STRING("workingDir", 5),
    LIST("ports", 6, container_port, KEYED("containerPort,protocol"), MERGE("containerPort")),
    LIST("envFrom", 19, env_from_source, ATOMIC),
    LIST("env", 7, env_var, KEYED("name"), MERGE("name")),
    RECORD("resources", 8, shape_resource_requirements),
    LIST("resizePolicy", 23, container_resize_policy, ATOMIC),
    STRING("restartPolicy", 24, PTR, NAMED("v1.ContainerRestartPolicy")),
    LIST("volumeMounts", 9, volume_mount, KEYED("mountPath"), MERGE("mountPath")),
    LIST("volumeDevices", 21, volume_device, KEYED("devicePath"), MERGE("devicePath")),
    RECORD("livenessProbe", 10, probe, PTR),
    RECORD("readinessProbe", 11, probe, PTR),
    RECORD("startupProbe", 22, probe, PTR),
    RECORD("lifecycle", 12, lifecycle, PTR),
    STRING("terminationMessagePath", 13),
    STRING("terminationMessagePolicy", 20, NAMED("v1.TerminationMessagePolicy")),
    STRING("imagePullPolicy", 14, NAMED("v1.PullPolicy")),
    RECORD("securityContext", 15, security_context, PTR),
    BOOL("stdin", 16),
    BOOL("stdinOnce", 17),
    BOOL("tty", 18),
};
SHARED_SHAPE(shape_container, "Container");

static const struct shape_field shape_ephemeral_container_fields[] = {
    STRING("name", 1, REQUIRED, WITHIN(1)),
    STRING("image", 2, WITHIN(1)),
    STRINGS("command", 3, ATOMIC, WITHIN(1)),
    STRINGS("args", 4, ATOMIC, WITHIN(1)),
    STRING("workingDir", 5, WITHIN(1)),
    LIST("ports", 6, container_port, KEYED("containerPort,protocol"), MERGE("containerPort"), WITHIN(1)),
    LIST("envFrom", 19, env_from_source, ATOMIC, WITHIN(1)),
    LIST("env", 7, env_var, KEYED("name"), MERGE("name"), WITHIN(1)),
    RECORD("resources", 8, shape_resource_requirements, WITHIN(1)),
    LIST("resizePolicy", 23, container_resize_policy, ATOMIC, WITHIN(1)),
    STRING("restartPolicy", 24, PTR, NAMED("v1.ContainerRestartPolicy"), WITHIN(1)),
    LIST("volumeMounts", 9, volume_mount, KEYED("mountPath"), MERGE("mountPath"), WITHIN(1)),
    LIST("volumeDevices", 21, volume_device, KEYED("devicePath"), MERGE("devicePath"), WITHIN(1)),
    RECORD("livenessProbe", 10, probe, PTR, WITHIN(1)),
    RECORD("readinessProbe", 11, probe, PTR, WITHIN(1)),
    RECORD("startupProbe", 22, probe, PTR, WITHIN(1)),
    RECORD("lifecycle", 12, lifecycle, PTR, WITHIN(1)),
    STRING("terminationMessagePath", 13, WITHIN(1)),
    STRING("terminationMessagePolicy", 20, NAMED("v1.TerminationMessagePolicy"), WITHIN(1)),
    STRING("imagePullPolicy", 14, NAMED("v1.PullPolicy"), WITHIN(1)),
    RECORD("securityContext", 15, security_context, PTR, WITHIN(1)),
    BOOL("stdin", 16, WITHIN(1)),
    BOOL("stdinOnce", 17, WITHIN(1)),
    BOOL("tty", 18, WITHIN(1)),
    STRING("targetContainerName", 2),
};
SHARED_SHAPE(shape_ephemeral_container, "EphemeralContainer");

/* core/v1: where a pod may run: affinity, tolerations, taints, spreading. */

static const struct shape_field node_selector_requirement_fields[] = {
    STRING("key", 1, REQUIRED),
    STRING("operator", 2, REQUIRED, NAMED("v1.NodeSelectorOperator")),
    STRINGS("values", 3, ATOMIC),
};
SHAPE(node_selector_requirement, "NodeSelectorRequirement");

static const struct shape_field node_selector_term_fields[] = {
    LIST("matchExpressions", 1, node_selector_requirement, ATOMIC),
    LIST("matchFields", 2, node_selector_requirement, ATOMIC),
};
ATOMIC_SHAPE(node_selector_term, "NodeSelectorTerm");

static const struct shape_field shape_node_selector_fields[] = {
    LIST("nodeSelectorTerms", 1, node_selector_term, REQUIRED, ATOMIC),
};
SHARED_ATOMIC_SHAPE(shape_node_selector, "NodeSelector");

static const struct shape_field preferred_scheduling_term_fields[] = {
    INT32("weight", 1, REQUIRED),
    RECORD("preference", 2, node_selector_term, REQUIRED),
};
SHAPE(preferred_scheduling_term, "PreferredSchedulingTerm");

static const struct shape_field node_affinity_fields[] = {
    RECORD("requiredDuringSchedulingIgnoredDuringExecution", 1, shape_node_selector, PTR),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", 2, preferred_scheduling_term, ATOMIC),
};
SHAPE(node_affinity, "NodeAffinity");

static const struct shape_field pod_affinity_term_fields[] = {
    RECORD("labelSelector", 1, shape_label_selector, PTR),
    STRINGS("namespaces", 2, ATOMIC),
    STRING("topologyKey", 3, REQUIRED),
    RECORD("namespaceSelector", 4, shape_label_selector, PTR),
    STRINGS("matchLabelKeys", 5, ATOMIC),
    STRINGS("mismatchLabelKeys", 6, ATOMIC),
};
SHAPE(pod_affinity_term, "PodAffinityTerm");

static const struct shape_field weighted_pod_affinity_term_fields[] = {
    INT32("weight", 1, REQUIRED),
    RECORD("podAffinityTerm", 2, pod_affinity_term, REQUIRED),
};
SHAPE(weighted_pod_affinity_term, "WeightedPodAffinityTerm");

static const struct shape_field pod_affinity_fields[] = {
    LIST("requiredDuringSchedulingIgnoredDuringExecution", 1, pod_affinity_term, ATOMIC),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", 2, weighted_pod_affinity_term, ATOMIC),
};
SHAPE(pod_affinity, "PodAffinity");

static const struct shape_field pod_anti_affinity_fields[] = {
    LIST("requiredDuringSchedulingIgnoredDuringExecution", 1, pod_affinity_term, ATOMIC),
    LIST("preferredDuringSchedulingIgnoredDuringExecution", 2, weighted_pod_affinity_term, ATOMIC),
};
SHAPE(pod_anti_affinity, "PodAntiAffinity");

static const struct shape_field shape_affinity_fields[] = {
    RECORD("nodeAffinity", 1, node_affinity, PTR),
    RECORD("podAffinity", 2, pod_affinity, PTR),
    RECORD("podAntiAffinity", 3, pod_anti_affinity, PTR),
};
SHARED_SHAPE(shape_affinity, "Affinity");

static const struct shape_field shape_toleration_fields[] = {
    STRING("key", 1),
    STRING("operator", 2, NAMED("v1.TolerationOperator")),
    STRING("value", 3),
    STRING("effect", 4, NAMED("v1.TaintEffect")),
    INT64("tolerationSeconds", 5, PTR),
};
SHARED_SHAPE(shape_toleration, "Toleration");

static const struct shape_field shape_topology_spread_constraint_fields[] = {
    INT32("maxSkew", 1, REQUIRED),
    STRING("topologyKey", 2, REQUIRED),
    STRING("whenUnsatisfiable", 3, REQUIRED, NAMED("v1.UnsatisfiableConstraintAction")),
    RECORD("labelSelector", 4, shape_label_selector, PTR),
    INT32("minDomains", 5, PTR),
    STRING("nodeAffinityPolicy", 6, PTR, NAMED("v1.NodeInclusionPolicy")),
    STRING("nodeTaintsPolicy", 7, PTR, NAMED("v1.NodeInclusionPolicy")),
    STRINGS("matchLabelKeys", 8, ATOMIC),
};
SHARED_SHAPE(shape_topology_spread_constraint, "TopologySpreadConstraint");

static const struct shape_field shape_taint_fields[] = {
    STRING("key", 1, REQUIRED),
    STRING("value", 2),
    STRING("effect", 3, REQUIRED, NAMED("v1.TaintEffect")),
    TIME("timeAdded", 4, PTR),
};
SHARED_SHAPE(shape_taint, "Taint");

static const struct shape_field topology_selector_label_requirement_fields[] = {
    STRING("key", 1, REQUIRED),
    STRINGS("values", 2, REQUIRED, ATOMIC),
};
SHAPE(topology_selector_label_requirement, "TopologySelectorLabelRequirement");

static const struct shape_field shape_topology_selector_term_fields[] = {
    LIST("matchLabelExpressions", 1, topology_selector_label_requirement, ATOMIC),
};
SHARED_ATOMIC_SHAPE(shape_topology_selector_term, "TopologySelectorTerm");

/* core/v1: Pod, its status, and the template other kinds make pods from. */

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
