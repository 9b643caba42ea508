/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: containers: environment, ports, probes, hooks, security. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

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
