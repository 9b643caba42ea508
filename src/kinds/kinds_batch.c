/* SPDX-License-Identifier: Apache-2.0 */
/* batch/v1: CronJob and Job. */
#define SHAPE_PACKAGE "io.k8s.api.batch.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

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

static const struct kind kinds[] = {
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

const struct kind_table kinds_batch = {kinds, ROWS(kinds)};
