/* SPDX-License-Identifier: Apache-2.0 */
/* events.k8s.io/v1: Event, the same objects as core/v1 Event under other field names. */
#define SHAPE_PACKAGE "io.k8s.api.events.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field event_series_fields[] = {
    INT32("count", 1, REQUIRED),
    MICRO_TIME("lastObservedTime", 2, REQUIRED),
};
SHAPE(event_series, "EventSeries");

static const struct shape_field event_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    MICRO_TIME("eventTime", 2, REQUIRED),
    RECORD("series", 3, event_series, PTR),
    STRING("reportingController", 4),
    STRING("reportingInstance", 5),
    STRING("action", 6),
    STRING("reason", 7),
    RECORD("regarding", 8, shape_object_reference),
    RECORD("related", 9, shape_object_reference, PTR),
    STRING("note", 10),
    STRING("type", 11),
    RECORD("deprecatedSource", 12, shape_event_source),
    TIME("deprecatedFirstTimestamp", 13),
    TIME("deprecatedLastTimestamp", 14),
    INT32("deprecatedCount", 15),
};
SHAPE(event, "Event");

static const struct kind kinds[] = {
    {
        NAMES("events.k8s.io", "v1", "Event", "events", "event"),
        .short_names = LIST_OF("ev"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_CREATE_ON_PUT,
        .selectable =
            LIST_OF("regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
                    "regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type"),
        .shape = &event,
        .columns = &columns_events,
    },
};

const struct kind_table kinds_events = {kinds, ROWS(kinds)};
