/* SPDX-License-Identifier: Apache-2.0 */
/* What: keys that wait to be worked on: each once, each by one worker at a time, those that failed later and later.
 * Owns: copies of the keys.
 * Threads: any; queue_new and queue_free belong to the loop thread, which runs the timer of what waits.
 * Errors: none.
 *
 *             queue_add                    queue_take              queue_done
 *   ─────────────────────────► waiting ──────────────► at work ──────────────► gone
 *     queue_add_after, _retry     ▲                      │ added meanwhile
 *        └──► later ──────────────┴──────────────────────┘
 *
 * A key is added while it is at work: it is taken again as soon as it is done. Nothing is lost, nothing runs twice at once.
 * What a queue does is backlog.h; here are the lock, the waiting and the timer around it. */
#pragma once

#include "base/clock.h"
#include "base/str.h"
#include "control/backlog.h"
#include "net/loop.h"

struct queue;

struct queue_options {
    struct loop *loop;
    struct clock clock;   /* the loop's; used by all threads */
    struct random random; /* asked once, by queue_new */
    int64_t base_ns;      /* of the first retry; 0: 5 ms. Doubles with each, give or take a tenth */
    int64_t max_ns;       /* 0: 5 minutes */
    /* After queue_staff, on the loop thread: keys are waiting, no worker is free, and queue_hire allows for more. */
    void (*short_of_workers)(void *ctx);
    void *ctx;
};

struct queue *queue_new(const struct queue_options *options);
/* No thread is inside any more. Takes NULL. */
void queue_free(struct queue *q);
void queue_add(struct queue *q, str key);
/* Once that time is over, even if it is added sooner; of two such times the earlier counts. */
void queue_add_after(struct queue *q, str key, int64_t delay_ns);
/* After a failure: as queue_add_after, with a delay that grows. Returns the number of failures in a row. */
uint32_t queue_retry(struct queue *q, str key);
/* After a success: the next failure is the first again. */
void queue_forget(struct queue *q, str key);
/* How often it failed in a row. */
uint32_t queue_failures(struct queue *q, str key);
/* Waits for a key and takes it; it belongs to the queue until queue_done. False: the queue was closed, or the worker is dismissed
 * and no key is waiting. */
bool queue_take(struct queue *q, str *ret_key);
/* As queue_take, without waiting; false as well when none waits. */
bool queue_try_take(struct queue *q, str *ret_key);
void queue_done(struct queue *q, str key);
/* Who waits in queue_take, or comes later, gets false; what is added from now on is dropped. */
void queue_close(struct queue *q);

/* ---- Workers: threads that call queue_take until it returns false. They are counted here, because a key that is added decides
 * whether one more is needed; their owner starts and joins them. All from the loop thread.
 *
 *   short_of_workers ─► queue_hire ─► n threads ─► queue_take … false ─► joined ─► queue_leave
 *
 * A caller of queue_leave calls queue_hire afterwards: a key that was added while the worker left may still wait for it. ---- */

/* Allows for that many workers; before this call none are asked for. */
void queue_staff(struct queue *q, size_t max);
/* The number of workers to start now: one for each key that has none, up to the maximum. They count from now on. */
size_t queue_hire(struct queue *q);
/* A worker ended, or could not be started. */
void queue_leave(struct queue *q);
/* Dismisses the workers that were not needed since the last call. To be called once in a while. */
void queue_dismiss(struct queue *q);

struct backlog_stats queue_stats(struct queue *q);
