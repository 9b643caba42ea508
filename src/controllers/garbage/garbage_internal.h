/* SPDX-License-Identifier: Apache-2.0 */
/* What: the collector's parts and what they share; for its own files alone.
 * Owns: struct garbage owns all of it, and belongs to the control it was added to.
 * Threads: the loop thread feeds the graph (garbage.c, garbage_watch.c), workers read it (garbage_reconcile.c, garbage_orphan.c); both under the lock.
 * Errors: see controllers.h.
 *
 *   garbage_watch.c: an informer per kind ──► graph ──uid──► visits ──► garbage_reconcile.c ──► DELETE, PATCH, or nothing
 *        ▲ kinds come and go            │ uid └────► orphans ─► garbage_orphan.c ─► PATCH the dependents, then the owner
 *        │                              ▲
 *   garbage_kinds.c: discovery ◄── every 30 s   └── garbage_reconcile.c: the server says that there is no such owner
 *            and when a CRD changes */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "control/recorder.h"
#include "controllers/controllers.h"
#include "controllers/garbage/garbage_absent.h"
#include "controllers/garbage/garbage_graph.h"
#include "controllers/garbage/garbage_kinds.h"
#include "controllers/garbage/garbage_patch.h"

/* Kubernetes writes under this name; who replaces it goes on with its fields. */
#define GARBAGE_MANAGER S("kube-controller-manager")

#define GARBAGE_KINDS_KEY S("kinds") /* the one key of those who ask for kinds */

struct monitor;

struct garbage {
    struct controller_env env;
    struct controller *visits, *orphans, *asking;
    struct recorder *recorder;

    /* The loop's. */
    struct monitor *monitors;
    struct map kinds_watched; /* "configmaps." and the like → monitor */
    bool awaits_kinds;        /* a definition has changed, and discovery has not told of it yet: counted in unsynced */
    struct arena scratch;

    atomic_size_t unsynced;           /* kinds whose objects are not all known yet, and that are worth waiting for */
    atomic_uint_fast64_t definitions; /* how often they have changed */
    uint_fast64_t asked;              /* the same when discovery last told; of the one who asks */
    pthread_mutex_t lock;             /* of what follows */
    bool is_open;                     /* visits have begun */
    struct graph *graph;
    struct absent absent;
    struct kinds *kinds;     /* NULL: nobody has told yet */
    struct kinds *new_kinds; /* what discovery has told, for the loop; not NULL: news is posted */
    uint_fast64_t told;      /* definitions when it was asked for new_kinds */
    struct loop_work news;
};

/* ---- garbage_watch.c: on the loop. ---- */

/* Watches what there is, and stops watching what is not. is_current: no definition has changed since these were asked for. */
void watch_kinds(struct garbage *g, const struct kinds *kinds, bool is_current);
void watch_done(struct garbage *g);

/* ---- garbage_reconcile.c, garbage_orphan.c: on workers. ---- */

int garbage_visit(void *ctx, struct reconcile *r, struct err *err);
int garbage_orphan(void *ctx, struct reconcile *r, struct err *err);

/* ---- garbage_live.c: on workers, what the server has. ---- */

/* One object on its way through a visit. */
struct live {
    struct garbage *garbage;
    struct reconcile *r;
    struct kinds *kinds;
    struct graph_view item;
    const struct client_resource *resource; /* of the item */
    struct json tree;                       /* its metadata, as the server has it */
};

enum live_answer {
    LIVE_THERE,
    LIVE_GONE,    /* surely: there is none, or another one has its name */
    LIVE_UNKNOWN, /* the server has no such kind, perhaps not yet */
    LIVE_INVALID, /* an owner with a namespace of an object without */
    LIVE_FAILED,  /* see err */
};

/* The object with these coordinates and this uid. */
enum live_answer live_get(const struct live *l, const struct graph_id *id, struct json *ret, struct err *err);
/* Whether the node is still there and what is known of it; takes the kinds, to be given back with live_done. */
bool live_look(struct garbage *g, struct reconcile *r, struct live *ret);
void live_done(struct live *l);
#define LIVE_SCOPE __attribute__((cleanup(live_done)))
/* The server has no item: the graph learns of it. */
void live_deny(const struct live *l);
/* To be visited again, later and later. */
void live_later(const struct live *l);

/* The item goes, if it is still as it was read. What is gone is fine. */
int live_delete(const struct live *l, str propagation, struct err *err);
/* References of the object id to these owners go: strategic, or as a merge where the kind has no other. What is gone is fine. */
int live_drop_owners(const struct live *l, const struct graph_id *id, struct uids owners, struct err *err);
/* The item's references block nobody any more. The tree is what the server has then. */
int live_unblock(struct live *l, struct err *err);
/* Takes a finalizer off the item. */
int live_finalize(const struct live *l, str finalizer, struct err *err);
