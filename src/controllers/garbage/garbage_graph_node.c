/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage_graph_node.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

void *graph_alloc(size_t size)
{
    void *p = xcalloc(1, size);
    return p;
}

static uint32_t length(str s)
{
    assert(s.n <= UINT32_MAX); /* trees hold no longer texts */
    return (uint32_t)s.n;
}

static char *append(char *at, str s)
{
    if (s.n)
        memcpy(at, s.p, s.n);
    return at + s.n;
}

/* ---- Kinds. ---- */

static size_t kind_size(const struct graph_kind *k)
{
    return sizeof *k + k->api_version_n + k->kind_n;
}

/* Lengths and texts, as they lie in a row: unlike a separator, lengths cannot be part of a text. */
static str kind_key(const struct graph_kind *k)
{
    return (str){(const char *)k + offsetof(struct graph_kind, api_version_n),
                 kind_size(k) - offsetof(struct graph_kind, api_version_n)};
}

static void kind_fill(struct graph_kind *k, str api_version, str kind)
{
    k->api_version_n = length(api_version);
    k->kind_n = length(kind);
    append(append(k->text, api_version), kind);
}

struct graph_kind *kind_find(const struct graph *g, str api_version, str kind)
{
    char room[256];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    struct graph_kind *wanted = arena_zalloc(&scratch, sizeof *wanted + api_version.n + kind.n);
    kind_fill(wanted, api_version, kind);
    return map_get(&g->kinds, kind_key(wanted));
}

struct graph_kind *kind_take(struct graph *g, str api_version, str kind)
{
    struct graph_kind *k = kind_find(g, api_version, kind);
    if (k == NULL) {
        k = graph_alloc(sizeof *k + api_version.n + kind.n);
        kind_fill(k, api_version, kind);
        map_set(&g->kinds, kind_key(k), k);
        g->stats.bytes += kind_size(k);
    }
    k->refs++;
    return k;
}

void kind_give(struct graph *g, struct graph_kind *k)
{
    assert(k->refs > 0);
    if (--k->refs > 0)
        return;
    map_del(&g->kinds, kind_key(k));
    g->stats.bytes -= kind_size(k);
    free(k);
}

/* ---- Nodes. ---- */

static size_t node_size(const struct node *n)
{
    return sizeof *n + n->uid_n + n->namespace_n + n->name_n;
}

static struct node **chain_of(const struct graph *g, str uid)
{
    return &g->chains[hash_str(uid) & (g->n_chains - 1)];
}

struct node *node_find(const struct graph *g, str uid)
{
    struct node *n = g->n_chains ? *chain_of(g, uid) : NULL;
    while (n && !str_eq(node_uid(n), uid))
        n = n->next;
    return n;
}

/* Twice as many chains: on average no more than one node in each. */
static void grow(struct graph *g)
{
    struct node **old = g->chains;
    size_t n_old = g->n_chains;
    g->n_chains = n_old ? n_old * 2 : 64;
    g->chains = graph_alloc(g->n_chains * sizeof *g->chains);
    for (size_t i = 0; i < n_old; i++) {
        for (struct node *n = old[i], *next; n; n = next) {
            next = n->next;
            struct node **chain = chain_of(g, node_uid(n));
            n->next = *chain;
            *chain = n;
        }
    }
    g->stats.bytes += (g->n_chains - n_old) * sizeof(struct node *);
    free(old);
}

static void insert(struct graph *g, struct node *n)
{
    if (g->stats.nodes >= g->n_chains)
        grow(g);
    struct node **chain = chain_of(g, node_uid(n));
    n->next = *chain;
    *chain = n;
    g->stats.nodes++;
    g->stats.bytes += node_size(n);
}

static void take_out(struct graph *g, struct node *n)
{
    struct node **at = chain_of(g, node_uid(n));
    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
    g->stats.nodes--;
    g->stats.bytes -= node_size(n);
}

static struct node *make(str uid, const struct place *place)
{
    struct node *n = graph_alloc(sizeof *n + uid.n + place->namespace.n + place->name.n);
    n->kind = place->kind;
    n->uid_n = length(uid);
    n->namespace_n = length(place->namespace);
    n->name_n = length(place->name);
    append(append(append(n->text, uid), place->namespace), place->name);
    return n;
}

