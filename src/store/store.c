/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const struct store_limits limits_default = {
    .batch_max = 256,
    .batch_bytes = 4 << 20,
    .queue_bytes = 64 << 20,
    .keep_ns = INT64_C(5) * 60 * 1000000000,
    .keep_bytes = 256 << 20,
};
static const size_t map_default = (size_t)64 << 30;

static struct store_limits limits_of(const struct store_options *o)
{
    const struct store_limits *d = &limits_default;
    return (struct store_limits){
        .batch_max = o->batch_max ? o->batch_max : d->batch_max,
        .batch_bytes = o->batch_bytes ? o->batch_bytes : d->batch_bytes,
        .queue_bytes = o->queue_bytes ? o->queue_bytes : d->queue_bytes,
        .keep_ns = o->keep_ns ? o->keep_ns : d->keep_ns,
        .keep_bytes = o->keep_bytes ? o->keep_bytes : d->keep_bytes,
    };
}

/* Everything but the thread. */
static void drop(struct store *s)
{
    arena_done(&s->writer.arena);
    arena_done(&s->writer.commit.arena);
    store_tables_done(&s->tables);
    store_view_close(&s->view);
    store_file_close(&s->file);
    free(s);
}

int store_open(const struct store_options *options, struct store **ret, struct err *err)
{
    struct store *s = xcalloc(1, sizeof *s);
    s->options = *options;
    s->options.dir = NULL; /* the caller's; file has a copy */
    s->limits = limits_of(options);
    store_jobs_init(&s->finished);
    int code = store_file_open(&s->file, options->dir, options->map_bytes ? options->map_bytes : map_default, err);
    if (code == 0)
        code = store_view_open(&s->view, &s->file, err);
    if (code == 0)
        code = store_tables_load(&s->tables, &s->view, err);
    if (code == 0) {
        s->writer.wake = options->wake;
        s->writer.ctx = options->ctx;
        s->writer.commit.file = &s->file;
        s->writer.commit.limits = &s->limits;
        s->writer.commit.state = s->view.state;
        s->writer.commit.format = s->file.format;
        atomic_store(&s->writer.seen, s->view.state.revision);
        code = store_writer_start(&s->writer, err);
        s->is_full = code == 0 && s->writer.is_full;
    }
    if (code < 0) {
        drop(s);
        return code;
    }
    *ret = s;
    return 0;
}

rev store_revision(const struct store *s)
{
    return s->view.state.revision;
}

rev store_oldest(const struct store *s)
{
    return s->view.state.compacted;
}

size_t store_pending(const struct store *s)
{
    return s->pending;
}

struct store_event store_event_of(const struct store_record *r)
{
    return (struct store_event){
        .revision = r->revision,
        .op = r->op,
        .table = r->table,
        .namespace = r->namespace,
        .name = r->name,
        .created = r->created,
        .previous = r->op == STORE_CREATED ? 0 : r->prior,
        .value = r->value,
    };
}

/* ---- Read. ---- */

static int give(struct store *s, const struct store_record *r, struct store_item *ret, struct err *err)
{
    int code = store_view_value(&s->view, r, err);
    if (code < 0)
        return code;
    *ret = (struct store_item){r->namespace, r->name, r->revision, r->created, r->value};
    return 0;
}

static int get(struct store *s, const struct store_key *key, rev at, struct store_item *ret, struct err *err)
{
    MDB_val k = {key->n, (void *)key->p}, v;
    struct store_entry e;
    struct store_record r;
    int rc = mdb_get(s->view.txn, s->file.idx, &k, &v);
    if (rc == MDB_NOTFOUND)
        return ERR_NOT_FOUND;
    if (rc)
        return store_file_error(&s->file, rc, err);
    int code = store_entry_read(k, v, &e, err);
    if (code == 0)
        code = store_view_find(&s->view, &e, at, &r, err);
    if (code <= 0)
        return code ? code : ERR_NOT_FOUND;
    return give(s, &r, ret, err);
}

int store_get_at(struct store *s, uint32_t table, str namespace, str name, rev at, struct store_item *ret,
                 struct err *err)
{
    struct store_key key;
    int code = store_view_has(&s->view, at, err);
    if (code < 0)
        return code;
    return store_key_make(&key, table, namespace, name) ? get(s, &key, at, ret, err) : ERR_NOT_FOUND;
}

int store_get(struct store *s, uint32_t table, str namespace, str name, struct store_item *ret, struct err *err)
{
    return store_get_at(s, table, namespace, name, store_revision(s), ret, err);
}

