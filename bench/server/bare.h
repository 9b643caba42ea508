/* SPDX-License-Identifier: Apache-2.0 */
/* What: LMDB alone, writing what the store writes and nothing else: the measure of durable writes on this very disk.
 * Owns: a folder in the directory of a server, removed with it.
 * Threads: one.
 * Errors: see server.h. */
#pragma once

#include "server.h"

#include <lmdb.h>

struct bare {
    MDB_env *env;
    MDB_dbi log, index;
    uint64_t revision;
};

void bare_open(struct bare *l, struct server *s);
/* n values, so many in one commit; seconds. */
double bare_write(struct bare *l, size_t n, size_t group, str value);
void bare_close(struct bare *l);
