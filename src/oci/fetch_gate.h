/* SPDX-License-Identifier: Apache-2.0 */
/* What: how many children may run at once, in all and for one registry, so that one that hangs does not hold up the others.
 *       Part of the fetcher.
 * Owns: its list of hosts.
 * Threads: the caller holds a lock.
 * Errors: none. */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct fetch_host {
    str name; /* heap */
    unsigned running;
};

/* Pulls from the local store are counted apart (as the host ""): nothing of them can hang. */
struct fetch_gate {
    unsigned max, max_per_host;
    unsigned running; /* of registries */
    struct fetch_host *hosts;
    size_t n_hosts;
};

void fetch_gate_init(struct fetch_gate *g, unsigned max, unsigned max_per_host);
void fetch_gate_done(struct fetch_gate *g);
/* False: not now. */
bool fetch_gate_enter(struct fetch_gate *g, str host);
void fetch_gate_leave(struct fetch_gate *g, str host);
