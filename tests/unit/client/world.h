/* SPDX-License-Identifier: Apache-2.0 */
/* What: a fake API server, a client of it, a loop whose clock the test moves, and threads that ask.
 * Owns: all of it.
 * Threads: the test's is the loop's; world_run starts another.
 * Errors: fail the test. */
#pragma once

#include "client/client.h"
#include "lib/fake.h"

struct world {
    struct clock_fake time;
    struct loop *loop;
    struct fake *fake;
    struct client *client;
    struct random_seeded chance;
    struct arena arena; /* of the test */
    /* Called after each turn of world_run; may be NULL. */
    void (*during)(struct world *w);
};

/* For cmocka: *state is a world on the heap. */
int world_set_up(void **state);
int world_tear_down(void **state);
/* The same server from scratch, with other options. */
void world_reset(struct world *w, const struct fake_options *options);

/* Runs fn in a thread and the loop meanwhile. Where nothing happens, a tenth of a second passes. */
void world_run(struct world *w, void (*fn)(struct world *w, void *ctx), void *ctx);
/* So many turns of the loop in which nothing is waited for. */
void world_turn(struct world *w, int turns);
void world_advance(struct world *w, int64_t ns);

struct json world_json(struct world *w, const char *text);

/* ---- One call on the loop. ---- */

struct ear {
    struct client_call *call;
    struct buf data;
    int status, ends;
    struct buf body;
    struct err err;
    bool can_retry;
    int64_t retry_after_ns;
    bool is_silent; /* asks for the whole */
    bool cancels;   /* at the first bytes */
};

void ear_start(struct ear *e, struct world *w, const char *method, const char *target, const char *body);
/* Starts and waits for the end. */
int ear_ask(struct ear *e, struct world *w, const char *method, const char *target, const char *body);
void ear_done(struct ear *e);
#define EAR_SCOPE __attribute__((cleanup(ear_done)))

#define assert_text(s, text) world_assert_text((s), (text), __FILE__, __LINE__)
#define assert_has(s, text) assert_true(str_find((s), str_of(text)) >= 0)
void world_assert_text(str s, const char *text, const char *file, int line);

#define SECOND_NS INT64_C(1000000000)
