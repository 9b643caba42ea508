/* SPDX-License-Identifier: Apache-2.0 */
/* scheduling.k8s.io/v1: PriorityClass. */
#define SHAPE_PACKAGE "io.k8s.api.scheduling.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field priority_class_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    INT32("value", 2, REQUIRED),
    BOOL("globalDefault", 3),
    STRING("description", 4),
    STRING("preemptionPolicy", 5, PTR, NAMED("v1.PreemptionPolicy")),
};
SHAPE(priority_class, "PriorityClass");

static const struct kind kinds[] = {
    {
        NAMES("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "priorityclass"),
        .short_names = LIST_OF("pc"),
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL,
        .shape = &priority_class,
        .columns = &columns_priority_classes,
    },
};

const struct kind_table kinds_scheduling = {kinds, ROWS(kinds)};
