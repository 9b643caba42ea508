/* SPDX-License-Identifier: Apache-2.0 */
/* What: the one CustomResourceDefinition that serves several versions of a package at once, or why there is none.
 * Owns: nothing; results live in the arena given and share parts of the definitions they were made of.
 * Threads: pure functions.
 * Errors: findings with the reason CRDConflict: each names version and field, and who says what.
 *
 * Definitions are put in the order of the package versions they come from. What a newer one says must be at least as wide
 * as what the older ones said at the same place; then the newest that speaks of a place has the word about it, and places
 * that only older ones know are kept. So the result depends on the set of definitions alone: not on the order in which
 * they were installed, nor on one being given twice; and a set without conflicts has none after one of it has left.
 *
 *     1.0  size: {enum: [S, M]}    a: {}            ──►   size: {enum: [S, M, L]}  a: {}  b: {}
 *     1.1  size: {enum: [S, M, L]}         b: {}
 *
 * Whatever the server could have stored under one of the definitions is valid under the union, and nothing of it is pruned.
 * crd_union_schema.c has the table that says for every keyword what "wider" is. The rest of a definition:
 *
 *   equal             group, scope, kind, plural, singular, listKind, conversion, preserveUnknownFields, the storage version,
 *                     the status subresource (it decides how status is written), the scale subresource where two have it
 *   the newer adds    versions; one that an older package version serves must still be served by all newer ones
 *   kept              fields, scale subresources and selectable fields that only some have, versions that are not served
 *   of the newest     short names, categories, columns, deprecations, labels, annotations, all texts */
#pragma once

#include "package/finding.h"
#include "json/json.h"

struct crd_source {
    str package;            /* "acme/wordpress", for messages */
    str version;            /* "1.1" */
    const struct json *crd; /* apiextensions.k8s.io/v1, as crd_check returns it */
};

/* The union of n > 0 definitions of one name. True with *ret set (apiVersion, kind, metadata and spec), or false with the
 * conflicts added. */
bool crd_union(struct arena *a, const struct crd_source *sources, size_t n, struct json *ret,
               struct findings *conflicts);

/* A digest that is equal for definitions that are the same by crd_is_same, and for no others; empty: no server takes it. */
str crd_spec_digest(struct arena *a, const struct json *crd);
/* Whether two definitions are the same to the API server: name and spec, after defaults, whatever the order of keys and
 * versions, and whether empty values are written or left out. Labels, annotations and status are not looked at. */
bool crd_is_same(const struct json *l, const struct json *r);
