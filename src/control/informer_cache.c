/* SPDX-License-Identifier: Apache-2.0 */
#include "control/informer_cache.h"

#include "control/order.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { TEXT_BYTES = 64 }; /* most caches have no indexes */

struct cache {
    pthread_rwlock_t lock;
    struct arena arena; /* the shape's texts */
    struct item_shape shape;
    struct order by_name;
    struct order *indexes; /* by label, then by owner */
    size_t n_indexes;
    size_t item_bytes, text_bytes;
};

static void init_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attr;
    int code = pthread_rwlockattr_init(&attr);
    /* Many readers must not keep the one writer out, which is the thread that everything waits for. */
    code |= pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    code |= pthread_rwlock_init(lock, &attr);
    code |= pthread_rwlockattr_destroy(&attr);
    if (code)
        abort();
}

struct cache *cache_new(const struct item_shape *shape)
{
    struct cache *c = xcalloc(1, sizeof *c);
    init_lock(&c->lock);
    c->shape = *shape;
    arena_begin(&c->arena, TEXT_BYTES);
    str *labels = ARENA_ARRAY(&c->arena, str, shape->n_labels);
    for (size_t i = 0; i < shape->n_labels; i++)
        labels[i] = str_dup(&c->arena, shape->labels[i]);
    c->shape.labels = labels;
    c->n_indexes = shape->n_labels + shape->by_owner;
    c->indexes = ARENA_ARRAY(&c->arena, struct order, c->n_indexes);
    return c;
}

void cache_free(struct cache *c)
{
    if (c == NULL)
        return;
    const struct order_entry *e;
    for (struct order_at at = {0}; (e = order_next(&c->by_name, &at));)
        item_unref(e->item);
    order_done(&c->by_name);
    for (size_t i = 0; i < c->n_indexes; i++)
        order_done(&c->indexes[i]);
    pthread_rwlock_destroy(&c->lock);
    arena_done(&c->arena);
    free(c);
}

const struct item_shape *cache_shape(const struct cache *c)
{
    return &c->shape;
}

/* ---- Changes. ---- */

static void count_out(struct cache *c, const struct item *item)
{
    c->item_bytes -= item_footprint(item);
    c->text_bytes -= item_text(item).n;
    const struct item_mark *marks;
    size_t n = item_marks(item, &marks);
    for (size_t i = 0; i < n; i++) {
        struct order_key key = {item_slice(item, marks[i].at, marks[i].n), item_namespace(item), item_name(item)};
        order_del(&c->indexes[marks[i].index], &key);
    }
}

static void count_in(struct cache *c, const struct item *item)
{
    c->item_bytes += item_footprint(item);
    c->text_bytes += item_text(item).n;
    const struct item_mark *marks;
    size_t n = item_marks(item, &marks);
    for (size_t i = 0; i < n; i++) {
        assert(marks[i].index < c->n_indexes);
        order_put(&c->indexes[marks[i].index], (struct order_entry){item, marks[i].at, marks[i].n});
    }
}

const struct item *cache_put(struct cache *c, struct item *item)
{
    pthread_rwlock_wrlock(&c->lock);
    const struct item *former = order_put(&c->by_name, (struct order_entry){.item = item});
    if (former)
        count_out(c, former);
    count_in(c, item);
    pthread_rwlock_unlock(&c->lock);
    return former;
}

const struct item *cache_del(struct cache *c, str namespace, str name)
{
    pthread_rwlock_wrlock(&c->lock);
    const struct item *former = order_del(&c->by_name, &(struct order_key){.namespace = namespace, .name = name});
    if (former)
        count_out(c, former);
    pthread_rwlock_unlock(&c->lock);
    return former;
}

/* ---- Questions. ---- */

const struct item *cache_get(struct cache *c, str namespace, str name)
{
    pthread_rwlock_rdlock(&c->lock);
    const struct item *item = order_get(&c->by_name, &(struct order_key){.namespace = namespace, .name = name});
    if (item)
        item_ref(item);
    pthread_rwlock_unlock(&c->lock);
    return item;
}

/* How far a question reaches. */
enum reach { REACH_ALL, REACH_NAMESPACE, REACH_VALUE };

static bool is_within(const struct order_entry *e, const struct order_key *from, enum reach reach)
{
    switch (reach) {
    case REACH_ALL:
        return true;
    case REACH_NAMESPACE:
        return str_eq(item_namespace(e->item), from->namespace);
    case REACH_VALUE:
        return str_eq(item_slice(e->item, e->at, e->n), from->value);
    }
    return false;
}

/* A first walk counts, so that what is handed out has the size it needs. */
static struct items collect(struct cache *c, const struct order *o, const struct order_key *from, enum reach reach)
{
    pthread_rwlock_rdlock(&c->lock);
    struct items list = {0};
    struct order_at start = order_find(o, from);
    const struct order_entry *e;
    size_t n = reach == REACH_ALL ? o->n : 0;
    for (struct order_at at = start; reach != REACH_ALL && (e = order_next(o, &at)) && is_within(e, from, reach);)
        n++;
    if (n) {
        list.p = reallocarray(NULL, n, sizeof *list.p);
        if (list.p == NULL)
            abort();
        for (struct order_at at = start; list.n < n;)
            list.p[list.n++] = item_ref(order_next(o, &at)->item);
    }
    pthread_rwlock_unlock(&c->lock);
    return list;
}

struct items cache_list(struct cache *c, str namespace)
{
    struct order_key from = {.namespace = namespace};
    return collect(c, &c->by_name, &from, namespace.n ? REACH_NAMESPACE : REACH_ALL);
}

struct items cache_by_label(struct cache *c, str label, str value)
{
    for (size_t i = 0; i < c->shape.n_labels; i++) {
        if (str_eq(c->shape.labels[i], label))
            return collect(c, &c->indexes[i], &(struct order_key){.value = value}, REACH_VALUE);
    }
    return (struct items){0};
}

struct items cache_by_owner(struct cache *c, str uid)
{
    if (!c->shape.by_owner || uid.n == 0)
        return (struct items){0};
    return collect(c, &c->indexes[c->shape.n_labels], &(struct order_key){.value = uid}, REACH_VALUE);
}

struct cache_size cache_size(struct cache *c)
{
    pthread_rwlock_rdlock(&c->lock);
    struct cache_size size = {c->by_name.n, c->item_bytes + order_footprint(&c->by_name), c->text_bytes};
    for (size_t i = 0; i < c->n_indexes; i++)
        size.bytes += order_footprint(&c->indexes[i]);
    pthread_rwlock_unlock(&c->lock);
    return size;
}
