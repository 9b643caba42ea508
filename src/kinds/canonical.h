/* SPDX-License-Identifier: Apache-2.0 */
/* What: objects of built-in kinds in their one form: what Go's structs print after they have read the same object. Empty
 *       optional fields are gone, fields that are always written are there, amounts have one text, fields stand in the order
 *       of the documentation and keys of maps in the order of their bytes.
 * Owns: nothing; new parts of a tree come from the arena given.
 * Threads: pure functions.
 * Errors: none; what has not the type its shape says (strict.h finds that) stays as it is.
 *
 *     labels: {}                        gone, like "", 0, false and [] of fields that are not pointers
 *     template: {metadata: {}}          template: {metadata: {creationTimestamp: null}, spec: {containers: null}}
 *     limits: {memory: 0.5Gi}           limits: {memory: 512Mi} */
#pragma once

#include "json/json.h"
#include "json/shape.h"

enum {
    /* Lists and maps that are always written stay [] and {}; else they become null, as those of kinds do that Kubernetes keeps
     * as protobuf, which does not know the difference. */
    CANONICAL_KEEP_EMPTY = 1,
};

/* In place. */
void canonical_form(struct arena *a, const struct shape *shape, struct json *object, unsigned flags);
