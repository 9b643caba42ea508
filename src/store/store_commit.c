/* SPDX-License-Identifier: Apache-2.0 */
/* One write transaction for a batch of jobs. Each job is first looked at (do all its expectations hold, in the light of what
 * the jobs before it did?), then made whole or not at all. Whatever goes wrong with the transaction itself, be it the disk
 * that is full, goes wrong for all: nothing of it is in the file, and each job says so. */
#include "store/store_internal.h"

#include <assert.h>

/* The entry of a key; zeroed when there never was one. */
static int read_entry(const struct store_commit *c, MDB_txn *txn, const struct store_key *key, struct store_entry *ret,
                      struct err *err)
{
    MDB_val k = {key->n, (void *)key->p}, v;
    int rc = mdb_get(txn, c->file->idx, &k, &v);
    if (rc == MDB_NOTFOUND) {
        *ret = (struct store_entry){0};
        return 0;
    }
    return rc ? store_file_error(c->file, rc, err) : store_entry_read(k, v, ret, err);
}

static rev standing(const struct store_entry *e)
{
    return e->is_gone ? 0 : e->revision;
}

/* 1: all expectations hold; 0: the result says which does not; or trouble. */
static int look(const struct store_commit *c, MDB_txn *txn, struct store_job *job, struct err *err)
{
    struct store_key key;
    struct store_entry e;
    for (size_t i = 0; i < job->n_guards; i++) {
        const struct store_guard *g = &job->guards[i];
        store_key_make(&key, g->table, g->namespace, g->name);
        int code = read_entry(c, txn, &key, &e, err);
        if (code < 0)
            return code;
        if (standing(&e) != g->expect) {
            job->result = (struct store_result){.code = ERR_CONFLICT, .by_guard = true, .which = i};
            return 0;
        }
    }
    for (size_t i = 0; i < job->n_changes; i++) {
        const struct store_change *ch = &job->changes[i];
        store_key_make(&key, ch->table, ch->namespace, ch->name);
        int code = read_entry(c, txn, &key, &job->before[i], err);
        if (code < 0)
            return code;
        if (standing(&job->before[i]) != ch->expect) {
            job->result = (struct store_result){.code = ERR_CONFLICT, .which = i};
            return 0;
        }
    }
    return 1;
}

static int put_record(const struct store_commit *c, MDB_txn *txn, const struct store_record *r)
{
    struct store_rev_key key = store_rev_key(r->revision);
    MDB_val k = {sizeof key.p, key.p}, v = {store_record_size(r), NULL};
    int rc = mdb_put(txn, c->file->log, &k, &v, MDB_APPEND | MDB_RESERVE);
    if (rc == 0)
        store_record_write(r, v.mv_data);
    return rc;
}

static int put_entry(const struct store_commit *c, MDB_txn *txn, const struct store_record *r)
{
    struct store_key key;
    char text[STORE_ENTRY_SIZE];
    struct store_entry e = {
        .revision = r->revision,
        .created = r->created,
        .prior = r->prior,
        .size = (uint32_t)store_record_size(r),
        .is_gone = r->op == STORE_DELETED,
    };
    store_key_make(&key, r->table, r->namespace, r->name);
    store_entry_write(&e, &key, text);
    MDB_val k = {key.n, key.p}, v = {sizeof text, text};
    return mdb_put(txn, c->file->idx, &k, &v, 0);
}

static void count(struct store_commit *c, uint32_t table, int64_t by)
{
    while (c->counts.n < table)
        *vec_push(&c->arena, &c->counts) = 0;
    *vec_push(&c->arena, &c->touched) = table;
    c->counts.p[table - 1] += by;
}

static int change(struct store_commit *c, struct store_batch *b, const struct store_job *job, size_t i, struct err *err)
{
    const struct store_change *ch = &job->changes[i];
    const struct store_entry *was = &job->before[i];
    bool existed = standing(was) != 0;
    struct store_record r = {
        .revision = b->state.revision + 1,
        .op = ch->is_delete ? STORE_DELETED
              : existed     ? STORE_UPDATED
                            : STORE_CREATED,
        .table = ch->table,
        .namespace = ch->namespace,
        .name = ch->name,
        .created = existed ? was->created : b->state.revision + 1,
        .prior = was->revision,
        .time = job->time,
        .value = ch->value,
    };
    int rc = put_record(c, b->txn, &r);
    if (rc == 0)
        rc = put_entry(c, b->txn, &r);
    if (rc)
        return store_file_error(c->file, rc, err);
    b->state.revision++;
    b->n_changes++;
    if (r.op != STORE_CREATED)
        b->state.history_bytes += was->size;
    if (r.op == STORE_DELETED)
        b->state.history_bytes += store_record_size(&r);
    if (r.op != STORE_UPDATED) {
        int64_t by = r.op == STORE_CREATED ? 1 : -1;
        b->state.objects += (uint64_t)by;
        count(c, r.table, by);
    }
    return 0;
}

