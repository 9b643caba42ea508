/* SPDX-License-Identifier: Apache-2.0 */
/* What every object has, and what a request or answer may be besides an object. */
#define SHAPE_PACKAGE "io.k8s.apimachinery.pkg.apis.meta.v1"

#include "kinds/kinds_internal.h"
#include "kinds/shapes.h"

static const struct shape_field preconditions_fields[] = {
    STRING("uid", 1, PTR, NAMED("types.UID")),
    STRING("resourceVersion", 2, PTR),
};
SHAPE(preconditions, "Preconditions");

static const struct shape_field delete_options_fields[] = {
    TYPE_META,
    INT64("gracePeriodSeconds", 1, PTR),
    RECORD("preconditions", 2, preconditions, PTR),
    BOOL("orphanDependents", 3, PTR),
    STRING("propagationPolicy", 4, PTR, NAMED("v1.DeletionPropagation")),
    STRINGS("dryRun", 5, ATOMIC),
    BOOL("ignoreStoreReadErrorWithClusterBreakingPotential", 6, PTR),
};
SHAPE(delete_options, "DeleteOptions");

static const struct shape_field list_meta_fields[] = {
    STRING("selfLink", 1),
    STRING("resourceVersion", 2),
    STRING("continue", 3),
    INT64("remainingItemCount", 4, PTR),
};
SHAPE(list_meta, "ListMeta");

static const struct shape_field status_cause_fields[] = {
    STRING("reason", 1, NAMED("v1.CauseType")),
    STRING("message", 2),
    STRING("field", 3),
};
SHAPE(status_cause, "StatusCause");

static const struct shape_field status_details_fields[] = {
    STRING("name", 1),
    STRING("group", 2),
    STRING("kind", 3),
    STRING("uid", 6, NAMED("types.UID")),
    LIST("causes", 4, status_cause, ATOMIC),
    INT32("retryAfterSeconds", 5),
};
SHAPE(status_details, "StatusDetails");

static const struct shape_field status_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, list_meta),
    STRING("status", 2),
    STRING("message", 3),
    STRING("reason", 4, NAMED("v1.StatusReason")),
    RECORD("details", 5, status_details, PTR, ATOMIC),
    INT32("code", 6),
};
SHAPE(status, "Status");

static const struct shape_field table_column_definition_fields[] = {
    STRING("name", 0), STRING("type", 0), STRING("format", 0), STRING("description", 0), INT32("priority", 0),
};
SHAPE(table_column_definition, "TableColumnDefinition");

static const struct shape_field table_row_condition_fields[] = {
    STRING("type", 0, NAMED("v1.RowConditionType")),
    STRING("status", 0, NAMED("v1.ConditionStatus")),
    STRING("reason", 0),
    STRING("message", 0),
};
SHAPE(table_row_condition, "TableRowCondition");

static const struct shape_field table_row_fields[] = {
    RAW_LIST("cells", 0, ATOMIC),
    LIST("conditions", 0, table_row_condition, ATOMIC),
    RAW("object", 0),
};
SHAPE(table_row, "TableRow");

static const struct shape_field table_fields[] = {
    TYPE_META,
    RECORD("metadata", 0, list_meta),
    LIST("columnDefinitions", 0, table_column_definition, ATOMIC),
    LIST("rows", 0, table_row, ATOMIC),
};
SHAPE(table, "Table");

static const struct shape_field shape_label_selector_requirement_fields[] = {
    STRING("key", 1, REQUIRED),
    STRING("operator", 2, REQUIRED, NAMED("v1.LabelSelectorOperator")),
    STRINGS("values", 3, ATOMIC),
};
SHARED_SHAPE(shape_label_selector_requirement, "LabelSelectorRequirement");

static const struct shape_field shape_label_selector_fields[] = {
    STRING_MAP("matchLabels", 1),
    LIST("matchExpressions", 2, shape_label_selector_requirement, ATOMIC),
};
SHARED_ATOMIC_SHAPE(shape_label_selector, "LabelSelector");

static const struct shape_field owner_reference_fields[] = {
    STRING("apiVersion", 5, REQUIRED), STRING("kind", 1, REQUIRED),
    STRING("name", 3, REQUIRED),       STRING("uid", 4, REQUIRED, NAMED("types.UID")),
    BOOL("controller", 6, PTR),        BOOL("blockOwnerDeletion", 7, PTR),
};
ATOMIC_SHAPE(owner_reference, "OwnerReference");

static const struct shape_field managed_fields_entry_fields[] = {
    STRING("manager", 1),     STRING("operation", 2, NAMED("v1.ManagedFieldsOperationType")),
    STRING("apiVersion", 3),  TIME("time", 4, PTR),
    STRING("fieldsType", 6),  RAW("fieldsV1", 7, PTR),
    STRING("subresource", 8),
};
SHAPE(managed_fields_entry, "ManagedFieldsEntry");

static const struct shape_field shape_object_meta_fields[] = {
    STRING("name", 1),
    STRING("generateName", 2),
    STRING("namespace", 3),
    STRING("selfLink", 4),
    STRING("uid", 5, NAMED("types.UID")),
    STRING("resourceVersion", 6),
    INT64("generation", 7),
    TIME("creationTimestamp", 8),
    TIME("deletionTimestamp", 9, PTR),
    INT64("deletionGracePeriodSeconds", 10, PTR),
    STRING_MAP("labels", 11),
    STRING_MAP("annotations", 12),
    LIST("ownerReferences", 13, owner_reference, KEYED("uid"), MERGE("uid")),
    STRINGS("finalizers", 14, SET, MERGE_SET),
    LIST("managedFields", 17, managed_fields_entry, ATOMIC),
};
SHARED_SHAPE(shape_object_meta, "ObjectMeta");

static const struct shape_field shape_condition_fields[] = {
    STRING("type", 1, REQUIRED),    STRING("status", 2, REQUIRED, NAMED("v1.ConditionStatus")),
    INT64("observedGeneration", 3), TIME("lastTransitionTime", 4, REQUIRED),
    STRING("reason", 5, REQUIRED),  STRING("message", 6, REQUIRED),
};
SHARED_SHAPE(shape_condition, "Condition");

static const struct shape_field shape_field_selector_requirement_fields[] = {
    STRING("key", 1, REQUIRED),
    STRING("operator", 2, REQUIRED, NAMED("v1.FieldSelectorOperator")),
    STRINGS("values", 3, ATOMIC),
};
SHARED_SHAPE(shape_field_selector_requirement, "FieldSelectorRequirement");

static const struct kind kinds[] = {
    {
        NAMES("", "v1", "DeleteOptions", "", "deleteoptions"),
        .verbs = 0,
        .flags = KIND_NOT_STORED | KIND_NO_PATH,
        .shape = &delete_options,
    },
    {
        NAMES("", "v1", "Status", "", "status"),
        .verbs = 0,
        .flags = KIND_NOT_STORED | KIND_NO_PATH,
        .shape = &status,
    },
    {
        NAMES("meta.k8s.io", "v1", "Table", "", "table"),
        .verbs = 0,
        .flags = KIND_NOT_STORED | KIND_NO_PATH,
        .shape = &table,
    },
};

const struct kind_table kinds_meta = {kinds, ROWS(kinds)};
