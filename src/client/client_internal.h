/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of this folder share: a client, its calls, and the way from a thread that waits to the loop and back.
 * Owns: see client.h.
 * Threads: as said at each member.
 * Errors: as in client.h. */
#pragma once

#include <pthread.h>

#include "client/client.h"

struct wait;

struct client {
    struct loop *loop;
    struct transport *transport;
    struct random random;
    bool is_impatient, was_answered;
    struct client_call *calls; /* all that are not over or cancelled */
    struct wait *waits;        /* those the loop knows of */

    pthread_mutex_t lock; /* of what is below: other threads come in there */
    struct wait *inbox, **inbox_end;
    struct loop_work arrival; /* posted while is_posted */
    bool is_posted, is_stopped;
};

/* ---- Waiting for an answer (wait.c). ---- */

/* Release with client_reply_done in any case. Zero-initialise. */
struct client_reply {
    int status;
    struct buf body;
};

void client_reply_done(struct client_reply *r);
#define CLIENT_REPLY_SCOPE __attribute__((cleanup(client_reply_done)))

/* Asks, as often as makes sense, and waits for the answer, whatever its status. An error: there was none. */
int client_ask(struct client *c, const struct client_request *request, struct client_reply *ret, struct err *err);

/* The same in two steps: between them the thread does something else. Of the request only the target is copied. Every asking must
 * end: NULL has nothing to end, and ret may be NULL when nobody wants the answer any more. */
struct client_asking;
struct client_asking *client_ask_begin(struct client *c, const struct client_request *request);
int client_ask_end(struct client_asking *asking, struct client_reply *ret, struct err *err);

/* For client.c: the inbox is not empty; and everybody who waits is told that the client was stopped. */
void client_waits_arrive(struct loop_work *w);
void client_waits_stop(struct client *c);

/* ---- Reading it (client_answer.c). ---- */

/* The tree of an answer; or, unless its status is 2xx, what it says has gone wrong. ret may be NULL. */
int client_reply_read(struct arena *a, const struct client_reply *r, struct json *ret, struct err *err);

/* ---- Lists (client_list.c). ---- */

/* What there is of a list that comes in pages. */
struct client_listing {
    struct arena *arena; /* of a page; forgotten after it, unless it is the same as kept */
    struct arena *kept;  /* of version and next */
    const struct client_ref *ref;
    const struct client_list_options *options;
    const struct client_taker *taker;
    void *ctx;                   /* of the taker */
    uint32_t limit;              /* of a page; 0: none */
    str version, next;           /* next: the token of the page to come; empty: that was all */
    size_t bytes, most;          /* of all pages; most 0: any number of them */
    struct client_asking *ahead; /* for the page after the one at work; NULL: nobody has asked yet */
    str ahead_next;              /* its token */
};

/* Hands a page over to the taker; ERR_EXPIRED when it is none of this list. No other effects. */
int client_listing_take(struct client_listing *l, const struct client_reply *reply, struct err *err);
/* Which page comes next, if that can be told without reading the items; else empty. Pure. */
str client_listing_peek(struct arena *a, str body);

/* ---- Paths (path.c). ---- */

/* Leads nowhere else when it is a part of a path. */
bool client_is_segment(str s);
/* ERR_BAD_REQUEST for what would lead elsewhere. */
int client_ref_check(const struct client_ref *ref, bool needs_name, struct err *err);
/* "/" and the segment, encoded. */
void client_path_add(struct buf *b, str segment);
