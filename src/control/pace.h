/* SPDX-License-Identifier: Apache-2.0 */
/* What: how long to wait before a server is asked again. Pure but for the randomness passed in.
 * Owns: nothing; zero-initialised is ready.
 * Threads: plain values.
 * Errors: none.
 *
 * After a failure: 0.8 s, 1.6 s, … 15 s, and up to as much again at random, as client-go: never more than half a minute. After
 * an end in peace: 10 ms, growing the same way while ends follow each other within a second. */
#pragma once

#include "base/clock.h"

struct pace {
    uint32_t failures, ends; /* in a row */
    int64_t failed_at;
};

int64_t pace_after_failure(struct pace *p, const struct random *random, int64_t now);
int64_t pace_after_end(struct pace *p, const struct random *random);
/* Something was at work for so long, and then ended: what was before may be forgotten. */
void pace_lived(struct pace *p, int64_t lived_ns);
