/* SPDX-License-Identifier: Apache-2.0 */
/* What: hash maps from strings to pointers, and interned strings (equal strings are one pointer).
 * Owns: a map owns its table (heap); keys and values are borrowed. An intern pool owns the copies it makes.
 * Threads: one thread at a time; readers may share a map nobody changes.
 * Errors: none; running out of memory aborts. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct map_slot;

/* Zero-initialised is empty. Iteration order is not defined: sort what leaves the process. */
struct map {
    struct map_slot *slots;
    size_t n, mask;
};

void map_done(struct map *m);
/* The value, or NULL. */
void *map_get(const struct map *m, str key);
/* Sets key to value (not NULL); returns the former value or NULL. */
void *map_set(struct map *m, str key, void *value);
/* Removes key; returns its value or NULL. */
void *map_del(struct map *m, str key);
/* Steps through all entries: size_t at = 0; while (map_next(m, &at, &key, &value)) … ; no changes meanwhile. */
bool map_next(const struct map *m, size_t *at, str *key, void **value);

/* A hash nobody outside the process can predict. */
uint64_t hash_str(str s);

struct intern {
    struct map known;
    struct arena arena;
};

void intern_done(struct intern *in);
/* The one copy of s in this pool: same text, same pointer, until intern_done. NUL-terminated. */
str intern_str(struct intern *in, str s);
