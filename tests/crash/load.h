/* SPDX-License-Identifier: Apache-2.0 */
/* What: random writes on a store that can be recognised afterwards, and the check that what was acknowledged is there.
 * Owns: its memory; the store is the caller's.
 * Threads: one.
 * Errors: aborts when a call fails that must not; load_check tells what is missing. */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/vec.h"
#include "store/store.h"

enum { LOAD_KEYS = 64, LOAD_PARTS = 3, LOAD_IN_FLIGHT = 16 };

/* A write that was acknowledged: its first revision and the number that is in each of its values. */
struct load_ack {
    rev revision;
    uint64_t number;
    uint64_t parts;
};

struct load {
    struct store *store;
    uint32_t table;
    struct random random;
    uint64_t number;         /* of the next write */
    rev standing[LOAD_KEYS]; /* by key, as of the events handed out */
    size_t in_flight;
    uint64_t acked; /* writes */
    void (*on_ack)(void *ctx, const struct load_ack *ack);
    void *ctx;
};

/* Takes the store and finds out what is in it. */
void load_start(struct load *l, struct store *s);
/* For on_event of the store's options. */
void load_event(struct load *l, const struct store_event *event);
/* Submits until enough writes are in flight. */
void load_submit(struct load *l);

/* What was acknowledged, by revision. */
struct load_acks {
    struct arena arena;
    VEC(struct load_ack) by_revision; /* parts 0: this revision was not */
    rev last;
};

void load_acks_add(struct load_acks *acks, const struct load_ack *ack);
/* Are all acknowledged writes up to revision `until` there, whole, and is there nothing that is half a write? The audit of
 * the closed files is part of it. */
int load_check(const char *dir, const struct load_acks *acks, rev until, struct err *err);
