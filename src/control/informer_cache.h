/* SPDX-License-Identifier: Apache-2.0 */
/* What: the copies that an informer keeps, found by name, by the values of chosen labels and by owner.
 * Owns: a reference to each item, and the indexes.
 * Threads: one thread changes it; any may ask meanwhile. Asking takes references and nothing more, so nobody waits for long.
 * Errors: none. */
#pragma once

#include "control/item.h"

struct cache;

/* The shape of the items it will hold; the names of the labels are copied. */
struct cache *cache_new(const struct item_shape *shape);
/* Takes NULL. */
void cache_free(struct cache *c);
/* How items have to be made. */
const struct item_shape *cache_shape(const struct cache *c);

/* Both hand back the item that was there, with its reference, or NULL. */
const struct item *cache_put(struct cache *c, struct item *item); /* takes the reference over */
const struct item *cache_del(struct cache *c, str namespace, str name);

/* A reference, or NULL. */
const struct item *cache_get(struct cache *c, str namespace, str name);
/* Of one namespace or, when that is empty, all; by namespace and name, as the others too. */
struct items cache_list(struct cache *c, str namespace);
/* Nothing for a label that is not indexed. */
struct items cache_by_label(struct cache *c, str label, str value);
struct items cache_by_owner(struct cache *c, str uid);

struct cache_size {
    size_t n;
    size_t bytes; /* items, indexes and the allocator's share */
    size_t text;  /* of the JSON alone */
};

struct cache_size cache_size(struct cache *c);