int store_previous(struct store *s, const struct store_event *event, struct store_item *ret, struct err *err)
{
    struct store_record r;
    if (event->previous == 0)
        return ERR_NOT_FOUND;
    int code = store_view_has(&s->view, event->revision - 1, err);
    if (code == 0)
        code = store_view_record(&s->view, event->previous, &r, err);
    return code < 0 ? code : give(s, &r, ret, err);
}

/* ---- Write. ---- */

int store_submit(struct store *s, const struct store_write *w, struct err *err)
{
    if (s->is_closing)
        return err_set(err, ERR_UNAVAILABLE, "the store is being closed");
    int code = store_job_check(&s->tables, w, err);
    if (code < 0)
        return code;
    size_t bytes = store_job_size(w);
    if (s->pending && s->pending_bytes + bytes > s->limits.queue_bytes)
        return err_set(err, ERR_TOO_MANY_REQUESTS, "%zu writes of %zu bytes are waiting for the disk", s->pending,
                       s->pending_bytes);
    s->pending++;
    s->pending_bytes += bytes;
    store_writer_push(&s->writer, store_job_new(w, clock_wall_ns(&s->options.clock)));
    return 0;
}

/* A change that is on disk but cannot be read back would leave indexes, and with them permissions, behind the data. */
static void must(int code, const struct err *err)
{
    if (code == 0)
        return;
    (void)fprintf(stderr, "reeve: what was just written cannot be read: %s\n", err->msg);
    abort();
}

/* To the newest commit; with a file that is opened again, if need be. */
static int move_view(struct store *s, bool is_stuck, struct err *err)
{
    if (!is_stuck)
        return store_view_move(&s->view, err);
    store_view_close(&s->view);
    must(store_file_reopen(&s->file, err), err);
    must(store_view_open(&s->view, &s->file, err), err);
    store_writer_go_on(&s->writer, &s->view.state);
    return 0;
}

static void hand_out_events(struct store *s, rev after)
{
    for (rev revision = after + 1; revision <= s->view.state.revision; revision++) {
        struct err err;
        struct store_record r;
        must(store_view_record(&s->view, revision, &r, &err), &err);
        struct store_event event;
        must(store_view_event(&s->view, &r, &event, &err), &err);
        if (s->options.on_event)
            s->options.on_event(s->options.ctx, &event);
    }
    store_writer_see(&s->writer, s->view.state.revision);
    if (s->view.state.revision > after && s->options.on_settled)
        s->options.on_settled(s->options.ctx);
}

static void hand_out_results(struct store *s)
{
    struct store_jobs jobs;
    store_jobs_init(&jobs);
    store_jobs_move(&jobs, &s->finished);
    for (struct store_job *job = jobs.first, *next; job; job = next) {
        next = job->next;
        s->pending--;
        s->pending_bytes -= job->bytes;
        s->writes += job->result.code == 0;
        if (job->result.code != ERR_CONFLICT && !job->is_refused)
            s->is_failing = job->result.code != 0;
        if (job->done)
            job->done(job->ctx, &job->result);
        store_job_free(job);
    }
}

void store_poll(struct store *s)
{
    struct err err;
    assert(!s->is_polling);
    s->is_polling = true;
    rev before = s->view.state.revision;
    struct store_progress progress = store_writer_take(&s->writer, &s->finished);
    s->commits = progress.commits;
    s->is_full = progress.is_full;
    if (move_view(s, progress.is_stuck, &err) == 0) {
        hand_out_events(s, before);
        hand_out_results(s);
    } else {
        s->is_failing = true;
    }
    s->is_polling = false;
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    assert(!s->is_polling);
    s->is_closing = true;
    store_writer_stop(&s->writer);
    store_poll(s);
    hand_out_results(s); /* even if the view would not move: they are written, or failed */
    drop(s);
}

/* ---- Metrics. ---- */

static uint64_t pages(const struct store *s, MDB_dbi dbi)
{
    MDB_stat st;
    if (mdb_stat(s->view.txn, dbi, &st) != 0)
        return 0;
    return st.ms_branch_pages + st.ms_leaf_pages + st.ms_overflow_pages;
}

struct store_stats store_stats(const struct store *s)
{
    struct stat st;
    int fd;
    struct store_stats stats = {
        .used_bytes = (pages(s, s->file.log) + pages(s, s->file.idx) + pages(s, s->file.meta)) * s->file.page_bytes,
        .log_bytes = s->view.state.history_bytes,
        .commits = s->commits,
        .writes = s->writes,
        .objects = s->view.state.objects,
        .is_failing = s->is_failing,
        .is_full = s->is_full,
    };
    if (mdb_env_get_fd(s->file.env, &fd) == 0 && fstat(fd, &st) == 0)
        stats.file_bytes = (uint64_t)st.st_size;
    return stats;
}

bool store_is_full(const struct store *s)
{
    return s->is_full;
}
