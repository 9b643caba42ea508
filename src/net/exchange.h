/* SPDX-License-Identifier: Apache-2.0 */
/* What: how the sessions of the server (HTTP/1.1, HTTP/2) make exchanges, hand them to the handler and end them.
 *       Internal to this folder.
 * Owns: an exchange owns its arena and body. The session holds it until exchange_end or exchange_abandon.
 * Threads: the loop thread.
 * Errors: none.
 *
 *     exchange_new ► fill in x.method, path, query, headers (in x.arena)
 *                  ► exchange_head, if there is a body          false: it is answered; the body is not read
 *                  ► exchange_body_add for each piece           BODY_TOO_LARGE: x.is_too_large is set: hand it over as it is
 *                  ► exchange_handle                            BODY_NO_ROOM: the session answers 429 itself, exchange_end
 *                       the handler calls the session's carrier, perhaps before exchange_handle returns
 *                  ► exchange_answered                          the answer is made but not out: the request is of no use any more
 *                  ► exchange_end                               the answer is out, or the stream has ended
 *                  ► exchange_abandon                           the peer went away before that
 */
#pragma once

#include "net/conn.h"
#include "net/http.h"
#include "net/peer_account.h"

struct exchange {
    struct http_exchange x;     /* first */
    struct http_server *server; /* NULL: the server has gone */
    struct account *account;    /* of its connection, or that of orphans; NULL: the server has gone */
    struct exchange *prev, *next;
    struct buf body;
    int64_t body_since; /* when its head was complete */
    size_t charged;     /* of the body, to the account */
    size_t head;        /* the same for the head, which stays with the arena */
    bool is_head_seen;  /* head() was called */
    bool is_answered;   /* the session's: http_answer or http_stream was called */
    bool is_streaming;  /* the session's: http_stream was called */
    bool is_ended;
    bool is_released;       /* gone() was called, and only the exchange itself is left */
    bool is_release_queued; /* `finish` is deferred */
    struct loop_work finish;
};

static inline struct exchange *exchange_of(struct http_exchange *x)
{
    return (struct exchange *)x;
}

/* A session may put a struct exchange first into a struct of its own: size is that one's; it comes zeroed. */
struct exchange *exchange_new(struct account *a, struct conn *c, const struct http_carrier *carrier, size_t size);

/* A piece of the head is about to be kept in the arena. False: there is no room; the session answers 429 itself. */
bool exchange_head_add(struct exchange *e, size_t n);

enum exchange_body { BODY_OK, BODY_TOO_LARGE, BODY_NO_ROOM };
/* Not BODY_OK: the bytes, and those from before, are thrown away. */
enum exchange_body exchange_body_add(struct exchange *e, str bytes);
/* How long a body may be: less for peers that are not authenticated. */
size_t exchange_body_limit(const struct exchange *e);
/* When more of the body, or its end, must have come: by the time without progress, the least rate, and the time for all of it. */
int64_t exchange_body_deadline(const struct exchange *e, int64_t now);
/* The head is complete. False: it was answered, and the session has perhaps ended the exchange. */
bool exchange_head(struct exchange *e);
/* The handler's turn, after that of head() if it was not called yet. It may have answered, and the session ended the exchange, when this returns. */
void exchange_handle(struct exchange *e);
/* http_answer has copied all it needs: gone() is called, and the request with its arena is freed, at the end of this turn. The
 * exchange itself stays the session's. */
void exchange_answered(struct exchange *e);
/* Not the session's any more. gone() is called and all is freed at the end of this turn of the loop, so that a handler may still
 * look at what it has just answered. */
void exchange_end(struct exchange *e);
/* At once, for a server that goes away. */
void exchange_finish(struct exchange *e);
/* The peer went away. As exchange_end, unless the handler has yet to answer: then the end comes with that answer, which
 * goes nowhere. Not the session's any more, either way. */
void exchange_abandon(struct exchange *e);
/* What carriers do for http_forget. */
void exchange_forget(struct http_exchange *x);

/* ---- Long answers. ----
 * Equal bodies of SHARED_LEAST bytes or more that several peers have yet to take are in memory once, however many requests
 * they answer. Each connection is charged for the whole of it all the same. */

enum { SHARED_LEAST = 64 << 10 };

struct shared_text {
    struct http_server *server;
    size_t refs;
    size_t n;
    char p[];
};

/* A reference to these bytes, copied unless another answer holds them. */
struct shared_text *shared_text_ref(struct http_server *s, str bytes);
/* Takes NULL. */
void shared_text_unref(struct shared_text *t);

/* ---- What sessions need to know of the server. ---- */

const struct http_limits *exchange_limits(const struct http_server *s); /* with the defaults filled in */
bool exchange_is_draining(const struct http_server *s);
/* The value of a Date header, as of this second. Valid until the next call. */
str exchange_date(struct http_server *s);

/* A session for a connection that has just been opened; it calls conn_set_user, and account_close at the end. */
void h1_session_start(struct account *a, struct conn *c);
void h2_session_start(struct account *a, struct conn *c);
