/* SPDX-License-Identifier: Apache-2.0 */
#include "control/informer.h"

#include "control/informer_cache.h"
#include "control/order.h"
#include "control/reflect.h"
#include "object/object.h"

#include <stdatomic.h>
#include <stdlib.h>

/*   reflector ─► event ─┬─► while a list is at work: staged          ─► complete: staged against cache ─┐
 *                       └─► else: against the cache                                                     ▼
 *                                └──────────────────────────────────────────► cache, then the handlers are told
 *
 * During a list the cache stays as it was. Of what has not changed, what is staged is the cached item itself: a list needs no
 * more memory than what it changes. */
enum { HANDLERS = 2 }; /* room for; most have one */

struct informer {
    struct reflector *reflector;
    struct cache *cache;
    struct item_shape staged_shape; /* with the text, which the handlers are to see */
    struct order staged;            /* holds references */
    bool is_listing;
    bool has_news;  /* told, and not settled */
    bool is_synced; /* as the handlers know it */
    _Atomic bool shows_synced;
    struct arena arena; /* of handlers */
    VEC(struct informer_handler) handlers;
};

/* ---- Telling. ---- */

static void tell(struct informer *i, const struct item *was, const struct item *now, const struct json *tree)
{
    struct informer_change change = {was, now, tree};
    size_t n = i->handlers.n; /* one that is added meanwhile hears of everything by itself */
    i->has_news = true;
    for (size_t h = 0; h < n; h++)
        i->handlers.p[h].changed(i->handlers.p[h].ctx, &change);
}

static void settle(void *ctx)
{
    struct informer *i = ctx;
    size_t n = i->handlers.n;
    if (!i->has_news)
        return;
    i->has_news = false;
    for (size_t h = 0; h < n; h++) {
        if (i->handlers.p[h].settled)
            i->handlers.p[h].settled(i->handlers.p[h].ctx);
    }
}

/* tree: what a last event said; NULL: the cache has to know. */
static void remove_item(struct informer *i, struct arena *scratch, const struct item *item, const struct json *tree)
{
    struct json last;
    const struct item *was = cache_del(i->cache, item_namespace(item), item_name(item));
    if (tree == NULL && item_text(was).n) {
        last = item_tree(scratch, was);
        tree = &last;
    }
    tell(i, was, NULL, tree);
    item_unref(was);
}

static void set_item(struct informer *i, struct item *now, const struct json *tree)
{
    item_ref(now); /* a handler may cause it to leave the cache */
    const struct item *was = cache_put(i->cache, now);
    tell(i, was, now, tree);
    item_unref(was);
    item_unref(now);
}

static bool is_same(const struct item *a, str uid)
{
    return str_eq(item_uid(a), uid);
}

/* ---- The watch. ---- */

static void forget(struct informer *i, struct arena *scratch, const struct frame *frame, const struct item *known)
{
    if (known && !item_version_is_older(frame->version, item_version(known)))
        remove_item(i, scratch, known, is_same(known, object_uid(&frame->object)) ? &frame->object : NULL);
}

static void learn(struct informer *i, struct arena *scratch, const struct frame *frame, const struct item *known)
{
    if (known) {
        bool is_same_object = is_same(known, object_uid(&frame->object));
        if (item_version_is_older(frame->version, item_version(known)) ||
            (is_same_object && str_eq(frame->version, item_version(known))))
            return;
        if (!is_same_object)
            remove_item(i, scratch, known, NULL);
    }
    struct item *now = item_new_shaped(&frame->object, cache_shape(i->cache));
    if (now)
        set_item(i, now, &frame->object);
}

/* ---- The list. ---- */

static void unstage(struct informer *i)
{
    const struct order_entry *e;
    for (struct order_at at = {0}; (e = order_next(&i->staged, &at));)
        item_unref(e->item);
    order_done(&i->staged);
}

static void stage(struct informer *i, const struct frame *frame, const struct item *known)
{
    const struct json *object = &frame->object;
    struct item *item;
    if (known && is_same(known, object_uid(object)) && str_eq(item_version(known), frame->version))
        item = item_ref(known);
    else
        item = item_new_shaped(object, &i->staged_shape);
    if (item)
        item_unref(order_put(&i->staged, (struct order_entry){.item = item}));
}

static void on_begin(void *ctx)
{
    struct informer *i = ctx;
    unstage(i);
    i->is_listing = true;
}

static void on_event(void *ctx, struct arena *scratch, const struct frame *frame)
{
    struct informer *i = ctx;
    struct order_key key = {.namespace = object_namespace(&frame->object), .name = object_name(&frame->object)};
    const struct item *known = cache_get(i->cache, key.namespace, key.name);
    bool is_deletion = frame->type == FRAME_DELETED;
    if (i->is_listing && is_deletion)
        item_unref(order_del(&i->staged, &key));
    else if (i->is_listing)
        stage(i, frame, known);
    else if (is_deletion)
        forget(i, scratch, frame, known);
    else
        learn(i, scratch, frame, known);
    item_unref(known);
}

static const struct item *find_staged(const struct informer *i, const struct item *item)
{
    return order_get(&i->staged, &(struct order_key){.namespace = item_namespace(item), .name = item_name(item)});
}

