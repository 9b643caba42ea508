/* SPDX-License-Identifier: Apache-2.0 */
/* What: one controller: its queue and the threads that work on it. Used by control.c alone; others see control.h.
 * Owns: the queue, the threads and their arenas.
 * Threads: the loop thread, but for control_enqueue and control_enqueue_after, which may be called by any.
 * Errors: a reconcile that fails is logged, counted and tried again, later and later. */
#pragma once

#include "control/control.h"
#include "control/control_metrics.h"

struct controller_host {
    const struct control_options *options; /* lives as long as the controller */
    void (*ended)(void *ctx);              /* after controller_stop: its last thread has ended */
    void *ctx;
};

struct controller *controller_new(const struct controller_host *host, const struct controller_options *options);
/* Not started, or stopped and its threads have ended. */
void controller_free(struct controller *k);
/* From now on threads are started when keys wait, up to options.workers, and end when they are not needed any more. */
void controller_start(struct controller *k);
/* Closes the queue. True: there are threads, and ended is going to be called. False: there are none, and it is not. */
bool controller_stop(struct controller *k);
/* A copy of what was counted. */
struct metrics_controller controller_figures(struct controller *k);
