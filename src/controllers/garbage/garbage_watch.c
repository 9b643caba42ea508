/* SPDX-License-Identifier: Apache-2.0 */
/* One monitor per kind: its informer feeds the graph. On the loop.
 *
 * A kind that has not been listed yet may hold dependents that nobody knows. For half a minute that is waited for, before visits
 * begin and before an owner that waits for its dependents, or orphans them, is let go. A kind that cannot be listed for longer holds
 * nobody up. */
#include "controllers/garbage/garbage_internal.h"
#include "object/object.h"

#include <stdlib.h>

#define PATIENCE_NS (30 * NS_PER_S)
/* Definitions come in hundreds, and asking for the kinds costs what there are of them: it is done once for all that change within
 * this time. */
#define ASK_NS (20 * NS_PER_MS)
#define ASK_EACH_NS (NS_PER_MS / 2)

enum { TEXT_BYTES = 256 }; /* of a monitor, most times */

struct monitor {
    struct monitor *next;
    struct garbage *g;
    struct informer *informer;
    struct client_resource resource;
    str key; /* in kinds_watched */
    str api_version;
    str former; /* the version that it was watched in before; empty: none, or nothing is known from there any more */
    bool is_wanted;   /* while kinds are compared */
    bool is_replaced; /* by one for another version: what is known stays until that has listed it */
    bool is_waited_for;
    bool has_definitions; /* it is the kind of CustomResourceDefinitions */
    struct loop_timer patience;
    struct arena arena; /* of the texts */
};

/* ---- From changes to the graph. ---- */

/* One thing less to wait for. */
static void let_go(struct garbage *g)
{
    if (atomic_fetch_sub(&g->unsynced, 1) > 1)
        return;
    pthread_mutex_lock(&g->lock);
    g->is_open = true;
    graph_sweep(g->graph);
    pthread_mutex_unlock(&g->lock);
}

static struct graph_object object_of(struct arena *a, const struct monitor *m, const struct json *tree)
{
    const struct json *refs = object_owners(tree);
    size_t n = json_len(refs);
    struct graph_reference *owners = n ? ARENA_ARRAY(a, struct graph_reference, n) : NULL;
    struct graph_object o = {
        .id = {m->api_version, m->resource.kind, object_namespace(tree), object_name(tree), object_uid(tree)},
        .owners = owners,
        .is_deleting = object_is_deleting(tree),
        .has_foreground = object_has_finalizer(tree, GARBAGE_FOREGROUND),
        .has_orphan = object_has_finalizer(tree, GARBAGE_ORPHAN),
    };
    json_each_item(refs, ref)
    {
        owners[o.n_owners++] = (struct graph_reference){
            .api_version = json_get_text(ref, S("apiVersion")),
            .kind = json_get_text(ref, S("kind")),
            .name = json_get_text(ref, S("name")),
            .uid = json_get_text(ref, S("uid")),
            .blocks = json_true(json_get(ref, S("blockOwnerDeletion"))),
        };
    }
    return o;
}

/* Until discovery has told of a new definition there may be a kind that nobody watches yet. */
static void await_kinds(struct garbage *g, bool awaits)
{
    if (awaits == g->awaits_kinds)
        return;
    g->awaits_kinds = awaits;
    if (awaits)
        atomic_fetch_add(&g->unsynced, 1);
    else
        let_go(g);
}

static void on_change(void *ctx, const struct informer_change *change)
{
    struct monitor *m = ctx;
    struct garbage *g = m->g;
    if (change->now == NULL) {
        pthread_mutex_lock(&g->lock);
        graph_remove(g->graph, item_uid(change->was));
        pthread_mutex_unlock(&g->lock);
    } else if (item_uid(change->now).n) {
        struct graph_object o = object_of(&g->scratch, m, change->tree);
        pthread_mutex_lock(&g->lock);
        graph_put(g->graph, &o);
        pthread_mutex_unlock(&g->lock);
        arena_reset(&g->scratch);
    }
    if (m->has_definitions) {
        atomic_fetch_add(&g->definitions, 1);
        await_kinds(g, true);
        control_enqueue_after(g->asking, (str){0}, GARBAGE_KINDS_KEY,
                              ASK_NS + (int64_t)g->kinds_watched.n * ASK_EACH_NS);
    }
}

/* ---- Waiting. ---- */

static void stop_waiting(struct monitor *m)
{
    if (!m->is_waited_for)
        return;
    m->is_waited_for = false;
    loop_timer_cancel(m->g->env.loop, &m->patience);
    let_go(m->g);
}

static void on_patience(void *ctx)
{
    stop_waiting(ctx);
}

static void forget(struct garbage *g, str api_version, str kind)
{
    pthread_mutex_lock(&g->lock);
    graph_forget(g->graph, api_version, kind);
    pthread_mutex_unlock(&g->lock);
}

static void forget_former(struct monitor *m)
{
    if (m->former.n)
        forget(m->g, m->former, m->resource.kind);
    m->former = (str){0};
}

