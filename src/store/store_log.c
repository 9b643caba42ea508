/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the log. Revisions have no gaps, so where it stands is a number. */
#include "store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>

struct store_log {
    struct store *store;
    rev after;
    uint32_t only; /* this table; 0: all */
    struct store_cursor cursor;
};

static int check(const struct store *s, rev after, struct err *err)
{
    if (after >= s->view.state.compacted)
        return 0;
    return err_set(err, ERR_EXPIRED, "changes after revision %" PRIu64 " are no longer kept; the oldest is %" PRIu64,
                   after, s->view.state.compacted);
}

int store_log_open(struct store *s, rev after, struct store_log **ret, struct err *err)
{
    int code = check(s, after, err);
    if (code < 0)
        return code;
    struct store_log *l = xcalloc(1, sizeof *l);
    l->store = s;
    l->after = after;
    *ret = l;
    return 0;
}

void store_log_close(struct store_log *l)
{
    if (l == NULL)
        return;
    store_cursor_done(&l->cursor);
    free(l);
}

void store_log_only(struct store_log *l, uint32_t table)
{
    l->only = table;
}

/* The record of the revision after the one it stands on, which it then stands on. */
static int advance(struct store_log *l, struct store_record *ret, struct err *err)
{
    struct store_view *v = &l->store->view;
    bool stands;
    int code = store_cursor_enter(&l->cursor, v, v->file->log, &stands, err);
    if (code < 0)
        return code;
    struct store_rev_key want = store_rev_key(++l->after);
    MDB_val key = {sizeof want.p, want.p}, value;
    int rc = mdb_cursor_get(l->cursor.cursor, &key, &value, stands ? MDB_NEXT : MDB_SET);
    bool missing = rc == MDB_NOTFOUND || (rc == 0 && memcmp(key.mv_data, want.p, sizeof want.p) != 0);
    if (rc || missing)
        l->cursor.generation = 0;
    if (missing)
        return err_set(err, ERR_IO, "the record of revision %" PRIu64 " is missing", l->after);
    if (rc)
        return store_file_error(v->file, rc, err);
    return store_record_read(l->after, value, ret, err);
}

int store_log_next(struct store_log *l, struct store_event *ret, struct err *err)
{
    struct store_view *v = &l->store->view;
    int code = check(l->store, l->after, err);
    while (code == 0 && l->after < v->state.revision) {
        struct store_record r = {0};
        code = advance(l, &r, err);
        if (code < 0 || (l->only && r.table != l->only))
            continue;
        code = store_view_event(v, &r, ret, err);
        return code < 0 ? code : 1;
    }
    return code;
}
