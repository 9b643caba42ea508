/* SPDX-License-Identifier: Apache-2.0 */
/* What: the directory on disk: its lock, the LMDB environment in it, and what LMDB's codes mean to us.
 * Owns: the descriptors and the memory map.
 * Threads: opened and closed by the loop; transactions may be begun by any thread (MDB_NOTLS).
 * Errors: ERR_CONFLICT another process has the directory; ERR_INVALID not a store, of a newer format, or open to
 *         other users; ERR_IO. */
#pragma once

#include "store/store_record.h"

struct store_file {
    char *dir;
    int lock; /* held with flock as long as the store is open */
    MDB_env *env;
    MDB_dbi log, idx, meta;
    size_t map_bytes, page_bytes;
    uint32_t format; /* of the file when it was opened */
};

int store_file_open(struct store_file *f, const char *dir, size_t map_bytes, struct err *err);
void store_file_close(struct store_file *f);
/* LMDB refuses to go on after it failed to write the page that makes a commit valid. Opening the file again, with no
 * transaction under way, brings it back; the directory stays locked meanwhile. */
bool store_file_is_stuck(const struct store_file *f);
int store_file_reopen(struct store_file *f, struct err *err);

/* Reports what LMDB answered; err's text names the directory. MDB_NOTFOUND too is trouble here. */
int store_file_error(const struct store_file *f, int rc, struct err *err);

/* Commits or fails with a code of LMDB, of which it says more than LMDB does: a disk that has room for only a part of the
 * pages is full, not broken. */
int store_file_commit(const struct store_file *f, MDB_txn *txn);

/* The value of a key; MDB's codes. */
int store_file_get(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t n, MDB_val *ret);
/* The state as a transaction sees it. */
int store_file_state(const struct store_file *f, MDB_txn *txn, struct store_state *ret, struct err *err);
