/* SPDX-License-Identifier: Apache-2.0 */
/* What: a store in a directory of its own for tests: writes that wait for their result, recorded events, a clock to turn.
 * Owns: the directory (removed in harness_done), the store while it is open, what was recorded.
 * Threads: one thread; the store's writer wakes it through an eventfd.
 * Errors: fails the test. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "store/store.h"

struct recorded {
    rev revision, created, previous;
    enum store_op op;
    uint32_t table;
    str namespace, name, value;
};

struct harness {
    char dir[64];
    struct store *store;
    struct store_options options; /* change them, then harness_reopen */
    struct clock_fake clock;
    int wake;
    uint32_t table; /* "things" */
    struct arena arena;
    VEC(struct recorded) events;
    size_t settled;
};

void harness_init(struct harness *h);
void harness_done(struct harness *h);
void harness_close(struct harness *h);
void harness_open(struct harness *h);
void harness_reopen(struct harness *h);

/* One result of a write. */
struct outcome {
    bool is_done;
    struct store_result result;
    char message[256];
    size_t events_before; /* events handed out when it was told */
};

void harness_submit(struct harness *h, const struct store_write *w, struct outcome *ret);
void harness_wait(struct harness *h, const struct outcome *o);
/* Polls until nothing is pending. */
void harness_settle(struct harness *h);

/* A write that must succeed; its revision. expect 0 creates. */
rev put(struct harness *h, const char *namespace, const char *name, rev expect, const char *value);
rev del(struct harness *h, const char *namespace, const char *name, rev expect);
/* A write of one change; its code. */
int try_put(struct harness *h, const char *namespace, const char *name, rev expect, const char *value);
