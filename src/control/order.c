/* SPDX-License-Identifier: Apache-2.0 */
#include "control/order.h"

#include <stdlib.h>

static struct order_key key_of(const struct order_entry *e)
{
    return (struct order_key){item_slice(e->item, e->at, e->n), item_namespace(e->item), item_name(e->item)};
}

static int compare(const struct order_entry *e, const struct order_key *key)
{
    struct order_key mine = key_of(e);
    int order = str_cmp(mine.value, key->value);
    if (order == 0)
        order = str_cmp(mine.namespace, key->namespace);
    return order ? order : str_cmp(mine.name, key->name);
}

void order_done(struct order *o)
{
    for (size_t i = 0; i < o->n_chunks; i++)
        free(o->chunks[i]);
    free(o->chunks);
    *o = (struct order){0};
}

/* The last chunk whose first entry is not greater than the key; 0 when there is none. */
static size_t chunk_of(const struct order *o, const struct order_key *key)
{
    size_t low = 0, high = o->n_chunks; /* chunks before low begin at or before the key, those from high on after it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&o->chunks[middle]->entries[0], key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

static size_t lower_bound(const struct order_chunk *c, const struct order_key *key)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&c->entries[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct order_at order_find(const struct order *o, const struct order_key *key)
{
    if (o->n_chunks == 0)
        return (struct order_at){0};
    size_t chunk = chunk_of(o, key);
    return (struct order_at){chunk, lower_bound(o->chunks[chunk], key)};
}

const struct order_entry *order_next(const struct order *o, struct order_at *at)
{
    while (at->chunk < o->n_chunks && at->i >= o->chunks[at->chunk]->n)
        *at = (struct order_at){at->chunk + 1, 0};
    return at->chunk < o->n_chunks ? &o->chunks[at->chunk]->entries[at->i++] : NULL;
}

/* The entry with exactly this key, or NULL. */
static struct order_entry *exact(const struct order *o, struct order_at at, const struct order_key *key)
{
    if (at.chunk >= o->n_chunks || at.i >= o->chunks[at.chunk]->n)
        return NULL;
    struct order_entry *e = &o->chunks[at.chunk]->entries[at.i];
    return compare(e, key) == 0 ? e : NULL;
}

const struct item *order_get(const struct order *o, const struct order_key *key)
{
    const struct order_entry *e = exact(o, order_find(o, key), key);
    return e ? e->item : NULL;
}

static void add_chunk(struct order *o, size_t place)
{
    if (o->n_chunks == o->cap) {
        size_t cap = o->cap ? o->cap * 2 : 4;
        struct order_chunk **chunks = reallocarray(o->chunks, cap, sizeof(struct order_chunk *));
        if (chunks == NULL)
            abort();
        o->chunks = chunks;
        o->cap = cap;
    }
    struct order_chunk *fresh = xmalloc(sizeof *fresh);
    fresh->n = 0;
    memmove(&o->chunks[place + 1], &o->chunks[place], (o->n_chunks - place) * sizeof(struct order_chunk *));
    o->chunks[place] = fresh;
    o->n_chunks++;
}

static void drop_chunk(struct order *o, size_t place)
{
    free(o->chunks[place]);
    o->n_chunks--;
    memmove(&o->chunks[place], &o->chunks[place + 1], (o->n_chunks - place) * sizeof(struct order_chunk *));
}

/* Makes room in a full chunk for an entry at at. Whoever puts items in by their order, as lists come, leaves full chunks
 * behind: the last one is not halved but followed by an empty one. */
static struct order_at split(struct order *o, struct order_at at)
{
    struct order_chunk *left = o->chunks[at.chunk];
    bool is_end = at.chunk + 1 == o->n_chunks && at.i == left->n;
    uint32_t stay = is_end ? left->n : left->n / 2;
    add_chunk(o, at.chunk + 1);
    struct order_chunk *right = o->chunks[at.chunk + 1];
    right->n = left->n - stay;
    memcpy(right->entries, &left->entries[stay], right->n * sizeof right->entries[0]);
    left->n = stay;
    if (at.i > stay || is_end)
        return (struct order_at){at.chunk + 1, at.i - stay};
    return at;
}

const struct item *order_put(struct order *o, struct order_entry entry)
{
    struct order_key key = key_of(&entry);
    struct order_at at = order_find(o, &key);
    struct order_entry *there = exact(o, at, &key);
    if (there) {
        const struct item *former = there->item;
        *there = entry;
        return former;
    }
    if (o->n_chunks == 0)
        add_chunk(o, 0);
    else if (o->chunks[at.chunk]->n == ORDER_CHUNK)
        at = split(o, at);
    struct order_chunk *c = o->chunks[at.chunk];
    memmove(&c->entries[at.i + 1], &c->entries[at.i], (c->n - at.i) * sizeof c->entries[0]);
    c->entries[at.i] = entry;
    c->n++;
    o->n++;
    return NULL;
}

/* Joins a chunk with the one behind it if both together leave a good part of it free. */
static void join(struct order *o, size_t place)
{
    if (place + 1 >= o->n_chunks)
        return;
    struct order_chunk *left = o->chunks[place], *right = o->chunks[place + 1];
    if (left->n + right->n > ORDER_CHUNK * 3 / 4)
        return;
    memcpy(&left->entries[left->n], right->entries, right->n * sizeof right->entries[0]);
    left->n += right->n;
    drop_chunk(o, place + 1);
}

const struct item *order_del(struct order *o, const struct order_key *key)
{
    struct order_at at = order_find(o, key);
    const struct order_entry *e = exact(o, at, key);
    if (e == NULL)
        return NULL;
    const struct item *former = e->item;
    struct order_chunk *c = o->chunks[at.chunk];
    c->n--;
    o->n--;
    memmove(&c->entries[at.i], &c->entries[at.i + 1], (c->n - at.i) * sizeof c->entries[0]);
    if (c->n == 0) {
        drop_chunk(o, at.chunk);
    } else if (c->n < ORDER_CHUNK / 2) {
        join(o, at.chunk);
        if (at.chunk)
            join(o, at.chunk - 1);
    }
    return former;
}

size_t order_footprint(const struct order *o)
{
    enum { WORD = sizeof(size_t) }; /* the allocator's own, in front of each block */
    return o->n_chunks * (sizeof(struct order_chunk) + WORD) + (o->cap ? o->cap * sizeof *o->chunks + WORD : 0);
}
