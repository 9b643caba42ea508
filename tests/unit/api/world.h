/* SPDX-License-Identifier: Apache-2.0 */
/* What: as much of an API server as discovery, OpenAPI, health and metrics need, and one request to it without pipeline and
 *       sockets: what it answers is there at once.
 * Owns: a world owns its store, and the directory that is in; an answer lives until ask_done.
 * Threads: one, besides the store's writer.
 * Errors: fail the test. */
#pragma once

#include <semaphore.h>

#include "api/server.h"
#include "lib/scratch.h"

struct world {
    struct api api;
    struct clock_fake clock;
    char dir[SCRATCH_MAX];
    sem_t woken;
    size_t written;
};

/* For cmocka: *state is a world on the heap. */
int world_set_up(void **state);
int world_tear_down(void **state);

/* Stores a CRD given as JSON and tells the registry, as the server does; metadata.generation and uid are the caller's. */
void world_put_crd(struct world *w, str text);

struct ask {
    struct http_exchange x;
    struct api_request r;
    bool was_handled; /* what the handler said */
    int status;       /* 0: no answer */
    struct http_headers headers;
    struct buf body;
    bool was_aborted;
    size_t largest_fill;
    void (*before_fill)(struct ask *a); /* of a stream; may be NULL */
    void *ctx;
};

#define ASK_SCOPE __attribute__((cleanup(ask_done)))

/* GET of "/path?query"; headers are "Name: value" lines, or NULL. before_fill and ctx may be set. */
void ask(struct ask *a, struct world *w, bool (*handle)(struct api_request *r), const char *target,
         const char *headers);
/* Empty when there is none. */
str ask_header(const struct ask *a, const char *name);
void ask_done(struct ask *a);

#define assert_str(s, text) assert_true(str_eq((s), str_of(text)))
