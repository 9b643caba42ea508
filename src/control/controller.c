/* SPDX-License-Identifier: Apache-2.0 */
#include "control/controller.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/queue.h"

/*
 *   keys wait, none is free ─► on_short: starts threads ─► visits ─► not needed for SURPLUS_NS: dismissed ─► on_left: joins
 *                                   │ the system refuses
 *                                   └──► tried again after REFUSED_NS
 *
 * The loop thread alone starts and joins threads, so the table of workers needs no lock.
 */
enum {
    WORKERS = 2,
    ARENA_KEPT = 256 * 1024, /* bytes that a worker keeps from one visit to the next */
/* Enough for trees of JSON_MAX_DEPTH, which are walked by functions that call themselves. Only pages that are touched take
     * memory. The frames of the address sanitizer are several times as large. */
#ifdef BASE_ASAN
    STACK_BYTES = 8 * 1024 * 1024,
#else
    STACK_BYTES = 1024 * 1024,
#endif
};

#define SURPLUS_NS INT64_C(5000000000)
#define REFUSED_NS NS_PER_S

struct worker {
    struct loop_work left; /* first member; posted as the last thing its thread does */
    struct controller *k;
    pthread_t thread;
    struct arena arena;
    bool is_started; /* and not yet joined */
};

struct controller {
    struct controller_host host;
    struct controller_options options;
    struct queue *queue;
    struct worker *workers;  /* as many as there may be; NULL before controller_start */
    size_t n_workers;        /* of them started */
    struct loop_timer timer; /* set while there are workers or the system refuses to start them */
    bool is_refused;         /* the system did not start a thread; tried again when the timer fires */
    atomic_bool is_stopping;
    pthread_mutex_t lock; /* of what follows */
    uint64_t results[METRICS_RESULTS];
    struct histogram times;
};

static void on_short(void *ctx);
static void on_timer(void *ctx);

struct controller *controller_new(const struct controller_host *host, const struct controller_options *options)
{
    struct controller *k = xcalloc(1, sizeof *k);
    k->host = *host;
    k->options = *options;
    if (k->options.workers == 0)
        k->options.workers = WORKERS;
    k->queue = queue_new(&(struct queue_options){.loop = host->options->loop,
                                                 .clock = host->options->clock,
                                                 .random = host->options->random,
                                                 .max_ns = options->longest_wait_ns,
                                                 .short_of_workers = on_short,
                                                 .ctx = k});
    k->timer = (struct loop_timer){.fn = on_timer, .ctx = k};
    k->times = metrics_times();
    pthread_mutex_init(&k->lock, NULL);
    return k;
}

void controller_free(struct controller *k)
{
    assert(k->n_workers == 0);
    loop_timer_cancel(k->host.options->loop, &k->timer);
    queue_free(k->queue);
    pthread_mutex_destroy(&k->lock);
    free(k->workers);
    free(k);
}

/* ---- Keys: namespace/name, the slash always there. ---- */

static str key_of(struct arena *a, str namespace, str name)
{
    return str_fmt(a, "%.*s/%.*s", STR(namespace), STR(name));
}

void control_enqueue(struct controller *k, str namespace, str name)
{
    char room[512];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    queue_add(k->queue, key_of(&scratch, namespace, name));
}

void control_enqueue_after(struct controller *k, str namespace, str name, int64_t delay_ns)
{
    char room[512];
    struct arena scratch ARENA_SCOPE = ARENA_IN(room);
    queue_add_after(k->queue, key_of(&scratch, namespace, name), delay_ns);
}

/* ---- One visit, on a worker's thread. ---- */

static void log_failure(struct controller *k, str key, const struct err *err, uint32_t failures)
{
    if (key.n && key.p[0] == '/')
        key = str_from(key, 1);
    log_line(k->host.options->log, LOG_ERROR, "reconcile failed", LOG_STR("controller", str_of(k->options.name)),
             LOG_STR("key", key), LOG_STR("error", str_of(err->msg)), LOG_STR("reason", str_of(err_name(err->code))),
             LOG_INT("failures", failures));
}

/* What becomes of the key. Conflicts say that the cache was behind, errors of one that is told to stop say just that. */
static enum metrics_result settle(struct controller *k, str key, const struct reconcile *r, const struct err *err)
{
    if (err->code == 0) {
        queue_forget(k->queue, key);
        if (r->again_ns <= 0)
            return METRICS_SUCCESS;
        queue_add_after(k->queue, key, r->again_ns);
        return METRICS_REQUEUE_AFTER;
    }
    uint32_t failures = queue_retry(k->queue, key);
    if (err->code == ERR_CONFLICT || atomic_load_explicit(&k->is_stopping, memory_order_acquire))
        return METRICS_REQUEUE;
    log_failure(k, key, err, failures);
    return METRICS_ERROR;
}

