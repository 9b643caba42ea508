/* SPDX-License-Identifier: Apache-2.0 */
/* What: the parts of the works controller and what they share; for its own files alone.
 * Owns: struct works owns all of it, and belongs to the control it was added to.
 * Threads: the loop thread feeds keys (works.c, works_targets.c); workers of two queues visit them.
 * Errors: see works.h.
 *
 *   hub: works ──┐ on_work                              ┌─► works_reconcile.c ─► works_expand.c ─► works_apply.c ─► works_remove.c
 *                ├─────────► visits: by work ───────────┤                 all that touches the managed cluster
 *   works_targets.c ───┤ on_target, on_namespace              └─► facts (works_report.h) ─┐
 *   applied ─────┘                                                            ▼
 *                                             reports: by work ──► works_hub.c: finalizer, status; all that touches the hub
 *
 * Two queues, so that a hub which is away keeps nobody from repairing. */
#pragma once

#include "base/map.h"
#include "controllers/works/works.h"
#include "controllers/works/works_cache.h"
#include "controllers/works/works_manifest.h"
#include "controllers/works/works_report.h"
#include "controllers/works/works_targets.h"

#define WORKS_MANAGER S("work-agent")
#define WORKS_RBAC "rbac.authorization.k8s.io"
/* The key of an AppliedManifestWork that another address of the hub has left behind: this as namespace, its name as name. */
#define WORKS_LEFT S("left")

struct works {
    struct works_options options; /* texts in the arena */
    str hub_hash;
    struct informer *works, *applied;
    struct controller *visits, *reports;
    struct targets *targets;
    struct memos *memos;
    struct roles *roles; /* works_roles.h */
    struct arena arena;
};

/* One object that a work asks for. */
struct work_item {
    struct report_entry report;
    struct client_resource resource; /* kind empty: nobody knows it */
    str namespace, name;
    bool is_orphaned;             /* stays when the work goes */
    bool is_recorded;             /* the AppliedManifestWork names it */
    bool is_done;                 /* nothing is to be written */
    const struct work_item *twin; /* of this work, that comes to the same object; NULL: none */
    bool is_refused;              /* before anything was tried */
    bool is_in_conflict;          /* with what stands there */
    bool is_adopted;              /* existed before and its owner lets works change it; never owned, never deleted */
    bool is_withheld; /* a binding of a role that is not ours: it may not stand, nor may what was made before */
    str hash;         /* of kinds that are applied by the server */
    str recorded;     /* the uid that it names; of objects that were created alone */
    str uid;          /* of what is there and ours; empty: nothing is, it is not known, or it is adopted */
    struct json want; /* without owner */
    struct json live; /* null: not known, or not there */
};

/* One visit. */
struct visit {
    struct works *w;
    struct reconcile *r;
    struct arena *a;
    struct client *managed;
    str name;         /* of the work */
    struct json work; /* null: the hub has none */
    str applied_name;
    struct json applied; /* null: there is none */
    struct work_item *items;
    size_t n;
    struct map by_key; /* work_item_key → the first item that comes to it */
    struct {
        str work;
        const struct manifest *p;
        size_t n;
    } candidate;        /* see works_state.c */
    bool is_unsure;     /* namespaces are not known: nothing that a template could have made is removed */
    bool is_early;      /* they will be in a moment: nothing is done or said yet */
    bool is_left;       /* its AppliedManifestWork is of another address of the hub; name is its name */
    bool waits;         /* see works_cache.h */
    int64_t again;      /* the earliest time to come back, if any; 0: at the next resync */
    struct err failure; /* the first that stopped an item, for the log and to be tried again */
};

/* ---- works_reconcile.c ---- */

int works_visit(void *ctx, struct reconcile *r, struct err *err);
/* Takes everything back that this work has on the managed cluster. v->applied is null when that is done. */
int visit_take_back(struct visit *v, struct err *err);
/* Comes back after that time at the latest. */
void visit_again(struct visit *v, int64_t after_ns);

/* ---- works_hub.c ---- */

int works_report(void *ctx, struct reconcile *r, struct err *err);
/* Hands facts over, to be told to the hub where they differ from what that has. */
void hub_tell(struct visit *v, const struct json *facts);
/* Nothing of a work that is being deleted is left here. */
void hub_release(struct works *w, str work);

/* ---- works_applied.c ---- */

str applied_name(struct arena *a, const struct works *w, str work);
/* Whose it is; false: not of this hub. */
bool applied_work_of(const struct works *w, str name, str *ret_work);
/* Of this agent, for another address of the hub. */
bool applied_is_left(const struct works *w, const struct json *applied);
/* v->applied was made by this agent. */
bool applied_is_own(const struct visit *v);
/* Reads what is known into v->applied; null when there is none. */
void applied_look(struct visit *v);
/* Where there is none in our copy, which may be behind, the server is asked. */
int applied_ask(struct visit *v, struct err *err);
/* Makes it if there is none. */
int applied_ensure(struct visit *v, struct err *err);
/* Names all items that may be written, before they are; no write when all are named, but then it must be there if one of them is not. */
int applied_intend(struct visit *v, struct err *err);
/* What is there now: the items with their uids, then what has yet to go. */
int applied_record(struct visit *v, const struct json *pending, struct err *err);
/* The object of this item is about to be made anew: its uid is not known any more. */
int applied_forget_uid(struct visit *v, const struct work_item *item, struct err *err);
/* evictionStartTime; null: none. */
int applied_set_eviction(struct visit *v, struct json time, struct err *err);
/* Deleted and, once nothing is left, let go. */
int applied_delete(struct visit *v, struct err *err);
int applied_release(struct visit *v, struct err *err);
/* An entry of status.appliedResources. */
struct json applied_entry(struct arena *a, const struct client_resource *resource, str namespace, str name, str uid);

/* ---- works_expand.c ---- */

/* From the work to v->items, in the order in which they are applied. */
void expand_work(struct visit *v);
/* By which two manifests that come to one object are found. */
str work_item_key(struct arena *a, str group, str plural, str namespace, str name);

/* ---- works_apply.c ---- */

/* What is known of the item without asking: nothing is to be done, or something is. */
void apply_look(struct visit *v, struct work_item *item);
/* Does it. What goes wrong is said in the item. */
void apply_item(struct visit *v, struct work_item *item);

/* ---- works_remove.c ---- */

/* Takes back what the AppliedManifestWork, or an owner reference, names and no item asks for; bindings first. ret_pending: entries
 * that are not gone yet. */
int remove_surplus(struct visit *v, struct json *ret_pending, struct err *err);
