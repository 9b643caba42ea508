/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage_graph_node.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Telling. ---- */

static void visit(const struct graph *g, const struct node *n)
{
    g->sink.visit(g->sink.ctx, node_uid(n));
}

/* Its owner was seen in a namespace, and that is not the one the reference can speak of. */
static bool is_misplaced(const struct edge *e)
{
    return node_is_observed(e->owner) && e->owner->namespace_n > 0 &&
           !str_eq(node_namespace(e->owner), node_namespace(e->dependent));
}

static void tell_misplaced(const struct graph *g, const struct edge *e)
{
    struct graph_id dependent = node_id(e->dependent);
    struct graph_reference owner = {.api_version = kind_api_version(edge_kind(e)),
                                    .kind = kind_name(edge_kind(e)),
                                    .name = edge_name(e),
                                    .uid = node_uid(e->owner),
                                    .blocks = e->blocks};
    g->sink.misplaced(g->sink.ctx, &dependent, &owner);
}

/* ---- References of a node. ---- */

static bool edge_says(const struct edge *e, const struct graph_reference *ref)
{
    return e->blocks == ref->blocks && str_eq(node_uid(e->owner), ref->uid) && str_eq(edge_name(e), ref->name) &&
           str_eq(kind_name(edge_kind(e)), ref->kind) && str_eq(kind_api_version(edge_kind(e)), ref->api_version);
}

static bool says_the_same(const struct node *n, const struct graph_reference *refs, size_t n_refs)
{
    if (n->n_edges != n_refs)
        return false;
    for (size_t i = 0; i < n_refs; i++) {
        if (!edge_says(&n->edges[i], &refs[i]))
            return false;
    }
    return true;
}

/* The node a reference of dependent points to; one that nobody has seen yet is made from what the reference says, in the namespace
 * of the dependent, and is worth a visit. The same for one that is absent, if the reference is new: it should not be. */
static struct node *owner_of(struct graph *g, const struct node *dependent, const struct graph_reference *ref)
{
    struct node *owner = node_find(g, ref->uid);
    if (owner && ((owner->flags & NODE_ABSENT) == 0 || (owner->flags & NODE_MARKED) != 0))
        return owner;
    struct place place = {kind_take(g, ref->api_version, ref->kind), node_namespace(dependent), ref->name};
    owner = owner ? node_rename(g, owner, &place) : node_new(g, ref->uid, &place);
    owner->flags = NODE_VIRTUAL;
    visit(g, owner);
    return owner;
}

/* After a reference to it has gone. */
static void let_go(struct graph *g, struct node *owner, bool was_blocking)
{
    if (was_blocking && owner->n_blocking == 0 && owner->flags & NODE_DELETING_DEPENDENTS)
        visit(g, owner);
    if (owner->dependents == NULL && !node_is_observed(owner))
        node_free(g, owner); /* it was there only for the reference */
}

static void drop_edges(struct graph *g, struct edge *edges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct node *owner = edges[i].owner;
        bool was_blocking = edges[i].blocks;
        edge_unlink(g, &edges[i]);
        let_go(g, owner, was_blocking);
    }
    g->stats.bytes -= n * sizeof *edges;
    free(edges);
}

static struct edge *make_edges(struct graph *g, struct node *n, const struct graph_reference *refs, size_t n_refs)
{
    if (n_refs == 0)
        return NULL;
    struct edge *edges = graph_alloc(arena_array_size(n_refs, sizeof *edges));
    bool doubtful = false;
    for (size_t i = 0; i < n_refs; i++) {
        struct node *owner = owner_of(g, n, &refs[i]);
        bool is_new = (owner->flags & NODE_MARKED) == 0;
        edges[i].dependent = n;
        edge_link(g, &edges[i], owner, &refs[i]);
        doubtful |= edge_is_doubtful(&edges[i]);
        if (is_new && is_misplaced(&edges[i]))
            tell_misplaced(g, &edges[i]);
    }
    if (doubtful)
        visit(g, n);
    g->stats.bytes += n_refs * sizeof *edges;
    return edges;
}

/* The new references come before the old ones go: owners named by both never seem to be without dependents. The owners of old ones
 * are marked meanwhile, to know which are new. */
static void set_owners(struct graph *g, struct node *n, const struct graph_reference *refs, size_t n_refs)
{
    assert(n_refs <= UINT32_MAX);
    for (uint32_t i = 0; i < n->n_edges; i++)
        n->edges[i].owner->flags |= NODE_MARKED;
    struct edge *edges = make_edges(g, n, refs, n_refs);
    for (uint32_t i = 0; i < n->n_edges; i++)
        n->edges[i].owner->flags &= (uint8_t)~NODE_MARKED;
    struct edge *old = n->edges;
    size_t n_old = n->n_edges;
    n->edges = edges;
    n->n_edges = (uint32_t)n_refs;
    n->attempts = 0;
    drop_edges(g, old, n_old);
}

