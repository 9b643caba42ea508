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
/* Waits for a key and takes it; it belongs to the queue until queue_done. False: the queue was closed. */
bool queue_take(struct queue *q, str *ret_key);
/* As queue_take, without waiting; false as well when none waits. */
bool queue_try_take(struct queue *q, str *ret_key);
void queue_done(struct queue *q, str key);
/* Who waits in queue_take, or comes later, gets false; what is added from now on is dropped. */
void queue_close(struct queue *q);

struct backlog_stats queue_stats(struct queue *q);
