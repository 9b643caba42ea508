/* SPDX-License-Identifier: Apache-2.0 */
/* What: who owns whom: all objects by uid with the owner references between them, and which of them a change makes worth a visit.
 * Owns: copies of all texts it keeps.
 * Threads: one at a time; who shares it brings a lock. The sink is called from within and must not call back.
 * Errors: none. It decides nothing for good: a visit asks the server before anything is deleted.
 *
 *       Deployment web ◄───── ReplicaSet web-1 ◄──┬── Pod web-1-a        an arrow is an owner reference, kept by the dependent
 *                             deleting dependents  └── Pod web-1-b        and listed by the owner
 *
 * A node is one of:
 *   observed   seen as an object; its coordinates (apiVersion, kind, namespace, name) are certain
 *   virtual    a dependent names its uid, nobody has seen it; its coordinates are those that a dependent claims
 *   absent     there is no such object; kept for the references that still point to it, and otherwise not there
 *
 * Dependents may disagree about the coordinates of an owner (a wrong kind or name; a namespace that is not the owner's). Those that
 * do not match are worth a visit, and a virtual owner that is denied is tried under its other coordinates, one after the other.
 *
 * A change costs what it touches: the references of the object, or the dependents of an owner that goes. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct graph;

struct graph_id {
    str api_version, kind;
    str namespace; /* empty: none */
    str name, uid;
};

struct graph_reference {
    str api_version, kind, name, uid;
    bool blocks; /* blockOwnerDeletion */
};

struct graph_object {
    struct graph_id id;
    const struct graph_reference *owners;
    size_t n_owners;
    bool is_deleting;    /* has a deletionTimestamp */
    bool has_foreground; /* the finalizer foregroundDeletion */
    bool has_orphan;     /* the finalizer orphan */
};

/* Texts are borrowed during the call. The same uid may be told several times. */
struct graph_sink {
    /* See whether it is to be deleted, or is finished with deleting its dependents. */
    void (*visit)(void *ctx, str uid);
    /* Take its name off its dependents, then let it go. */
    void (*orphan)(void *ctx, str uid);
    /* There is no object with this uid in this place, and somebody refers to it. */
    void (*absent)(void *ctx, const struct graph_id *id);
    /* The dependent names an owner that lives in another namespace. */
    void (*misplaced)(void *ctx, const struct graph_id *dependent, const struct graph_reference *owner);
    void *ctx;
};

struct graph *graph_new(const struct graph_sink *sink);
/* Takes NULL. */
void graph_free(struct graph *g);

/* ---- What happened. ---- */

/* An object is there, or has changed. Its uid is not empty. */
void graph_put(struct graph *g, const struct graph_object *object);
/* The object with this uid is gone. */
void graph_remove(struct graph *g, str uid);
/* The server says that there is nothing with these coordinates and this uid. True: somebody knows it by others, under which it is
 * now; visit it again after a while. */
bool graph_deny(struct graph *g, const struct graph_id *id);
/* Nobody watches this kind any more: what is known of it is not certain, but not gone either. */
void graph_forget(struct graph *g, str api_version, str kind);
/* Tells of everything that is worth a visit: once when visits begin, and when something outside has changed. */
void graph_sweep(struct graph *g);

/* ---- What is known. ---- */

struct graph_view {
    struct graph_id id;
    bool is_virtual;
    bool is_deleting;
    bool is_deleting_dependents; /* foreground: goes when no dependent blocks it */
    bool is_orphaning;
    bool has_dependents;
    bool is_settled;   /* all its owners are there as it says, and none of them waits for it to go */
    size_t n_blocking; /* references to it that block its deletion */
};

/* Texts are copied. False: there is no such node, or it is absent. */
bool graph_find(const struct graph *g, struct arena *a, str uid, struct graph_view *ret);

struct graph_ids {
    const struct graph_id *p;
    size_t n;
};

/* Who refers to it, each once, in the order in which their references came. */
struct graph_ids graph_dependents(const struct graph *g, struct arena *a, str uid);

/* One of its dependents is itself deleting dependents: if the node waits for its owners, maybe in a circle. */
bool graph_has_deleting_dependent(const struct graph *g, str uid);

/* How often an attempt at this node came to nothing; counted up to 30; from 0 again once it was observed, or its
 * references have changed. */
unsigned graph_count_attempt(struct graph *g, str uid);

struct graph_stats {
    size_t nodes;      /* absent ones included */
    size_t virtual;    /* of them */
    size_t references; /* between them */
    size_t bytes;      /* that all of it takes, what the allocator adds not included */
};

struct graph_stats graph_stats(const struct graph *g);
