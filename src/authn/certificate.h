/* SPDX-License-Identifier: Apache-2.0 */
/* What: whom a client certificate names: the common name is the user, organisations are groups.
 * Owns: nothing; the identity lives in the arena given.
 * Threads: pure functions.
 * Errors: ERR_UNAUTHORIZED for certificates that name nobody or are meant for something else. Who signed it, and whether it has
 *         expired, is not looked at here. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/err.h"

int certificate_identity(struct arena *a, str der, struct authz_identity *ret, struct err *err);
