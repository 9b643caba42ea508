/* SPDX-License-Identifier: Apache-2.0 */
/* What: which digest a question (reference, policy, credentials) was answered with, for a while. Part of the fetcher.
 * Owns: its entries.
 * Threads: the caller holds a lock.
 * Errors: none.
 *
 * An answer stands only for the very same question: somebody else's credentials open nothing. It falls when its time is over or the
 * local store has changed, which always goes first. */
#pragma once

#include "base/map.h"
#include "oci/digest.h"

#include <sys/stat.h>

/* What tells one state of the local store from another. All zero: there is none. */
struct fetch_store_state {
    uint64_t inode, size;
    int64_t changed_ns;
};

struct fetch_store_state fetch_store_look(const char *path);

struct fetch_memory {
    struct map answers; /* question → struct answer */
    int64_t keep_ns;
};

void fetch_memory_done(struct fetch_memory *m);
bool fetch_memory_get(struct fetch_memory *m, str question, const struct fetch_store_state *store, int64_t now_ns,
                      struct oci_digest *ret);
void fetch_memory_forget(struct fetch_memory *m, str question);
void fetch_memory_put(struct fetch_memory *m, str question, const struct fetch_store_state *store, int64_t now_ns,
                      const struct oci_digest *digest);
