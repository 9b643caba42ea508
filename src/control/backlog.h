/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a queue does, without threads, clocks and timers: the time is told with each call.
 * Owns: copies of the keys.
 * Threads: one at a time; queue.h has the lock.
 * Errors: none.
 *
 *   keys     hash map of all entries. An entry is in any of these at once, and gone when it is in none:
 *   waiting  a list, first come first served                               (it is to be taken)
 *   at work  a list by time of taking; "again" says it was added meanwhile (somebody has it)
 *   later    a heap by time                                                (it will be added)
 *   failed   a number of failures to remember
 *
 * Everything is constant or, where the heap is touched, logarithmic in the number of keys that wait for their time. */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "base/metric.h"

struct backlog_entry;

struct backlog_list {
    struct backlog_entry *first, *last;
    size_t n;
};

struct backlog {
    struct map keys;
    struct backlog_list waiting, at_work;
    size_t n_again;               /* of those at work */
    struct backlog_entry **later; /* a binary heap; [0] is the next */
    size_t n_later, cap_later;
    int64_t base_ns, max_ns;     /* of the delays after failures */
    struct random_seeded jitter; /* nothing secret: it only spreads retries */
    uint64_t adds, retries;
    int64_t taken_sum; /* of the times at which those at work were taken, modulo 2^64 */
    struct histogram waited, worked;
};

void backlog_init(struct backlog *b, int64_t base_ns, int64_t max_ns, uint64_t seed);
void backlog_done(struct backlog *b);

/* True: there is one more to take. */
bool backlog_add(struct backlog *b, str key, int64_t now);
/* At that time, if it is in the future; of two times the earlier counts. True as above. */
bool backlog_add_at(struct backlog *b, str key, int64_t at, int64_t now);
/* After the delay of its failures, one more than before; returns their number. */
uint32_t backlog_retry(struct backlog *b, str key, int64_t now);
void backlog_forget(struct backlog *b, str key);
uint32_t backlog_failures(const struct backlog *b, str key);
/* Adds those whose time has come; returns how many more there are to take. */
size_t backlog_wake(struct backlog *b, int64_t now);
/* When backlog_wake has something to do; INT64_MAX: never. */
int64_t backlog_next(const struct backlog *b);
/* The first that waits, to work on it; lives until backlog_finish. False: none waits. */
bool backlog_take(struct backlog *b, int64_t now, str *ret_key);
/* Of a key at work. True: there is one more to take, itself. */
bool backlog_finish(struct backlog *b, str key, int64_t now);

struct backlog_stats {
    size_t depth;   /* to be taken: waiting, and those at work that were added meanwhile */
    size_t later;   /* waiting for their time */
    size_t at_work; /* taken and not done */
    uint64_t adds, retries;
    int64_t longest_ns;              /* how long the one at work for longest has been so */
    int64_t at_work_ns;              /* sum over those at work */
    struct histogram waited, worked; /* seconds from added to taken, and from taken to done */
};

struct backlog_stats backlog_stats(const struct backlog *b, int64_t now);
