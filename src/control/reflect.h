/* SPDX-License-Identifier: Apache-2.0 */
/* What: the conversation with a server that keeps a copy up to date: lists, watches, and what follows when one of them ends.
 * Owns: the call at work, the last revision seen, the time of the next attempt.
 * Threads: the loop thread.
 * Errors: none leave it; they are counted, logged, and followed by another attempt.
 *
 *              ┌──────── INITIAL ────────┐  a watch that begins with what there is; not every server has it
 *              │  begin, event … complete│
 *   WAITING ───┤                         ├──► LIVE ── event … settled ──┐
 *      ▲       └──────── PAGES ──────────┘    a watch                   │ ended, failed, revision lost
 *      └────────────────────────────────────────────────────────────────┘ */
#pragma once

#include "client/client.h"
#include "control/frames.h"

struct reflector;
struct log;

/* Who is told. Nothing is called from within the functions below. From within these calls the reflector may be stopped, started
 * and made to list again, not freed. */
struct reflect_sink {
    /* A list begins; what an earlier one brought that was not completed is void. */
    void (*begin)(void *ctx);
    /* ADDED, MODIFIED or DELETED: of the list from begin to complete, else of the watch. The object has apiVersion and kind of the
     * resource; it lives until this returns. */
    void (*event)(void *ctx, struct arena *scratch, const struct frame *frame);
    /* The list is whole. */
    void (*complete)(void *ctx);
    /* After events of a watch that came together. */
    void (*settled)(void *ctx);
};

struct reflect_options {
    struct loop *loop;
    struct client *client;
    struct client_resource resource; /* texts are copied */
    str namespace, label_selector, field_selector;
    bool metadata_only, lists_anew; /* as in informer.h */
    const struct log *log;          /* or NULL */
    struct random random;
    const struct reflect_sink *sink;
    void *ctx;
};

struct reflector *reflect_new(const struct reflect_options *options);
/* Takes NULL. */
void reflect_free(struct reflector *r);
void reflect_start(struct reflector *r);
void reflect_stop(struct reflector *r);
/* Whatever it knows, a list begins as soon as possible: one that is at work already is followed by another. */
void reflect_relist(struct reflector *r);

/* The server said at the last list that it has no such resource. It is asked again all the same. */
bool reflect_is_unserved(const struct reflector *r);

struct reflect_stats {
    uint64_t lists, watches, failures, events;
};

struct reflect_stats reflect_stats(const struct reflector *r);
