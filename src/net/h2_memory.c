/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for nghttp2. Each of its sessions has room for one whole frame, 16 KB, of which most never use more than the head of an
 * answer: bodies go out from buffers of ours. Taken from the heap, that room is where the buffers of some handshake were a
 * moment ago, so all of it is resident. Pages of its own are not until something is written to them, which for a connection
 * that only watches saves a quarter of what it costs. */
#include "net/h2_server.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { ROOM_MIN = 16 << 10 };

static void *take(size_t n, void *user)
{
    struct h2_session *s = user;
    if (n < ROOM_MIN || s->room)
        return malloc(n);
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return malloc(n);
    (void)madvise(p, n, MADV_NOHUGEPAGE); /* side by side they look like one that would gain from large pages */
    s->room = p;
    s->room_bytes = n;
    return p;
}

static void give_back(void *p, void *user)
{
    struct h2_session *s = user;
    if (p == NULL || p != s->room) {
        free(p);
        return;
    }
    (void)munmap(p, s->room_bytes);
    s->room = NULL;
}

static void *take_zeroed(size_t n, size_t size, void *user)
{
    (void)user;
    return calloc(n, size);
}

static void *resize(void *p, size_t n, void *user)
{
    struct h2_session *s = user;
    if (p == NULL)
        return take(n, user);
    if (p != s->room)
        return realloc(p, n);
    void *moved = malloc(n);
    if (moved == NULL)
        return NULL;
    memcpy(moved, p, n < s->room_bytes ? n : s->room_bytes);
    give_back(p, user);
    return moved;
}

nghttp2_mem h2_memory(struct h2_session *s)
{
    return (nghttp2_mem){s, take, give_back, take_zeroed, resize};
}
