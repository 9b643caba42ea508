/* SPDX-License-Identifier: Apache-2.0 */
/* node.k8s.io/v1: RuntimeClass. */
#define SHAPE_PACKAGE "io.k8s.api.node.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field overhead_fields[] = {
    QUANTITY_MAP("podFixed", 1, NAMED("v1.ResourceList")),
};
SHAPE(overhead, "Overhead");

static const struct shape_field scheduling_fields[] = {
    STRING_MAP("nodeSelector", 1, ATOMIC),
    LIST("tolerations", 2, shape_toleration, ATOMIC),
};
SHAPE(scheduling, "Scheduling");

static const struct shape_field runtime_class_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    STRING("handler", 2, REQUIRED),
    RECORD("overhead", 3, overhead, PTR),
    RECORD("scheduling", 4, scheduling, PTR),
};
SHAPE(runtime_class, "RuntimeClass");

static const struct kind kinds[] = {
    {
        NAMES("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "runtimeclass"),
        .verbs = VERBS_ALL,
        .flags = KIND_CREATE_ON_PUT,
        .shape = &runtime_class,
        .columns = &columns_runtime_classes,
    },
};

const struct kind_table kinds_node = {kinds, ROWS(kinds)};
