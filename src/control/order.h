/* SPDX-License-Identifier: Apache-2.0 */
/* What: items in order: by a value that they are found by, then by namespace and name. One entry per value, namespace and name.
 * Owns: its tables; the items are borrowed.
 * Threads: one writer alone, or many readers.
 * Errors: none; running out of memory aborts.
 *
 *   chunks ─► [ a b c … ] [ d e f … ] [ g h … ]      each between a quarter full and full, but for the last
 *
 * An entry takes 16 bytes, and little more with its share of what is free: a third of a hash table with the same contents, which
 * would have to be sorted for each list besides. Putting n items in costs n log n, and a move of the row of chunks, which is a
 * hundredth of n long, when one is split. */
#pragma once

#include "control/item.h"

struct order_entry {
    const struct item *item;
    uint32_t at, n; /* item_slice: the value; n is 0 where everything is found by its name alone */
};

enum { ORDER_CHUNK = 63 }; /* with its head and the allocator's word: 1,024 bytes */

struct order_chunk {
    uint32_t n;
    struct order_entry entries[ORDER_CHUNK];
};

/* Zero-initialised is empty. */
struct order {
    struct order_chunk **chunks;
    size_t n_chunks, cap;
    size_t n; /* entries */
};

struct order_key {
    str value, namespace, name;
};

/* A place: before the first entry that is not less than a key. */
struct order_at {
    size_t chunk, i;
};

void order_done(struct order *o);
/* The item that was there, or NULL. */
const struct item *order_put(struct order *o, struct order_entry entry);
const struct item *order_del(struct order *o, const struct order_key *key);
const struct item *order_get(const struct order *o, const struct order_key *key);
struct order_at order_find(const struct order *o, const struct order_key *key);
/* The entry at a place, which moves on; NULL: that was all. */
const struct order_entry *order_next(const struct order *o, struct order_at *at);
/* Bytes of memory. */
size_t order_footprint(const struct order *o);
