/* SPDX-License-Identifier: Apache-2.0 */
/* What: a server whose handler does what the path says, and peers that send and receive plain bytes, over TLS or not; all in
 *       one thread: waiting for something turns the loop until it is there.
 * Owns: the world owns loop, server and peers.
 * Threads: one.
 * Errors: a test fails when something does not come within WORLD_PATIENCE.
 *
 *     /echo          "GET /echo?query 5" with the length of the body
 *     /later         is not answered; the test finds it in world.later
 *     /bytes?N       a stream of N bytes
 *     /events        a stream of what the test puts into world.events
 *     /abort         a stream that breaks off after its first piece
 *     /header        an answer whose header tries to be two lines */
#pragma once

#include "base/arena.h"
#include "lib/keys.h"
#include "net/http.h"

#include <openssl/ssl.h>

#define WORLD_PATIENCE (20 * INT64_C(1000000000))
#define MS INT64_C(1000000)

struct world {
    struct arena arena;
    struct loop *loop;
    struct http_server *server;
    struct tls_context *tls;
    struct http_exchange *later[16];
    size_t n_later;
    struct buf events;
    bool are_events_over;
    struct http_exchange *watching;
    enum tls_peer_state peer_state; /* of the last request */
    str peer_der;                   /* copied */
    int64_t peer_not_after;
    size_t filled; /* bytes that streams have handed out */
    int handled, gone;
};

struct world *world_new(const struct http_limits *limits, const struct tls_server_options *tls);
void world_free(struct world *w);
/* Turns the loop until cond(ctx), or fails. */
void world_until(struct world *w, bool (*cond)(void *ctx), void *ctx, const char *what);
/* Turns the loop until the server holds so many connections. */
void world_until_connections(struct world *w, size_t n);
void world_until_later(struct world *w, size_t n);
/* Lets the loop do what there is to do. */
void world_settle(struct world *w);

struct peer {
    struct world *w;
    int fd;
    SSL *ssl;
    SSL_CTX *ctx;
    struct buf got;
    bool is_over;  /* the end was read, whatever kind it was of */
    bool is_reset; /* …and it was no proper one */
    bool is_deaf;  /* never reads */
};

struct peer *peer_new(struct world *w);
/* With TLS; keys may be NULL. The handshake is done, or has failed (is_over). */
struct peer *peer_new_tls(struct world *w, str ca, const struct keys *keys, int max_version);
void peer_free(struct peer *p);
/* Everything is sent, or the peer is over. */
void peer_send(struct peer *p, str bytes);
/* Sends no more. */
void peer_end(struct peer *p);
/* Waits for text; what was received up to its end is returned, and taken. */
str peer_expect(struct peer *p, str text);
/* Waits for an answer with Content-Length as a whole; the head is checked for status, the body returned. */
str peer_answer(struct peer *p, int status);
void peer_until_over(struct peer *p);