/* What the former version had and this one has not is not there. */
static void on_synced(void *ctx)
{
    struct monitor *m = ctx;
    forget_former(m);
    stop_waiting(m);
}

/* ---- Monitors come and go. ---- */

static struct client_resource resource_dup(struct arena *a, const struct client_resource *r)
{
    return (struct client_resource){.group = str_dup(a, r->group),
                                    .version = str_dup(a, r->version),
                                    .plural = str_dup(a, r->plural),
                                    .kind = str_dup(a, r->kind),
                                    .namespaced = r->namespaced};
}

static str key_of(struct arena *a, const struct client_resource *r)
{
    return str_fmt(a, "%.*s.%.*s", STR(r->plural), STR(r->group));
}

static void monitor_new(struct garbage *g, const struct client_resource *resource, str former)
{
    struct monitor *m = xcalloc(1, sizeof *m);
    m->g = g;
    arena_begin(&m->arena, TEXT_BYTES);
    m->resource = resource_dup(&m->arena, resource);
    m->api_version = client_api_version(&m->arena, &m->resource);
    m->former = str_dup(&m->arena, former);
    m->is_wanted = true;
    m->has_definitions =
        str_eq(resource->group, S("apiextensions.k8s.io")) && str_eq(resource->plural, S("customresourcedefinitions"));
    m->patience = (struct loop_timer){.fn = on_patience, .ctx = m};
    m->next = g->monitors;
    g->monitors = m;
    m->key = key_of(&m->arena, resource);
    map_del(&g->kinds_watched, m->key); /* the key in it may be of one that goes */
    map_set(&g->kinds_watched, m->key, m);
    m->is_waited_for = true;
    atomic_fetch_add(&g->unsynced, 1);
    loop_timer_set(g->env.loop, &m->patience, PATIENCE_NS);
    m->informer = control_informer(g->env.control, &(struct informer_options){.client = g->env.client,
                                                                              .resource = m->resource,
                                                                              .metadata_only = true,
                                                                              .keys_only = true});
    informer_add_handler(m->informer, &(struct informer_handler){.changed = on_change, .synced = on_synced, .ctx = m});
}

static void monitor_free(struct monitor *m)
{
    if (map_get(&m->g->kinds_watched, m->key) == m)
        map_del(&m->g->kinds_watched, m->key);
    loop_timer_cancel(m->g->env.loop, &m->patience);
    arena_done(&m->arena);
    free(m);
}

static struct monitor *find(struct garbage *g, const struct client_resource *r)
{
    char room[TEXT_BYTES];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    return map_get(&g->kinds_watched, key_of(&scratch, r));
}

static bool is_same(const struct monitor *m, const struct client_resource *r)
{
    return str_eq(m->resource.version, r->version) && str_eq(m->resource.kind, r->kind) &&
           m->resource.namespaced == r->namespaced;
}

/* A kind is watched in one version, that which the server prefers. When that becomes another, objects are kept until they were
 * listed again: they are the same objects. True: it was not watched so. */
static bool want(struct garbage *g, const struct client_resource *r)
{
    struct monitor *m = find(g, r);
    if (m && is_same(m, r)) {
        m->is_wanted = true;
        return false;
    }
    bool is_kept = m && str_eq(m->resource.kind, r->kind);
    monitor_new(g, r, is_kept ? m->api_version : (str){0});
    if (m) { /* even if the server is not sure of this group: there are not two of them */
        m->is_wanted = false;
        m->is_replaced = is_kept;
    }
    return true;
}

static bool drop_unwanted(struct garbage *g)
{
    bool has_dropped = false;
    for (struct monitor **at = &g->monitors, *m; (m = *at);) {
        if (m->is_wanted) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        control_informer_drop(g->env.control, m->informer);
        forget_former(m); /* it has not come to listing what was known */
        if (!m->is_replaced)
            forget(g, m->api_version, m->resource.kind);
        stop_waiting(m);
        monitor_free(m);
        has_dropped = true;
    }
    return has_dropped;
}

void watch_kinds(struct garbage *g, const struct kinds *kinds, bool is_current)
{
    const struct client_discovery *all = kinds_all(kinds);
    bool is_changed = !g->is_open;     /* only this thread sets it */
    atomic_fetch_add(&g->unsynced, 1); /* until all are asked for */
    for (struct monitor *m = g->monitors; m; m = m->next)
        m->is_wanted = kinds_is_unsure(kinds, m->resource.group);
    for (size_t i = 0; i < all->n; i++) {
        if (kinds_is_collected(&all->p[i]))
            is_changed |= want(g, &all->p[i].resource);
    }
    is_changed |= drop_unwanted(g);
    if (is_changed)
        let_go(g);
    else
        atomic_fetch_sub(&g->unsynced, 1); /* nobody has anything new to hear */
    if (is_current)
        await_kinds(g, false);
}

void watch_done(struct garbage *g)
{
    while (g->monitors) {
        struct monitor *m = g->monitors;
        g->monitors = m->next;
        monitor_free(m);
    }
    map_done(&g->kinds_watched);
}
