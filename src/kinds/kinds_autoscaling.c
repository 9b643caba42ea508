/* SPDX-License-Identifier: Apache-2.0 */
/* autoscaling/v1: HorizontalPodAutoscaler as it was first, and Scale, the body of every scale subresource. What v2 has
 * beyond v1 is in annotations of v1, as lists of the records below (kinds/strategy_internal.h). */
#define SHAPE_PACKAGE "io.k8s.api.autoscaling.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

/* ---- Scale. ---- */

static const struct shape_field scale_spec_fields[] = {
    INT32("replicas", 1),
};
SHAPE(scale_spec, "ScaleSpec");

static const struct shape_field scale_status_fields[] = {
    INT32("replicas", 1, REQUIRED),
    STRING("selector", 2),
};
SHAPE(scale_status, "ScaleStatus");

static const struct shape_field scale_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, scale_spec),
    RECORD("status", 3, scale_status),
};
SHAPE(scale, "Scale");

/* ---- HorizontalPodAutoscaler. ---- */

static const struct shape_field cross_version_object_reference_fields[] = {
    STRING("kind", 1, REQUIRED),
    STRING("name", 2, REQUIRED),
    STRING("apiVersion", 3),
};
ATOMIC_SHAPE(cross_version_object_reference, "CrossVersionObjectReference");

static const struct shape_field horizontal_pod_autoscaler_spec_fields[] = {
    RECORD("scaleTargetRef", 1, cross_version_object_reference, REQUIRED),
    INT32("minReplicas", 2, PTR),
    INT32("maxReplicas", 3, REQUIRED),
    INT32("targetCPUUtilizationPercentage", 4, PTR),
};
SHAPE(horizontal_pod_autoscaler_spec, "HorizontalPodAutoscalerSpec");

static const struct shape_field horizontal_pod_autoscaler_status_fields[] = {
    INT64("observedGeneration", 1, PTR),
    TIME("lastScaleTime", 2, PTR),
    INT32("currentReplicas", 3, REQUIRED),
    INT32("desiredReplicas", 4, REQUIRED),
    INT32("currentCPUUtilizationPercentage", 5, PTR),
};
SHAPE(horizontal_pod_autoscaler_status, "HorizontalPodAutoscalerStatus");

static const struct shape_field shape_horizontal_pod_autoscaler_v1_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, horizontal_pod_autoscaler_spec),
    RECORD("status", 3, horizontal_pod_autoscaler_status),
};
SHARED_SHAPE(shape_horizontal_pod_autoscaler_v1, "HorizontalPodAutoscaler");

/* ---- The annotation with metrics. ---- */

static const struct shape_field object_metric_source_fields[] = {
    RECORD("target", 1, cross_version_object_reference, REQUIRED),
    STRING("metricName", 2, REQUIRED),
    QUANTITY("targetValue", 3, REQUIRED),
    RECORD("selector", 4, shape_label_selector, PTR),
    QUANTITY("averageValue", 5, PTR),
};
SHAPE(object_metric_source, "ObjectMetricSource");

static const struct shape_field pods_metric_source_fields[] = {
    STRING("metricName", 1, REQUIRED),
    QUANTITY("targetAverageValue", 2, REQUIRED),
    RECORD("selector", 3, shape_label_selector, PTR),
};
SHAPE(pods_metric_source, "PodsMetricSource");

static const struct shape_field resource_metric_source_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    INT32("targetAverageUtilization", 2, PTR),
    QUANTITY("targetAverageValue", 3, PTR),
};
SHAPE(resource_metric_source, "ResourceMetricSource");

static const struct shape_field container_resource_metric_source_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    INT32("targetAverageUtilization", 2, PTR),
    QUANTITY("targetAverageValue", 3, PTR),
    STRING("container", 5, REQUIRED),
};
SHAPE(container_resource_metric_source, "ContainerResourceMetricSource");

static const struct shape_field external_metric_source_fields[] = {
    STRING("metricName", 1, REQUIRED),
    RECORD("metricSelector", 2, shape_label_selector, PTR),
    QUANTITY("targetValue", 3, PTR),
    QUANTITY("targetAverageValue", 4, PTR),
};
SHAPE(external_metric_source, "ExternalMetricSource");

static const struct shape_field metric_spec_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.MetricSourceType")),
    RECORD("object", 2, object_metric_source, PTR),
    RECORD("pods", 3, pods_metric_source, PTR),
    RECORD("resource", 4, resource_metric_source, PTR),
    RECORD("containerResource", 7, container_resource_metric_source, PTR),
    RECORD("external", 5, external_metric_source, PTR),
};
SHAPE(metric_spec, "MetricSpec");

