/* SPDX-License-Identifier: Apache-2.0 */
/* Reading through the memory map. What is handed out points into it; nothing is copied.
 *
 * Pages of the map count as memory of this process once they were read, though the kernel could drop them at any time.
 * So that reading all objects once does not look like (and, under a limit, cost) as much memory as all objects, the
 * page tables are dropped every few megabytes. What was handed out stays valid: touching it again only maps the page again,
 * from the kernel's cache.
 *
 * Those megabytes are not of what was read: for each page that is missing the kernel maps all of its neighbours that it has at
 * hand. Of values of a few kilobytes, read in no order, that is ten times as much. But what is mapped already is not mapped again: a
 * list goes by namespaces through what was written by the hour, and comes to the same neighbours over and over. And they are dropped from the lowest to the
 * highest ever read, not only where something was read since: the writer thread maps pages as well, the more when it gives up
 * history. */
#include "store/store_internal.h"

#include <inttypes.h>
#include <sys/mman.h>

enum { AROUND = 64 << 10 /* fault_around_bytes */, FORGET_AFTER = 16 << 20 };

int store_view_open(struct store_view *v, const struct store_file *f, struct err *err)
{
    *v = (struct store_view){.file = f, .generation = v->generation + 1};
    int rc = mdb_txn_begin(f->env, NULL, MDB_RDONLY, &v->spare);
    if (rc)
        return store_file_error(f, rc, err);
    mdb_txn_reset(v->spare);
    rc = mdb_txn_begin(f->env, NULL, MDB_RDONLY, &v->txn);
    if (rc)
        return store_file_error(f, rc, err);
    return store_file_state(f, v->txn, &v->state, err);
}

void store_view_close(struct store_view *v)
{
    if (v->txn)
        mdb_txn_abort(v->txn);
    if (v->spare)
        mdb_txn_abort(v->spare);
    v->txn = v->spare = NULL;
}

static void count(struct store_view *v, size_t bytes)
{
    v->touched += bytes;
    if (v->touched < FORGET_AFTER || v->low == NULL)
        return;
    uintptr_t page = v->file->page_bytes - 1;
    uintptr_t from = (uintptr_t)v->low & ~page, to = ((uintptr_t)v->high + page) & ~page;
    (void)madvise((void *)from, to - from, MADV_DONTNEED);
    v->touched = 0;
    memset(v->mapped, 0, sizeof v->mapped);
}

/* False when it is known to be mapped since the last time all was dropped. Of two parts that share a place the later one counts
 * again: better too often than too rarely. */
static bool is_new(struct store_view *v, uintptr_t part)
{
    uintptr_t *place = &v->mapped[part % (COUNT(v->mapped))];
    if (*place == part)
        return false;
    *place = part;
    return true;
}

static void touch(struct store_view *v, const char *p, size_t n)
{
    if (n == 0)
        return;
    uintptr_t first = (uintptr_t)p / AROUND, last = ((uintptr_t)p + n - 1) / AROUND;
    if (v->low == NULL || p < v->low)
        v->low = p;
    if (v->high == NULL || p + n > v->high)
        v->high = p + n;
    size_t parts = 0;
    for (uintptr_t part = first; part <= last; part++)
        parts += is_new(v, part);
    count(v, parts * AROUND);
}

int store_view_move(struct store_view *v, struct err *err)
{
    struct store_state state;
    int rc = mdb_txn_renew(v->spare);
    if (rc)
        return store_file_error(v->file, rc, err);
    int code = store_file_state(v->file, v->spare, &state, err);
    if (code < 0) {
        mdb_txn_reset(v->spare);
        return code;
    }
    MDB_txn *old = v->txn;
    mdb_txn_reset(old);
    v->txn = v->spare;
    v->spare = old;
    /* Each revision that is new, and each that is history no longer, was a look of the writer at another place. */
    count(v, (state.revision - v->state.revision + state.compacted - v->state.compacted) * AROUND);
    v->state = state;
    v->generation++;
    return 0;
}