/* ---- Objects come and change. ---- */

static bool is_at(const struct node *n, const struct graph_id *id)
{
    return str_eq(node_name(n), id->name) && str_eq(node_namespace(n), id->namespace) &&
           str_eq(kind_name(n->kind), id->kind) && str_eq(kind_api_version(n->kind), id->api_version);
}

/* What was named, or seen elsewhere, is seen here. Those who call it otherwise may mean somebody else. */
static struct node *observe(struct graph *g, struct node *n, const struct graph_id *id)
{
    bool moves = !is_at(n, id);
    bool was_absent = n->flags & NODE_ABSENT; /* then all were visited when it became so */
    if (moves) {
        struct place place = {kind_take(g, id->api_version, id->kind), id->namespace, id->name};
        n = node_rename(g, n, &place);
    }
    n->flags &= (uint8_t) ~(NODE_VIRTUAL | NODE_ABSENT);
    n->attempts = 0;
    if (!moves || was_absent)
        return n;
    node_each_dependent(n, e)
    {
        if (edge_matches(e))
            continue;
        if (is_misplaced(e))
            tell_misplaced(g, e);
        visit(g, e->dependent);
    }
    return n;
}

static uint8_t flags_of(const struct graph_object *o)
{
    if (!o->is_deleting)
        return 0;
    if (o->has_orphan)
        return NODE_DELETING | NODE_ORPHANING;
    return o->has_foreground ? NODE_DELETING | NODE_DELETING_DEPENDENTS : NODE_DELETING;
}

static void set_flags(struct graph *g, struct node *n, uint8_t flags)
{
    uint8_t begins = flags & (uint8_t)~n->flags;
    n->flags = flags;
    if (begins & NODE_ORPHANING)
        g->sink.orphan(g->sink.ctx, node_uid(n));
    if ((begins & NODE_DELETING_DEPENDENTS) == 0)
        return;
    node_each_dependent(n, e)
    {
        visit(g, e->dependent);
    }
    visit(g, n);
}

void graph_put(struct graph *g, const struct graph_object *object)
{
    const struct graph_id *id = &object->id;
    assert(id->uid.n > 0);
    struct node *n = node_find(g, id->uid);
    if (n == NULL) {
        struct place place = {kind_take(g, id->api_version, id->kind), id->namespace, id->name};
        n = node_new(g, id->uid, &place);
    } else if (!node_is_observed(n) || !is_at(n, id)) {
        n = observe(g, n, id);
    }
    if (!says_the_same(n, object->owners, object->n_owners))
        set_owners(g, n, object->owners, object->n_owners);
    set_flags(g, n, flags_of(object));
}

/* ---- Objects go. ---- */

/* It is certain that there is no such object. denied: where the server was asked for it; NULL: where it was. */
static void node_remove(struct graph *g, struct node *n, const struct graph_id *denied)
{
    set_owners(g, n, NULL, 0);
    if (n->dependents == NULL) {
        node_free(g, n);
        return;
    }
    n->flags = NODE_ABSENT;
    struct graph_id id = node_id(n);
    g->sink.absent(g->sink.ctx, denied ? denied : &id);
    node_each_dependent(n, e)
    {
        visit(g, e->dependent);
    }
}

void graph_remove(struct graph *g, str uid)
{
    struct node *n = node_find(g, uid);
    if (n && (n->flags & NODE_ABSENT) == 0)
        node_remove(g, n, NULL);
}

/* The reference speaks of these coordinates. */
static bool edge_means(const struct edge *e, const struct graph_id *id)
{
    return (id->namespace.n == 0 || str_eq(id->namespace, node_namespace(e->dependent))) &&
           str_eq(edge_name(e), id->name) && str_eq(kind_name(edge_kind(e)), id->kind) &&
           str_eq(kind_api_version(edge_kind(e)), id->api_version);
}

static int place_cmp(const struct graph_id *a, const struct graph_id *b)
{
    int c = str_cmp(a->kind, b->kind);
    if (c == 0)
        c = str_cmp(a->api_version, b->api_version);
    if (c == 0)
        c = str_cmp(a->namespace, b->namespace);
    return c ? c : str_cmp(a->name, b->name);
}

