/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef BASE_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (p == NULL)
        abort();
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (p == NULL)
        abort();
    return p;
}

void *xrealloc(void *p, size_t size)
{
    void *grown = realloc(p, size ? size : 1);
    if (grown == NULL)
        abort();
    return grown;
}

char *xstrdup(const char *s)
{
    char *p = strdup(s);
    if (p == NULL)
        abort();
    return p;
}

/*  chunk → [header | used … at | free … end] → older chunk → …
 *  Chunk sizes double up to CHUNK_MAX; a larger request gets a chunk of its own size. */
struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* header included */
    _Alignas(16) char data[];
};

enum { CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20 };

void arena_unpoison(void *p, size_t size)
{
    UNPOISON(p, size);
}

static void chunk_free(struct arena_chunk *c)
{
    UNPOISON(c->data, c->size - sizeof *c);
    free(c);
}

static void use_chunk(struct arena *a, struct arena_chunk *c)
{
    a->chunk = c;
    a->at = c->data;
    a->end = (char *)c + c->size;
    POISON(c->data, c->size - sizeof *c);
}

static void chunk_add_sized(struct arena *a, size_t size)
{
    struct arena_chunk *c = xmalloc(size);
    c->older = a->chunk;
    c->size = size;
    use_chunk(a, c);
}

static void chunk_add(struct arena *a, size_t room)
{
    size_t size = a->chunk ? a->chunk->size * 2 : CHUNK_MIN;
    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    if (room > SIZE_MAX / 2)
        abort();
    if (size < room + sizeof(struct arena_chunk))
        size = room + sizeof(struct arena_chunk);
    chunk_add_sized(a, size);
}

void arena_begin(struct arena *a, size_t room)
{
    assert(a->chunk == NULL && room <= CHUNK_MAX);
    chunk_add_sized(a, room + sizeof(struct arena_chunk));
}

void *arena_alloc_slow(struct arena *a, size_t size, size_t align)
{
    if (size > SIZE_MAX / 2)
        abort();
    chunk_add(a, size + align);
    char *p = a->at + (-(uintptr_t)a->at & (align - 1));
    a->at = p + size;
    UNPOISON(p, size);
    return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

void *arena_realloc(struct arena *a, void *p, size_t old, size_t size)
{
    if (p == NULL)
        return arena_alloc(a, size);
    if (size <= old)
        return p;
    if ((char *)p + old == a->at && size - old <= (size_t)(a->end - a->at)) {
        a->at = (char *)p + size;
        UNPOISON(p, size);
        return p;
    }
    return memcpy(arena_alloc(a, size), p, old);
}

size_t arena_array_size(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        abort();
    return bytes;
}

size_t arena_footprint(const struct arena *a)
{
    size_t n = 0;
    for (const struct arena_chunk *c = a->chunk; c; c = c->older)
        n += c->size;
    return n;
}

void arena_done(struct arena *a)
{
    for (struct arena_chunk *c = a->chunk, *older; c; c = older) {
        older = c->older;
        chunk_free(c);
    }
    *a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *keep = a->chunk;
    if (keep == NULL)
        return;
    for (struct arena_chunk *c = keep->older, *older; c; c = older) {
        older = c->older;
        if (c->size > keep->size) {
            struct arena_chunk *t = keep;
            keep = c;
            c = t;
        }
        chunk_free(c);
    }
    keep->older = NULL;
    UNPOISON(keep->data, keep->size - sizeof *keep);
    use_chunk(a, keep);
}
