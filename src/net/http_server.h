/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of the server, for http_server.c, listen.c and exchange.c. Internal to this folder.
 * Owns: see http.h.
 * Threads: the loop thread.
 * Errors: see http.h. */
#pragma once

#include "net/conn.h"
#include "net/exchange.h"
#include "net/http.h"
#include "net/peer_account.h"

struct listener {
    struct loop_fd fd;
    struct loop_work again; /* the rest of a burst, when others had their turn */
    struct loop_timer later;
    bool is_again;
    int spare; /* a descriptor to give up when there are no others, so that somebody can be turned away */
    uint16_t port;
};

struct http_server {
    struct loop *loop;
    struct http_limits limits;
    struct tls_context *tls;
    void (*head)(void *ctx, struct http_exchange *x); /* may be NULL */
    void (*handle)(void *ctx, struct http_exchange *x);
    void *ctx;
    struct listener listener;
    struct conn_host conns;
    struct accounts accounts;
    struct account orphans; /* of requests at work whose connection is gone */
    struct exchange *exchanges;
    struct map texts; /* struct shared_text by its bytes; see exchange.h */
    struct http_server_stats stats;
    int64_t date_second;
    char date[32];
    bool is_draining;
    struct loop_timer drain_timer;
    struct loop_work drain_work;
    bool is_drain_work_queued;
    void (*drained)(void *ctx);
    void *drained_ctx;
};

/* ---- listen.c. ---- */

int listener_open(struct http_server *s, str host, uint16_t port, struct err *err);
void listener_close(struct http_server *s);

/* ---- http_server.c. ---- */

/* A new connection, with its peer's address. Takes the descriptor. */
void server_welcome(struct http_server *s, int fd, str remote, const struct account_address *from);
/* A connection or an exchange has gone: perhaps the last. */
void server_settle(struct http_server *s);
