/* SPDX-License-Identifier: Apache-2.0 */
/* What: simulated agents: each with its own token, connection, watch of works and heartbeat; each reports at once that all went well.
 * Owns: their connections; a hub sees no difference to as many programs.
 * Threads: one; the loop turns only within these functions, and those of others that turn it.
 * Errors: see bench/server/server.h.
 *
 *   watch of works ─► no finalizer: patch it ─► generation not reported: patch the status
 *   every minute   ─► patch of the Lease */
#pragma once

#include "../server/load.h"

struct agents;

/* One for each of n clusters, whose ServiceAccounts are there. Returns when all have read their works and left their first sign of
 * life. l: an administrator's. */
struct agents *agents_start(struct server *s, struct links *l, size_t n);
void agents_stop(struct agents *a);

/* Of all of them so far. */
struct agents_stats {
    uint64_t events, finalizers, reports, beats, retries;
};

struct agents_stats agents_stats(const struct agents *a);
/* The last time at which a work of this cluster was reported; bench_now. */
double agents_reported(const struct agents *a, size_t cluster);
/* …and at which a generation was first seen. */
double agents_noticed(const struct agents *a, size_t cluster);
