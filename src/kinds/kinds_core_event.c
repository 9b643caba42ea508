/* SPDX-License-Identifier: Apache-2.0 */
/* core/v1: Event. */
#define SHAPE_PACKAGE "io.k8s.api.core.v1"

#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field shape_event_source_fields[] = {
    STRING("component", 1),
    STRING("host", 2),
};
SHARED_SHAPE(shape_event_source, "EventSource");

static const struct shape_field event_series_fields[] = {
    INT32("count", 1),
    MICRO_TIME("lastObservedTime", 2),
};
SHAPE(event_series, "EventSeries");

static const struct shape_field shape_event_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta, REQUIRED),
    RECORD("involvedObject", 2, shape_object_reference, REQUIRED),
    STRING("reason", 3),
    STRING("message", 4),
    RECORD("source", 5, shape_event_source),
    TIME("firstTimestamp", 6),
    TIME("lastTimestamp", 7),
    INT32("count", 8),
    STRING("type", 9),
    MICRO_TIME("eventTime", 10),
    RECORD("series", 11, event_series, PTR),
    STRING("action", 12),
    RECORD("related", 13, shape_object_reference, PTR),
    STRING("reportingComponent", 14, WRITTEN),
    STRING("reportingInstance", 15, WRITTEN),
};
SHARED_SHAPE(shape_event, "Event");
