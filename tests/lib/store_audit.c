/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/store_audit.h"

#include "base/arena.h"
#include "store/store_record.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TABLES = 1024 };

struct audit {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi log, idx, meta;
    struct arena arena;
    struct store_state state;
    struct store_record *records; /* by revision; revision 0: there is none */
    bool *is_current;             /* by revision: an entry of the index says so */
    bool *is_needed;              /* by revision: a record that is kept for its own sake replaced it */
    uint64_t counts[TABLES];
};

#define WRONG(...) err_set(err, ERR_INTERNAL, __VA_ARGS__)

static int open_all(struct audit *a, const char *dir, struct err *err)
{
    int rc = mdb_env_create(&a->env);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(a->env, 3);
    if (rc == 0)
        rc = mdb_env_open(a->env, dir, MDB_RDONLY | MDB_NOTLS, 0600);
    if (rc == 0)
        rc = mdb_txn_begin(a->env, NULL, MDB_RDONLY, &a->txn);
    if (rc == 0)
        rc = mdb_dbi_open(a->txn, "log", 0, &a->log);
    if (rc == 0)
        rc = mdb_dbi_open(a->txn, "idx", 0, &a->idx);
    if (rc == 0)
        rc = mdb_dbi_open(a->txn, "meta", 0, &a->meta);
    return rc ? WRONG("open %s: %s", dir, mdb_strerror(rc)) : 0;
}

static int each(struct audit *a, MDB_dbi dbi, int (*fn)(struct audit *a, MDB_val key, MDB_val value, struct err *err),
                struct err *err)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int code = 0, rc = mdb_cursor_open(a->txn, dbi, &cursor);
    if (rc)
        return WRONG("%s", mdb_strerror(rc));
    for (rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); rc == 0 && code == 0;
         rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))
        code = fn(a, key, value, err);
    mdb_cursor_close(cursor);
    return code == 0 && rc != MDB_NOTFOUND ? WRONG("%s", mdb_strerror(rc)) : code;
}

static int read_state(struct audit *a, struct err *err)
{
    MDB_val key = {5, (void *)"state"}, value;
    int rc = mdb_get(a->txn, a->meta, &key, &value);
    if (rc)
        return WRONG("state: %s", mdb_strerror(rc));
    int code = store_state_read(value, &a->state, err);
    if (code < 0)
        return code;
    if (a->state.compacted > a->state.revision || a->state.revision > 100000000)
        return WRONG("revision %" PRIu64 ", compacted %" PRIu64, a->state.revision, a->state.compacted);
    a->records = ARENA_ARRAY(&a->arena, struct store_record, a->state.revision + 1);
    a->is_current = ARENA_ARRAY(&a->arena, bool, a->state.revision + 1);
    a->is_needed = ARENA_ARRAY(&a->arena, bool, a->state.revision + 1);
    return 0;
}

static int read_record(struct audit *a, MDB_val key, MDB_val value, struct err *err)
{
    rev revision = 0;
    for (size_t i = 0; i < key.mv_size; i++)
        revision = revision << 8 | ((const unsigned char *)key.mv_data)[i];
    if (key.mv_size != 8 || revision < 2 || revision > a->state.revision)
        return WRONG("a record of revision %" PRIu64, revision);
    struct store_record *r = &a->records[revision];
    int code = store_record_read(revision, value, r, err);
    return code < 0 ? code : store_record_check_value(r, err);
}

static int check_entry(struct audit *a, MDB_val key, MDB_val value, struct err *err)
{
    struct store_entry e;
    uint32_t table;
    str namespace, name;
    int code = store_entry_read(key, value, &e, err);
    if (code < 0)
        return code;
    if (!store_key_read(key, &table, &namespace, &name) || table == 0 || table >= TABLES)
        return WRONG("a key that is none");
    const struct store_record *r = e.revision <= a->state.revision ? &a->records[e.revision] : &a->records[0];
    if (r->revision == 0)
        return WRONG("%.*s/%.*s is at %" PRIu64 ", which has no record", STR(namespace), STR(name), e.revision);
    if (r->table != table || !str_eq(r->namespace, namespace) || !str_eq(r->name, name) || r->created != e.created ||
        r->prior != e.prior || store_record_size(r) != e.size || (r->op == STORE_DELETED) != (e.is_gone != 0))
        return WRONG("entry and record of %.*s/%.*s at %" PRIu64 " differ", STR(namespace), STR(name), e.revision);
    if (e.is_gone && e.revision <= a->state.compacted)
        return WRONG("the entry of %.*s/%.*s outlived its deletion at %" PRIu64, STR(namespace), STR(name), e.revision);
    a->is_current[e.revision] = true;
    a->counts[table] += !e.is_gone;
    return 0;
}

