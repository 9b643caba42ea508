/* SPDX-License-Identifier: Apache-2.0 */
/* What: leader election on a Lease, as client-go does it: of several managers one acts.
 * Owns: the campaign and its calls.
 * Threads: the loop thread.
 * Errors: never given up; logged.
 *
 *   following ──the lease is free, or has not moved for its duration──► leading ──renewed every retry──► leading
 *       ▲                                                                  │ not renewed for the deadline
 *       └──────────────────────────────── lost() ◄─────────────────────────┘
 *
 * Time is measured from when this process saw the lease move, by its own monotonic clock: clocks of machines need not agree. */
#pragma once

#include "base/log.h"
#include "client/client.h"

struct election;

struct election_options {
    struct loop *loop;
    struct client *client;
    struct clock clock;
    struct random random;
    const struct log *log;
    str namespace, name; /* of the Lease */
    str identity;        /* "host_uuid" */
    int64_t lease_ns;    /* 0: 15 s */
    int64_t deadline_ns; /* 0: 10 s; less than lease_ns */
    int64_t retry_ns;    /* 0: 2 s */
    void (*won)(void *ctx);
    /* From now on others may act: what is at work has to end at once. */
    void (*lost)(void *ctx);
    void *ctx;
};

int election_new(const struct election_options *options, struct election **ret, struct err *err);
/* Takes NULL; does not give the lease back. */
void election_free(struct election *e);
bool election_is_leader(const struct election *e);
/* Gives the lease back, so that another need not wait for it to expire; done is called when that was tried. */
void election_release(struct election *e, void (*done)(void *ctx), void *ctx);
