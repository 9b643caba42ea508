/* SPDX-License-Identifier: Apache-2.0 */
/* What: amounts such as 500m, 1.5Gi or 2e3, as resource lists hold them.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: a text, word for word that of Kubernetes. */
#pragma once

#include "base/str.h"

/* NULL when s is an amount, else what is wrong with it. Blanks around it must be gone. */
const char *quantity_check(str s);
