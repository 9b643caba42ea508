/* SPDX-License-Identifier: Apache-2.0 */
/* What: counts the steps of one piece of work, so that it can be interrupted and, past a limit, refused.
 * Owns: nothing; a budget is embedded in the work it belongs to.
 * Threads: each thread has its own budget in effect, or none.
 * Errors: none. Past the limit budget_charge returns false and is_exhausted stays set: what is computed from then on is of no
 *         use, and the caller that runs the work must refuse it instead of using the result.
 *
 * Code whose cost grows with its input charges as it goes: one step for each member, item or 64 bytes of text, which is about
 * 20 ns. Loops stop where the charge is refused. Without a budget in effect (command line, controllers, tests) nothing is
 * counted.
 *
 *   scheduler: budget_grant(b, slice) ► resume the fiber ► … budget_charge … slice used up ► fiber_yield ► budget_settle(b) */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget {
    int64_t slice;   /* private: steps left before the next look */
    int64_t granted; /* private: slice at its beginning */
    int64_t left;    /* steps left in total, as of the last budget_settle */
    int64_t used;    /* steps so far, as of then */
    unsigned held;   /* private: budget_hold without budget_release */
    bool is_due;     /* private: a yield was put off by budget_hold */
    bool is_exhausted;
};

extern __thread struct budget *budget_now; /* private: in effect; NULL: nothing is counted */

bool budget_look(struct budget *b);

/* False: the work is past its limit. May yield: what is shared with others and may change meanwhile must not be in use. */
static inline bool budget_charge(size_t steps)
{
    struct budget *b = budget_now;
    if (b == NULL)
        return true;
    b->slice -= (int64_t)steps;
    return b->slice >= 0 || budget_look(b);
}

/* For a loop of n short rounds, called in each: charges them in blocks. */
static inline bool budget_charge_round(size_t i, size_t n)
{
    enum { BLOCK = 256 };
    return i % BLOCK || budget_charge(n - i < BLOCK ? n - i : BLOCK);
}

/* The same as budget_charge for bytes of text. */
static inline bool budget_charge_text(size_t bytes)
{
    return budget_charge(1 + bytes / 64);
}

/* Whether the limit is passed already; charges nothing. */
static inline bool budget_is_exhausted(void)
{
    return budget_now && budget_now->is_exhausted;
}

/* Between the two, charges do not yield: for code that uses what others may change. */
void budget_hold(void);
void budget_release(void);

/* Puts a budget in effect, NULL for none, and returns the one before. */
struct budget *budget_swap(struct budget *b);

/* ---- For who runs the work. ---- */

void budget_init(struct budget *b, int64_t total);
/* A new total, unless the work is past its limit. */
void budget_renew(struct budget *b, int64_t total);
/* Allows that many steps until the next yield. */
void budget_grant(struct budget *b, int64_t steps);
/* Counts what was used since then. */
void budget_settle(struct budget *b);
/* The work is past its limit from now on. */
void budget_exhaust(struct budget *b);
