/* SPDX-License-Identifier: Apache-2.0 */
/* What: bodies of PATCH requests: which kinds of patch there are, and what they make of a tree. Private to write_*.c and scale.c.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: a code with the Status that the client gets. */
#pragma once

#include "api/write_internal.h"

#define PATCH_JSON S("application/json-patch+json")
#define PATCH_MERGE S("application/merge-patch+json")
#define PATCH_STRATEGIC S("application/strategic-merge-patch+json")
#define PATCH_APPLY S("application/apply-patch+yaml")

/* Reads the Content-Type into w->patch_type; false, with w->status set, when it is none of those that this kind takes. */
bool patch_type_parse(struct write *w, const struct kind *kind);

/* What Go's decoder calls a value: "number", "array". */
const char *patch_go_type(const struct json *v);

/* The tree `doc`, an object of this kind, as the patch wants it: decoded, defaulted, a tree of its own. Fields that nobody
 * knows are warned about or refused. */
int patch_apply(struct write *w, const struct kind *kind, const struct json *doc, struct json *ret);