/* The coordinates that follow those denied, in a circle through all that dependents claim; false: there are no others. */
static bool next_place(const struct node *n, const struct graph_id *denied, struct graph_id *ret)
{
    bool has_first = false, has_next = false;
    struct graph_id first = {0}, next = {0};
    node_each_dependent(n, e)
    {
        if (edge_means(e, denied))
            continue;
        struct graph_id place = {.api_version = kind_api_version(edge_kind(e)),
                                 .kind = kind_name(edge_kind(e)),
                                 .namespace = node_namespace(e->dependent),
                                 .name = edge_name(e),
                                 .uid = node_uid(n)};
        /* That was looked for without a namespace: the kind has none. */
        if (denied->namespace.n == 0 && str_eq(place.kind, denied->kind) &&
            str_eq(place.api_version, denied->api_version))
            place.namespace = (str){0};
        if (!has_first || place_cmp(&place, &first) < 0) {
            has_first = true;
            first = place;
        }
        if (place_cmp(denied, &place) < 0 && (!has_next || place_cmp(&place, &next) < 0)) {
            has_next = true;
            next = place;
        }
    }
    *ret = has_next ? next : first;
    return has_first;
}

/* Dependents that mean what was denied have lost their owner. Returns whether there are others. */
static bool visit_those_who_mean(const struct graph *g, const struct node *n, const struct graph_id *id)
{
    bool told = false, others = false;
    node_each_dependent(n, e)
    {
        if (!edge_means(e, id)) {
            others = true;
            continue;
        }
        if (!told)
            g->sink.absent(g->sink.ctx, id);
        told = true;
        visit(g, e->dependent);
    }
    return others;
}

static bool has_others(const struct node *n, const struct graph_id *id)
{
    node_each_dependent(n, e)
    {
        if (!edge_means(e, id))
            return true;
    }
    return false;
}

bool graph_deny(struct graph *g, const struct graph_id *id)
{
    struct node *n = node_find(g, id->uid);
    if (n == NULL || n->flags & NODE_ABSENT)
        return false;
    bool is_here = is_at(n, id);
    if ((n->flags & NODE_VIRTUAL) == 0) {
        if (is_here)
            node_remove(g, n, id);
        else
            visit_those_who_mean(g, n, id); /* the object is elsewhere, and not where they look for it */
        return false;
    }
    if (!has_others(n, id)) {
        node_remove(g, n, id);
        return false;
    }
    visit_those_who_mean(g, n, id);
    struct graph_id next;
    if (!is_here || !next_place(n, id, &next))
        return false;
    struct place place = {kind_take(g, next.api_version, next.kind), next.namespace, next.name};
    node_rename(g, n, &place);
    return true;
}

/* ---- All of them. ---- */

void graph_forget(struct graph *g, str api_version, str kind)
{
    const struct graph_kind *k = kind_find(g, api_version, kind);
    size_t n_found = 0;
    for (size_t i = 0; k && i < g->n_chains; i++) {
        for (struct node *n = g->chains[i]; n; n = n->next)
            n_found += n->kind == k && node_is_observed(n);
    }
    if (n_found == 0)
        return;
    struct node **found = graph_alloc(arena_array_size(n_found, sizeof *found));
    size_t at = 0;
    for (size_t i = 0; i < g->n_chains; i++) {
        for (struct node *n = g->chains[i]; n; n = n->next) {
            if (n->kind == k && node_is_observed(n))
                found[at++] = n;
        }
    }
    for (size_t i = 0; i < n_found; i++) {
        struct node *n = found[i];
        set_owners(g, n, NULL, 0);
        n->flags = NODE_VIRTUAL;
        if (n->dependents)
            visit(g, n);
        else
            node_free(g, n);
    }
    free(found);
}

struct graph *graph_new(const struct graph_sink *sink)
{
    struct graph *g = graph_alloc(sizeof *g);
    g->sink = *sink;
    g->stats.bytes = sizeof *g;
    return g;
}

void graph_free(struct graph *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; i < g->n_chains; i++) {
        for (struct node *n = g->chains[i]; n; n = n->next) {
            for (uint32_t j = 0; j < n->n_edges; j++)
                free(n->edges[j].other);
            free(n->edges);
        }
    }
    for (size_t i = 0; i < g->n_chains; i++) {
        for (struct node *n = g->chains[i], *next; n; n = next) {
            next = n->next;
            free(n);
        }
    }
    size_t at = 0;
    void *kind;
    str key;
    while (map_next(&g->kinds, &at, &key, &kind))
        free(kind);
    map_done(&g->kinds);
    free(g->chains);
    free(g);
}
