/* SPDX-License-Identifier: Apache-2.0 */
/* What: JSON pointers (RFC 6901), JSON patch (RFC 6902) and JSON merge patch (RFC 7386).
 * Owns: nothing; results live in the arena given and may share parts of document and patch, which are not changed.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST for a patch that is malformed, ERR_INVALID for one that does not fit the document. */
#pragma once

#include "json/json.h"

enum {
    PATCH_MAX_OPS = 10000,
    PATCH_MAX_GROWTH = 16 * 1024 * 1024, /* bytes of tree that copies may add before the patch is refused */
};

/* The value a pointer names, NULL when there is none or the pointer is malformed. "" is the document itself. */
const struct json *json_pointer_get(const struct json *doc, str pointer);

/* Applies a list of operations; all or nothing. */
int json_patch(struct arena *a, const struct json *doc, const struct json *patch, struct json *ret, struct err *err);

/* Merges patch into doc; null removes. Cannot fail. */
struct json json_merge_patch(struct arena *a, const struct json *doc, const struct json *patch);
