/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.k8s.io/v1: EndpointSlice. */
#define SHAPE_PACKAGE "io.k8s.api.discovery.v1"

#include "kinds/columns_internal.h"
#include "kinds/kinds_internal.h"
#include "kinds/rows.h"
#include "kinds/shapes.h"

static const struct shape_field endpoint_conditions_fields[] = {
    BOOL("ready", 1, PTR),
    BOOL("serving", 2, PTR),
    BOOL("terminating", 3, PTR),
};
SHAPE(endpoint_conditions, "EndpointConditions");

static const struct shape_field for_zone_fields[] = {
    STRING("name", 1, REQUIRED),
};
SHAPE(for_zone, "ForZone");

static const struct shape_field endpoint_hints_fields[] = {
    LIST("forZones", 1, for_zone, ATOMIC),
};
SHAPE(endpoint_hints, "EndpointHints");

static const struct shape_field endpoint_fields[] = {
    STRINGS("addresses", 1, REQUIRED, SET),
    RECORD("conditions", 2, endpoint_conditions),
    STRING("hostname", 3, PTR),
    RECORD("targetRef", 4, shape_object_reference, PTR),
    STRING_MAP("deprecatedTopology", 5),
    STRING("nodeName", 6, PTR),
    STRING("zone", 7, PTR),
    RECORD("hints", 8, endpoint_hints, PTR),
};
SHAPE(endpoint, "Endpoint");

static const struct shape_field endpoint_port_fields[] = {
    STRING("name", 1, PTR),
    STRING("protocol", 2, PTR, NAMED("v1.Protocol")),
    INT32("port", 3, PTR),
    STRING("appProtocol", 4, PTR),
};
ATOMIC_SHAPE(endpoint_port, "EndpointPort");

static const struct shape_field endpoint_slice_fields[] = {
    TYPE_META,
    RECORD("metadata", 1, shape_object_meta),
    STRING("addressType", 4, REQUIRED, NAMED("v1.AddressType")),
    LIST("endpoints", 2, endpoint, REQUIRED, ATOMIC),
    LIST("ports", 3, endpoint_port, WRITTEN, ATOMIC),
};
SHAPE(endpoint_slice, "EndpointSlice");

static const struct kind kinds[] = {
    {
        NAMES("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "endpointslice"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .flags = KIND_UNCONDITIONAL | KIND_GENERATION | KIND_GENERATION_LABELS,
        .shape = &endpoint_slice,
        .columns = &columns_endpoint_slices,
    },
};

const struct kind_table kinds_discovery = {kinds, ROWS(kinds)};