/* What a record says of the one before it. */
static int check_prior(const struct audit *a, const struct store_record *r, struct err *err)
{
    if (r->prior >= r->revision || (r->op == STORE_CREATED) != (r->created == r->revision))
        return WRONG("revision %" PRIu64 ": created %" PRIu64 ", prior %" PRIu64, r->revision, r->created, r->prior);
    const struct store_record *p = &a->records[r->prior];
    bool must_be = r->revision > a->state.compacted && r->op != STORE_CREATED;
    if (p->revision == 0)
        return must_be ? WRONG("revision %" PRIu64 " replaced %" PRIu64 ", which is gone", r->revision, r->prior) : 0;
    if (p->table != r->table || !str_eq(p->namespace, r->namespace) || !str_eq(p->name, r->name))
        return WRONG("revision %" PRIu64 " replaced %" PRIu64 " of another name", r->revision, r->prior);
    if ((p->op == STORE_DELETED) != (r->op == STORE_CREATED))
        return WRONG("revision %" PRIu64 " cannot follow %" PRIu64, r->revision, r->prior);
    return 0;
}

static int check_records(struct audit *a, struct err *err)
{
    uint64_t history = 0;
    for (rev revision = 2; revision <= a->state.revision; revision++) {
        const struct store_record *r = &a->records[revision];
        if (r->revision == 0) {
            if (revision > a->state.compacted)
                return WRONG("revision %" PRIu64 " is missing", revision);
            continue;
        }
        int code = check_prior(a, r, err);
        if (code < 0)
            return code;
        if (revision <= a->state.compacted)
            continue;
        if (r->op != STORE_CREATED)
            history += store_record_size(&a->records[r->prior]);
        if (r->op == STORE_DELETED)
            history += store_record_size(r);
        a->is_needed[r->prior] = true;
    }
    if (history != a->state.history_bytes)
        return WRONG("history has %" PRIu64 " bytes, not %" PRIu64, history, a->state.history_bytes);
    for (rev revision = 2; revision <= a->state.compacted; revision++)
        if (a->records[revision].revision && !a->is_current[revision] && !a->is_needed[revision])
            return WRONG("revision %" PRIu64 " should be gone", revision);
    return 0;
}

static int check_counts(struct audit *a, struct err *err)
{
    uint64_t objects = 0;
    for (uint32_t table = 1; table < TABLES; table++) {
        struct store_table_key key = store_table_key(table);
        MDB_val k = {sizeof key.p, key.p}, value;
        uint64_t count = 0;
        str name;
        int rc = mdb_get(a->txn, a->meta, &k, &value);
        int code = rc == 0 ? store_table_read(value, &count, &name, err) : 0;
        if (code < 0)
            return code;
        if (count != a->counts[table])
            return WRONG("table %u has %" PRIu64 " objects, not %" PRIu64, table, a->counts[table], count);
        objects += count;
    }
    if (objects != a->state.objects)
        return WRONG("there are %" PRIu64 " objects, not %" PRIu64, objects, a->state.objects);
    return 0;
}

int store_audit(const char *dir, rev *ret_revision, struct err *err)
{
    struct audit a = {0};
    int code = open_all(&a, dir, err);
    if (code == 0)
        code = read_state(&a, err);
    if (code == 0)
        code = each(&a, a.log, read_record, err);
    if (code == 0)
        code = each(&a, a.idx, check_entry, err);
    if (code == 0)
        code = check_records(&a, err);
    if (code == 0)
        code = check_counts(&a, err);
    if (code == 0 && ret_revision)
        *ret_revision = a.state.revision;
    if (a.txn)
        mdb_txn_abort(a.txn);
    if (a.env)
        mdb_env_close(a.env);
    arena_done(&a.arena);
    return code;
}
