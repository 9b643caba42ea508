/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* apps/v1: DaemonSet, Deployment, ReplicaSet, StatefulSet. */
#define SHAPE_PACKAGE "io.k8s.api.apps.v1"

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

static const struct shape_field rolling_update_daemon_set_fields[] = {
    INT_OR_STRING("maxUnavailable", 1, PTR),
    INT_OR_STRING("maxSurge", 2, PTR),
};
SHAPE(rolling_update_daemon_set, "RollingUpdateDaemonSet");

static const struct shape_field daemon_set_update_strategy_fields[] = {
    STRING("type", 1, NAMED("v1.DaemonSetUpdateStrategyType")),
    RECORD("rollingUpdate", 2, rolling_update_daemon_set, PTR),
};
SHAPE(daemon_set_update_strategy, "DaemonSetUpdateStrategy");

static const struct shape_field daemon_set_spec_fields[] = {
    RECORD("selector", 1, shape_label_selector, PTR, REQUIRED),
    RECORD("template", 2, shape_pod_template_spec, REQUIRED),
    RECORD("updateStrategy", 3, daemon_set_update_strategy),
    INT32("minReadySeconds", 4),
    INT32("revisionHistoryLimit", 6, PTR),
};
SHAPE(daemon_set_spec, "DaemonSetSpec");

static const struct shape_field daemon_set_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.DaemonSetConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 3),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(daemon_set_condition, "DaemonSetCondition");

static const struct shape_field daemon_set_status_fields[] = {
    INT32("currentNumberScheduled", 1, REQUIRED),
    INT32("numberMisscheduled", 2, REQUIRED),
    INT32("desiredNumberScheduled", 3, REQUIRED),
    INT32("numberReady", 4, REQUIRED),
    INT64("observedGeneration", 5),
    INT32("updatedNumberScheduled", 6),
    INT32("numberAvailable", 7),
    INT32("numberUnavailable", 8),
    INT32("collisionCount", 9, PTR),
    LIST("conditions", 10, daemon_set_condition, KEYED("type"), MERGE("type")),
};
SHAPE(daemon_set_status, "DaemonSetStatus");

static const struct shape_field daemon_set_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, daemon_set_spec),
    RECORD("status", 3, daemon_set_status),
};
SHAPE(daemon_set, "DaemonSet");

static const struct shape_field rolling_update_stateful_set_strategy_fields[] = {
    INT32("partition", 1, PTR),
    INT_OR_STRING("maxUnavailable", 2, PTR),
};
SHAPE(rolling_update_stateful_set_strategy, "RollingUpdateStatefulSetStrategy");

static const struct shape_field stateful_set_update_strategy_fields[] = {
    STRING("type", 1, NAMED("v1.StatefulSetUpdateStrategyType")),
    RECORD("rollingUpdate", 2, rolling_update_stateful_set_strategy, PTR),
};
SHAPE(stateful_set_update_strategy, "StatefulSetUpdateStrategy");

static const struct shape_field stateful_set_retention_policy_fields[] = {
    STRING("whenDeleted", 1, NAMED("v1.PersistentVolumeClaimRetentionPolicyType")),
    STRING("whenScaled", 2, NAMED("v1.PersistentVolumeClaimRetentionPolicyType")),
};
SHAPE(stateful_set_retention_policy, "StatefulSetPersistentVolumeClaimRetentionPolicy");

static const struct shape_field stateful_set_ordinals_fields[] = {
    INT32("start", 1, WRITTEN),
};
SHAPE(stateful_set_ordinals, "StatefulSetOrdinals");

static const struct shape_field stateful_set_spec_fields[] = {
    INT32("replicas", 1, PTR),
    RECORD("selector", 2, shape_label_selector, PTR, REQUIRED),
    RECORD("template", 3, shape_pod_template_spec, REQUIRED),
    LIST("volumeClaimTemplates", 4, shape_persistent_volume_claim, ATOMIC),
    STRING("serviceName", 5, REQUIRED),
    STRING("podManagementPolicy", 6, NAMED("v1.PodManagementPolicyType")),
    RECORD("updateStrategy", 7, stateful_set_update_strategy),
    INT32("revisionHistoryLimit", 8, PTR),
    INT32("minReadySeconds", 9),
    RECORD("persistentVolumeClaimRetentionPolicy", 10, stateful_set_retention_policy, PTR),
    RECORD("ordinals", 11, stateful_set_ordinals, PTR),
};
SHAPE(stateful_set_spec, "StatefulSetSpec");

