/* SPDX-License-Identifier: Apache-2.0 */
/* What: which managed clusters are heard of: the Leases that their agents renew, on our own clock.
 * Owns: what is known of each cluster, and its timer.
 * Threads: the loop thread; beats_get and beats_restart may be called by any.
 * Errors: none.
 *
 *              renewed                          five durations without one
 *   BEAT_NEW ───────────► BEAT_LIVE ──────────────────────────────────────► BEAT_SILENT
 *      │                      ▲                       renewed                  │ ▲
 *      │                      └────────────────────────────────────────────────┘ │
 *      └───────────────────────────── five durations without one ────────────────┘
 *
 * renewTime is only compared with the one before: a renewal is what we see, when we see it, whatever the clocks of agents say, and
 * however ours is set. What was renewed before we came says nothing: it begins as BEAT_NEW, and has five durations. */
#pragma once

#include "control/informer.h"

struct beats;

enum beat_state { BEAT_NEW, BEAT_LIVE, BEAT_SILENT };

/* Who renews the Lease. Annotations outlive the agent that wrote them, so Reeve's agent also writes down each of its renewals.
 * Another agent is believed after BEAT_FOREIGN_RENEWALS in a row: while two agents run, which renew at intervals that differ by a
 * quarter at most, there are never so many. */
enum beat_agent { BEAT_BY_OTHER, BEAT_BY_REEVE, BEAT_UNSURE };
enum { BEAT_FOREIGN_RENEWALS = 3 };

struct beat {
    enum beat_state state;
    bool has_lease;
    bool has_renewed; /* at any time, by anybody */
    int64_t seconds;  /* leaseDurationSeconds of the Lease; 0: it does not say */
    str renewed;      /* renewTime, as it was last seen */
    enum beat_agent agent;
    bool has_stale_notes;             /* the Lease has annotations of Reeve's agent, and another agent renews it */
    str version, kubernetes, trouble; /* annotations of Reeve's agent; empty if they are stale */
};

struct beats_options {
    struct loop *loop;
    /* There is something to tell of it: another state, or other annotations. Never for a mere renewal. */
    void (*changed)(void *ctx, str cluster);
    void *ctx;
};

struct beats *beats_new(const struct beats_options *options);
/* Takes NULL. */
void beats_free(struct beats *b);
/* A ManagedCluster is there, and its agent should renew every so many seconds; 0: it is gone. */
void beats_expect(struct beats *b, str cluster, int64_t seconds);
/* A change of its Lease; NULL: it is gone. */
void beats_lease(struct beats *b, str cluster, const struct json *lease);

/* Copies; false: it is not expected. */
bool beats_get(struct beats *b, struct arena *a, str cluster, struct beat *ret);
/* Nobody could be heard meanwhile: a silent cluster has five durations from now on. */
void beats_restart(struct beats *b, str cluster);

/* What beats need of a Lease. */
struct json beats_trim(struct arena *a, const struct json *lease);
