/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any thread may find that the next key is due earlier than the timer is set to, but only the loop's thread may set timers:
 *
 *     queue_add_after ─► backlog, due earlier than armed_at ─► loop_post ─► on_posted: sets the timer ─► on_timer: wakes
 *
 * One piece of posted work is enough however many come: what it does depends on the backlog alone. The same work asks for workers
 * when more keys are waiting or at work than there are workers.
 */
#include "control/queue.h"

#include <pthread.h>
#include <stdlib.h>

enum { BASE_NS = 5000000 };
#define MAX_NS INT64_C(300000000000)

struct queue {
    struct loop *loop;
    struct clock clock;
    pthread_mutex_t lock;
    pthread_cond_t some; /* wait, or the queue is closed */
    struct backlog backlog;
    bool is_closed;
    bool is_posted;   /* on_posted is going to run */
    int64_t armed_at; /* what the timer is set to; INT64_MAX: not set */
    struct loop_timer timer;
    struct loop_work posted;
    void (*short_of_workers)(void *ctx);
    void *ctx;
    size_t max_workers, n_workers;
    size_t peak;      /* highest demand since the last queue_dismiss */
    size_t dismissed; /* workers that are to leave as soon as no key is waiting */
};

/* ---- Workers. ---- */

/* How many workers would be busy if there were no limit. */
static size_t worker_demand(const struct queue *q)
{
    return q->backlog.waiting.n + q->backlog.at_work.n;
}

static bool is_short_of_workers(const struct queue *q)
{
    return !q->is_closed && q->n_workers < q->max_workers && worker_demand(q) > q->n_workers;
}

static void note_demand(struct queue *q)
{
    size_t demand = worker_demand(q);
    if (demand > q->peak)
        q->peak = demand;
}

void queue_staff(struct queue *q, size_t max)
{
    pthread_mutex_lock(&q->lock);
    q->max_workers = max;
    pthread_mutex_unlock(&q->lock);
}

size_t queue_hire(struct queue *q)
{
    size_t n = 0;
    pthread_mutex_lock(&q->lock);
    if (is_short_of_workers(q)) {
        size_t demand = worker_demand(q);
        n = (demand < q->max_workers ? demand : q->max_workers) - q->n_workers;
        q->n_workers += n;
        q->dismissed = 0;
    }
    pthread_mutex_unlock(&q->lock);
    return n;
}

void queue_leave(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->n_workers--;
    pthread_mutex_unlock(&q->lock);
}

void queue_dismiss(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    note_demand(q);
    q->dismissed = q->n_workers > q->peak ? q->n_workers - q->peak : 0;
    q->peak = worker_demand(q);
    if (q->dismissed)
        pthread_cond_broadcast(&q->some);
    pthread_mutex_unlock(&q->lock);
}

/* ---- The timer, on the loop's thread. ---- */

static void arm(struct queue *q)
{
    q->armed_at = backlog_next(&q->backlog);
    if (q->armed_at == INT64_MAX)
        loop_timer_cancel(q->loop, &q->timer);
    else
        loop_timer_set(q->loop, &q->timer, q->armed_at - loop_now(q->loop));
}

static void on_posted(struct loop_work *w)
{
    struct queue *q = (struct queue *)((char *)w - offsetof(struct queue, posted));
    pthread_mutex_lock(&q->lock);
    q->is_posted = false;
    arm(q);
    bool is_short = is_short_of_workers(q);
    pthread_mutex_unlock(&q->lock);
    if (is_short)
        q->short_of_workers(q->ctx);
}

static void on_timer(void *ctx)
{
    struct queue *q = ctx;
    pthread_mutex_lock(&q->lock);
    size_t more = q->is_closed ? 0 : backlog_wake(&q->backlog, loop_now(q->loop));
    if (more == 1)
        pthread_cond_signal(&q->some);
    else if (more)
        pthread_cond_broadcast(&q->some);
    if (!q->is_closed)
        arm(q);
    note_demand(q);
    bool is_short = is_short_of_workers(q);
    pthread_mutex_unlock(&q->lock);
    if (is_short)
        q->short_of_workers(q->ctx);
}

