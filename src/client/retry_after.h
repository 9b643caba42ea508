/* SPDX-License-Identifier: Apache-2.0 */
/* What: the header Retry-After: when a server wants to be asked again.
 * Owns: nothing.
 * Threads: pure.
 * Errors: what makes no sense counts as not said. */
#pragma once

#include "base/str.h"

/* Seconds ("120") or a date in one of the three forms of RFC 9110, as nanoseconds from now on, at least one; 0 when there is
 * nothing to wait for or it makes no sense. More than a day counts as a day: callers have limits of their own, and no sum
 * with it overflows. */
int64_t retry_after_parse(str value, int64_t wall_ns);
