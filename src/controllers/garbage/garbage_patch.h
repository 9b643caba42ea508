/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the collector writes: patches of owner references and finalizers, each good for one object alone.
 * Owns: nothing; results live in the arena given and share the texts of what they are made from.
 * Threads: pure.
 * Errors: none.
 *
 * A strategic patch carries the uid and takes single references away, whatever else changes meanwhile. Kinds without it (custom
 * resources) get a merge patch that says the whole list and carries the version it was made from. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

#define GARBAGE_FOREGROUND S("foregroundDeletion")
#define GARBAGE_ORPHAN S("orphan")

struct uids {
    const str *p;
    size_t n;
};

/* References to these owners go. */
struct json patch_owners_strategic(struct arena *a, str uid, struct uids owners);
struct json patch_owners_merge(struct arena *a, const struct json *live, struct uids owners);
/* No reference blocks its owner any more; false: none does. */
bool patch_unblock_strategic(struct arena *a, const struct json *live, struct json *ret);
bool patch_unblock_merge(struct arena *a, const struct json *live, struct json *ret);
/* The finalizer goes; false: it is not there. */
bool patch_finalizer(struct arena *a, const struct json *live, str finalizer, struct json *ret);
