/* SPDX-License-Identifier: Apache-2.0 */
/* What: ignoreFields of server-side apply: fields that a manifest sets and that others may change on the managed cluster. No effects.
 * Owns: nothing; results live in the arena given and share the texts of what they are made from.
 * Threads: pure.
 * Errors: ERR_BAD_REQUEST for what is no path, or no condition. */
#pragma once

#include "controllers/works/works_manifest.h"

enum { IGNORED_PATHS = 100 }; /* of one manifest */

/* What is to be applied over live: ignored fields have the values that they have there, so that the server neither changes them nor
 * drops them; those that are not there are left out.
 *   OnSpokePresent  whenever the object is there
 *   OnSpokeChange   as long as the manifest is what was applied before (is_unchanged) */
int ignore_fields(struct arena *a, const struct manifest *m, const struct json *want, const struct json *live,
                  bool is_unchanged, struct json *ret, struct err *err);
