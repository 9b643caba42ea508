/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/works/works_cache.h"

#include "base/map.h"

#include <pthread.h>
#include <stdlib.h>

struct entry {
    struct memo memo;
    size_t n;
    char name[];
};

struct memos {
    pthread_mutex_t lock;
    struct map all; /* name → struct entry * */
};

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

struct memos *memos_new(void)
{
    struct memos *m = must(calloc(1, sizeof *m));
    pthread_mutex_init(&m->lock, NULL);
    return m;
}

static void entry_free(struct entry *e)
{
    if (e)
        free(e->memo.facts);
    free(e);
}

void memos_free(struct memos *m)
{
    str name;
    void *entry;
    if (!m)
        return;
    for (size_t at = 0; map_next(&m->all, &at, &name, &entry);)
        entry_free(entry);
    map_done(&m->all);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

struct memo *memo_take(struct memos *m, str work)
{
    pthread_mutex_lock(&m->lock);
    struct entry *e = map_get(&m->all, work);
    if (!e) {
        e = must(calloc(1, sizeof *e + work.n + 1));
        e->n = work.n;
        if (work.n)
            memcpy(e->name, work.p, work.n);
        map_set(&m->all, (str){e->name, e->n}, e);
    }
    return &e->memo;
}

void memo_give(struct memos *m)
{
    pthread_mutex_unlock(&m->lock);
}

void memo_forget(struct memos *m, str work)
{
    pthread_mutex_lock(&m->lock);
    entry_free(map_del(&m->all, work));
    pthread_mutex_unlock(&m->lock);
}

void memos_each(struct memos *m, bool selecting, bool waiting, void (*fn)(void *ctx, str work), void *ctx)
{
    str name;
    void *entry;
    pthread_mutex_lock(&m->lock);
    for (size_t at = 0; map_next(&m->all, &at, &name, &entry);) {
        const struct memo *memo = &((const struct entry *)entry)->memo;
        if ((selecting && memo->selects) || (waiting && memo->waits))
            fn(ctx, name);
    }
    pthread_mutex_unlock(&m->lock);
}
