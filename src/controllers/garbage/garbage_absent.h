/* SPDX-License-Identifier: Apache-2.0 */
/* What: owners that are known not to exist: the latest of them, so that the server need not be asked for each dependent.
 * Owns: copies of the texts; never more than ABSENT_MAX.
 * Threads: one at a time; who shares it brings a lock.
 * Errors: none. Forgetting one costs a request. Remembering one is safe: a uid is never given out twice. */
#pragma once

#include "base/map.h"
#include "controllers/garbage/garbage_graph.h"

enum { ABSENT_MAX = 500 };

struct absent_entry;

/* Zero-initialised is empty. */
struct absent {
    struct map by_text;
    struct absent_entry *latest, *oldest;
};

void absent_done(struct absent *a);
void absent_add(struct absent *a, const struct graph_id *id);
/* An entry that is found is the latest again. */
bool absent_has(struct absent *a, const struct graph_id *id);
