/* SPDX-License-Identifier: Apache-2.0 */
/* What: the part of kubectl's JSONPath that printer columns use: .a.b, .a\.b, ['a'], [0], [-1], [1:3], [*], .*, and
 *       filters [?(@.type=="Ready")].status.
 * Owns: nothing; a compiled path and its results live in the arena given. Results are parts of the document.
 * Threads: a compiled path may be shared by readers.
 * Errors: compiling: ERR_BAD_REQUEST for what is malformed or not part of this (.., unions, range). Evaluating:
 *         whatever kubectl would stop at (an index out of bounds, an index into a map, a comparison of unequal types)
 *         ends without a result. */
#pragma once

#include "json/json.h"

enum {
    JSONPATH_MAX_BYTES = 4096,
    JSONPATH_MAX_NESTING = 4, /* filters inside filters */
};

struct jsonpath;

/* A path without the braces: ".spec.size". */
int jsonpath_compile(struct arena *a, str text, const struct jsonpath **ret, struct err *err);
/* All hits in document order; false when evaluation stopped. Fields that are missing are no hits. */
typedef VEC(const struct json *) jsonpath_hits;
bool jsonpath_find(struct arena *a, const struct jsonpath *path, const struct json *doc, jsonpath_hits *ret);
/* The first hit, or NULL. */
const struct json *jsonpath_first(struct arena *a, const struct jsonpath *path, const struct json *doc);
