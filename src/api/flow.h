/* SPDX-License-Identifier: Apache-2.0 */
/* What: how the loop's time and the server's capacity are shared between users: seats, queues and turns.
 * Owns: a flow per user with requests at work or waiting. Entries are embedded in what they schedule and belong to it.
 * Threads: the loop thread.
 * Errors: none. flow_start returns false when a user has too many requests waiting: refuse it with 429.
 *
 *   flow_start ─┬─ a seat is free, and the user has time left in this turn of the loop ─► run now
 *               └─ otherwise ─► starts ┐
 *   flow_later ───────────────► going ─┼─► end of the turn: a ring of users, one entry of each per round, until the time
 *   flow_join, flow_later ───► heavy ──┘   of the turn is used up. The rest waits for later turns.
 *
 * A seat is what a request holds from its start to flow_end: so many for reads and so many for writes, half of them for
 * one user. A user without a seat always gets one, so that slow requests of others cannot lock anybody out. Watches hold no
 * seats. Heavy entries are computations that were suspended (task.h): the first of a user goes on until it ends, so that
 * only one of them grows, and only a few of a user are begun. Time is charged to the user for everything run here, and by flow_charge for what runs elsewhere (streams). */
#pragma once

#include "base/clock.h"
#include "base/str.h"
#include "net/loop.h"

struct flow;
struct flows;

enum flow_class {
    FLOW_READ,
    FLOW_WRITE,
    FLOW_LONG, /* a watch: no seat */
    FLOW_FREE, /* the server's own requests, and those of system:masters: no seat, never refused */
    FLOW_CLASSES,
    FLOW_SEATS = FLOW_WRITE + 1, /* classes with seats */
};

struct flow_entry {
    void (*run)(struct flow_entry *e); /* may end the entry; the entry is not touched afterwards */
    /* Private. */
    struct flow *flow; /* NULL: not started, or ended */
    struct flow_entry *next, **back;
    int64_t cost_ns; /* of its last piece of work: what the next one is expected to take */
    uint8_t class, queue;
    bool has_seat;
    bool is_heavy, has_begun, has_run; /* has_run: of a heavy entry, which then stays first */
};

struct flows_options {
    struct loop *loop;
    struct clock clock;
    uint32_t seats[FLOW_SEATS]; /* zero: 400 for reads, 200 for writes, as kube-apiserver has them */
};

struct flows *flows_new(const struct flows_options *options);
/* All entries have ended. */
void flows_free(struct flows *f);

/* Runs the entry now or later. Set run before. False: nothing was done. */
bool flow_start(struct flows *f, struct flow_entry *e, str user, enum flow_class class);
/* Another entry of the same user, without a seat; set run before. has_begun: it holds memory of a computation. */
void flow_join(struct flow_entry *e, const struct flow_entry *request, bool has_begun);
/* Whether the user may begin one more computation that may be suspended. If not: flow_join, then flow_later. */
bool flow_can_begin(const struct flow_entry *request);
/* Runs it again in its turn, never now. Harmless when it is queued already. */
void flow_later(struct flow_entry *e);
/* Whether its user may use more of this turn. If not: flow_later. */
bool flow_has_time(struct flow_entry *e);
/* Work that was done outside run. */
void flow_charge(struct flow_entry *e, int64_t ns);
/* Runs all that is queued, whatever seats and time there are: the server is about to go. */
void flows_flush(struct flows *f);
/* Gives the seat back; takes it out of its queue. Harmless when it was not started. */
void flow_end(struct flow_entry *e);

struct flows_stats {
    uint32_t at_work[FLOW_SEATS];
    size_t users, waiting;
    uint64_t refused;
};

struct flows_stats flows_stats(const struct flows *f);
