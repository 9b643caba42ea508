/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"

#include <assert.h>

#include "base/fiber.h"

enum { OWN_SLICE = 50000 }; /* where no slices are granted: off a fiber, or while a yield is put off */

__thread struct budget *budget_now;

void budget_init(struct budget *b, int64_t total)
{
    *b = (struct budget){.left = total};
}

void budget_renew(struct budget *b, int64_t total)
{
    if (!b->is_exhausted)
        b->left = total;
}

void budget_grant(struct budget *b, int64_t steps)
{
    b->granted = b->slice = b->is_exhausted ? 0 : steps;
}

void budget_settle(struct budget *b)
{
    int64_t used = b->granted - b->slice;
    b->used += used;
    b->left -= used;
    if (b->left < 0)
        b->is_exhausted = true;
    b->granted = b->slice = 0;
}

void budget_exhaust(struct budget *b)
{
    b->is_exhausted = true;
    b->slice = b->granted = 0;
}

/* The slice is used up, or the budget is. Work that goes on regardless still yields. */
bool budget_look(struct budget *b)
{
    if (b->is_exhausted && b->slice > -OWN_SLICE)
        return false;
    if (fiber_is_inside() && b->held == 0) {
        b->is_due = false;
        fiber_yield();
    } else {
        b->is_due = true;
        budget_settle(b);
        budget_grant(b, OWN_SLICE);
    }
    return !b->is_exhausted;
}

void budget_hold(void)
{
    if (budget_now)
        budget_now->held++;
}

void budget_release(void)
{
    struct budget *b = budget_now;
    if (b == NULL)
        return;
    assert(b->held > 0);
    if (--b->held == 0 && b->is_due && fiber_is_inside()) {
        b->is_due = false;
        fiber_yield();
    }
}

struct budget *budget_swap(struct budget *b)
{
    struct budget *before = budget_now;
    budget_now = b;
    return before;
}
