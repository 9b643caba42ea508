/* SPDX-License-Identifier: Apache-2.0 */
/* What: the event loop: descriptors, timers, and work that other threads hand over.
 * Owns: the epoll descriptor and the queue; watched descriptors stay their owners'.
 * Threads: one thread runs it; loop_post and loop_stop may be called by any.
 * Errors: ERR_IO when the kernel refuses. */
#pragma once

#include "base/clock.h"
#include "base/err.h"

struct loop;

int loop_new(struct loop **ret, struct err *err);
/* Timers follow this clock; for tests, whose clock moves when they say so: a turn then waits for descriptors and posted work
 * as long as it is told to, whatever timers are set. */
int loop_new_on(const struct clock *clock, struct loop **ret, struct err *err);
void loop_free(struct loop *l);
/* Until loop_stop. */
void loop_run(struct loop *l);
/* What is ready now, waiting at most that long (negative: until something is); for tests. */
void loop_turn(struct loop *l, int64_t wait_ns);
void loop_stop(struct loop *l);
/* Monotonic time at the beginning of this turn. */
int64_t loop_now(const struct loop *l);

/* ---- Descriptors. ---- */

/* LOOP_HANGUP comes by itself: the peer sends no more, or all is over; reading says which. */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

/* Embedded in its owner; zero-initialise, set fd, fn and ctx. Edge-triggered: read and write until EAGAIN. */
struct loop_fd {
    int fd;
    void (*fn)(void *ctx, unsigned events);
    void *ctx;
    bool is_added;  /* private */
    uint32_t place; /* private: among the events of this turn, 0 when not there */
};

int loop_fd_add(struct loop *l, struct loop_fd *f, unsigned events, struct err *err);
/* May be called from its own fn or another's: no event of this turn reaches it any more. */
void loop_fd_remove(struct loop *l, struct loop_fd *f);

/* ---- Timers. ---- */

/* Embedded; zero-initialise, set fn and ctx. Fires once. Setting one that is set to a later time costs next to nothing. */
struct loop_timer {
    void (*fn)(void *ctx);
    void *ctx;
    int64_t at;     /* private */
    uint32_t place; /* private: 0 when not set */
};

/* Sets it to fire after delay_ns, moving it if it was set. */
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t delay_ns);
void loop_timer_cancel(struct loop *l, struct loop_timer *t);

/* ---- From other threads, or later in this one. ---- */

/* Embedded in what is handed over; belongs to the loop from loop_post until fn is called. */
struct loop_work {
    void (*fn)(struct loop_work *w);
    struct loop_work *next; /* private */
};

void loop_post(struct loop *l, struct loop_work *w);
/* From the loop's thread: takes posted work back, wherever it is. Fine for work that is not posted; nobody may be posting it. */
void loop_post_cancel(struct loop *l, struct loop_work *w);
/* From the loop's thread: after all descriptors, posted work and timers of this turn were served, in the order of the calls.
 * What is deferred by deferred work waits for the next turn, which then comes at once. */
void loop_defer(struct loop *l, struct loop_work *w);
/* Takes deferred work back. */
void loop_defer_cancel(struct loop *l, struct loop_work *w);
