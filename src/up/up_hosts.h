/* SPDX-License-Identifier: Apache-2.0 */
/* What: the names and addresses by which this machine can be reached at the place it listens at.
 * Owns: nothing; texts live in the arena given.
 * Threads: one.
 * Errors: none; what cannot be found out is left out. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"

struct strs hosts_of(struct arena *a, str listen_host);
