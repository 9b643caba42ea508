/* SPDX-License-Identifier: Apache-2.0 */
#include "control/pace.h"

static const int64_t failure_ns = 800 * NS_PER_MS, end_ns = 10 * NS_PER_MS, most_ns = 15000 * NS_PER_MS;
static const int64_t forget_ns = 120000 * NS_PER_MS; /* after a failure */
static const int64_t sound_ns = 10000 * NS_PER_MS;   /* at work for so long: the server is well again */
static const int64_t short_ns = 1000 * NS_PER_MS;

/* first, doubled as often as it was needed before, and up to as much again. */
static int64_t grow(int64_t first, uint32_t *times, const struct random *random)
{
    int64_t delay = first;
    for (uint32_t i = 0; i < *times && delay < most_ns; i++)
        delay *= 2;
    if (delay >= most_ns)
        delay = most_ns;
    else
        (*times)++;
    return delay + (int64_t)random_below(random, (uint32_t)(delay / 1000)) * 1000;
}

int64_t pace_after_failure(struct pace *p, const struct random *random, int64_t now)
{
    if (now - p->failed_at > forget_ns)
        p->failures = 0;
    p->failed_at = now;
    return grow(failure_ns, &p->failures, random);
}

int64_t pace_after_end(struct pace *p, const struct random *random)
{
    return grow(end_ns, &p->ends, random);
}

void pace_lived(struct pace *p, int64_t lived_ns)
{
    if (lived_ns >= short_ns)
        p->ends = 0;
    if (lived_ns >= sound_ns)
        p->failures = 0;
}
