/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage_absent.h"

#include <stdlib.h>

/* In a list by use, and in a map. */
struct absent_entry {
    struct absent_entry *newer, *older;
    size_t n;
    char text[];
};

/* Lengths and texts, so that no two identities have the same. */
static str text_of(struct buf *b, const struct graph_id *id)
{
    const str parts[] = {id->uid, id->name, id->namespace, id->kind, id->api_version};
    for (size_t i = 0; i < COUNT(parts); i++) {
        buf_add_uint(b, parts[i].n);
        buf_add_char(b, ':');
        buf_add_str(b, parts[i]);
    }
    return buf_str(b);
}

static void take_out(struct absent *a, struct absent_entry *e)
{
    *(e->newer ? &e->newer->older : &a->latest) = e->older;
    *(e->older ? &e->older->newer : &a->oldest) = e->newer;
}

static void put_first(struct absent *a, struct absent_entry *e)
{
    e->newer = NULL;
    e->older = a->latest;
    *(a->latest ? &a->latest->newer : &a->oldest) = e;
    a->latest = e;
}

static void drop_oldest(struct absent *a)
{
    struct absent_entry *e = a->oldest;
    take_out(a, e);
    map_del(&a->by_text, (str){e->text, e->n});
    free(e);
}

void absent_done(struct absent *a)
{
    while (a->oldest)
        drop_oldest(a);
    map_done(&a->by_text);
}

bool absent_has(struct absent *a, const struct graph_id *id)
{
    char room[512];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    struct buf b = {.arena = &scratch};
    struct absent_entry *e = map_get(&a->by_text, text_of(&b, id));
    if (e == NULL)
        return false;
    take_out(a, e);
    put_first(a, e);
    return true;
}

void absent_add(struct absent *a, const struct graph_id *id)
{
    if (absent_has(a, id))
        return;
    if (a->by_text.n == ABSENT_MAX)
        drop_oldest(a);
    char room[512];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    struct buf b = {.arena = &scratch};
    str text = text_of(&b, id);
    struct absent_entry *e = xmalloc(sizeof *e + text.n);
    e->n = text.n;
    memcpy(e->text, text.p, text.n);
    map_set(&a->by_text, (str){e->text, e->n}, e);
    put_first(a, e);
}
