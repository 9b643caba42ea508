/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_own_writes.h"

#include "base/map.h"
#include "base/vec.h"
#include "control/item.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    HEARD = 64,  /* changes during one visit that are told apart; after more of them there is another visit */
    BYTES = 256, /* of the notes about one permission, most times */
};

struct sound {
    str object, version;
};

struct echo {
    struct arena arena;
    str key;
    bool is_at_work, is_deafened;
    VEC(struct sound) wrote, heard;
};

struct echoes {
    pthread_mutex_t lock;
    struct map map; /* namespace/permission → struct echo */
};

struct echoes *echoes_new(void)
{
    struct echoes *e = xcalloc(1, sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
    return e;
}

static void discard(struct echo *echo)
{
    arena_done(&echo->arena);
    free(echo);
}

void echoes_free(struct echoes *e)
{
    str key;
    void *echo;
    if (!e)
        return;
    for (size_t at = 0; map_next(&e->map, &at, &key, &echo);)
        discard(echo);
    map_done(&e->map);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* ---- Under the lock. ---- */

static str key_of(struct arena *a, str namespace, str permission)
{
    return str_fmt(a, "%.*s/%.*s", STR(namespace), STR(permission));
}

static struct echo *find(struct echoes *e, str namespace, str permission)
{
    char room[512];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    return map_get(&e->map, key_of(&scratch, namespace, permission));
}

static void drop(struct echoes *e, struct echo *echo)
{
    if (!echo)
        return;
    map_del(&e->map, echo->key);
    discard(echo);
}

static struct sound *written(struct echo *echo, str object)
{
    vec_each(&echo->wrote, it)
    {
        if (str_eq(it->object, object))
            return it;
    }
    return NULL;
}

static void forget_written(struct echo *echo, struct sound *which)
{
    *which = echo->wrote.p[--echo->wrote.n];
}

/* Whether a change is somebody else's. The echo of a write ends the wait for it; what is older was known to who wrote, because the
 * server would have refused the write otherwise. */
static bool is_news(struct echo *echo, str object, str version)
{
    struct sound *own = written(echo, object);
    if (!own)
        return true;
    if (item_version_is_older(version, own->version))
        return false;
    bool is_own = str_eq(version, own->version);
    forget_written(echo, own);
    return !is_own;
}

/* ---- From outside. ---- */

void echo_begin(struct echoes *e, str namespace, str permission)
{
    struct echo *echo = xcalloc(1, sizeof *echo);
    arena_begin(&echo->arena, BYTES);
    echo->key = key_of(&echo->arena, namespace, permission);
    echo->is_at_work = true;
    pthread_mutex_lock(&e->lock);
    /* What the last visit wrote may not be in the caches that this one reads: when it gets there, that is news again. */
    drop(e, map_get(&e->map, echo->key));
    map_set(&e->map, echo->key, echo);
    pthread_mutex_unlock(&e->lock);
}

void echo_wrote(struct echoes *e, str namespace, str permission, str object, str version)
{
    pthread_mutex_lock(&e->lock);
    struct echo *echo = find(e, namespace, permission);
    if (echo) {
        struct sound *own = written(echo, object);
        if (!own)
            own = vec_push(&echo->arena, &echo->wrote);
        *own = (struct sound){str_dup(&echo->arena, object), str_dup(&echo->arena, version)};
    }
    pthread_mutex_unlock(&e->lock);
}

bool echo_end(struct echoes *e, str namespace, str permission)
{
    bool has_news = true;
    pthread_mutex_lock(&e->lock);
    struct echo *echo = find(e, namespace, permission);
    if (echo) {
        has_news = echo->is_deafened;
        echo->is_at_work = false;
        vec_each(&echo->heard, it) has_news |= is_news(echo, it->object, it->version);
        echo->heard.n = 0;
        if (has_news || echo->wrote.n == 0)
            drop(e, echo);
    }
    pthread_mutex_unlock(&e->lock);
    return has_news;
}

bool echo_hear(struct echoes *e, str namespace, str permission, str object, str version)
{
    bool is_to_be_visited = true;
    pthread_mutex_lock(&e->lock);
    struct echo *echo = find(e, namespace, permission);
    if (echo && echo->is_at_work) {
        is_to_be_visited = false;
        echo->is_deafened |= echo->heard.n == HEARD;
        if (!echo->is_deafened)
            *vec_push(&echo->arena, &echo->heard) =
                (struct sound){str_dup(&echo->arena, object), str_dup(&echo->arena, version)};
    } else if (echo) {
        is_to_be_visited = is_news(echo, object, version);
        if (is_to_be_visited || echo->wrote.n == 0)
            drop(e, echo);
    }
    pthread_mutex_unlock(&e->lock);
    return is_to_be_visited;
}

void echo_forget(struct echoes *e, str namespace, str permission)
{
    pthread_mutex_lock(&e->lock);
    struct echo *echo = find(e, namespace, permission);
    if (echo && !echo->is_at_work)
        drop(e, echo);
    pthread_mutex_unlock(&e->lock);
}
