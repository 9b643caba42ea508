/* SPDX-License-Identifier: Apache-2.0 */
/* What: memory of one lifetime: many small allocations, dropped in one call; and the heap.
 * Owns: all blocks it hands out; nothing is freed singly.
 * Threads: one thread at a time.
 * Errors: none; running out of memory aborts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define BASE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BASE_ASAN 1
#endif
#endif

/* The heap: as malloc, calloc, realloc and strdup, but running out of memory aborts. What they return is freed with free. */
void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));

struct arena_chunk;

/* Zero-initialised is ready to use: struct arena a = {0}; … arena_done(&a); */
struct arena {
    char *at, *end;
    struct arena_chunk *chunk; /* the newest; older ones are linked behind it */
};

/* For an empty arena that stays small and lives for long, where there are thousands of its kind: its first block has this room. */
void arena_begin(struct arena *a, size_t room);
/* Frees everything and makes the arena empty again. */
void arena_done(struct arena *a);
/* Forgets everything but keeps the largest block for the next use. */
void arena_reset(struct arena *a);
/* Bytes taken from the system. */
size_t arena_footprint(const struct arena *a);

void *arena_alloc_slow(struct arena *a, size_t size, size_t align);
/* Grows the block p of old bytes to size; in place when it is the newest allocation. p may be NULL. */
void *arena_realloc(struct arena *a, void *p, size_t old, size_t size);

void arena_unpoison(void *p, size_t size);

/* size bytes aligned to align (a power of two, at most 16); contents undefined. */
static inline void *arena_alloc_aligned(struct arena *a, size_t size, size_t align)
{
    size_t pad = -(uintptr_t)a->at & (align - 1);
    if (a->at == NULL || size > (size_t)(a->end - a->at) || pad > (size_t)(a->end - a->at) - size)
        return arena_alloc_slow(a, size, align);
    char *p = a->at + pad;
    a->at = p + size;
#ifdef BASE_ASAN
    arena_unpoison(p, size);
#endif
    return p;
}

static inline void *arena_alloc(struct arena *a, size_t size)
{
    return arena_alloc_aligned(a, size, 8);
}

/* The same, zeroed. */
void *arena_zalloc(struct arena *a, size_t size);

/* n zeroed elements of type T. */
#define ARENA_NEW(a, T) ((T *)arena_zalloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_zalloc((a), arena_array_size((n), sizeof(T))))

/* n * size, aborting on overflow. */
size_t arena_array_size(size_t n, size_t size);

/* For "char room[N]; struct arena scratch ARENA_SCOPE = ARENA_IN(room);": asks the system for memory only after that is used up.
 * For scratch that is small nearly always, on paths that every request takes. */
#define ARENA_IN(room)                             \
    {                                              \
        .at = (room), .end = (room) + sizeof(room) \
    }

/* For "struct arena scratch ARENA_SCOPE = {0};": dropped at the end of the block. */
#define ARENA_SCOPE __attribute__((cleanup(arena_done)))
