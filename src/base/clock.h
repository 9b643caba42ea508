/* SPDX-License-Identifier: Apache-2.0 */
/* What: time and randomness as interfaces that are passed in, so that tests decide them; RFC 3339 in and out.
 * Owns: nothing.
 * Threads: the system implementations may be shared; so may a fake clock, which one thread moves. Fake randomness belongs to one
 *          thread.
 * Errors: the system sources abort when the kernel has none to give. */
#pragma once

#include "base/str.h"

/* Nanoseconds since 1970-01-01 UTC; dates from year 1 to 9999 are told in seconds below. */
struct clock {
    int64_t (*wall_ns)(void *ctx); /* civil time, may jump */
    int64_t (*mono_ns)(void *ctx); /* never goes back; only differences mean something */
    void *ctx;
};

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

extern const struct clock clock_system;

static inline int64_t clock_wall_ns(const struct clock *c)
{
    return c->wall_ns(c->ctx);
}

static inline int64_t clock_mono_ns(const struct clock *c)
{
    return c->mono_ns(c->ctx);
}

/* Civil time in whole seconds. */
static inline int64_t clock_seconds(const struct clock *c)
{
    return clock_wall_ns(c) / NS_PER_S;
}

struct clock_fake {
    int64_t wall, mono;
};

struct clock clock_of_fake(struct clock_fake *fake);
void clock_fake_advance(struct clock_fake *fake, int64_t ns);

/* "2026-11-15T21:22:23Z"; with digits > 0 that many decimals: "…23.000000Z". */
void time_format(struct buf *b, int64_t seconds, uint32_t nanos, int digits);
/* RFC 3339 with any offset and up to nine decimals; false when it is not a real date. */
bool time_parse(str s, int64_t *ret_seconds, uint32_t *ret_nanos);

struct random {
    void (*fill)(void *ctx, void *p, size_t n);
    void *ctx;
};

extern const struct random random_system;

/* The system's bytes, fetched many at a time: one call into the kernel for dozens of identifiers. Each is given out once and
 * wiped. For one thread, in a process that does not fork. Zero-initialise. */
struct random_pool {
    unsigned char bytes[1024];
    size_t left; /* at the front */
};

struct random random_of_pool(struct random_pool *pool);

/* Repeatable: the same seed gives the same bytes. */
struct random_seeded {
    uint64_t state;
};

struct random random_of_seed(struct random_seeded *state);

uint64_t random_uint64(const struct random *r);
/* Evenly from 0 to n-1; n > 0. */
uint32_t random_below(const struct random *r, uint32_t n);