static void visit(struct worker *w, str key)
{
    struct controller *k = w->k;
    struct clock clock = k->host.options->clock;
    struct err err = {0};
    struct reconcile r = {
        .arena = &w->arena,
        .client = k->options.client,
        .clock = clock,
        .failures = queue_failures(k->queue, key),
    };
    bool is_key = str_cut(key, '/', &r.namespace, &r.name);
    assert(is_key);
    int64_t start = clock_mono_ns(&clock);
    int code = k->options.reconcile(k->options.ctx, &r, &err);
    int64_t took = clock_mono_ns(&clock) - start;
    assert(code <= 0);
    err.code = (enum err_code)code;
    enum metrics_result result = settle(k, key, &r, &err);
    pthread_mutex_lock(&k->lock);
    k->results[result]++;
    histogram_add(&k->times, (double)took / 1e9);
    pthread_mutex_unlock(&k->lock);
    queue_done(k->queue, key);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    str key;
    while (queue_take(w->k->queue, &key)) {
        visit(w, key);
        if (arena_footprint(&w->arena) > ARENA_KEPT)
            arena_done(&w->arena);
        else
            arena_reset(&w->arena);
    }
    arena_done(&w->arena);
    loop_post(w->k->host.options->loop, &w->left);
    return NULL;
}

/* ---- Threads. ---- */

/* Signals are for the main thread, but those that tell of a bug in the thread itself. */
static void block_signals(pthread_attr_t *attr)
{
    sigset_t set;
    static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    (void)sigfillset(&set);
    for (size_t i = 0; i < COUNT(own); i++)
        (void)sigdelset(&set, own[i]);
    (void)pthread_attr_setsigmask_np(attr, &set);
}

static void name_thread(const struct worker *w)
{
    char name[16]; /* all the kernel keeps: the end of a long name goes, the number stays */
    (void)snprintf(name, sizeof name, "%.10s/%u", w->k->options.name, (unsigned)(w - w->k->workers) % 1000);
    (void)pthread_setname_np(w->thread, name);
}

/* 0 or an errno. */
static int start_thread(struct worker *w)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0)
        abort();
    (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
    block_signals(&attr);
    int code = pthread_create(&w->thread, &attr, work, w);
    (void)pthread_attr_destroy(&attr);
    if (code)
        return code;
    name_thread(w);
    w->is_started = true;
    w->k->n_workers++;
    return 0;
}

static struct worker *free_worker(struct controller *k)
{
    struct worker *w = k->workers;
    while (w->is_started)
        w++;
    return w;
}

/* The keys stay in the queue: workers that exist take them, and one more is tried later. */
static void put_off_workers(struct controller *k, size_t n, int code)
{
    char why[128];
    errno = code;
    (void)snprintf(why, sizeof why, "%m");
    if (!k->is_refused)
        log_line(k->host.options->log, LOG_ERROR, "cannot start a worker thread, trying again every second",
                 LOG_STR("controller", str_of(k->options.name)), LOG_STR("error", str_of(why)),
                 LOG_INT("workers", (int64_t)k->n_workers));
    k->is_refused = true;
    for (size_t i = 0; i < n; i++)
        queue_leave(k->queue);
    loop_timer_set(k->host.options->loop, &k->timer, REFUSED_NS);
}

static void start_workers(struct controller *k)
{
    size_t n = queue_hire(k->queue);
    if (n && k->n_workers == 0)
        loop_timer_set(k->host.options->loop, &k->timer, SURPLUS_NS);
    for (; n; n--) {
        int code = start_thread(free_worker(k));
        if (code) {
            put_off_workers(k, n, code);
            return;
        }
    }
    k->is_refused = false;
}

static void on_short(void *ctx)
{
    struct controller *k = ctx;
    if (!k->is_refused)
        start_workers(k);
}

static void on_timer(void *ctx)
{
    struct controller *k = ctx;
    queue_dismiss(k->queue);
    start_workers(k);
    if (k->n_workers && !k->is_refused)
        loop_timer_set(k->host.options->loop, &k->timer, SURPLUS_NS);
}

static void on_left(struct loop_work *left)
{
    struct worker *w = (struct worker *)left;
    struct controller *k = w->k;
    pthread_join(w->thread, NULL);
    w->is_started = false;
    k->n_workers--;
    queue_leave(k->queue);
    on_short(k);
    if (k->n_workers || k->is_refused)
        return;
    loop_timer_cancel(k->host.options->loop, &k->timer);
    if (atomic_load_explicit(&k->is_stopping, memory_order_relaxed))
        k->host.ended(k->host.ctx);
}

void controller_start(struct controller *k)
{
    assert(k->workers == NULL);
    k->workers = xcalloc(k->options.workers, sizeof *k->workers);
    for (unsigned i = 0; i < k->options.workers; i++)
        k->workers[i] = (struct worker){.left = {.fn = on_left}, .k = k};
    queue_staff(k->queue, k->options.workers);
    start_workers(k);
}

bool controller_stop(struct controller *k)
{
    atomic_store_explicit(&k->is_stopping, true, memory_order_release);
    queue_close(k->queue);
    loop_timer_cancel(k->host.options->loop, &k->timer);
    k->is_refused = false;
    return k->n_workers > 0;
}

struct metrics_controller controller_figures(struct controller *k)
{
    struct metrics_controller figures = {.name = k->options.name, .workers = k->options.workers};
    figures.queue = queue_stats(k->queue);
    pthread_mutex_lock(&k->lock);
    memcpy(figures.results, k->results, sizeof figures.results);
    figures.times = k->times;
    pthread_mutex_unlock(&k->lock);
    return figures;
}
