/* SPDX-License-Identifier: Apache-2.0 */
#include "control/backlog.h"

#include <assert.h>
#include <stdlib.h>

enum place { IDLE, WAITING, AT_WORK };

struct backlog_entry {
    struct backlog_entry *next, *prev; /* in the list of its place */
    size_t later;                      /* 1 + its index in the heap; 0: not there */
    int64_t at;                        /* when it is due */
    int64_t added, taken;
    uint32_t failures;
    uint8_t place;
    bool again; /* only at work */
    size_t n;
    char key[];
};

/* In seconds, as client-go's queues have them: tenfold from ten nanoseconds on. */
static const double bounds[] = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000};

enum { N_BOUNDS = COUNT(bounds) };

void backlog_init(struct backlog *b, int64_t base_ns, int64_t max_ns, uint64_t seed)
{
    assert(base_ns > 0 && max_ns >= base_ns);
    *b = (struct backlog){
        .base_ns = base_ns,
        .max_ns = max_ns,
        .jitter = {seed},
        .waited = {.bounds = bounds, .n_bounds = N_BOUNDS},
        .worked = {.bounds = bounds, .n_bounds = N_BOUNDS},
    };
}

void backlog_done(struct backlog *b)
{
    str key;
    void *entry;
    for (size_t at = 0; map_next(&b->keys, &at, &key, &entry);)
        free(entry);
    map_done(&b->keys);
    free(b->later);
    *b = (struct backlog){0};
}

/* ---- Entries. ---- */

static str key_of(const struct backlog_entry *e)
{
    return (str){e->key, e->n};
}

static struct backlog_entry *entry_of(struct backlog *b, str key)
{
    struct backlog_entry *e = map_get(&b->keys, key);
    if (e)
        return e;
    e = xcalloc(1, sizeof *e + key.n);
    e->n = key.n;
    if (key.n)
        memcpy(e->key, key.p, key.n);
    map_set(&b->keys, key_of(e), e);
    return e;
}

static void drop_if_unused(struct backlog *b, struct backlog_entry *e)
{
    if (e->place != IDLE || e->later || e->failures)
        return;
    map_del(&b->keys, key_of(e));
    free(e);
}

static void list_append(struct backlog_list *l, struct backlog_entry *e)
{
    e->prev = l->last;
    e->next = NULL;
    *(l->last ? &l->last->next : &l->first) = e;
    l->last = e;
    l->n++;
}

static void list_remove(struct backlog_list *l, struct backlog_entry *e)
{
    *(e->prev ? &e->prev->next : &l->first) = e->next;
    *(e->next ? &e->next->prev : &l->last) = e->prev;
    l->n--;
}

/* ---- The heap of what comes later. ---- */

static void put(struct backlog *b, size_t i, struct backlog_entry *e)
{
    b->later[i] = e;
    e->later = i + 1;
}

static void sift_up(struct backlog *b, size_t i, struct backlog_entry *e)
{
    for (; i > 0 && b->later[(i - 1) / 2]->at > e->at; i = (i - 1) / 2)
        put(b, i, b->later[(i - 1) / 2]);
    put(b, i, e);
}

static void sift_down(struct backlog *b, size_t i, struct backlog_entry *e)
{
    for (size_t child; (child = i * 2 + 1) < b->n_later; i = child) {
        if (child + 1 < b->n_later && b->later[child + 1]->at < b->later[child]->at)
            child++;
        if (b->later[child]->at >= e->at)
            break;
        put(b, i, b->later[child]);
    }
    put(b, i, e);
}

static void heap_add(struct backlog *b, struct backlog_entry *e)
{
    if (b->n_later == b->cap_later) {
        b->cap_later = b->cap_later ? b->cap_later * 2 : 16;
        b->later = realloc(b->later, b->cap_later * sizeof *b->later); /* NOLINT(bugprone-suspicious-realloc-usage) */
        if (b->later == NULL)
            abort();
    }
    sift_up(b, b->n_later++, e);
}

static struct backlog_entry *heap_take(struct backlog *b)
{
    struct backlog_entry *first = b->later[0], *last = b->later[--b->n_later];
    if (b->n_later)
        sift_down(b, 0, last);
    first->later = 0;
    return first;
}

/* ---- Adding. ---- */

static bool add_entry(struct backlog *b, struct backlog_entry *e, int64_t now)
{
    if (e->place == WAITING || e->again)
        return false;
    b->adds++;
    e->added = now;
    if (e->place == AT_WORK) {
        e->again = true;
        b->n_again++;
        return false;
    }
    e->place = WAITING;
    list_append(&b->waiting, e);
    return true;
}