/* A damaged entry is the trouble of the job that asked for it, and of no other. */
static int run_job(struct store_commit *c, struct store_batch *b, struct store_job *job, struct err *err)
{
    if (job->is_refused)
        return 0;
    int code = look(c, b->txn, job, err);
    if (code <= 0) {
        if (code < 0)
            store_job_fail(job, err);
        return 0;
    }
    if (job->time > b->now)
        b->now = job->time;
    job->result = (struct store_result){.revision = b->state.revision + 1};
    for (size_t i = 0; i < job->n_changes; i++)
        if ((code = change(c, b, job, i, err)) < 0)
            return code;
    return 0;
}

static int put_table(const struct store_commit *c, MDB_txn *txn, uint32_t table, uint64_t objects, str name)
{
    struct store_table_key key = store_table_key(table);
    MDB_val k = {sizeof key.p, key.p}, v = {STORE_TABLE_HEAD + name.n, NULL};
    int rc = mdb_put(txn, c->file->meta, &k, &v, MDB_RESERVE);
    if (rc == 0)
        store_table_write(objects, name, v.mv_data);
    return rc;
}

static int put_new_tables(const struct store_commit *c, MDB_txn *txn, struct err *err)
{
    vec_each(&c->tables, t)
    {
        int rc = put_table(c, txn, t->table, 0, t->name);
        if (rc)
            return store_file_error(c->file, rc, err);
    }
    return 0;
}

static int put_count(struct store_commit *c, MDB_txn *txn, uint32_t table, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    struct store_table_key key = store_table_key(table);
    MDB_val v;
    uint64_t objects;
    str name;
    int rc = store_file_get(txn, c->file->meta, key.p, sizeof key.p, &v);
    if (rc)
        return store_file_error(c->file, rc, err);
    int code = store_table_read(v, &objects, &name, err);
    if (code < 0)
        return code;
    objects += (uint64_t)c->counts.p[table - 1];
    c->counts.p[table - 1] = 0;
    rc = put_table(c, txn, table, objects, str_dup(&a, name)); /* a copy: putting moves what lies in the page */
    return rc ? store_file_error(c->file, rc, err) : 0;
}

/* A file of an older format takes this one before it holds something that only this one knows. */
static int put_format(const struct store_commit *c, MDB_txn *txn, struct err *err)
{
    uint32_t format = STORE_FORMAT;
    MDB_val k = {6, (void *)"format"}, v = {sizeof format, &format};
    int rc = c->format < STORE_FORMAT ? mdb_put(txn, c->file->meta, &k, &v, 0) : 0;
    return rc ? store_file_error(c->file, rc, err) : 0;
}

static int put_state(struct store_commit *c, struct store_batch *b, struct err *err)
{
    char text[STORE_STATE_SIZE];
    for (size_t i = 0; i < c->touched.n; i++) {
        uint32_t table = c->touched.p[i];
        int code = c->counts.p[table - 1] ? put_count(c, b->txn, table, err) : 0;
        if (code < 0)
            return code;
    }
    store_state_write(&b->state, text);
    MDB_val k = {5, (void *)"state"}, v = {sizeof text, text};
    int rc = mdb_put(b->txn, c->file->meta, &k, &v, 0);
    return rc ? store_file_error(c->file, rc, err) : 0;
}

static bool has_changed(const struct store_commit *c, const struct store_batch *b)
{
    return b->n_changes || b->state.compacted != c->state.compacted;
}

static int fill(struct store_commit *c, struct store_batch *b, struct store_jobs *jobs, rev seen, struct err *err)
{
    int code = put_new_tables(c, b->txn, err);
    for (struct store_job *job = jobs->first; job && code == 0; job = job->next)
        code = run_job(c, b, job, err);
    if (code == 0 && (b->n_changes || c->room.is_low))
        code = store_compact(c, b, seen, err);
    if (code == 0 && has_changed(c, b))
        code = put_format(c, b->txn, err);
    if (code == 0 && has_changed(c, b))
        code = put_state(c, b, err);
    return code;
}

static int commit(struct store_commit *c, struct store_batch *b, struct store_jobs *jobs, rev seen, struct err *err)
{
    int rc = mdb_txn_begin(c->file->env, NULL, 0, &b->txn);
    if (rc)
        return store_file_error(c->file, rc, err);
    int code = fill(c, b, jobs, seen, err);
    if (code < 0 || !has_changed(c, b)) {
        mdb_txn_abort(b->txn);
        return code;
    }
    rc = store_file_commit(c->file, b->txn);
    return rc ? store_file_error(c->file, rc, err) : 0;
}

bool store_commit_jobs(struct store_commit *c, struct store_jobs *jobs, rev seen)
{
    struct err err;
    struct store_batch b = {.state = c->state};
    store_room_admit(&c->room, c->file, jobs);
    int code = commit(c, &b, jobs, seen, &err);
    for (size_t i = 0; i < c->touched.n; i++)
        c->counts.p[c->touched.p[i] - 1] = 0;
    c->touched.n = 0;
    if (code < 0) {
        for (struct store_job *job = jobs->first; job; job = job->next)
            store_job_fail(job, &err);
        return false;
    }
    if (!has_changed(c, &b))
        return false;
    c->state = b.state;
    c->format = STORE_FORMAT;
    c->tables.n = 0;
    return true;
}

bool store_commit_can_reclaim(const struct store_commit *c, rev seen)
{
    return c->room.is_low && c->state.compacted < seen && c->state.compacted < c->state.revision;
}