static int read_record(const struct store_view *v, int rc, rev revision, MDB_val value, struct store_record *ret,
                       struct err *err)
{
    if (rc == MDB_NOTFOUND)
        return err_set(err, ERR_IO, "the record of revision %" PRIu64 " is missing", revision);
    if (rc)
        return store_file_error(v->file, rc, err);
    return store_record_read(revision, value, ret, err);
}

int store_view_record(struct store_view *v, rev revision, struct store_record *ret, struct err *err)
{
    struct store_rev_key key = store_rev_key(revision);
    MDB_val value = {0};
    int rc = store_file_get(v->txn, v->file->log, key.p, sizeof key.p, &value);
    return read_record(v, rc, revision, value, ret, err);
}

int store_view_record_at(struct store_view *v, struct store_cursor *c, rev revision, struct store_record *ret,
                         struct err *err)
{
    struct store_rev_key bytes = store_rev_key(revision);
    MDB_val key = {sizeof bytes.p, bytes.p}, value = {0};
    bool stands;
    int code = store_cursor_enter(c, v, v->file->log, &stands, err);
    if (code < 0)
        return code;
    int rc = mdb_cursor_get(c->cursor, &key, &value, MDB_SET);
    if (rc)
        c->generation = 0;
    return read_record(v, rc, revision, value, ret, err);
}

int store_view_value(struct store_view *v, const struct store_record *r, struct err *err)
{
    touch(v, r->value.p, r->value.n);
    return store_record_check_value(r, err);
}

int store_view_event(struct store_view *v, const struct store_record *r, struct store_event *ret, struct err *err)
{
    struct store_record shown = *r;
    int code = r->op == STORE_DELETED && r->value.n == 0 ? store_view_record(v, r->prior, &shown, err) : 0;
    if (code == 0)
        code = store_view_value(v, &shown, err);
    if (code < 0)
        return code;
    *ret = store_event_of(r);
    ret->value = shown.value;
    return 0;
}

/*   idx ──► 90 update ──prior──► 70 create ──prior──► 60 delete ──prior──► 20 create
 * at 75: the record of 70;  at 65: no object, as 70 made one;  at 60: none, as 60 is a deletion;  at 30: the record of 20.
 * Records not younger than the compacted revision may be missing, so they are read only when they are the answer. */
int store_view_find(struct store_view *v, const struct store_entry *e, rev at, struct store_record *ret,
                    struct err *err)
{
    if (e->revision > at && e->prior == 0)
        return 0;
    if (e->revision <= at && e->is_gone)
        return 0;
    rev revision = e->revision;
    for (;;) {
        int code = store_view_record(v, revision, ret, err);
        if (code < 0)
            return code;
        if (revision <= at)
            return ret->op != STORE_DELETED;
        if (ret->prior == 0 || (ret->op == STORE_CREATED && ret->prior <= at))
            return 0;
        if (ret->prior >= revision)
            return err_set(err, ERR_IO, "the records of %.*s/%.*s run in a circle", STR(ret->namespace),
                           STR(ret->name));
        revision = ret->prior;
    }
}

int store_view_has(const struct store_view *v, rev at, struct err *err)
{
    if (at < v->state.compacted)
        return err_set(err, ERR_EXPIRED, "revision %" PRIu64 " is no longer kept; the oldest is %" PRIu64, at,
                       v->state.compacted);
    if (at > v->state.revision)
        return err_set(err, ERR_INVALID, "revision %" PRIu64 " is not there yet; the newest is %" PRIu64, at,
                       v->state.revision);
    return 0;
}

int store_cursor_enter(struct store_cursor *c, struct store_view *v, MDB_dbi dbi, bool *ret_stands, struct err *err)
{
    int rc = 0;
    *ret_stands = c->cursor && c->generation == v->generation;
    if (c->cursor == NULL)
        rc = mdb_cursor_open(v->txn, dbi, &c->cursor);
    else if (!*ret_stands)
        rc = mdb_cursor_renew(v->txn, c->cursor);
    if (rc)
        return store_file_error(v->file, rc, err);
    c->generation = v->generation;
    return 0;
}

void store_cursor_done(struct store_cursor *c)
{
    if (c->cursor)
        mdb_cursor_close(c->cursor);
    *c = (struct store_cursor){0};
}
