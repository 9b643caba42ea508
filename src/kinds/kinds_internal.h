/* SPDX-License-Identifier: Apache-2.0 */
/* What: the tables of built-in kinds, and the macros in which the kinds_*.c files write them: one row per kind, and one
 *       row per field, with its JSON name and protobuf number first, then its properties.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none.
 *
 *     #define SHAPE_PACKAGE "io.k8s.api.core.v1"    (the OpenAPI package of the types that follow)
 *
 *     static const struct shape_field container_port_fields[] = {
 *         STRING("name", 1),
 *         INT32("containerPort", 3, REQUIRED),
 *         STRING("protocol", 4, NAMED("v1.Protocol")),
 *     };
 *     SHAPE(container_port, "ContainerPort");
 *
 * Fields are in the order of the Kubernetes documentation. To add a field, add a row: nothing else lists the fields. */
#pragma once

#include "object/kind.h"
#include "json/shape.h"

struct kind_table {
    const struct kind *kinds;
    size_t n;
};

extern const struct kind_table kinds_apiextensions;
extern const struct kind_table kinds_apps;
extern const struct kind_table kinds_authentication;
extern const struct kind_table kinds_authorization;
extern const struct kind_table kinds_autoscaling;
extern const struct kind_table kinds_autoscaling_v2;
extern const struct kind_table kinds_batch;
extern const struct kind_table kinds_certificates;
extern const struct kind_table kinds_coordination;
extern const struct kind_table kinds_core;
extern const struct kind_table kinds_discovery;
extern const struct kind_table kinds_events;
extern const struct kind_table kinds_meta;
extern const struct kind_table kinds_networking;
extern const struct kind_table kinds_node;
extern const struct kind_table kinds_policy;
extern const struct kind_table kinds_rbac;
extern const struct kind_table kinds_scheduling;
extern const struct kind_table kinds_storage;

#define NAMES(g, v, k, many, one) \
    .group = (g), .version = (v), .kind = (k), .list_kind = k "List", .plural = (many), .singular = (one)
#define LIST_OF(...) ((const char *const[]){__VA_ARGS__, NULL})
/* .subresources and their number; STATUS is the usual one. */
#define SUBRESOURCES(...)                                           \
    .subresources = (const struct kind_subresource[]){__VA_ARGS__}, \
    .n_subresources = sizeof((const struct kind_subresource[]){__VA_ARGS__}) / sizeof(struct kind_subresource)
#define STATUS                          \
    {                                   \
        "status", .verbs = VERBS_STATUS \
    }

/* ---- Rows of a table of fields. ---- */

#define ROWS(array) (COUNT(array))

#define ROW(json_name, wire, t, c, ...)                                                \
    {                                                                                  \
        .name = (json_name), .number = (wire), .type = (t), .card = (c), ##__VA_ARGS__ \
    }

