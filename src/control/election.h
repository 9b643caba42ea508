/* SPDX-License-Identifier: Apache-2.0 */
/* What: leader election on a Lease, as client-go does it: of several managers one acts.
 * Owns: the campaign and its calls.
 * Threads: the loop thread.
 * Errors: ERR_INVALID for options that cannot work; later on never given up, logged when something changes.
 *
 *   following ──the lease is free, or has not moved for its duration──► leading ──renewed every retry──► leading
 *       ▲                                                                  │ not renewed for the deadline
 *       └──────────────────────────────── lost() ◄─────────────────────────┘
 *
 * Time is measured from when this process saw the lease move, by its own monotonic clock: clocks of machines need not agree.
 * What is seen leads to what is done in campaign.h; here are the calls and the timers. */
#pragma once

#include "base/log.h"
#include "client/client.h"

struct election;

struct election_options {
    struct loop *loop;
    struct client *client;
    struct clock clock; /* the loop's */
    struct random random;
    const struct log *log;
    str namespace, name; /* of the Lease */
    str identity;        /* "host_uuid" */
    int64_t lease_ns;    /* 0: 15 s; others are told its whole seconds, at least one */
    int64_t
        deadline_ns; /* 0: 10 s; less than those. Counted from before the last renewal was sent; calls take half of it at most */
    int64_t retry_ns; /* 0: 2 s; 1.2 times that is less than deadline_ns. A follower waits up to 2.2 times that */
    void (*won)(void *ctx);
    /* From now on others may act: what is at work has to end at once. The campaign goes on: who does not want that frees it. */
    void (*lost)(void *ctx);
    void *ctx;
};

/* The campaign begins with the next turn. Texts are copied. won and lost may call election_free. */
int election_new(const struct election_options *options, struct election **ret, struct err *err);
/* Takes NULL; does not give the lease back. */
void election_free(struct election *e);
bool election_is_leader(const struct election *e);
/* Who holds the lease as far as we know; empty: nobody, or not known yet. Until the next turn. */
str election_leader(const struct election *e);
/* Ends the campaign and gives the lease back if it is ours, so that another need not wait for it to expire: what acts must have
 * ended before. Neither won nor lost is called any more; done is, from the loop, when the lease was given back or that failed. */
void election_release(struct election *e, void (*done)(void *ctx), void *ctx);
/* leader_election_* as Prometheus text. */
void election_metrics_write(const struct election *e, struct buf *b);