/* What the list does not have is gone, and so is what another object has the name of. */
static void tell_gone(struct informer *i, struct arena *scratch)
{
    struct items all ITEMS_SCOPE = cache_list(i->cache, (str){0});
    for (size_t n = 0; n < all.n; n++) {
        const struct item *staged = find_staged(i, all.p[n]);
        if (staged && is_same(staged, item_uid(all.p[n])))
            continue;
        remove_item(i, scratch, all.p[n], NULL);
        arena_reset(scratch);
    }
}

static void tell_new(struct informer *i, struct arena *scratch)
{
    bool keys_only = cache_shape(i->cache)->keys_only;
    const struct order_entry *e;
    for (struct order_at at = {0}; (e = order_next(&i->staged, &at));) {
        const struct item *known = cache_get(i->cache, item_namespace(e->item), item_name(e->item));
        if (known == NULL || !str_eq(item_version(known), item_version(e->item))) {
            struct json tree = item_tree(scratch, e->item);
            set_item(i, keys_only ? item_new_shaped(&tree, cache_shape(i->cache)) : item_ref(e->item), &tree);
            arena_reset(scratch);
        }
        item_unref(known);
    }
}

static void tell_synced(struct informer *i)
{
    if (i->is_synced)
        return;
    i->is_synced = true;
    atomic_store_explicit(&i->shows_synced, true, memory_order_release);
    size_t n = i->handlers.n;
    for (size_t h = 0; h < n; h++) {
        if (i->handlers.p[h].synced)
            i->handlers.p[h].synced(i->handlers.p[h].ctx);
    }
}

static void on_complete(void *ctx)
{
    struct informer *i = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    i->is_listing = false;
    tell_gone(i, &scratch);
    tell_new(i, &scratch);
    unstage(i);
    settle(i);
    tell_synced(i);
}

/* ---- From outside. ---- */

struct informer *informer_new(const struct informer_options *o)
{
    static const struct reflect_sink sink = {on_begin, on_event, on_complete, settle};
    struct informer *i = xcalloc(1, sizeof *i);
    arena_begin(&i->arena, HANDLERS * sizeof(struct informer_handler));
    i->cache = cache_new(&(struct item_shape){o->keys_only, o->labels, o->n_labels, o->by_owner, o->trim});
    i->staged_shape = *cache_shape(i->cache);
    i->staged_shape.keys_only = false;
    i->reflector = reflect_new(&(struct reflect_options){
        .loop = o->loop,
        .client = o->client,
        .resource = o->resource,
        .namespace = o->namespace,
        .label_selector = o->label_selector,
        .field_selector = o->field_selector,
        .metadata_only = o->metadata_only,
        .lists_anew = o->lists_anew,
        .log = o->log,
        .random = o->random,
        .sink = &sink,
        .ctx = i,
    });
    return i;
}

void informer_free(struct informer *i)
{
    if (i == NULL)
        return;
    reflect_free(i->reflector);
    unstage(i);
    cache_free(i->cache);
    arena_done(&i->arena);
    free(i);
}

void informer_add_handler(struct informer *i, const struct informer_handler *handler)
{
    *vec_push(&i->arena, &i->handlers) = *handler;
    struct items all ITEMS_SCOPE = cache_list(i->cache, (str){0});
    struct arena scratch ARENA_SCOPE = {0};
    for (size_t n = 0; n < all.n; n++) {
        struct json tree = item_tree(&scratch, all.p[n]);
        struct informer_change change = {.now = all.p[n], .tree = item_text(all.p[n]).n ? &tree : NULL};
        handler->changed(handler->ctx, &change);
        arena_reset(&scratch);
    }
    if (all.n && handler->settled)
        handler->settled(handler->ctx);
    if (i->is_synced && handler->synced)
        handler->synced(handler->ctx);
}

void informer_start(struct informer *i)
{
    reflect_start(i->reflector);
}

void informer_stop(struct informer *i)
{
    reflect_stop(i->reflector);
}

void informer_relist(struct informer *i)
{
    reflect_relist(i->reflector);
}

bool informer_is_synced(const struct informer *i)
{
    return atomic_load_explicit(&i->shows_synced, memory_order_acquire);
}

bool informer_is_unserved(const struct informer *i)
{
    return reflect_is_unserved(i->reflector);
}

struct informer_stats informer_stats(const struct informer *i)
{
    struct cache_size size = cache_size(i->cache);
    struct reflect_stats s = reflect_stats(i->reflector);
    return (struct informer_stats){size.n, size.bytes, size.text, s.lists, s.watches, s.failures, s.events};
}

/* ---- Questions. ---- */

const struct item *informer_get(struct informer *i, str namespace, str name)
{
    return cache_get(i->cache, namespace, name);
}

bool informer_read(struct informer *i, struct arena *a, str namespace, str name, struct json *ret)
{
    const struct item *item = cache_get(i->cache, namespace, name);
    bool is_there = item && item_text(item).n;
    if (is_there)
        *ret = item_tree(a, item);
    item_unref(item);
    return is_there;
}

struct items informer_list(struct informer *i, str namespace)
{
    return cache_list(i->cache, namespace);
}

struct items informer_by_label(struct informer *i, str key, str value)
{
    return cache_by_label(i->cache, key, value);
}

struct items informer_by_owner(struct informer *i, str uid)
{
    return cache_by_owner(i->cache, uid);
}
