/* SPDX-License-Identifier: Apache-2.0 */
/* What: nodes and references of the graph as they lie in memory; for graph*.c alone.
 * Owns: see garbage_graph.h.
 * Threads: see garbage_graph.h.
 * Errors: none.
 *
 *   table ─► node ─► node            chained by hash of the uid
 *             │ edges: [ edge ][ edge ]   its owner references, one block
 *             │             │ owner ─► node
 *             └ dependents ─┼─► edge ⇄ edge ⇄ …   the references to it, a ring through other nodes' blocks
 *                           └ other ─► what the reference says, where that is not what the owner is called
 *
 * A reference that names its owner rightly, as nearly all do, keeps no texts. */
#pragma once

#include "base/map.h"
#include "controllers/garbage/garbage_graph.h"

/* An apiVersion with a kind, counted: whoever is of this kind or names it. */
struct graph_kind {
    uint32_t refs;
    uint32_t api_version_n, kind_n;
    char text[]; /* "apps/v1" "Deployment" */
};

struct other {
    struct graph_kind *kind;
    uint32_t name_n;
    char name[];
};

struct edge {
    struct node *owner, *dependent;
    struct edge *next, *prev; /* in the ring of the owner */
    struct other *other;      /* NULL: the owner's own kind and name */
    bool blocks;
};

enum {
    NODE_VIRTUAL = 1,
    NODE_ABSENT = 2,
    NODE_DELETING = 4,
    NODE_DELETING_DEPENDENTS = 8,
    NODE_ORPHANING = 16,
    NODE_MARKED = 32, /* for as long as a function works */
};

struct node {
    struct node *next; /* in its chain */
    struct graph_kind *kind;
    struct edge *edges;
    struct edge *dependents; /* the first of the ring */
    uint32_t n_edges;
    uint32_t n_blocking; /* of the ring */
    uint8_t flags;
    uint8_t attempts;
    uint32_t uid_n, namespace_n, name_n;
    char text[]; /* uid, namespace, name */
};

struct graph {
    struct graph_sink sink;
    struct node **chains;
    size_t n_chains; /* a power of two, or 0 */
    struct map kinds;
    struct graph_stats stats; /* but for those counted when asked */
};

static inline str node_uid(const struct node *n)
{
    return (str){n->text, n->uid_n};
}
static inline str node_namespace(const struct node *n)
{
    return (str){n->text + n->uid_n, n->namespace_n};
}
static inline str node_name(const struct node *n)
{
    return (str){n->text + n->uid_n + n->namespace_n, n->name_n};
}
static inline bool node_is_observed(const struct node *n)
{
    return (n->flags & (NODE_VIRTUAL | NODE_ABSENT)) == 0;
}
static inline const struct graph_kind *edge_kind(const struct edge *e)
{
    return e->other ? e->other->kind : e->owner->kind;
}
static inline str edge_name(const struct edge *e)
{
    return e->other ? (str){e->other->name, e->other->name_n} : node_name(e->owner);
}
static inline str kind_api_version(const struct graph_kind *k)
{
    return (str){k->text, k->api_version_n};
}
static inline str kind_name(const struct graph_kind *k)
{
    return (str){k->text + k->api_version_n, k->kind_n};
}

/* The references to a node; it may not lose any meanwhile. */
#define node_each_dependent(n, it) \
    for (struct edge *it = (n)->dependents, *it##_first = it; it != NULL; it = it->next == it##_first ? NULL : it->next)

/* Zeroed; running out of memory aborts. */
void *graph_alloc(size_t size);

/* Coordinates with the kind already looked up. */
struct place {
    struct graph_kind *kind;
    str namespace, name;
};

/* The kind with these texts, one reference taken. */
struct graph_kind *kind_take(struct graph *g, str api_version, str kind);
/* The same without taking; NULL: nobody is of it or names it. */
struct graph_kind *kind_find(const struct graph *g, str api_version, str kind);
void kind_give(struct graph *g, struct graph_kind *k);

struct node *node_find(const struct graph *g, str uid);
/* A new one without flags and edges; takes the reference of the kind over. */
struct node *node_new(struct graph *g, str uid, const struct place *place);
/* Borrowed from it. */
struct graph_id node_id(const struct node *n);
/* It has neither edges nor dependents. */
void node_free(struct graph *g, struct node *n);
/* Moves the node to other coordinates; it may lie elsewhere afterwards. References keep what they say. Takes the reference of the
 * kind over. */
struct node *node_rename(struct graph *g, struct node *n, const struct place *place);

/* Makes e, which lies in the edges of dependent, a reference to owner that says what ref says. */
void edge_link(struct graph *g, struct edge *e, struct node *owner, const struct graph_reference *ref);
void edge_unlink(struct graph *g, struct edge *e);
/* The reference may mean its owner: kind and name are right, and the namespace is, if the owner has one. */
bool edge_matches(const struct edge *e);
/* The owner is not there, or waits for the dependent to go, or may not be the one that is meant: a virtual owner without a namespace
 * was named by an object of the cluster, a dependent in a namespace may mean another. */
bool edge_is_doubtful(const struct edge *e);
