/* SPDX-License-Identifier: Apache-2.0 */
/* autoscaling/v2: HorizontalPodAutoscaler. */
#define SHAPE_PACKAGE "io.k8s.api.autoscaling.v2"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

static const struct shape_field cross_version_object_reference_fields[] = {
    STRING("kind", 1, REQUIRED),
    STRING("name", 2, REQUIRED),
    STRING("apiVersion", 3),
};
SHAPE(cross_version_object_reference, "CrossVersionObjectReference");

static const struct shape_field metric_identifier_fields[] = {
    STRING("name", 1, REQUIRED),
    RECORD("selector", 2, shape_label_selector, PTR),
};
SHAPE(metric_identifier, "MetricIdentifier");

/* ---- What is wanted. ---- */

static const struct shape_field metric_target_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v2.MetricTargetType")),
    QUANTITY("value", 2, PTR),
    QUANTITY("averageValue", 3, PTR),
    INT32("averageUtilization", 4, PTR),
};
SHAPE(metric_target, "MetricTarget");

static const struct shape_field object_metric_source_fields[] = {
    RECORD("describedObject", 1, cross_version_object_reference, REQUIRED),
    RECORD("target", 2, metric_target, REQUIRED),
    RECORD("metric", 3, metric_identifier, REQUIRED),
};
SHAPE(object_metric_source, "ObjectMetricSource");

static const struct shape_field pods_metric_source_fields[] = {
    RECORD("metric", 1, metric_identifier, REQUIRED),
    RECORD("target", 2, metric_target, REQUIRED),
};
SHAPE(pods_metric_source, "PodsMetricSource");

static const struct shape_field resource_metric_source_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    RECORD("target", 2, metric_target, REQUIRED),
};
SHAPE(resource_metric_source, "ResourceMetricSource");

static const struct shape_field container_resource_metric_source_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    RECORD("target", 2, metric_target, REQUIRED),
    STRING("container", 3, REQUIRED),
};
SHAPE(container_resource_metric_source, "ContainerResourceMetricSource");

static const struct shape_field external_metric_source_fields[] = {
    RECORD("metric", 1, metric_identifier, REQUIRED),
    RECORD("target", 2, metric_target, REQUIRED),
};
SHAPE(external_metric_source, "ExternalMetricSource");

static const struct shape_field metric_spec_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v2.MetricSourceType")),
    RECORD("object", 2, object_metric_source, PTR),
    RECORD("pods", 3, pods_metric_source, PTR),
    RECORD("resource", 4, resource_metric_source, PTR),
    RECORD("containerResource", 7, container_resource_metric_source, PTR),
    RECORD("external", 5, external_metric_source, PTR),
};
SHAPE(metric_spec, "MetricSpec");

static const struct shape_field hpa_scaling_policy_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v2.HPAScalingPolicyType")),
    INT32("value", 2, REQUIRED),
    INT32("periodSeconds", 3, REQUIRED),
};
SHAPE(hpa_scaling_policy, "HPAScalingPolicy");

static const struct shape_field hpa_scaling_rules_fields[] = {
    INT32("stabilizationWindowSeconds", 3, PTR),
    STRING("selectPolicy", 1, PTR, NAMED("v2.ScalingPolicySelect")),
    LIST("policies", 2, hpa_scaling_policy, ATOMIC),
};
SHAPE(hpa_scaling_rules, "HPAScalingRules");

static const struct shape_field horizontal_pod_autoscaler_behavior_fields[] = {
    RECORD("scaleUp", 1, hpa_scaling_rules, PTR),
    RECORD("scaleDown", 2, hpa_scaling_rules, PTR),
};
SHAPE(horizontal_pod_autoscaler_behavior, "HorizontalPodAutoscalerBehavior");

static const struct shape_field horizontal_pod_autoscaler_spec_fields[] = {
    RECORD("scaleTargetRef", 1, cross_version_object_reference, REQUIRED),
    INT32("minReplicas", 2, PTR),
    INT32("maxReplicas", 3, REQUIRED),
    LIST("metrics", 4, metric_spec, ATOMIC),
    RECORD("behavior", 5, horizontal_pod_autoscaler_behavior, PTR),
};
SHAPE(horizontal_pod_autoscaler_spec, "HorizontalPodAutoscalerSpec");

