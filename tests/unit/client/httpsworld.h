/* SPDX-License-Identifier: Apache-2.0 */
/* What: the HTTPS transport against net's own server (../net/testserver.h), on a clock that the test moves, with credentials
 *       that the test decides: this stands in for src/client/credentials.c.
 * Owns: the world owns all of them; a got owns what it got until got_done.
 * Threads: one.
 * Errors: a test that cannot be set up fails. */
#pragma once

#include "lib/testserver.h"

#include "client/https.h"
#include "lib/keys.h"

struct fake_credentials {
    struct tls_context *tls;
    struct http_header headers[4];
    size_t n_headers;
    uint64_t serial;
    bool is_slow;    /* asks wait until fake_credentials_come */
    bool is_broken;  /* …and are refused */
    bool has_more;   /* what credentials_refused says, and then the next token */
    bool is_endless; /* …again and again */
    size_t asked, refused;
    struct credentials_wait *first;
};

struct httpsworld {
    struct testserver t;
    struct clock_fake now;
    struct random_seeded random;
    struct arena arena;
    struct keys keys;
    struct tls_context *server_tls;
    struct client_config config;
    struct fake_credentials credentials;
    struct transport *transport;
};

enum { OVER_H1 = 1, OVER_PLAIN = 2 }; /* TLS and HTTP/2 otherwise */

struct httpsworld *httpsworld_new(unsigned flags, const struct http_limits *limits,
                                  const struct https_options *options);
void httpsworld_free(struct httpsworld *w);
/* Moves the clock and lets happen what happens. */
void httpsworld_pass(struct httpsworld *w, int64_t seconds);
/* Another context for the same server, as after a rotation. */
void httpsworld_rotate(struct httpsworld *w);
/* Those who ask get their answer. */
void fake_credentials_come(struct httpsworld *w);
struct tls_context *httpsworld_tls(struct httpsworld *w, str ca, const char *name);

struct got {
    struct httpsworld *w;
    struct transport_call *call; /* NULL: over */
    struct buf body;             /* collected, or all pieces */
    struct arena arena;
    size_t pieces;
    str content_type;
    int64_t retry_after_ns;
    struct err err;
    int status;
    bool is_over, can_retry;
    bool cancels; /* at the first piece */
};

void got_start(struct httpsworld *w, struct got *g, struct client_request r);
void got_get(struct httpsworld *w, struct got *g, const char *target);
/* The answer is taken in pieces. */
void got_watch(struct httpsworld *w, struct got *g, const char *target);
void got_cancel(struct got *g);
void got_done(struct got *g);
bool got_is(const struct got *g, int status, const char *body);
