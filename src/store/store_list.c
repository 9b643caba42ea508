/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over the index. Between two calls the view may move; the key it stands on is all it needs to go on. */
#include "store/store_internal.h"

#include <endian.h>
#include <stdlib.h>

struct store_list {
    struct store *store;
    rev at;
    struct store_key prefix; /* what all keys of the range begin with */
    struct store_key last;   /* the key it stands on; before the first step, the one to start behind, or the prefix */
    struct store_cursor cursor; /* in the index */
    struct store_cursor log;    /* where the last value was: the next one is often on the same page */
    struct store_key ahead;     /* while skips: nothing before this key is wanted */
    bool skips;
    bool keys_only;
    bool is_ended;
    int bad; /* the range makes no sense: what the first step says */
    /* If the walk began at the beginning of the table when `at` was the present, its end is known from the start. */
    bool knows_total;
    uint64_t total, passed;
};

static void start(struct store_list *l, const struct store_range *r)
{
    if (!r->all_namespaces && (r->namespace.n > STORE_KEY_MAX || str_find_char(r->namespace, '/') >= 0)) {
        l->is_ended = true; /* no object can be there */
        return;
    }
    store_key_prefix(&l->prefix, r->table, r->all_namespaces ? NULL : &r->namespace);
    l->last = l->prefix;
    bool from_start = r->after_namespace.n == 0 && r->after_name.n == 0;
    if (!from_start &&
        !store_key_make(&l->last, r->table, r->all_namespaces ? r->after_namespace : r->namespace, r->after_name))
        l->bad = ERR_INVALID;
    if (from_start && r->all_namespaces && l->at == store_revision(l->store)) {
        l->knows_total = true;
        l->total = store_count(l->store, r->table);
    }
}

struct store_list *store_list_open(struct store *s, const struct store_range *range)
{
    struct store_list *l = xcalloc(1, sizeof *l);
    l->store = s;
    l->at = range->at ? range->at : store_revision(s);
    l->keys_only = range->keys_only;
    start(l, range);
    return l;
}

void store_list_close(struct store_list *l)
{
    if (l == NULL)
        return;
    store_cursor_done(&l->cursor);
    store_cursor_done(&l->log);
    free(l);
}

rev store_list_revision(const struct store_list *l)
{
    return l->at;
}

/* Whether there may be such a key in front of the walk: l->ahead. */
static bool is_ahead(struct store_list *l, str namespace, str name)
{
    uint32_t table;
    memcpy(&table, l->prefix.p, sizeof table);
    l->knows_total = false;
    return !l->is_ended && store_key_make(&l->ahead, be32toh(table), namespace, name) &&
           str_cmp((str){(const char *)l->ahead.p, l->ahead.n}, (str){(const char *)l->last.p, l->last.n}) > 0;
}

void store_list_skip(struct store_list *l, str namespace, str name)
{
    l->skips = is_ahead(l, namespace, name);
}

void store_list_pass(struct store_list *l, str namespace, str name)
{
    if (!is_ahead(l, namespace, name))
        return;
    l->last = l->ahead;
    l->skips = false;
    l->cursor.generation = 0; /* it does not stand on that key */
}

static bool is_key(const struct store_key *k, MDB_val key)
{
    return key.mv_size == k->n && memcmp(key.mv_data, k->p, k->n) == 0;
}

/* To the key that was skipped to, or the first one behind it. The next entry often is it. */
static int find_ahead(const struct store_list *l, struct store_cursor *c, bool stands, MDB_val *key, MDB_val *value)
{
    if (stands && mdb_cursor_get(c->cursor, key, value, MDB_NEXT) == 0 && is_key(&l->ahead, *key))
        return 0;
    *key = (MDB_val){l->ahead.n, (void *)l->ahead.p};
    return mdb_cursor_get(c->cursor, key, value, MDB_SET_RANGE);
}

