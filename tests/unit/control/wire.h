/* SPDX-License-Identifier: Apache-2.0 */
/* What: a server that does what the test says, word by word: requests come in, the test answers them.
 * Owns: the calls and what was asked.
 * Threads: the loop thread.
 * Errors: none. */
#pragma once

#include "client/client.h"

struct wire_call {
    struct wire_call *next;
    struct wire *wire;
    str target, accept; /* until the wire is freed */
    int64_t total_ns;
    struct client_listener listener;
    void *ctx;
};

struct wire {
    struct transport base;
    struct arena arena;
    struct wire_call *calls; /* open ones, latest first */
    size_t n_calls;          /* open */
    size_t n_asked;          /* ever */
    size_t n_cancelled;
};

void wire_init(struct wire *w);
void wire_done(struct wire *w);
/* A piece of a body with status 200. */
void wire_send(struct wire_call *call, str bytes);
/* The last word; retry_after in seconds. A status of 0 cuts it off. */
void wire_end(struct wire_call *call, int status, str body, int retry_after);
