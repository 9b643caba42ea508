/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/cache.h"

#include "base/map.h"

#include <stdlib.h>

struct entry {
    struct arena arena;
    str key;
    const void *value; /* NULL: free */
    uint64_t used;
};

struct authn_cache {
    uint64_t now; /* counts uses */
    struct entry entries[CACHE_SETS][CACHE_WAYS];
};

struct authn_cache *authn_cache_new(void)
{
    struct authn_cache *c = xcalloc(1, sizeof *c);
    return c;
}

void authn_cache_free(struct authn_cache *c)
{
    for (size_t i = 0; c && i < (size_t)CACHE_SETS * CACHE_WAYS; i++)
        arena_done(&c->entries[i / CACHE_WAYS][i % CACHE_WAYS].arena);
    free(c);
}

static struct entry *set_of(struct authn_cache *c, str key)
{
    return c->entries[hash_str(key) % CACHE_SETS];
}

const void *authn_cache_get(struct authn_cache *c, str key)
{
    struct entry *set = set_of(c, key);
    for (size_t i = 0; i < CACHE_WAYS; i++)
        if (set[i].value && str_eq(set[i].key, key)) {
            set[i].used = ++c->now;
            return set[i].value;
        }
    return NULL;
}

void authn_cache_put(struct authn_cache *c, struct arena *owner, str key, const void *value)
{
    struct entry *set = set_of(c, key), *place = &set[0];
    for (size_t i = 0; i < CACHE_WAYS; i++) {
        if (set[i].value && str_eq(set[i].key, key)) {
            place = &set[i];
            break;
        }
        if (set[i].used < place->used)
            place = &set[i];
    }
    arena_done(&place->arena);
    *place = (struct entry){.arena = *owner, .key = key, .value = value, .used = ++c->now};
    *owner = (struct arena){0};
}
