/* SPDX-License-Identifier: Apache-2.0 */
/* What: one connection: socket, TLS if any, bytes on their way in and out; and how a protocol (HTTP/1.1 or HTTP/2, server or
 *       client) sits on it. Internal to this folder.
 * Owns: the socket, its TLS state and its buffers. A host owns its connections; buffers are lent from its pool, so that
 *       a connection with nothing under way holds none.
 * Threads: the loop thread.
 * Errors: a connection that fails is closed, and its user hears why.
 *
 *     socket ⇄ TLS ⇄  in  ──► user->input     takes bytes; what it leaves is shown again, with more behind it
 *                     out ◄── user->output    asked whenever there is room and the user may have something (conn_wake)
 *
 * The user is the protocol session. All calls to it come from the loop, never from inside conn_* functions, except for
 * conn_host_done. So a session may call any conn_* function from any of its callbacks, and after conn_drop or
 * conn_finish it still is what it was until `closed` is called, at the end of the turn; there it frees itself. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "net/loop.h"
#include "net/tls.h"

struct conn;

struct conn_user {
    /* The handshake is done: conn_protocol, conn_peer are known. Without TLS: right after conn_new, at the end of the turn. */
    void (*open)(void *ctx, struct conn *c);
    /* Bytes have come. Answers how many of them it took. */
    size_t (*input)(void *ctx, struct conn *c, str bytes);
    /* The peer will send no more, though it may still be reading. Called with every service from then on, after what there
     * was of input. NULL: the connection is dropped. */
    void (*end)(void *ctx, struct conn *c);
    /* There is room for so many bytes: append about that many, or nothing. Called again after all of it was written, until
     * nothing is appended; from then on after conn_wake or input. May be NULL as long as conn_send is enough. */
    void (*output)(void *ctx, struct conn *c, struct buf *out, size_t room);
    /* The time of conn_timer_set is over. */
    void (*timeout)(void *ctx, struct conn *c);
    /* Finish what is at work, take on nothing new, then conn_finish: the server drains, or the connection was idle for too
     * long. NULL: the connection is dropped. */
    void (*drain)(void *ctx, struct conn *c);
    /* The last call. conn_why says what happened; c is gone after it. */
    void (*closed)(void *ctx, struct conn *c);
};

/* ---- A host: what connections of one server, or of one client, have in common. ---- */

enum { CONN_POOL = 32 };

struct conn_list {
    struct conn *first, *last;
    size_t n;
};

struct conn_host {
    /* Set by the owner before conn_host_init. */
    struct loop *loop;
    size_t pending_bytes; /* not yet taken by the peer: past it `output` is not asked */
    size_t
        input_bytes; /* come and not yet taken by the user: past it nothing is read; at least what it needs at once */
    int64_t handshake_ns, idle_ns, stall_ns;
    void (*on_closed)(void *ctx); /* may be NULL: a connection has gone, `all` counts it no more */
    void *ctx;
    /* To read. */
    struct conn_list all;
    struct conn_list idle; /* by conn_set_idle, and with nothing pending; the longest first */
    /* Private. */
    struct conn_list dirty; /* to be served at the end of this turn */
    struct loop_work work;
    bool is_work_queued;
    unsigned shakes;       /* steps of handshakes since `dirty` was served last */
    size_t shakes_waiting; /* connections whose handshake waits for its turn */
    struct buf pool[CONN_POOL];
    size_t n_pool;
};

void conn_host_init(struct conn_host *h);
/* Closes everything at once: `closed` is called for each. Not from a callback of one of its connections. */
void conn_host_done(struct conn_host *h);
/* Calls `drain` of every connection that is open, and drops those still shaking hands. */
void conn_host_drain(struct conn_host *h);

/* ---- A connection. ---- */

struct conn_options {
    int fd;                  /* non-blocking, connected or connecting; the connection's from now on */
    struct tls_context *tls; /* NULL: plain. A server's or a client's: that decides who greets whom */
    const struct conn_user *user;
    void *ctx;
    str remote; /* copied; cut after 63 bytes */
};

/* NULL: the kernel or OpenSSL refuses; the descriptor is closed then, and closed() is not called. */
struct conn *conn_new(struct conn_host *h, const struct conn_options *options, struct err *err);
/* Another session takes over: the server does this once it knows the protocol. */
void conn_set_user(struct conn *c, const struct conn_user *user, void *ctx);

/* As ALPN agreed: "h2", "http/1.1", or empty. */
str conn_protocol(const struct conn *c);
const struct tls_peer *conn_peer(const struct conn *c);
str conn_remote(const struct conn *c);
/* What went wrong, within `closed`; NULL when it was closed in order. */
const struct err *conn_why(const struct conn *c);
struct loop *conn_loop(const struct conn *c);

/* There is something to send: `output` is asked at the end of this turn. Cheap: a thousand calls are one. False: it
 * was awake already. */
bool conn_wake(struct conn *c);
/* Where bytes that must go, whatever the room, are appended; they leave at the end of this turn, before anything that output
 * appends later. Good until the next call of any conn_ function. */
struct buf *conn_out(struct conn *c);
/* The same for bytes that are there already; copied. */
void conn_send(struct conn *c, str bytes);
/* Bytes not yet taken by the kernel. */
size_t conn_pending(const struct conn *c);
/* While input is held nothing is read, so that the peer has to wait; after the release input is shown again. */
void conn_hold_input(struct conn *c, bool is_held);
/* Nothing at work: it may be closed to make place, and is drained after idle_ns. */
void conn_set_idle(struct conn *c, bool is_idle);
/* One timer for the session; 0 cancels it. */
void conn_timer_set(struct conn *c, int64_t delay_ns);

/* Sends what is pending, says goodbye, and closes when the peer has done the same, or soon. No callbacks but `closed`. */
void conn_finish(struct conn *c);
/* Closes now; the peer sees a reset. */
void conn_drop(struct conn *c, enum err_code code, const char *why);
