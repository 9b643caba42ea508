/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of the HTTP client, for client*.c only.
 * Owns: see http_client.h.
 * Threads: the loop thread.
 * Errors: none.
 *
 *   http_client.c   calls, time limits, the end ──► http_client_connect.c  addresses, names, one attempt after the other
 *                 │ client_protocol
 *                 ├──► http_client_h2.c   all calls at once, by nghttp2
 *                 └──► http_client_h1.c   one call after the other */
#pragma once

#include "base/vec.h"
#include "net/conn.h"
#include "net/http_client.h"

#include <sys/socket.h>

enum client_state { CLIENT_CONNECTING, CLIENT_OPEN, CLIENT_CLOSING, CLIENT_GONE };

struct client_list {
    struct http_call *first, *last;
    size_t n;
};

struct http_call {
    struct http_client *client;
    struct http_call *prev, *next;
    struct client_list *list;
    const struct http_listener *listener;
    void *ctx;
    struct loop_timer timer;
    int64_t total_at;   /* 0: no limit */
    struct arena arena; /* the request; a server may answer long before it has all of it */
    struct http_request request;
    size_t body_at;
    struct arena head;               /* of the answer, until it was shown */
    VEC(struct http_header) headers; /* in it */
    size_t head_bytes;
    int status;
    int32_t id;      /* HTTP/2 */
    bool is_started; /* the protocol knows of it */
    bool is_sent;    /* its first bytes went out */
    bool is_all_sent;
    bool has_head;
    bool is_answered; /* all of the answer is there */
    bool is_paused;
    bool is_ended;   /* …and nothing is missing but that the listener takes it */
    struct buf held; /* came while paused */
};

/* How calls travel once the connection is open. */
struct client_protocol {
    const struct conn_user *user;
    void (*begin)(struct http_client *c);
    /* There may be calls waiting, and room for them. */
    void (*start)(struct http_client *c);
    /* How many more could be started now. */
    size_t (*room)(const struct http_client *c);
    /* The call is about to be freed: nothing of it may come back. */
    void (*forget)(struct http_call *call);
    /* So many bytes of the answer were taken by the listener. */
    void (*taken)(struct http_call *call, size_t n);
    void (*pause)(struct http_call *call, bool is_paused);
    void (*done)(struct http_client *c);
};

struct client_lookup;

struct http_client {
    struct http_client_options options; /* with defaults; its texts are in the arena */
    struct arena arena;
    struct loop *loop;
    enum client_state state;
    str authority; /* for Host */
    const struct client_protocol *protocol;
    struct conn_host host;
    struct conn *conn;
    struct client_list waiting, at_work, ended; /* ended: complete, but its listener is paused */
    struct loop_work work;
    bool is_work_queued;
    unsigned depth; /* of callbacks; freed when it is zero again */
    bool is_freed;
    struct err why;
    /* http_client_connect.c */
    struct loop_timer timer; /* connecting */
    struct loop_work begin;
    struct client_lookup *lookup;
    struct loop_fd attempt; /* a socket that is being connected; fd -1: none */
    struct loop_timer attempt_timer;
    int64_t connect_at; /* when time is over */
    VEC(struct sockaddr_storage) addresses;
    size_t next_address;
    /* http_client_h2.c */
    void *session;
    int64_t heard_at, pinged_at; /* pinged_at 0: no PING is out */
    /* http_client_h1.c */
    struct h1_answer *answer;
};

extern const struct client_protocol client_h1, client_h2;

/* ---- http_client.c ---- */

/* Callbacks of the connection and of timers run between these two. leave may free the client. */
void client_enter(struct http_client *c);
void client_leave(struct http_client *c);
void client_list_move(struct http_call *call, struct client_list *list);
/* For the protocols: what came of an answer. Each may end with the call gone: look it up again. */
void client_call_head(struct http_call *call);
void client_call_data(struct http_call *call, str bytes);
/* err NULL: complete. */
void client_call_end(struct http_call *call, const struct err *err, bool can_retry);
/* No new calls; those that wait end and may be tried elsewhere. */
void client_closing(struct http_client *c, const struct err *why);
/* The connection is gone, or there never was one. c->why says more. */
void client_gone(struct http_client *c);
/* Adds a header to the answer; false when its head gets too large. */
bool client_call_header(struct http_call *call, str name, str value);

/* The server has greeted, or takes another number of calls than before. */
void client_ready(struct http_client *c);
/* Where calls have ended there may be room for those that wait: at the end of the turn. */
void client_later(struct http_client *c);

/* ---- http_client_connect.c ---- */

void client_connect(struct http_client *c);
void client_connect_done(struct http_client *c);
