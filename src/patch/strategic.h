/* SPDX-License-Identifier: Apache-2.0 */
/* What: strategic merge patch: a merge patch that merges the lists of built-in kinds.
 * Owns: nothing; results live in the arena given and share parts of document and patch, which are not changed.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST for malformed directives, ERR_INVALID for lists in lists, ERR_INTERNAL for the rest, as the
 *         API server has it; texts are its own. ERR_TOO_LARGE for patches that would merge into wide items too often.
 *
 * Directives a patch may hold; none of them ever reaches the result:
 *     "$patch": "replace" | "delete"           in a map: take it as it is | empty it
 *     [{"$patch": "delete", KEY: …}]           remove the items with this key
 *     [{"$patch": "replace"}, …]               take the list as it is
 *     "$setElementOrder/LIST": […]             order of the merged list
 *     "$deleteFromPrimitiveList/LIST": […]     remove these scalars
 *     "$retainKeys": […]                       drop all other fields of the map */
#pragma once

#include "json/json.h"
#include "json/shape.h"

/* Applies patch to doc, an object of the kind that shape describes. shape NULL (a custom resource): ERR_BAD_REQUEST. */
int strategic_patch(struct arena *a, const struct shape *shape, const struct json *doc, const struct json *patch,
                    struct json *ret, struct err *err);