/* One value. */
#define STRING(name, wire, ...) ROW(name, wire, SHAPE_STRING, SHAPE_ONE, ##__VA_ARGS__)
#define BOOL(name, wire, ...) ROW(name, wire, SHAPE_BOOL, SHAPE_ONE, ##__VA_ARGS__)
#define INT32(name, wire, ...) ROW(name, wire, SHAPE_INT32, SHAPE_ONE, ##__VA_ARGS__)
#define INT64(name, wire, ...) ROW(name, wire, SHAPE_INT64, SHAPE_ONE, ##__VA_ARGS__)
#define DOUBLE(name, wire, ...) ROW(name, wire, SHAPE_DOUBLE, SHAPE_ONE, ##__VA_ARGS__)
#define BYTES(name, wire, ...) ROW(name, wire, SHAPE_BYTES, SHAPE_ONE, ##__VA_ARGS__)
#define TIME(name, wire, ...) ROW(name, wire, SHAPE_TIME, SHAPE_ONE, ##__VA_ARGS__)
#define MICRO_TIME(name, wire, ...) ROW(name, wire, SHAPE_MICRO_TIME, SHAPE_ONE, ##__VA_ARGS__)
#define QUANTITY(name, wire, ...) ROW(name, wire, SHAPE_QUANTITY, SHAPE_ONE, ##__VA_ARGS__)
#define INT_OR_STRING(name, wire, ...) ROW(name, wire, SHAPE_INT_OR_STRING, SHAPE_ONE, ##__VA_ARGS__)
#define RAW(name, wire, ...) ROW(name, wire, SHAPE_RAW, SHAPE_ONE, ##__VA_ARGS__)
#define RECORD(name, wire, of, ...) ROW(name, wire, SHAPE_RECORD, SHAPE_ONE, .record = &(of), ##__VA_ARGS__)
#define SCHEMA_OR_BOOL(name, wire, of, ...) \
    ROW(name, wire, SHAPE_JSON_OR_BOOL, SHAPE_ONE, .record = &(of), ##__VA_ARGS__)
#define SCHEMA_OR_ARRAY(name, wire, of, ...) \
    ROW(name, wire, SHAPE_JSON_OR_ARRAY, SHAPE_ONE, .record = &(of), ##__VA_ARGS__)

/* A list. LIST is one of records. */
#define STRINGS(name, wire, ...) ROW(name, wire, SHAPE_STRING, SHAPE_LIST, ##__VA_ARGS__)
#define INT32_LIST(name, wire, ...) ROW(name, wire, SHAPE_INT32, SHAPE_LIST, ##__VA_ARGS__)
#define INT64_LIST(name, wire, ...) ROW(name, wire, SHAPE_INT64, SHAPE_LIST, ##__VA_ARGS__)
#define RAW_LIST(name, wire, ...) ROW(name, wire, SHAPE_RAW, SHAPE_LIST, ##__VA_ARGS__)
#define LIST(name, wire, of, ...) ROW(name, wire, SHAPE_RECORD, SHAPE_LIST, .record = &(of), ##__VA_ARGS__)

/* A map from strings. */
#define STRING_MAP(name, wire, ...) ROW(name, wire, SHAPE_STRING, SHAPE_MAP, ##__VA_ARGS__)
#define BYTES_MAP(name, wire, ...) ROW(name, wire, SHAPE_BYTES, SHAPE_MAP, ##__VA_ARGS__)
#define TIME_MAP(name, wire, ...) ROW(name, wire, SHAPE_TIME, SHAPE_MAP, ##__VA_ARGS__)
#define QUANTITY_MAP(name, wire, ...) ROW(name, wire, SHAPE_QUANTITY, SHAPE_MAP, ##__VA_ARGS__)
#define EXTRA_MAP(name, wire, ...) ROW(name, wire, SHAPE_STRINGS, SHAPE_MAP, ##__VA_ARGS__)
#define RECORD_MAP(name, wire, of, ...) ROW(name, wire, SHAPE_RECORD, SHAPE_MAP, .record = &(of), ##__VA_ARGS__)
#define SCHEMA_OR_STRINGS_MAP(name, wire, of, ...) \
    ROW(name, wire, SHAPE_JSON_OR_STRINGS, SHAPE_MAP, .record = &(of), ##__VA_ARGS__)

/* What is special. */
#define PTR .pointer = true           /* unset and zero differ */
#define REQUIRED .required = true     /* by the documentation */
#define WRITTEN .written = true       /* not required, yet never left out */
#define NAMED(go) .go_type = (go)     /* messages call the type so */
#define WITHIN(wire) .within = (wire) /* on the wire inside this message, in JSON not */

/* Apply: how items are identified. */
#define ATOMIC .merge = SHAPE_ATOMIC
#define SET .merge = SHAPE_SET
#define KEYED(by) .merge = SHAPE_KEYED, .keys = (by)

/* Strategic merge patch. */
#define MERGE(key) .smp = SHAPE_SMP_MERGE, .smp_key = (key)
#define MERGE_RETAIN(key) .smp = SHAPE_SMP_MERGE | SHAPE_SMP_RETAIN_KEYS, .smp_key = (key)
#define MERGE_SET .smp = SHAPE_SMP_MERGE
#define RETAIN_KEYS .smp = SHAPE_SMP_RETAIN_KEYS
#define REPLACE .smp = SHAPE_SMP_REPLACE

/* Every object's first two fields; on the wire they are in the envelope. */
#define TYPE_META STRING("kind", 0), STRING("apiVersion", 0)

#define SHAPE_OF(id, go, ...)                                                                                \
    {                                                                                                        \
        .name = (go), .package = SHAPE_PACKAGE, .fields = id##_fields, .n = ROWS(id##_fields), ##__VA_ARGS__ \
    }

#define SHAPE(id, go) static const struct shape id = SHAPE_OF(id, go)
#define ATOMIC_SHAPE(id, go) static const struct shape id = SHAPE_OF(id, go, .atomic = true)
#define EMPTY_SHAPE(id, go) static const struct shape id = {.name = (go), .package = SHAPE_PACKAGE}
/* Shapes that several files use; shapes.h declares them. */
#define SHARED_SHAPE(id, go) const struct shape id = SHAPE_OF(id, go)
#define SHARED_ATOMIC_SHAPE(id, go) const struct shape id = SHAPE_OF(id, go, .atomic = true)
