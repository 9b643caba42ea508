/* SPDX-License-Identifier: Apache-2.0 */
/* What: what an agent says of a ManifestWork when all went well.
 * Owns: nothing; lives in the arena given.
 * Threads: pure but for the clock.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

enum { REPORT_SELECTED = 3 }; /* namespaces that match a selector on every cluster */

/* The body of a merge patch of its status. */
str report_of(struct arena *a, const struct json *work);
