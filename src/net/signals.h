/* SPDX-License-Identifier: Apache-2.0 */
/* What: SIGTERM and SIGINT as events of the loop. Peers that go away, and limits of file sizes, end nothing: writing says so.
 * Owns: a descriptor; the process's signal mask and handlers, from signals_open on.
 * Threads: the loop thread, before there are others: they inherit what is blocked.
 * Errors: ERR_IO, ERR_INTERNAL when the kernel refuses. */
#pragma once

#include "net/loop.h"

/* Embedded in its owner; zero-initialise, set fn and ctx. */
struct signals {
    void (*fn)(void *ctx, int number);
    void *ctx;
    struct loop *loop;   /* private */
    struct loop_fd file; /* private */
};

int signals_open(struct signals *s, struct loop *l, struct err *err);
/* Harmless when it was not opened. */
void signals_close(struct signals *s);
