/* SPDX-License-Identifier: Apache-2.0 */
/* What: a store in a directory of its own for tests: writes that wait for their result, recorded events, a clock to turn.
 * Owns: the directory (removed in harness_done), the store while it is open, what was recorded.
 * Threads: one thread; the store's writer wakes it through an eventfd.
 * Errors: fails the test. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "lib/scratch.h"
#include "store/store.h"

#include <semaphore.h>
#include <stdatomic.h>

#define assert_str(s, text) assert_true(str_eq((s), str_of(text)))

struct recorded {
    rev revision, created, previous;
    enum store_op op;
    uint32_t table;
    str namespace, name, value;
};

struct harness {
    char dir[SCRATCH_MAX];
    struct store *store;
    struct store_options options; /* change them, then harness_reopen */
    struct clock_fake clock;
    int wake;
    atomic_bool hold;
    sem_t held, go;
    uint32_t table; /* "things" */
    struct arena arena;
    VEC(struct recorded) events;
    size_t settled, results;
    uint64_t commits; /* when harness_hold was called */
};

/* For cmocka: *state is a harness on the heap. */
int harness_set_up(void **state);
int harness_tear_down(void **state);

void harness_init(struct harness *h);
void harness_done(struct harness *h);
void harness_close(struct harness *h);
void harness_open(struct harness *h);
void harness_reopen(struct harness *h);

/* One result of a write. */
struct outcome {
    struct harness *harness;
    bool is_done;
    struct store_result result;
    char message[256];
    size_t order;             /* 1: the first result that was told */
    size_t n_events, settled; /* what had been handed out when it was told */
};

void harness_submit(struct harness *h, const struct store_write *w, struct outcome *ret);
void harness_wait(struct harness *h, const struct outcome *o);
/* Waits until the writer has something to hand out, and polls. */
void harness_poll(struct harness *h);
/* Polls until nothing is pending. */
void harness_settle(struct harness *h);
/* Stops the writer between two batches, so that what is submitted until harness_release becomes one batch. */
void harness_hold(struct harness *h);
void harness_release(struct harness *h);

/* A write that must succeed; its revision. expect 0 creates. */
rev put(struct harness *h, const char *namespace, const char *name, rev expect, const char *value);
rev del(struct harness *h, const char *namespace, const char *name, rev expect);
/* A write of one change; its code. */
int try_put(struct harness *h, const char *namespace, const char *name, rev expect, const char *value);
