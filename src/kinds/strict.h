/* SPDX-License-Identifier: Apache-2.0 */
/* What: built-in kinds as the typed Go structs of Kubernetes read and print them. Reading: wrong types are errors,
 *       unknown fields are noted and dropped, null is unset, times and bytes are normalized. Printing: the canonical
 *       form.
 * Owns: nothing; texts and new parts of a tree live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST with Go's text: "json: cannot unmarshal number into Go struct field ConfigMap.data of type
 *         string". A number that should be an integer is quoted in its shortest form, not as it was written. */
#pragma once

#include "json/json.h"
#include "json/shape.h"

enum { STRICT_MAX_NOTES = 100 };

/* Warnings of a successful decoding for strict clients, in document order; at most STRICT_MAX_NOTES:
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

/* ---- The canonical form: what Go's structs print after reading the same object. ----
 *
 * Empty optional fields are omitted, required fields are present, quantities are normalized, fields are in the order of
 * the documentation, keys of maps in byte order. Values of another type than their shape are left unchanged;
 * strict_decode rejects them.
 *
 *     labels: {}                        omitted, like "", 0, false and [] of fields that are not pointers
 *     template: {metadata: {}}          template: {metadata: {creationTimestamp: null}, spec: {containers: null}}
 *     limits: {memory: 0.5Gi}           limits: {memory: 512Mi} */

enum {
    /* Required lists and maps stay [] and {}. Without it they become null, as for kinds that Kubernetes stores as
     * protobuf, which has no empty lists. */
    CANONICAL_KEEP_EMPTY = 1,
};

/* In place. */
void canonical_form(struct arena *a, const struct shape *shape, struct json *object, unsigned flags);
