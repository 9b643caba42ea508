/* SPDX-License-Identifier: Apache-2.0 */
#include "control/control_metrics.h"

#include <stdlib.h>

/* In seconds, as controller-runtime has them. */
static const double bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6,
                                0.7,   0.8,  0.9,   1,    1.25, 1.5,  1.75, 2,    2.5, 3,    3.5, 4,    4.5, 5,
                                6,     7,    8,     9,    10,   15,   20,   25,   30,  40,   50,  60};

struct histogram metrics_times(void)
{
    return (struct histogram){.bounds = bounds, .n_bounds = COUNT(bounds)};
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* ---- Controllers. One family of lines after the other, so each is a row of a table: what it is called, and how it is told. ---- */

static void depth(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_count(b, name, labels, c->queue.depth);
}

static void adds(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_count(b, name, labels, c->queue.adds);
}

static void retries(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_count(b, name, labels, c->queue.retries);
}

static void waited(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_histogram(b, name, labels, &c->queue.waited);
}

static void worked(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_histogram(b, name, labels, &c->queue.worked);
}

static void unfinished(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_value(b, name, labels, seconds(c->queue.at_work_ns));
}

static void longest(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_value(b, name, labels, seconds(c->queue.longest_ns));
}

static void results(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    static const char *const names[METRICS_RESULTS] = {
        [METRICS_SUCCESS] = "success",
        [METRICS_REQUEUE_AFTER] = "requeue_after",
        [METRICS_REQUEUE] = "requeue",
        [METRICS_ERROR] = "error",
    };
    for (size_t i = 0; i < METRICS_RESULTS; i++)
        buf_fmt(b, "%s{%.*s,result=\"%s\"} %llu\n", name, STR(labels), names[i], (unsigned long long)c->results[i]);
}

static void errors(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_count(b, name, labels, c->results[METRICS_ERROR]);
}

static void times(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_histogram(b, name, labels, &c->times);
}

static void active(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_count(b, name, labels, c->queue.at_work);
}

static void workers(struct buf *b, const char *name, str labels, const struct metrics_controller *c)
{
    metric_count(b, name, labels, c->workers);
}

static const struct family {
    const char *name, *type, *label, *help;
    void (*tell)(struct buf *b, const char *name, str labels, const struct metrics_controller *c);
} families[] = {
    {"workqueue_depth", "gauge", "name", "Keys that wait to be worked on.", depth},
    {"workqueue_adds_total", "counter", "name", "Keys that were added.", adds},
    {"workqueue_retries_total", "counter", "name", "Keys that were added for a later time.", retries},
    {"workqueue_queue_duration_seconds", "histogram", "name", "How long keys waited to be taken.", waited},
    {"workqueue_work_duration_seconds", "histogram", "name", "How long keys were at work.", worked},
    {"workqueue_unfinished_work_seconds", "gauge", "name", "How long the keys at work have been so, in all.",
     unfinished},
    {"workqueue_longest_running_processor_seconds", "gauge", "name", "How long the oldest key at work has been so.",
     longest},
    {"controller_runtime_reconcile_total", "counter", "controller", "Visits of keys, by how they ended.", results},
    {"controller_runtime_reconcile_errors_total", "counter", "controller", "Visits that failed.", errors},
    {"controller_runtime_reconcile_time_seconds", "histogram", "controller", "How long visits took.", times},
    {"controller_runtime_active_workers", "gauge", "controller", "Workers that visit a key.", active},
    {"controller_runtime_max_concurrent_reconciles", "gauge", "controller", "Most workers at a time.", workers},
};

void metrics_write_controllers(struct buf *b, const struct metrics_controller *p, size_t n)
{
    char room[256];
    for (size_t f = 0; f < COUNT(families); f++) {
        const struct family *family = &families[f];
        metric_head(b, family->name, family->type, family->help);
        for (size_t i = 0; i < n; i++) {
            struct arena scratch ARENA_SCOPE = ARENA_IN(room);
            struct buf labels = {.arena = &scratch};
            metric_label(&labels, family->label, str_of(p[i].name));
            family->tell(b, family->name, buf_str(&labels), &p[i]);
        }
    }
}

/* ---- Informers. ---- */

static int by_resource(const void *x, const void *y)
{
    const struct metrics_informer *a = x, *b = y;
    return str_cmp(a->resource, b->resource);
}

/* Adds up those of one resource, in place; returns how many resources there are. */
static size_t merge(struct metrics_informer *p, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || !str_eq(p[kept - 1].resource, p[i].resource)) {
            p[kept++] = p[i];
            continue;
        }
        struct metrics_informer *m = &p[kept - 1];
        m->is_synced &= p[i].is_synced;
        m->stats.n += p[i].stats.n;
        m->stats.bytes += p[i].stats.bytes;
        m->stats.text += p[i].stats.text;
        m->stats.lists += p[i].stats.lists;
        m->stats.watches += p[i].stats.watches;
        m->stats.failures += p[i].stats.failures;
        m->stats.events += p[i].stats.events;
    }
    return kept;
}

void metrics_write_informers(struct buf *b, struct metrics_informer *p, size_t n)
{
    static const struct {
        const char *name, *type, *help;
    } heads[] = {
        {"reeve_informer_synced", "gauge", "1 when the first list is complete."},
        {"reeve_informer_objects", "gauge", "Objects in the cache."},
        {"reeve_informer_bytes", "gauge", "Memory of the cache, indexes included."},
        {"reeve_informer_text_bytes", "gauge", "JSON text in the cache."},
        {"reeve_informer_lists_total", "counter", "Lists made."},
        {"reeve_informer_watches_total", "counter", "Watches made."},
        {"reeve_informer_failures_total", "counter", "Lists and watches that failed."},
        {"reeve_informer_events_total", "counter", "Events received."},
    };
    char room[256];
    if (n)
        qsort(p, n, sizeof *p, by_resource);
    n = merge(p, n);
    for (size_t f = 0; f < COUNT(heads); f++) {
        metric_head(b, heads[f].name, heads[f].type, heads[f].help);
        for (size_t i = 0; i < n; i++) {
            const struct informer_stats *s = &p[i].stats;
            const uint64_t values[] = {p[i].is_synced, s->n,       s->bytes,    s->text,
                                       s->lists,       s->watches, s->failures, s->events};
            struct arena scratch ARENA_SCOPE = ARENA_IN(room);
            struct buf labels = {.arena = &scratch};
            metric_label(&labels, "resource", p[i].resource);
            metric_count(b, heads[f].name, buf_str(&labels), values[f]);
        }
    }
}
