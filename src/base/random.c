/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

static void system_fill(void *ctx, void *p, size_t n)
{
    (void)ctx;
    for (size_t done = 0; done < n;) {
        ssize_t got = getrandom((char *)p + done, n - done, 0);
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            abort();
    }
}

const struct random random_system = {system_fill, NULL};

static void pool_fill(void *ctx, void *p, size_t n)
{
    struct random_pool *pool = ctx;
    if (n > sizeof pool->bytes) {
        system_fill(NULL, p, n);
        return;
    }
    if (n > pool->left) {
        system_fill(NULL, pool->bytes, sizeof pool->bytes);
        pool->left = sizeof pool->bytes;
    }
    pool->left -= n;
    memcpy(p, pool->bytes + pool->left, n);
    explicit_bzero(pool->bytes + pool->left, n);
}

struct random random_of_pool(struct random_pool *pool)
{
    return (struct random){pool_fill, pool};
}

/* SplitMix64. */
static uint64_t next_value(struct random_seeded *s)
{
    uint64_t z = s->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void seeded_fill(void *ctx, void *p, size_t n)
{
    for (size_t done = 0; done < n;) {
        uint64_t v = next_value(ctx);
        size_t take = n - done < sizeof v ? n - done : sizeof v;
        memcpy((char *)p + done, &v, take);
        done += take;
    }
}

struct random random_of_seed(struct random_seeded *state)
{
    return (struct random){seeded_fill, state};
}

uint64_t random_uint64(const struct random *r)
{
    uint64_t v;
    r->fill(r->ctx, &v, sizeof v);
    return v;
}

uint32_t random_below(const struct random *r, uint32_t n)
{
    /* Values past the last whole multiple of n would favour small results: draw again. */
    uint64_t limit = (UINT64_C(1) << 32) / n * n;
    for (;;) {
        uint32_t v;
        r->fill(r->ctx, &v, sizeof v);
        if (v < limit)
            return v % n;
    }
}
