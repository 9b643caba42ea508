/* SPDX-License-Identifier: Apache-2.0 */
/* What: headers that say who asks, and on whose behalf.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure functions.
 * Errors: none. */
#pragma once

#include "client/config.h"
#include "net/http.h"

/* A line break in a value would begin another header. */
bool header_is_value(str s);
/* Authorization, unless empty; then Impersonate-*. All values must be ones. */
struct http_headers header_identity(struct arena *a, str authorization, const struct client_impersonation *as);
