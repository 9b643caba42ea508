/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up history, a piece in every commit. When the compacted revision moves past revision r, nobody can ask any more for
 * what was before r; so the record that r replaced goes, and if r is a deletion, r itself and its entry in the index.
 *
 *      compacted ──► moves past 7
 *   … 3a  4b  5a  6c  7a  8c …      7a replaced 5a: 5a goes. 3a went when the revision moved past 5.
 *
 * No search is needed: what goes is known from the record that is passed. It never passes what the loop has not handed out as
 * an event, so the loop finds the record of every event. */
#include "store/store_internal.h"

/* Per commit: as much as it can produce itself, and some more to catch up. Each deletion copies up to three pages, so there are
 * fewer of them while space is low. */
enum { DELETES_PER_CHANGE = 2, MORE_DELETES = 40, STEPS_PER_CHANGE = 4, MORE_STEPS = 256, MORE_STEPS_LOW = 4096 };

struct budget {
    size_t steps, deletes;
};

static int drop_record(const struct store_commit *c, struct store_batch *b, rev revision, struct err *err)
{
    struct store_rev_key key = store_rev_key(revision);
    MDB_val k = {sizeof key.p, key.p}, v;
    int rc = mdb_get(b->txn, c->file->log, &k, &v);
    if (rc == MDB_NOTFOUND)
        return 0; /* a damaged record was passed without knowing what it replaced */
    if (rc)
        return store_file_error(c->file, rc, err);
    b->state.history_bytes -= v.mv_size < b->state.history_bytes ? v.mv_size : b->state.history_bytes;
    rc = mdb_del(b->txn, c->file->log, &k, NULL);
    return rc ? store_file_error(c->file, rc, err) : 0;
}

/* Unless the name was taken again meanwhile. */
static int drop_entry(const struct store_commit *c, struct store_batch *b, const struct store_key *key, rev revision,
                      struct err *err)
{
    MDB_val k = {key->n, (void *)key->p}, v;
    struct store_entry e;
    int rc = mdb_get(b->txn, c->file->idx, &k, &v);
    if (rc == MDB_NOTFOUND || (rc == 0 && (store_entry_read(k, v, &e, NULL) < 0 || e.revision != revision)))
        return 0;
    if (rc == 0)
        rc = mdb_del(b->txn, c->file->idx, &k, NULL);
    return rc ? store_file_error(c->file, rc, err) : 0;
}

static bool is_due(const struct store_commit *c, const struct store_batch *b, const struct store_record *r)
{
    return c->room.is_low || b->state.history_bytes > c->limits->keep_bytes ||
           (r->time <= b->now && b->now - r->time >= c->limits->keep_ns);
}

/* Moves one revision on: 1, 0 when the next one is not due, or trouble. */
static int step(const struct store_commit *c, struct store_batch *b, struct budget *left, struct err *err)
{
    rev revision = b->state.compacted + 1;
    struct store_rev_key rev_key = store_rev_key(revision);
    MDB_val v;
    struct store_record r;
    struct store_key key;
    int rc = store_file_get(b->txn, c->file->log, rev_key.p, sizeof rev_key.p, &v);
    if (rc && rc != MDB_NOTFOUND)
        return store_file_error(c->file, rc, err);
    left->steps--;
    if (rc == MDB_NOTFOUND || store_record_read(revision, v, &r, NULL) < 0) {
        b->state.compacted = revision; /* damaged: what it replaced stays for ever, the others must not suffer */
        return 1;
    }
    if (!is_due(c, b, &r))
        return 0;
    b->state.compacted = revision;
    if (r.op == STORE_CREATED)
        return 1;
    bool is_gone = r.op == STORE_DELETED;
    bool has_key = store_key_make(&key, r.table, r.namespace, r.name);
    int code = drop_record(c, b, r.prior, err);
    if (code == 0 && is_gone)
        code = drop_record(c, b, revision, err);
    if (code == 0 && is_gone && has_key)
        code = drop_entry(c, b, &key, revision, err);
    size_t deletes = is_gone ? 2 : 1;
    left->deletes -= left->deletes < deletes ? left->deletes : deletes;
    return code < 0 ? code : 1;
}

int store_compact(const struct store_commit *c, struct store_batch *b, rev seen, struct err *err)
{
    struct budget left = {
        .steps = STEPS_PER_CHANGE * b->n_changes + (c->room.is_low ? MORE_STEPS_LOW : MORE_STEPS),
        .deletes = DELETES_PER_CHANGE * b->n_changes + (c->room.is_low ? store_room_batch(&c->room) : MORE_DELETES),
    };
    int code = 1;
    while (code > 0 && left.steps && left.deletes && b->state.compacted < seen)
        code = step(c, b, &left, err);
    return code < 0 ? code : 0;
}
