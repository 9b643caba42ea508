/* SPDX-License-Identifier: Apache-2.0 */
/* What: spans of time as people and Kubernetes' flags write them.
 * Owns: nothing.
 * Threads: pure.
 * Errors: false for what is none. */
#pragma once

#include "base/str.h"

/* "15s", "1m30s", "500ms", "720h". */
bool duration_parse(str text, int64_t *ret_ns);
