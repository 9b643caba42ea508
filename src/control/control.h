/* SPDX-License-Identifier: Apache-2.0 */
/* What: controllers at work: their informers, queues and worker threads, started and stopped together.
 * Owns: informers, queues, threads, and the controllers' own state from control_own on.
 * Threads: the loop thread; control_enqueue and control_enqueue_after may be called by any.
 * Errors: a reconcile that fails is logged, counted and tried again, later and later.
 *
 *   control_new ─► control_informer …, control_add … ─► control_start ─► control_stop ─► stopped() ─► control_free
 *
 *   informer ──change──► handler of the controller ──key──► queue ─► worker thread ─► reconcile ─► client
 *                           (loop thread)                              sequential code, may wait
 *
 * The workers of a controller begin when the informers it was told of are synced: a reconcile never meets an empty cache that
 * only looks empty. A worker thread is started when a key waits for it and ends when it was not needed for a few seconds. */
#pragma once

#include "base/log.h"
#include "client/client.h"
#include "control/informer.h"

struct control;
struct controller;

struct control_options {
    struct loop *loop;
    struct clock clock;   /* the loop's; used by worker threads as well */
    struct random random; /* used on the loop thread alone */
    const struct log *log;
};

struct control *control_new(const struct control_options *options);
/* Before control_start, or after stopped was called (or from within it). Takes NULL. */
void control_free(struct control *c);
void control_start(struct control *c);
/* Stops the informers, closes the queues, waits for reconciles at work, then calls stopped from the loop, never from within this
 * call. Whatever state it is in: not started, waiting for informers, stopping already (each stopped is called). Clients should
 * be stopped right after, so that reconciles do not wait for long; what they report then is not an error. */
void control_stop(struct control *c, void (*stopped)(void *ctx), void *ctx);
/* All informers of all controllers are synced, but for those of kinds that the server does not have: who is about these waits for them,
 * and others need not. */
bool control_is_synced(const struct control *c);
/* Any thread: an object that another client had changed or deleted was restored. Counted by kind: reeve_drift_repairs_total. */
void control_repaired(struct control *c, str kind);
/* The metrics of all controllers and informers as Prometheus text. */
void control_metrics_write(struct control *c, struct buf *b);

/* The informer with these options; who asks for the same gets the same. loop, log and random of the options are filled in.
 * May be called after control_start (a kind that has just been defined): it starts at once. */
struct informer *control_informer(struct control *c, const struct informer_options *options);
/* Nobody needs it any more (a kind that is gone): to be called as often as it was asked for; it is stopped at once and freed
 * later in this turn, so a handler of its own may call this. Not for informers that controllers read. */
void control_informer_drop(struct control *c, struct informer *i);
/* State that is released with free after the workers have ended and the informers have stopped, last come first; the informers
 * can still be read then. */
void control_own(struct control *c, void *state, void (*free)(void *state));

/* ---- One controller. ---- */

/* One visit of one key, in a thread of its own. */
struct reconcile {
    struct arena *arena; /* emptied after each visit */
    struct client *client;
    struct clock clock;
    str namespace, name; /* the key; namespace may be empty */
    uint32_t failures;   /* in a row, before this visit; conflicts count */
    int64_t again_ns;    /* set it to be called again after that time, though all went well */
};

/* What reconcile returns decides what happens next:
 *
 *   0                forgotten; with again_ns, called again then
 *   ERR_CONFLICT     the cache was behind: tried again soon, without a word
 *   anything else    logged, counted and tried again, later and later */

struct controller_options {
    const char *name; /* for logs, metrics and the names of threads: "aggregation"; must live as long */
    struct client *client;
    unsigned workers;        /* most threads at a time; 0: 2 */
    int64_t longest_wait_ns; /* after failures in a row; 0: 5 minutes */
    int (*reconcile)(void *ctx, struct reconcile *r, struct err *err);
    void *ctx;
    struct informer *const *needs; /* the informers that must be synced first; copied */
    size_t n_needs;
};

/* Before control_start or later. Lives as long as the control. */
struct controller *control_add(struct control *c, const struct controller_options *options);
/* Any thread. A namespace has no slash in it; a name may be any text. */
void control_enqueue(struct controller *k, str namespace, str name);
void control_enqueue_after(struct controller *k, str namespace, str name, int64_t delay_ns);
