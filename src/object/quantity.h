/* SPDX-License-Identifier: Apache-2.0 */
/* What: amounts such as 500m, 1.5Gi or 2e3, as resource lists hold them.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure functions.
 * Errors: a text, word for word that of Kubernetes. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* NULL when s is an amount, else what is wrong with it. Blanks around it must be gone. */
const char *quantity_check(str s);

/* What an amount can be finer than: resource lists are rounded up to thousandths, all others to billionths. */
enum quantity_grain { QUANTITY_NANO = -9, QUANTITY_MILLI = -3 };

/* The one text of an amount that quantity_check has passed, as Kubernetes prints it: 0.5Gi is 512Mi, 0.10 is 100m.
 * Texts that are nearly so (1.500) stay as they are, as there. */
str quantity_canonical(struct arena *a, str s, enum quantity_grain grain);
/* Its sign: -1, 0 or 1. */
int quantity_sign(str s);
/* Negative, 0 or positive as l is less than, equal to or more than r, after rounding to thousandths. */
int quantity_cmp(str l, str r);
/* Rounded up to a whole number; false when it does not fit. */
bool quantity_to_int(str s, int64_t *ret);
