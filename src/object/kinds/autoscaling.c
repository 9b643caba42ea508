/* SPDX-License-Identifier: Apache-2.0 */
/* autoscaling/v1: Scale, the body of every scale subresource. */
#define SHAPE_PACKAGE "io.k8s.api.autoscaling.v1"

#include "object/kinds/rows.h"
#include "object/kinds/shapes.h"
#include "object/kinds/tables.h"

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

static const struct kind kinds[] = {
    {
        NAMES("autoscaling", "v1", "Scale", "", "scale"),
        .namespaced = true,
        .verbs = 0,
        .flags = KIND_NOT_STORED | KIND_NO_PATH,
        .shape = &scale,
    },
};

const struct kind_table kinds_autoscaling = {kinds, ROWS(kinds)};