/* ---- Making and ending. ---- */

struct queue *queue_new(const struct queue_options *options)
{
    struct queue *q = xcalloc(1, sizeof *q);
    q->loop = options->loop;
    q->clock = options->clock;
    q->armed_at = INT64_MAX;
    q->timer = (struct loop_timer){.fn = on_timer, .ctx = q};
    q->posted = (struct loop_work){.fn = on_posted};
    q->short_of_workers = options->short_of_workers;
    q->ctx = options->ctx;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->some, NULL);
    backlog_init(&q->backlog, options->base_ns ? options->base_ns : BASE_NS, options->max_ns ? options->max_ns : MAX_NS,
                 random_uint64(&options->random));
    return q;
}

void queue_free(struct queue *q)
{
    if (q == NULL)
        return;
    loop_timer_cancel(q->loop, &q->timer);
    loop_post_cancel(q->loop, &q->posted);
    backlog_done(&q->backlog);
    pthread_cond_destroy(&q->some);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

void queue_close(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->is_closed = true;
    pthread_cond_broadcast(&q->some);
    pthread_mutex_unlock(&q->lock);
}

/* ---- From any thread. ---- */

static int64_t enter(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    return clock_mono_ns(&q->clock);
}

static void leave(struct queue *q, bool one_more)
{
    if (one_more)
        note_demand(q);
    bool is_short = one_more && is_short_of_workers(q);
    bool post = !q->is_posted && !q->is_closed && (is_short || backlog_next(&q->backlog) < q->armed_at);
    if (post)
        q->is_posted = true;
    pthread_mutex_unlock(&q->lock);
    if (one_more)
        pthread_cond_signal(&q->some); /* who wakes finds the lock open */
    if (post)
        loop_post(q->loop, &q->posted);
}

void queue_add(struct queue *q, str key)
{
    int64_t now = enter(q);
    leave(q, !q->is_closed && backlog_add(&q->backlog, key, now));
}

static int64_t after(int64_t now, int64_t delay_ns)
{
    int64_t at;
    return __builtin_add_overflow(now, delay_ns, &at) ? INT64_MAX - 1 : at;
}

void queue_add_after(struct queue *q, str key, int64_t delay_ns)
{
    int64_t now = enter(q);
    leave(q, !q->is_closed && backlog_add_at(&q->backlog, key, after(now, delay_ns > 0 ? delay_ns : 0), now));
}

uint32_t queue_retry(struct queue *q, str key)
{
    int64_t now = enter(q);
    uint32_t failures = q->is_closed ? backlog_failures(&q->backlog, key) : backlog_retry(&q->backlog, key, now);
    leave(q, false);
    return failures;
}

void queue_forget(struct queue *q, str key)
{
    (void)enter(q);
    backlog_forget(&q->backlog, key);
    leave(q, false);
}

uint32_t queue_failures(struct queue *q, str key)
{
    (void)enter(q);
    uint32_t failures = backlog_failures(&q->backlog, key);
    leave(q, false);
    return failures;
}

bool queue_take(struct queue *q, str *ret_key)
{
    pthread_mutex_lock(&q->lock);
    while (!q->is_closed && q->backlog.waiting.n == 0 && q->dismissed == 0)
        pthread_cond_wait(&q->some, &q->lock);
    bool taken = !q->is_closed && backlog_take(&q->backlog, clock_mono_ns(&q->clock), ret_key);
    if (!taken && q->dismissed)
        q->dismissed--;
    pthread_mutex_unlock(&q->lock);
    return taken;
}

bool queue_try_take(struct queue *q, str *ret_key)
{
    int64_t now = enter(q);
    bool taken = !q->is_closed && backlog_take(&q->backlog, now, ret_key);
    leave(q, false);
    return taken;
}

void queue_done(struct queue *q, str key)
{
    int64_t now = enter(q);
    leave(q, backlog_finish(&q->backlog, key, now));
}

struct backlog_stats queue_stats(struct queue *q)
{
    int64_t now = enter(q);
    struct backlog_stats stats = backlog_stats(&q->backlog, now);
    leave(q, false);
    return stats;
}