static const struct shape_field stateful_set_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.StatefulSetConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 3),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(stateful_set_condition, "StatefulSetCondition");

static const struct shape_field stateful_set_status_fields[] = {
    INT64("observedGeneration", 1),
    INT32("replicas", 2, REQUIRED),
    INT32("readyReplicas", 3),
    INT32("currentReplicas", 4),
    INT32("updatedReplicas", 5),
    STRING("currentRevision", 6),
    STRING("updateRevision", 7),
    INT32("collisionCount", 9, PTR),
    LIST("conditions", 10, stateful_set_condition, KEYED("type"), MERGE("type")),
    INT32("availableReplicas", 11, WRITTEN),
};
SHAPE(stateful_set_status, "StatefulSetStatus");

static const struct shape_field stateful_set_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, stateful_set_spec),
    RECORD("status", 3, stateful_set_status),
};
SHAPE(stateful_set, "StatefulSet");

static const struct shape_field controller_revision_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RAW("data", 2, ATOMIC),
    INT64("revision", 3, REQUIRED),
};
SHAPE(controller_revision, "ControllerRevision");

static const struct kind apps_kinds[] = {
    {
        NAMES("apps", "v1", "ControllerRevision", "controllerrevisions", "controllerrevision"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        .shape = &controller_revision,
        .columns = &columns_controller_revisions,
    },
    {
        NAMES("apps", "v1", "DaemonSet", "daemonsets", "daemonset"),
        .short_names = LIST_OF("ds"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        SUBRESOURCES(STATUS),
        .shape = &daemon_set,
        .columns = &columns_daemon_sets,
    },
    {
        NAMES("apps", "v1", "Deployment", "deployments", "deployment"),
        .short_names = LIST_OF("deploy"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION | KIND_GENERATION_NOTES,
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
    {
        NAMES("apps", "v1", "StatefulSet", "statefulsets", "statefulset"),
        .short_names = LIST_OF("sts"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        SUBRESOURCES({"scale", "autoscaling", "v1", "Scale", VERBS_STATUS}, STATUS),
        .shape = &stateful_set,
        .columns = &columns_stateful_sets,
    },
};

const struct kind_table kinds_apps = {apps_kinds, ROWS(apps_kinds)};

/* batch/v1: CronJob and Job. */
#undef SHAPE_PACKAGE
#define SHAPE_PACKAGE "io.k8s.api.batch.v1"

static const struct shape_field pod_failure_policy_on_exit_codes_requirement_fields[] = {
    STRING("containerName", 1, PTR),
    STRING("operator", 2, REQUIRED, NAMED("v1.PodFailurePolicyOnExitCodesOperator")),
    INT32_LIST("values", 3, REQUIRED, SET),
};
SHAPE(pod_failure_policy_on_exit_codes_requirement, "PodFailurePolicyOnExitCodesRequirement");

static const struct shape_field pod_failure_policy_on_pod_conditions_pattern_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.PodConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
};
SHAPE(pod_failure_policy_on_pod_conditions_pattern, "PodFailurePolicyOnPodConditionsPattern");

static const struct shape_field pod_failure_policy_rule_fields[] = {
    STRING("action", 1, REQUIRED, NAMED("v1.PodFailurePolicyAction")),
    RECORD("onExitCodes", 2, pod_failure_policy_on_exit_codes_requirement, PTR),
    LIST("onPodConditions", 3, pod_failure_policy_on_pod_conditions_pattern, ATOMIC),
};
SHAPE(pod_failure_policy_rule, "PodFailurePolicyRule");

static const struct shape_field pod_failure_policy_fields[] = {
    LIST("rules", 1, pod_failure_policy_rule, REQUIRED, ATOMIC),
};
SHAPE(pod_failure_policy, "PodFailurePolicy");

static const struct shape_field success_policy_rule_fields[] = {
    STRING("succeededIndexes", 1, PTR),
    INT32("succeededCount", 2, PTR),
};
SHAPE(success_policy_rule, "SuccessPolicyRule");

static const struct shape_field success_policy_fields[] = {
    LIST("rules", 1, success_policy_rule, REQUIRED, ATOMIC),
};
SHAPE(success_policy, "SuccessPolicy");

static const struct shape_field job_spec_fields[] = {
    INT32("parallelism", 1, PTR),
    INT32("completions", 2, PTR),
    INT64("activeDeadlineSeconds", 3, PTR),
    RECORD("podFailurePolicy", 11, pod_failure_policy, PTR),
    RECORD("successPolicy", 16, success_policy, PTR),
    INT32("backoffLimit", 7, PTR),
    INT32("backoffLimitPerIndex", 12, PTR),
    INT32("maxFailedIndexes", 13, PTR),
    RECORD("selector", 4, shape_label_selector, PTR),
    BOOL("manualSelector", 5, PTR),
    RECORD("template", 6, shape_pod_template_spec, REQUIRED),
    INT32("ttlSecondsAfterFinished", 8, PTR),
    STRING("completionMode", 9, PTR, NAMED("v1.CompletionMode")),
    BOOL("suspend", 10, PTR),
    STRING("podReplacementPolicy", 14, PTR, NAMED("v1.PodReplacementPolicy")),
    STRING("managedBy", 15, PTR),
};
SHAPE(job_spec, "JobSpec");

static const struct shape_field job_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.JobConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastProbeTime", 3),
    TIME("lastTransitionTime", 4),
    STRING("reason", 5),
    STRING("message", 6),
};
SHAPE(job_condition, "JobCondition");

static const struct shape_field uncounted_terminated_pods_fields[] = {
    STRINGS("succeeded", 1, SET, NAMED("types.UID")),
    STRINGS("failed", 2, SET, NAMED("types.UID")),
};
SHAPE(uncounted_terminated_pods, "UncountedTerminatedPods");

static const struct shape_field job_status_fields[] = {
    LIST("conditions", 1, job_condition, ATOMIC, MERGE("type")),
    TIME("startTime", 2, PTR),
    TIME("completionTime", 3, PTR),
    INT32("active", 4),
    INT32("succeeded", 5),
    INT32("failed", 6),
    INT32("terminating", 11, PTR),
    STRING("completedIndexes", 7),
    STRING("failedIndexes", 10, PTR),
    RECORD("uncountedTerminatedPods", 8, uncounted_terminated_pods, PTR),
    INT32("ready", 9, PTR),
};
SHAPE(job_status, "JobStatus");

static const struct shape_field job_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, job_spec),
    RECORD("status", 3, job_status),
};
SHAPE(job, "Job");

static const struct shape_field job_template_spec_fields[] = {
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, job_spec),
};
SHAPE(job_template_spec, "JobTemplateSpec");

