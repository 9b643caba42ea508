/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: ResourceQuota and LimitRange. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

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