bool backlog_add(struct backlog *b, str key, int64_t now)
{
    return add_entry(b, entry_of(b, key), now);
}

static void set_time(struct backlog *b, struct backlog_entry *e, int64_t at)
{
    if (e->later && e->at <= at)
        return;
    e->at = at;
    if (e->later)
        sift_up(b, e->later - 1, e);
    else
        heap_add(b, e);
}

bool backlog_add_at(struct backlog *b, str key, int64_t at, int64_t now)
{
    b->retries++;
    if (at <= now)
        return backlog_add(b, key, now);
    set_time(b, entry_of(b, key), at);
    return false;
}

/* base · 2^(failures-1), at most max, give or take a tenth: those that failed together do not come back together. */
static int64_t delay_of(struct backlog *b, uint32_t failures)
{
    int64_t delay = b->base_ns;
    for (uint32_t i = 1; i < failures && delay < b->max_ns; i++)
        delay = delay > b->max_ns / 2 ? b->max_ns : delay * 2;
    struct random r = random_of_seed(&b->jitter);
    double spread = (double)(random_uint64(&r) >> 11) / (double)(UINT64_C(1) << 53); /* from 0 to 1 */
    return delay + (int64_t)((double)delay * 0.1 * (2 * spread - 1));
}

uint32_t backlog_retry(struct backlog *b, str key, int64_t now)
{
    struct backlog_entry *e = entry_of(b, key);
    if (e->failures < UINT32_MAX)
        e->failures++;
    uint32_t failures = e->failures;
    int64_t at;
    if (__builtin_add_overflow(now, delay_of(b, failures), &at))
        at = INT64_MAX - 1;
    (void)backlog_add_at(b, key, at, now);
    return failures;
}

void backlog_forget(struct backlog *b, str key)
{
    struct backlog_entry *e = map_get(&b->keys, key);
    if (e == NULL)
        return;
    e->failures = 0;
    drop_if_unused(b, e);
}

uint32_t backlog_failures(const struct backlog *b, str key)
{
    const struct backlog_entry *e = map_get(&b->keys, key);
    return e ? e->failures : 0;
}

int64_t backlog_next(const struct backlog *b)
{
    return b->n_later ? b->later[0]->at : INT64_MAX;
}

size_t backlog_wake(struct backlog *b, int64_t now)
{
    size_t n = 0;
    while (b->n_later && b->later[0]->at <= now)
        n += add_entry(b, heap_take(b), now);
    return n;
}

/* ---- Working. ---- */

static double seconds(int64_t from, int64_t to)
{
    return (double)(to - from) / 1e9;
}

bool backlog_take(struct backlog *b, int64_t now, str *ret_key)
{
    struct backlog_entry *e = b->waiting.first;
    if (e == NULL)
        return false;
    list_remove(&b->waiting, e);
    list_append(&b->at_work, e);
    e->place = AT_WORK;
    e->taken = now;
    b->taken_sum = (int64_t)((uint64_t)b->taken_sum + (uint64_t)now);
    histogram_add(&b->waited, seconds(e->added, now));
    *ret_key = key_of(e);
    return true;
}

bool backlog_finish(struct backlog *b, str key, int64_t now)
{
    struct backlog_entry *e = map_get(&b->keys, key);
    assert(e && e->place == AT_WORK);
    list_remove(&b->at_work, e);
    b->taken_sum = (int64_t)((uint64_t)b->taken_sum - (uint64_t)e->taken);
    histogram_add(&b->worked, seconds(e->taken, now));
    e->place = IDLE;
    if (e->again) {
        e->again = false;
        b->n_again--;
        e->place = WAITING;
        list_append(&b->waiting, e);
        return true;
    }
    drop_if_unused(b, e);
    return false;
}

struct backlog_stats backlog_stats(const struct backlog *b, int64_t now)
{
    uint64_t at_work_ns = (uint64_t)now * b->at_work.n - (uint64_t)b->taken_sum;
    return (struct backlog_stats){
        .depth = b->waiting.n + b->n_again,
        .later = b->n_later,
        .at_work = b->at_work.n,
        .adds = b->adds,
        .retries = b->retries,
        .longest_ns = b->at_work.first ? now - b->at_work.first->taken : 0,
        .at_work_ns = (int64_t)at_work_ns,
        .waited = b->waited,
        .worked = b->worked,
    };
}
