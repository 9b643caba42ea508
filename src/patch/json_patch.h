/* SPDX-License-Identifier: Apache-2.0 */
/* What: JSON pointers (RFC 6901), JSON patch (RFC 6902) and JSON merge patch (RFC 7386), as the API server applies
 *       them.
 * Owns: nothing; results live in the arena given and may share parts of document and patch, which are not changed.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST for a patch that is malformed, ERR_INVALID for one that does not fit the document,
 *         ERR_TOO_LARGE past a limit; the text names the operation: operation 2 (remove "/a"): no such member: "a" */
#pragma once

#include "json/json.h"

enum {
    PATCH_MAX_OPS = 10000,
    PATCH_MAX_COPY = 3 * 1024 * 1024, /* bytes of JSON text that "copy" may add in all */
    PATCH_MAX_STEPS = 100000000,      /* members and items visited or moved, in all; more than any real patch needs */
};

/* The value a pointer names, NULL when there is none or the pointer is malformed. "" is the document itself. Items are
 * counted as in json_patch. */
const struct json *json_pointer_get(const struct json *doc, str pointer);

/* Applies a list of operations; all or nothing. What the API server allows beyond the RFC is allowed here:
 *   - items may be counted from the end: /items/-1 is the last one; "add" counts from behind the end;
 *   - "replace" of a missing member adds it, "test" of a missing member for null succeeds, "copy" from one gives null;
 *   - "add" and "replace" without a value set null.
 * "test" compares by value (1 equals 1.0), and a value cannot be moved into itself. */
int json_patch(struct arena *a, const struct json *doc, const struct json *patch, struct json *ret, struct err *err);

/* Merges patch into doc; null removes. Nulls deeper in new values are removed too, also in objects inside arrays. */
struct json json_merge_patch(struct arena *a, const struct json *doc, const struct json *patch);
