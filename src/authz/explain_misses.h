/* SPDX-License-Identifier: Apache-2.0 */
/* What: what was missing when a request was denied. Private to the explanations.
 * Owns: nothing.
 * Threads: reads the index.
 * Errors: none. */
#pragma once

#include "authz/explain.h"

/* Fills in misses and remedy of an explanation that has who, what and a decision that is no. */
void explain_misses(struct arena *a, const struct authz_index *ix, struct explanation *e);
