/* SPDX-License-Identifier: Apache-2.0 */
/* What: the transport to a real API server: HTTP/2, all calls on one connection where that has room, or HTTP/1.1.
 * Owns: its connections, its credentials, and the calls under way.
 * Threads: the loop thread.
 * Errors: ERR_INVALID when the configuration or a request makes no sense. Calls end with those of client.h and credentials.h; no
 *         secret is part of a text.
 *
 *   start ► credentials ► a connection with room ─────────────────────────────► answer ► end
 *              ▲    ▲      none: a new one is opened, and the call waits           │ │
 *              │    └────── 401, once: perhaps there are new credentials ──────────┘ │
 *              └─────────── the server surely has not acted (GOAWAY, REFUSED_STREAM) ┘ a few times
 *
 * A server that cannot be reached is tried again after a pause that doubles up to half a minute; meanwhile calls do not wait,
 * but end with can_retry and what went wrong the last time. New certificates mean new connections: what is at work on the old
 * ones may end there, except for answers that are taken in pieces, which are cut off after a while (watches never end). */
#pragma once

#include "client/client.h"
#include "client/config.h"
#include "client/credentials.h"

struct https_options {
    struct credentials_options credentials;
    struct random random; /* spreads reconnects */
    str version;          /* of the program: "0.1.0" */
    /* Zero: the default. */
    size_t waiting;      /* calls that have no connection yet: 1,000; more are refused */
    size_t connections;  /* HTTP/2: 8, each with as many calls as the server takes; a few times as many may drain */
    size_t h1_calls;     /* HTTP/1.1: connections for answers that are collected: 8 */
    size_t h1_watches;   /* …and for those taken in pieces: 256; more are refused */
    size_t answer_bytes; /* of a collected body: CLIENT_ANSWER_BYTES */
    int64_t wait_ns;     /* for a connection to have room: 30 s */
    int64_t idle_ns;     /* a connection without calls is closed: 90 s */
    int64_t drain_ns;    /* until what is taken in pieces from an outdated connection is cut off: 30 s */
    int64_t connect_ns, ping_ns, ping_wait_ns; /* see net/http_client.h */
};

/* config must outlive the transport. Nothing is connected yet. The transport is freed by its ops, not from within a listener. */
int https_new(struct loop *l, const struct client_config *config, const struct https_options *options,
              struct transport **ret, struct err *err);

/* See credentials.h. Requests from now on have it; watches at work go on. */
int https_set_token(struct transport *t, str token, struct err *err);

struct https_stats {
    size_t connections, calls, waiting; /* now; calls: all, those that wait included */
    uint64_t opened, failed;            /* connections that were begun, and those of no use */
};

struct https_stats https_stats(const struct transport *t);
