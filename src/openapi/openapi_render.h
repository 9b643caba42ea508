/* SPDX-License-Identifier: Apache-2.0 */
/* What: OpenAPI v3 documents as JSON text, in pieces, so that a group with thousands of CRDs needs no more memory than one.
 * Owns: nothing; text goes to the end of the buffer given.
 * Threads: pure functions.
 * Errors: none.
 *
 *   openapi_render_start     {"openapi":"3.0.0","info":…,"paths":{
 *   openapi_render_paths     …    for each kind
 *   openapi_render_shapes    },"components":{"schemas":{    records that documents share, and all of the built-in kinds
 *   openapi_render_custom    …    for each custom kind
 *   openapi_render_end       }}} */
#pragma once

#include "object/kind.h"
#include "json/json.h"

#include <stddef.h>

/* The kinds of one version of one group. */
struct openapi_kinds {
    const struct kind *const *p;
    size_t n;
};

void openapi_render_start(struct buf *b, struct openapi_kinds kinds);
/* What can be done with objects of kind i; nothing for kinds without paths of their own. */
void openapi_render_paths(struct buf *b, struct openapi_kinds kinds, size_t i);
void openapi_render_shapes(struct buf *b, struct openapi_kinds kinds);
/* A custom kind and its list, from what its CRD says of this version. Parts that only the server can know are added: apiVersion,
 * kind and metadata, here and in embedded resources. */
void openapi_render_custom(struct buf *b, const struct kind *k, const struct json *crd);
void openapi_render_end(struct buf *b);

/* One of the schemas that come from tables. */
struct openapi_shape {
    const struct shape *shape; /* NULL: none of these but a type of its own */
    const struct kind *kind;   /* whose objects are of this shape, or NULL */
    size_t special;            /* which type of its own */
};

struct openapi_shapes {
    const struct openapi_shape *p;
    size_t n;
};

/* All that these kinds need, each once. */
struct openapi_shapes openapi_shapes_find(struct arena *a, struct openapi_kinds kinds);
/* "name":{…}, and behind a comma the list when it is a kind that has one. */
void openapi_render_shape(struct buf *b, const struct openapi_shape *s);

/* ---- Between the files. ---- */

#define add_lit(b, lit) buf_add((b), (lit), sizeof(lit) - 1)

/* The name of a kind's schema: io.k8s.api.apps.v1.Deployment, com.example.v1.Widget. */
void openapi_add_name(struct buf *b, const struct kind *k, const char *kind);
/* [{"group":"","kind":"ConfigMap","version":"v1"}] */
void openapi_add_gvk(struct buf *b, const struct kind *k, const char *kind);
/* "name":{…}, the schema of a list of objects. */
void openapi_add_list(struct buf *b, const struct kind *k);
/* "description":"…", with a comma behind it; nothing when there is none. */
void openapi_add_description(struct buf *b, const char *text);

/* What kubectl explain prints of records and fields of built-in kinds, and the values that some fields are limited to. */
struct openapi_text {
    const char *of;     /* "PodSpec", "PodSpec.restartPolicy"; "*.metadata": all records without a text of their own */
    const char *text;   /* or NULL */
    const char *values; /* separated by commas, in alphabetical order; or NULL */
};

/* field is NULL for the record itself. */
const struct openapi_text *openapi_text_find(const char *record, const char *field);

/* All of them, sorted by name. */
extern const struct openapi_text openapi_texts[];
extern const size_t openapi_texts_n;
