/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of the HTTPS transport, for https*.c only.
 * Owns: see https.h.
 * Threads: the loop thread.
 * Errors: none.
 *
 *   https.c              calls: credentials, requests, answers, when to try again
 *     │  ▲ https_call_begin, https_call_fail: never say a word themselves, so all of this may happen inside of any callback
 *     ▼  │
 *   https_connections.c  which connection takes which call; when one is opened, given up, closed */
#pragma once

#include "base/arena.h"
#include "client/https.h"
#include "net/http_client.h"

struct https;
struct https_conn;

struct https_list {
    struct transport_call *first, *last;
    size_t n;
};

struct transport_call {
    struct https *t;
    struct https_list *list; /* one of those of the transport, or of a connection: at work there */
    struct transport_call *prev, *next;
    struct client_listener listener;
    void *ctx;
    struct arena arena;
    struct client_request request; /* target with the base path */
    int64_t end_at;                /* 0: no limit */
    struct loop_timer timer;
    struct credentials_wait wait;
    /* This try. */
    struct arena try_arena;
    struct http_headers headers;
    uint64_t serial; /* of the credentials in them */
    struct https_conn *conn;
    struct http_call *call;
    unsigned tries;
    bool has_refreshed; /* after a 401 */
    bool is_passed_on;  /* the body goes to the listener as it comes */
    struct client_answer answer;
    struct buf body;
};

struct https_conn {
    struct https *t;
    struct https_conn *prev, *next;
    struct http_client *client;
    struct tls_context *tls;
    struct https_list calls;
    struct loop_timer timer; /* without calls: closed; retired: watches are cut off */
    bool is_ready, is_h2;
    bool was_used, has_answered;
    bool is_failed;
    bool is_retired; /* takes no more calls: the credentials are others now */
};

struct https {
    struct transport base;
    struct loop *loop;
    struct arena arena;
    const struct client_config *config;
    struct https_options options; /* with defaults */
    str user_agent;
    struct credentials *credentials;
    struct https_list asking, waiting, ended; /* for credentials; for a connection; to be told that it is over */
    struct loop_work work;
    bool is_work_queued;
    size_t n_calls;
    /* https_connections.c */
    struct https_conn *first, *last;
    size_t n_conns, n_h1_calls, n_h1_watches;
    struct tls_context *tls; /* of new connections */
    bool is_h1;              /* as far as is known */
    unsigned failures;       /* in a row */
    int64_t retry_at;        /* not before */
    bool is_wanted;          /* somebody was turned away since */
    struct loop_timer timer;
    struct err why; /* of the last failure */
    uint64_t n_opened, n_failed;
};

static inline bool https_call_is_streamed(const struct transport_call *call)
{
    return call->listener.data != NULL;
}

/* list NULL: into none. */
void https_list_move(struct transport_call *call, struct https_list *list);

/* ---- https.c ---- */

/* The call goes out on this connection. */
void https_call_begin(struct transport_call *call, struct https_conn *conn);
/* Its listener hears of it at the end of the turn. */
void https_call_fail(struct transport_call *call, const struct err *err, bool can_retry);

/* ---- https_connections.c ---- */

/* Gives connections to calls that wait, opens and fails as need be. */
void https_pump(struct https *t);
/* New connections are made with this context; others are outdated. */
void https_set_tls(struct https *t, struct tls_context *tls);
/* The call leaves its connection, which may be gone after that; if it is not over there it is cancelled. It is in no list then. */
void https_conn_leave(struct transport_call *call);
/* A sign that this server is of use. */
void https_conn_answered(struct https_conn *conn);
/* It gave no answer at all: the next one has to wait. */
void https_conn_failed(struct https_conn *conn, const struct err *why);
void https_conn_close(struct https_conn *conn);
/* The timer of the transport. */
void https_on_retry(void *ctx);
