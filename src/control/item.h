/* SPDX-License-Identifier: Apache-2.0 */
/* What: an object in a cache: its JSON text and, in front of it, what everybody asks for.
 * Owns: an item is one block of memory, never changed once made, and counted.
 * Threads: any; the count is atomic.
 * Errors: item_new refuses what is no object.
 *
 *   { refs │ lengths │ namespace name uid version │ {"apiVersion":…} }     about 60 bytes in front of the text */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"

struct item;

/* The text is made from the tree, without managedFields. */
struct item *item_new(const struct json *object);
struct item *item_ref(const struct item *item);
/* Takes NULL. */
void item_unref(const struct item *item);

str item_namespace(const struct item *item);
str item_name(const struct item *item);
str item_uid(const struct item *item);
str item_version(const struct item *item);
str item_text(const struct item *item);
/* The tree, in the arena. Cannot fail: the text is our own. */
struct json item_tree(struct arena *a, const struct item *item);

/* References that end with the scope: struct items list ITEMS_SCOPE = informer_list(…). */
struct items {
    const struct item **p;
    size_t n;
};

void items_done(struct items *items);
#define ITEMS_SCOPE __attribute__((cleanup(items_done)))