static const struct shape_field cron_job_spec_fields[] = {
    STRING("schedule", 1, REQUIRED),
    STRING("timeZone", 8, PTR),
    INT64("startingDeadlineSeconds", 2, PTR),
    STRING("concurrencyPolicy", 3, NAMED("v1.ConcurrencyPolicy")),
    BOOL("suspend", 4, PTR),
    RECORD("jobTemplate", 5, job_template_spec, REQUIRED),
    INT32("successfulJobsHistoryLimit", 6, PTR),
    INT32("failedJobsHistoryLimit", 7, PTR),
};
SHAPE(cron_job_spec, "CronJobSpec");

static const struct shape_field cron_job_status_fields[] = {
    LIST("active", 1, shape_object_reference, ATOMIC),
    TIME("lastScheduleTime", 4, PTR),
    TIME("lastSuccessfulTime", 5, PTR),
};
SHAPE(cron_job_status, "CronJobStatus");

static const struct shape_field cron_job_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, cron_job_spec),
    RECORD("status", 3, cron_job_status),
};
SHAPE(cron_job, "CronJob");

static const struct kind batch_kinds[] = {
    {
        NAMES("batch", "v1", "CronJob", "cronjobs", "cronjob"),
        .short_names = LIST_OF("cj"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION,
        SUBRESOURCES(STATUS),
        .shape = &cron_job,
        .columns = &columns_cron_jobs,
    },
    {
        NAMES("batch", "v1", "Job", "jobs", "job"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION | KIND_ORPHANS,
        SUBRESOURCES(STATUS),
        .selectable = LIST_OF("status.successful"),
        .shape = &job,
        .columns = &columns_jobs,
    },
};

const struct kind_table kinds_batch = {batch_kinds, ROWS(batch_kinds)};
