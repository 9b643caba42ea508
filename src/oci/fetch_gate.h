/* SPDX-License-Identifier: Apache-2.0 */
/* What: how many children may run at once: in all, for one registry and for one tenant, so that neither a registry that hangs nor
 *       somebody who asks for much holds up the others. Part of the fetcher.
 * Owns: its lists.
 * Threads: the caller holds a lock.
 * Errors: none. */
#pragma once

#include "base/str.h"
#include "base/vec.h"

/* How many run by each name; names that nothing runs by are not there. */
struct fetch_counts {
    struct fetch_count {
        str name; /* heap */
        unsigned running;
    } * p;
    size_t n, cap;
};

/* Pulls from the local store are counted apart (as the host ""): nothing of them can hang. */
struct fetch_gate {
    unsigned max, max_per_host, max_per_tenant;
    unsigned running; /* of registries */
    struct fetch_counts hosts, tenants;
};

void fetch_gate_init(struct fetch_gate *g, unsigned max, unsigned max_per_host, unsigned max_per_tenant);
void fetch_gate_done(struct fetch_gate *g);
/* False: not now. No tenant: only the registry counts. */
bool fetch_gate_enter(struct fetch_gate *g, str host, str tenant);
void fetch_gate_leave(struct fetch_gate *g, str host, str tenant);
