/* SPDX-License-Identifier: Apache-2.0 */
/* What: one run of reeve-fetch for somebody who waits at a terminal: build, push, copy, resolve. Nothing is cached.
 * Owns: nothing beyond the call.
 * Threads: any; blocks.
 * Errors: as fetch_pull. */
#pragma once

#include "oci/digest.h"
#include "oci/request.h"

/* program may be NULL: the one installed with this program. */
int fetch_op(const char *program, const struct oci_request *request, struct oci_digest *ret,
             struct fetch_failure *failure, struct err *err);
