/* SPDX-License-Identifier: Apache-2.0 */
/* What: a client of our own test server, and what its calls hear.
 * Owns: the server, its loop and the client of a test; a heard owns what it heard until heard_done.
 * Threads: one.
 * Errors: a test that cannot be set up fails. */
#pragma once

#include "lib/testserver.h"

#include "net/http_client.h"

struct testclient {
    struct testserver t;
    struct http_client *client;
    bool is_h2;
    bool is_gone;
    size_t n_ready; /* how often it was */
    struct err why;
};

/* One call and what became of it. */
struct heard {
    struct http_call *call; /* NULL: ended */
    size_t pause_after;     /* bytes; 0: never */
    struct http_client *frees;
    struct buf body;
    struct arena arena;
    str content_type;
    size_t pieces;
    int status;
    struct err err;
    bool is_over, is_complete, can_retry;
    bool cancels; /* at the first bytes */
};

/* Starts a server, and a client for it that speaks HTTP/2 or HTTP/1.1. */
struct testclient *testclient_start(bool is_h2, const struct http_limits *limits);
/* Another client, to f->t.port; f->client is overwritten. */
void testclient_connect(struct testclient *f, struct http_client_options options);
void testclient_stop(struct testclient *f);
/* Listens on a port of its own, in place of our server; there is no client then. */
int testclient_listen_instead(struct testclient *f);

extern const struct http_listener testclient_listener; /* its ctx is a struct heard whose call is set */
/* With the header X-Test: yes. Clears h but for what it is to do. */
void testclient_ask(struct testclient *f, struct heard *h, const char *method, const char *target, str body);
void heard_done(struct heard *h);
bool heard_is(const struct heard *h, const char *text);
/* The first n bytes of /large, and nothing else. */
bool heard_is_large(const struct heard *h, size_t n);
