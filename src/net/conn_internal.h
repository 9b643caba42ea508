/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of a connection, for conn.c (life and time) and conn_io.c (bytes).
 * Owns: see conn.h.
 * Threads: the loop thread.
 * Errors: see conn.h. */
#pragma once

#include "net/conn.h"
#include "net/tls_link.h"

enum {
    CONN_BUFFER = 16 << 10,      /* the size of new buffers: a TLS record */
    CONN_BUFFER_KEPT = 64 << 10, /* larger ones are not kept in the pool */
};

enum conn_state { CONN_SHAKING, CONN_OPEN, CONN_ENDING, CONN_LINGERING, CONN_DEAD };
/* What the timer means when it fires. */
enum conn_timing { TIME_NOTHING, TIME_SHAKE, TIME_STALL, TIME_IDLE, TIME_LINGER };
enum conn_which { IN_ALL, IN_IDLE, IN_DIRTY, N_LISTS };

struct conn {
    struct conn_host *host;
    struct {
        struct conn *prev, *next;
    } links[N_LISTS];
    const struct conn_user *user;
    void *ctx;
    struct tls_link *tls;
    struct loop_fd fd;
    struct loop_timer timer, user_timer;
    struct buf in, out;
    size_t in_at, out_at; /* what is before has been taken */
    enum conn_state state;
    enum conn_timing timing;
    bool is_idle, is_dirty;
    bool is_listed;     /* among the host's idle ones: what it was sent has been taken, too */
    bool is_held;       /* by the user: input is neither read nor shown */
    bool is_unshown;    /* input was released: show what is there */
    bool is_wanted;     /* the user may have output */
    bool is_blocked;    /* the socket took no more */
    bool is_dry;        /* without TLS: nothing to read until the next event */
    bool is_hung_up;    /* the loop said so */
    bool is_ended;      /* the end was read, or concluded */
    bool is_user_timed; /* the user's timer means something */
    bool is_waiting;    /* for the turn of its handshake */
    struct err *why;
    char remote[64];
};

/* ---- conn.c. ---- */

void conn_mark_dirty(struct conn *c);
void conn_unmark_dirty(struct conn *c);
/* A timer that means nothing any more is left to fire: cancelling costs more. */
void conn_set_timing(struct conn *c, enum conn_timing timing, int64_t delay_ns);
void conn_time_idle(struct conn *c);
/* Idle, or not any more, or all has been sent: one that still reads its answer must not be closed to make place. */
void conn_list_idle(struct conn *c);
/* Closes the socket; all else happens at the end of the turn. why may be NULL: in order. */
void conn_die(struct conn *c, const struct err *why);
/* A buffer from the pool, unless there is one; and back. */
void conn_lend(struct conn_host *h, struct buf *b);
void conn_give_back(struct conn_host *h, struct buf *b);
/* Moves what is left to the start, once what was taken is the greater part: each byte moves a bounded number of times. */
void conn_close_up(struct buf *b, size_t *at);

/* ---- conn_io.c. ---- */

void conn_wait_handshake(struct conn *c, bool is_waiting);

/* Does all there is to do without waiting. */
void conn_serve(struct conn *c);
void conn_on_event(void *ctx, unsigned events);