/* ---- The annotation with current metrics. ---- */

static const struct shape_field object_metric_status_fields[] = {
    RECORD("target", 1, cross_version_object_reference, REQUIRED),
    STRING("metricName", 2, REQUIRED),
    QUANTITY("currentValue", 3, REQUIRED),
    RECORD("selector", 4, shape_label_selector, PTR),
    QUANTITY("averageValue", 5, PTR),
};
SHAPE(object_metric_status, "ObjectMetricStatus");

static const struct shape_field pods_metric_status_fields[] = {
    STRING("metricName", 1, REQUIRED),
    QUANTITY("currentAverageValue", 2, REQUIRED),
    RECORD("selector", 3, shape_label_selector, PTR),
};
SHAPE(pods_metric_status, "PodsMetricStatus");

static const struct shape_field resource_metric_status_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    INT32("currentAverageUtilization", 2, PTR),
    QUANTITY("currentAverageValue", 3, REQUIRED),
};
SHAPE(resource_metric_status, "ResourceMetricStatus");

static const struct shape_field container_resource_metric_status_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    INT32("currentAverageUtilization", 2, PTR),
    QUANTITY("currentAverageValue", 3, REQUIRED),
    STRING("container", 4, REQUIRED),
};
SHAPE(container_resource_metric_status, "ContainerResourceMetricStatus");

static const struct shape_field external_metric_status_fields[] = {
    STRING("metricName", 1, REQUIRED),
    RECORD("metricSelector", 2, shape_label_selector, PTR),
    QUANTITY("currentValue", 3, REQUIRED),
    QUANTITY("currentAverageValue", 4, PTR),
};
SHAPE(external_metric_status, "ExternalMetricStatus");

static const struct shape_field metric_status_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.MetricSourceType")),
    RECORD("object", 2, object_metric_status, PTR),
    RECORD("pods", 3, pods_metric_status, PTR),
    RECORD("resource", 4, resource_metric_status, PTR),
    RECORD("containerResource", 7, container_resource_metric_status, PTR),
    RECORD("external", 5, external_metric_status, PTR),
};
SHAPE(metric_status, "MetricStatus");

/* ---- The annotation with conditions, which v2 has in the same form. ---- */

static const struct shape_field horizontal_pod_autoscaler_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v1.HorizontalPodAutoscalerConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 3),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(horizontal_pod_autoscaler_condition, "HorizontalPodAutoscalerCondition");

/* ---- The annotation with the behavior, which Kubernetes writes by the names in its Go code. ---- */

static const struct shape_field written_policy_fields[] = {
    STRING("Type", 1, REQUIRED),
    INT32("Value", 2, REQUIRED),
    INT32("PeriodSeconds", 3, REQUIRED),
};
SHAPE(written_policy, "HPAScalingPolicy");

static const struct shape_field written_rules_fields[] = {
    INT32("StabilizationWindowSeconds", 1, PTR, REQUIRED),
    STRING("SelectPolicy", 2, PTR, REQUIRED),
    LIST("Policies", 3, written_policy, REQUIRED),
};
SHAPE(written_rules, "HPAScalingRules");

static const struct shape_field written_behavior_fields[] = {
    RECORD("ScaleUp", 1, written_rules, PTR, REQUIRED),
    RECORD("ScaleDown", 2, written_rules, PTR, REQUIRED),
};
SHAPE(written_behavior, "HorizontalPodAutoscalerBehavior");

static const struct shape_field shape_autoscaler_notes_fields[] = {
    LIST("metrics", 1, metric_spec),
    LIST("currentMetrics", 2, metric_status),
    LIST("conditions", 3, horizontal_pod_autoscaler_condition),
    RECORD("behavior", 4, written_behavior, PTR),
};
SHARED_SHAPE(shape_autoscaler_notes, "HorizontalPodAutoscaler");

static const struct kind kinds[] = {
    {
        NAMES("autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalpodautoscaler"),
        .short_names = LIST_OF("hpa"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        SUBRESOURCES(STATUS),
        .shape = &shape_horizontal_pod_autoscaler_v1,
        .columns = &columns_horizontal_pod_autoscalers_v1,
    },
    {
        NAMES("autoscaling", "v1", "Scale", "", "scale"),
        .namespaced = true,
        .verbs = 0,
        .flags = KIND_NOT_STORED | KIND_NO_PATH,
        .shape = &scale,
    },
};

const struct kind_table kinds_autoscaling = {kinds, ROWS(kinds)};
