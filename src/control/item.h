/* SPDX-License-Identifier: Apache-2.0 */
/* What: an object in a cache: its JSON text and, in front of it, where everybody finds what he asks for.
 * Owns: an item is one block of memory, never changed once made, and counted.
 * Threads: any; the count is atomic.
 * Errors: item_new answers NULL for what is no object.
 *
 *   { refs │ lengths │ places of namespace, name, uid, version │ marks │ {"apiVersion":…} │ what the text spells otherwise }
 *
 * Name and the like are places inside the text, where they stand anyway; only what JSON writes with escapes is kept once more
 * behind it. So the head takes 36 bytes, and 8 for each value that an index finds the object by. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "json/json.h"

struct item;

/* The part of an object that is worth keeping; may share its parts. apiVersion, kind and the names and marks must stay. */
typedef struct json item_trim(struct arena *a, const struct json *object);

/* What is kept of objects, and what indexes ask for. The zero value: all of it, no indexes. */
struct item_shape {
    bool keys_only; /* no text */
    const str *labels;
    size_t n_labels; /* the value of labels[i] becomes a mark of index i… */
    bool by_owner;   /* …and the uid of each owner one of index n_labels */
    item_trim *trim; /* NULL: all is kept but managedFields */
};

/* The text is made from the tree, without managedFields. NULL: it has no name, or one of more than 65,535 bytes. */
struct item *item_new(const struct json *object);
struct item *item_new_shaped(const struct json *object, const struct item_shape *shape);
struct item *item_ref(const struct item *item);
/* Takes NULL. */
void item_unref(const struct item *item);

str item_namespace(const struct item *item);
str item_name(const struct item *item);
str item_uid(const struct item *item);
str item_version(const struct item *item);
/* Empty when only keys are kept. */
str item_text(const struct item *item);
/* The tree, in the arena. Cannot fail: the text is our own. Null when there is no text. */
struct json item_tree(struct arena *a, const struct item *item);
/* Bytes of memory that it takes, those of the allocator included. */
size_t item_footprint(const struct item *item);

/* A value that an index finds the item by. */
struct item_mark {
    uint32_t at; /* of the block; see item_slice */
    uint16_t n;
    uint16_t index;
};

size_t item_marks(const struct item *item, const struct item_mark **ret);
str item_slice(const struct item *item, uint32_t at, uint32_t n);

/* Whether a resourceVersion comes before another. They are decimal numbers everywhere; of any others the answer is no. */
bool item_version_is_older(str version, str than);

/* References that end with the scope: struct items list ITEMS_SCOPE = informer_list(…). */
struct items {
    const struct item **p;
    size_t n;
};

void items_done(struct items *items);
#define ITEMS_SCOPE __attribute__((cleanup(items_done)))