/* ---- What is. ---- */

static const struct shape_field metric_value_status_fields[] = {
    QUANTITY("value", 1, PTR),
    QUANTITY("averageValue", 2, PTR),
    INT32("averageUtilization", 3, PTR),
};
SHAPE(metric_value_status, "MetricValueStatus");

static const struct shape_field object_metric_status_fields[] = {
    RECORD("metric", 1, metric_identifier, REQUIRED),
    RECORD("current", 2, metric_value_status, REQUIRED),
    RECORD("describedObject", 3, cross_version_object_reference, REQUIRED),
};
SHAPE(object_metric_status, "ObjectMetricStatus");

static const struct shape_field pods_metric_status_fields[] = {
    RECORD("metric", 1, metric_identifier, REQUIRED),
    RECORD("current", 2, metric_value_status, REQUIRED),
};
SHAPE(pods_metric_status, "PodsMetricStatus");

static const struct shape_field resource_metric_status_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    RECORD("current", 2, metric_value_status, REQUIRED),
};
SHAPE(resource_metric_status, "ResourceMetricStatus");

static const struct shape_field container_resource_metric_status_fields[] = {
    STRING("name", 1, REQUIRED, NAMED("v1.ResourceName")),
    RECORD("current", 2, metric_value_status, REQUIRED),
    STRING("container", 3, REQUIRED),
};
SHAPE(container_resource_metric_status, "ContainerResourceMetricStatus");

static const struct shape_field external_metric_status_fields[] = {
    RECORD("metric", 1, metric_identifier, REQUIRED),
    RECORD("current", 2, metric_value_status, REQUIRED),
};
SHAPE(external_metric_status, "ExternalMetricStatus");

static const struct shape_field metric_status_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v2.MetricSourceType")),
    RECORD("object", 2, object_metric_status, PTR),
    RECORD("pods", 3, pods_metric_status, PTR),
    RECORD("resource", 4, resource_metric_status, PTR),
    RECORD("containerResource", 7, container_resource_metric_status, PTR),
    RECORD("external", 5, external_metric_status, PTR),
};
SHAPE(metric_status, "MetricStatus");

static const struct shape_field horizontal_pod_autoscaler_condition_fields[] = {
    STRING("type", 1, REQUIRED, NAMED("v2.HorizontalPodAutoscalerConditionType")),
    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    TIME("lastTransitionTime", 3),
    STRING("reason", 4),
    STRING("message", 5),
};
SHAPE(horizontal_pod_autoscaler_condition, "HorizontalPodAutoscalerCondition");

static const struct shape_field horizontal_pod_autoscaler_status_fields[] = {
    INT64("observedGeneration", 1, PTR),
    TIME("lastScaleTime", 2, PTR),
    INT32("currentReplicas", 3),
    INT32("desiredReplicas", 4, REQUIRED),
    LIST("currentMetrics", 5, metric_status, WRITTEN, ATOMIC),
    LIST("conditions", 6, horizontal_pod_autoscaler_condition, KEYED("type"), MERGE("type")),
};
SHAPE(horizontal_pod_autoscaler_status, "HorizontalPodAutoscalerStatus");

static const struct shape_field shape_horizontal_pod_autoscaler_v2_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    RECORD("spec", 2, horizontal_pod_autoscaler_spec),
    RECORD("status", 3, horizontal_pod_autoscaler_status),
};
SHARED_SHAPE(shape_horizontal_pod_autoscaler_v2, "HorizontalPodAutoscaler");

static const struct kind kinds[] = {
    {
        NAMES("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontalpodautoscaler"),
        .short_names = LIST_OF("hpa"),
        .categories = LIST_OF("all"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        SUBRESOURCES(STATUS),
        .shape = &shape_horizontal_pod_autoscaler_v2,
        .columns = &columns_horizontal_pod_autoscalers,
    },
};

const struct kind_table kinds_autoscaling_v2 = {kinds, ROWS(kinds)};
