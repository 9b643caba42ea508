/* SPDX-License-Identifier: Apache-2.0 */
/* What: functions that can stop halfway and continue later: each runs on a stack of its own.
 * Owns: a pool owns its stacks. A stack that is not in use returns its memory to the system.
 * Threads: a pool and its fibers belong to one thread.
 * Errors: none; running out of memory aborts.
 *
 *   fiber_start(pool, fn, arg) ─► fn(arg) … fiber_yield() ─┐
 *        ▲ true: suspended  ◄──────────────────────────────┘
 *   fiber_resume(f) ─► … continues behind fiber_yield ─► returns: false, and the stack is back in the pool */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fiber;

/* Zero-initialised is ready to use. */
struct fiber_pool {
    struct fiber *idle; /* private */
    size_t n_idle;      /* stacks kept for the next start */
    size_t n_busy;      /* fibers that have begun and not ended */
};

/* No fiber may be suspended any more. */
void fiber_pool_done(struct fiber_pool *pool);

/* Runs fn(arg) until it returns or yields. NULL: it has returned; else the suspended fiber. */
struct fiber *fiber_start(struct fiber_pool *pool, void (*fn)(void *arg), void *arg);
/* Continues a suspended fiber. True: it is suspended again; false: it has ended, and f must not be used any more. */
bool fiber_resume(struct fiber *f);
/* From inside a fiber: back to the caller that started or resumed it. */
void fiber_yield(void);
/* Whether the caller runs on a fiber. */
bool fiber_is_inside(void);