/* The first entry behind the key it stands on: 1, 0 at the end of the range, or trouble. */
static int advance(const struct store_list *l, struct store_cursor *c, MDB_val *key, MDB_val *value, struct err *err)
{
    struct store_view *v = &l->store->view;
    bool stands;
    int code = store_cursor_enter(c, v, v->file->idx, &stands, err);
    if (code < 0)
        return code;
    int rc;
    if (l->skips) {
        rc = find_ahead(l, c, stands, key, value);
    } else if (stands) {
        rc = mdb_cursor_get(c->cursor, key, value, MDB_NEXT);
    } else {
        *key = (MDB_val){l->last.n, (void *)l->last.p};
        rc = mdb_cursor_get(c->cursor, key, value, MDB_SET_RANGE);
        if (rc == 0 && is_key(&l->last, *key))
            rc = mdb_cursor_get(c->cursor, key, value, MDB_NEXT);
    }
    if (rc == MDB_NOTFOUND || (rc == 0 && !store_key_has_prefix(*key, &l->prefix)))
        return 0;
    if (rc) {
        c->generation = 0;
        return store_file_error(v->file, rc, err);
    }
    return 1;
}

/* Whether there was an object at the revision of the walk. Reads no record when the entry alone can tell. */
static int find(const struct store_list *l, const struct store_entry *e, struct store_record *ret, struct err *err)
{
    if (e->revision <= l->at) {
        ret->revision = e->revision;
        ret->created = e->created;
        return !e->is_gone;
    }
    return store_view_find(&l->store->view, e, l->at, ret, err);
}

static int fill(struct store_list *l, MDB_val key, MDB_val value, struct store_item *ret, struct err *err)
{
    struct store_view *v = &l->store->view;
    struct store_entry e;
    struct store_record r = {0};
    uint32_t table;
    *ret = (struct store_item){0};
    store_key_read(key, &table, &ret->namespace, &ret->name);
    int code = store_entry_read(key, value, &e, err);
    if (code == 0)
        code = find(l, &e, &r, err);
    if (code == 0)
        return 0;
    l->passed++;
    if (code > 0 && !l->keys_only) {
        code = store_view_record_at(v, &l->log, r.revision, &r, err);
        if (code == 0)
            code = store_view_value(v, &r, err);
        if (code == 0)
            ret->value = r.value;
    }
    if (code < 0)
        return code;
    ret->revision = r.revision;
    ret->created = r.created;
    return 1;
}

int store_list_next(struct store_list *l, struct store_item *ret, struct err *err)
{
    if (l->bad)
        return err_set(err, (enum err_code)l->bad, "the key to go on behind cannot be one of this store");
    int code = store_view_has(&l->store->view, l->at, err);
    while (code == 0 && !l->is_ended) {
        MDB_val key, value;
        code = advance(l, &l->cursor, &key, &value, err);
        if (code <= 0) {
            l->is_ended = code == 0;
            return code;
        }
        l->skips = false;
        l->last.n = key.mv_size;
        memcpy(l->last.p, key.mv_data, key.mv_size);
        code = fill(l, key, value, ret, err);
    }
    return code;
}

bool store_list_knows_rest(const struct store_list *l)
{
    return l->is_ended || l->knows_total;
}

static int64_t count_rest(struct store_list *l, struct store_cursor *c, struct err *err)
{
    int64_t n = 0;
    int code;
    MDB_val key, value;
    while ((code = advance(l, c, &key, &value, err)) > 0) {
        struct store_entry e;
        struct store_record r = {0};
        if ((code = store_entry_read(key, value, &e, NULL)) == 0)
            code = find(l, &e, &r, NULL);
        n += code != 0; /* a damaged one is there too */
    }
    return code < 0 ? code : n;
}

int64_t store_list_rest(struct store_list *l, struct err *err)
{
    if (l->bad)
        return err_set(err, (enum err_code)l->bad, "the key to go on behind cannot be one of this store");
    int code = store_view_has(&l->store->view, l->at, err);
    if (code < 0)
        return code;
    if (l->is_ended)
        return 0;
    if (l->knows_total)
        return (int64_t)(l->total - l->passed);
    struct store_cursor c = {0};
    int64_t n = count_rest(l, &c, err);
    store_cursor_done(&c);
    return n;
}
