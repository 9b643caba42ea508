/* SPDX-License-Identifier: Apache-2.0 */
/* What: the figures of controllers and informers as Prometheus text, under the names of client-go and controller-runtime.
 * Owns: nothing.
 * Threads: pure functions on copies of the figures.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "control/backlog.h"
#include "control/informer.h"

/* How a visit of a key ended. */
enum metrics_result {
    METRICS_SUCCESS,
    METRICS_REQUEUE_AFTER, /* all went well, and it wants to be called again */
    METRICS_REQUEUE,       /* a conflict: tried again, and not an error */
    METRICS_ERROR,
    METRICS_RESULTS,
};

struct metrics_controller {
    const char *name;
    uint64_t results[METRICS_RESULTS];
    struct histogram times; /* of visits, in seconds */
    unsigned workers;
    struct backlog_stats queue;
};

/* Zero times with bounds. */
struct histogram metrics_times(void);

/* Informers of one resource are told together. */
struct metrics_informer {
    str resource; /* "clusterroles.rbac.authorization.k8s.io" */
    bool is_synced;
    struct informer_stats stats;
};

void metrics_write_controllers(struct buf *b, const struct metrics_controller *p, size_t n);
/* Sorts p. */
void metrics_write_informers(struct buf *b, struct metrics_informer *p, size_t n);
