/* SPDX-License-Identifier: Apache-2.0 */
/* What: Ctrl-C and SIGTERM, for commands that must not leave half of a thing behind: held back for a moment, or told by a descriptor.
 * Owns: the calling thread's signal mask and a descriptor, until interrupt_close.
 * Threads: the main thread; sessions (session.h) take no signals, so that those of the process are its.
 * Errors: none: without a descriptor a signal waits for interrupt_close.
 *
 * What arrived and was not taken has its old meaning at interrupt_close: it ends the process. */
#pragma once

#include <signal.h>

struct interrupt {
    sigset_t before; /* private */
    int fd;          /* can be read when one has come; -1: there is none */
};

/* Signals wait. For what takes no time. */
void interrupt_hold(struct interrupt *i);
/* SIGINT and SIGTERM can be read from fd, but for what the process ignores. For what takes long. */
void interrupt_open(struct interrupt *i);
/* Takes the one that has come; its number, or 0. */
int interrupt_take(struct interrupt *i);
void interrupt_close(struct interrupt *i);
