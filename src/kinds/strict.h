/* SPDX-License-Identifier: Apache-2.0 */
/* What: decoding of built-in kinds as the typed structs of Kubernetes do it: wrong types are errors, unknown fields are
 *       noted and dropped, null is unset, times and bytes get their one form.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST with Go's words: "json: cannot unmarshal number into Go struct field ConfigMap.data of type
 *         string". A number that should be an integer is told in its shortest form, not as it was written. */
#pragma once

#include "json/json.h"
#include "json/shape.h"

enum { STRICT_MAX_NOTES = 100 };

/* What a strict client wants to hear though decoding went well, in document order; at most STRICT_MAX_NOTES:
 * unknown field "metadata.nmae", duplicate field "data.a". */
struct strict_notes {
    VEC(str) list;
};

/* Checks the object against the shape and changes it in place. duplicates (may be NULL) are those of json_decode or
 * yaml_decode: the ones inside unknown fields are left out, as Kubernetes does. notes may be NULL. When it fails, the
 * object must not be used. */
int strict_decode(struct arena *a, const struct shape *shape, struct json *obj, const struct json_notes *duplicates,
                  struct strict_notes *notes, struct err *err);

/* Adds one note unless there are too many; for kinds that have a schema instead of a shape. */
void strict_note_unknown(struct arena *a, struct strict_notes *notes, str path);
void strict_note_duplicate(struct arena *a, struct strict_notes *notes, str path);
/* strict decoding error: unknown field "metadata.nmae", duplicate field "data.a" */
void strict_notes_format(struct buf *b, const struct strict_notes *notes);
