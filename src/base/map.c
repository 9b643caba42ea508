/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Open addressing with linear probing; at most 3/4 full; deletion moves later entries back, so there are no tombstones. */
struct map_slot {
    str key;
    void *value; /* NULL: the slot is free */
    uint64_t hash;
};

/* The kernel gives every process sixteen random bytes; half of them are the seed. */
static uint64_t seed(void)
{
    uint64_t s = 0;
    const void *random = (const void *)getauxval(AT_RANDOM); /* NOLINT(performance-no-int-to-ptr): the interface */
    if (random)
        memcpy(&s, random, sizeof s);
    return s;
}

uint64_t hash_str(str s)
{
    static uint64_t cached; /* the same value whoever stores it first */
    uint64_t key = __atomic_load_n(&cached, __ATOMIC_RELAXED);
    if (key == 0) {
        key = seed() | 1;
        __atomic_store_n(&cached, key, __ATOMIC_RELAXED);
    }
    return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, key);
}

void map_done(struct map *m)
{
    free(m->slots);
    *m = (struct map){0};
}

/* The slot that holds key, or the free one where it would go. */
static struct map_slot *probe(const struct map *m, str key, uint64_t hash)
{
    for (size_t i = hash & m->mask;; i = (i + 1) & m->mask) {
        struct map_slot *s = &m->slots[i];
        if (s->value == NULL || (s->hash == hash && str_eq(s->key, key)))
            return s;
    }
}

static void resize(struct map *m, size_t slots)
{
    struct map next = {calloc(slots, sizeof *next.slots), m->n, slots - 1};
    if (next.slots == NULL)
        abort();
    for (size_t i = 0; m->slots && i <= m->mask; i++) {
        struct map_slot *s = &m->slots[i];
        if (s->value)
            *probe(&next, s->key, s->hash) = *s;
    }
    free(m->slots);
    *m = next;
}

void *map_get(const struct map *m, str key)
{
    return m->n ? probe(m, key, hash_str(key))->value : NULL;
}

void *map_set(struct map *m, str key, void *value)
{
    if (m->slots == NULL || m->n * 4 >= (m->mask + 1) * 3)
        resize(m, m->slots ? (m->mask + 1) * 2 : 8);
    uint64_t hash = hash_str(key);
    struct map_slot *s = probe(m, key, hash);
    void *former = s->value;
    if (former == NULL) {
        m->n++;
        s->key = key;
        s->hash = hash;
    }
    s->value = value;
    return former;
}

void *map_del(struct map *m, str key)
{
    if (m->n == 0)
        return NULL;
    struct map_slot *hole = probe(m, key, hash_str(key));
    void *former = hole->value;
    if (former == NULL)
        return NULL;
    m->n--;
    size_t i = (size_t)(hole - m->slots);
    for (size_t j = (i + 1) & m->mask; m->slots[j].value; j = (j + 1) & m->mask) {
        size_t home = m->slots[j].hash & m->mask;
        if (((j - home) & m->mask) >= ((j - i) & m->mask)) {
            m->slots[i] = m->slots[j];
            i = j;
        }
    }
    m->slots[i] = (struct map_slot){0};
    return former;
}

bool map_next(const struct map *m, size_t *at, str *key, void **value)
{
    for (; m->slots && *at <= m->mask; (*at)++) {
        const struct map_slot *s = &m->slots[*at];
        if (s->value) {
            *key = s->key;
            *value = s->value;
            (*at)++;
            return true;
        }
    }
    return false;
}

void intern_done(struct intern *in)
{
    map_done(&in->known);
    arena_done(&in->arena);
}

str intern_str(struct intern *in, str s)
{
    char *known = map_get(&in->known, s);
    if (known == NULL) {
        known = str_cstr(&in->arena, s);
        map_set(&in->known, (str){known, s.n}, known);
    }
    return (str){known, s.n};
}