struct node *node_new(struct graph *g, str uid, const struct place *place)
{
    struct node *n = make(uid, place);
    insert(g, n);
    return n;
}

void node_free(struct graph *g, struct node *n)
{
    assert(n->dependents == NULL && n->n_edges == 0);
    take_out(g, n);
    kind_give(g, n->kind);
    free(n);
}

struct graph_id node_id(const struct node *n)
{
    return (struct graph_id){.api_version = kind_api_version(n->kind),
                             .kind = kind_name(n->kind),
                             .namespace = node_namespace(n),
                             .name = node_name(n),
                             .uid = node_uid(n)};
}

/* ---- References. ---- */

static bool names_kind(const struct graph_kind *k, str api_version, str kind)
{
    return str_eq(kind_api_version(k), api_version) && str_eq(kind_name(k), kind);
}

static void other_free(struct graph *g, struct other *o)
{
    if (o == NULL)
        return;
    g->stats.bytes -= sizeof *o + o->name_n;
    kind_give(g, o->kind);
    free(o);
}

/* Takes the reference of the kind over. */
static struct other *other_new(struct graph *g, struct graph_kind *kind, str name)
{
    struct other *o = graph_alloc(sizeof *o + name.n);
    o->kind = kind;
    o->name_n = length(name);
    append(o->name, name);
    g->stats.bytes += sizeof *o + name.n;
    return o;
}

void edge_link(struct graph *g, struct edge *e, struct node *owner, const struct graph_reference *ref)
{
    e->owner = owner;
    e->blocks = ref->blocks;
    if (!names_kind(owner->kind, ref->api_version, ref->kind) || !str_eq(node_name(owner), ref->name))
        e->other = other_new(g, kind_take(g, ref->api_version, ref->kind), ref->name);
    if (owner->dependents == NULL) {
        e->next = e->prev = e;
        owner->dependents = e;
    } else {
        e->next = owner->dependents;
        e->prev = e->next->prev;
        e->prev->next = e->next->prev = e;
    }
    owner->n_blocking += ref->blocks;
    g->stats.references++;
}

void edge_unlink(struct graph *g, struct edge *e)
{
    struct node *owner = e->owner;
    if (e->next == e) {
        owner->dependents = NULL;
    } else {
        e->prev->next = e->next;
        e->next->prev = e->prev;
        if (owner->dependents == e)
            owner->dependents = e->next;
    }
    owner->n_blocking -= e->blocks;
    other_free(g, e->other);
    e->owner = NULL;
    e->other = NULL;
    g->stats.references--;
}

bool edge_matches(const struct edge *e)
{
    const struct node *owner = e->owner;
    return e->other == NULL && (owner->namespace_n == 0 || str_eq(node_namespace(owner), node_namespace(e->dependent)));
}

bool edge_is_doubtful(const struct edge *e)
{
    const struct node *owner = e->owner;
    if (owner->flags & (NODE_ABSENT | NODE_DELETING_DEPENDENTS) || !edge_matches(e))
        return true;
    return owner->flags & NODE_VIRTUAL && owner->namespace_n == 0 && e->dependent->namespace_n > 0;
}

/* The same reference, now that its owner lies at to and is called otherwise. */
static void edge_move(struct graph *g, struct edge *e, struct node *to)
{
    struct graph_kind *kind = e->other ? e->other->kind : e->owner->kind;
    str name = edge_name(e);
    bool fits = kind == to->kind && str_eq(name, node_name(to));
    if (fits) {
        other_free(g, e->other);
        e->other = NULL;
    } else if (e->other == NULL) {
        kind->refs++;
        e->other = other_new(g, kind, name);
    }
    e->owner = to;
}

struct node *node_rename(struct graph *g, struct node *n, const struct place *place)
{
    struct node *to = make(node_uid(n), place);
    to->edges = n->edges;
    to->n_edges = n->n_edges;
    to->dependents = n->dependents;
    to->n_blocking = n->n_blocking;
    to->flags = n->flags;
    to->attempts = n->attempts;
    for (uint32_t i = 0; i < to->n_edges; i++)
        to->edges[i].dependent = to;
    node_each_dependent(to, e)
    {
        edge_move(g, e, to);
    }
    take_out(g, n);
    insert(g, to);
    kind_give(g, n->kind);
    free(n);
    return to;
}
