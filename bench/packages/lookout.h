/* SPDX-License-Identifier: Apache-2.0 */
/* What: a watch on install objects that knows how many are Ready, and how many have gone.
 * Owns: its connection.
 * Threads: one; the loop turns only within these functions.
 * Errors: see bench/server/server.h. */
#pragma once

#include "../server/server.h"

struct lookout;

/* Returns when the watch is open. target: of the list, without query. */
struct lookout *lookout_open(struct server *s, str target);
void lookout_close(struct lookout *l);

/* Until so many objects are Ready now. */
void lookout_wait_ready(struct lookout *l, size_t n);
/* Until so many objects are there, Ready or not. */
void lookout_wait_left(struct lookout *l, size_t n);
