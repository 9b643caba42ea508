/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of this folder know of each other.
 * Owns: see each struct.
 * Threads: everything belongs to the loop, but what struct store_writer says.
 * Errors: as store.h. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/store_file.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

/* ---- The view: the transaction all reading happens in (store_view.c). ---- */

struct store_view {
    const struct store_file *file;
    MDB_txn *txn;   /* what is seen */
    MDB_txn *spare; /* the next one begins before this one ends, so a failure leaves the old view in place */
    uint64_t generation;
    struct store_state state;
    const char *low, *high; /* of the map: all that was ever read is between them */
    size_t touched;         /* bytes of it that became part of our memory since the kernel was told to forget them */
    uintptr_t mapped[1024]; /* what that was, in steps of what comes at once; each has one place */
};

/* Also again, after store_view_close: cursors that stand in the view of before notice. */
int store_view_open(struct store_view *v, const struct store_file *f, struct err *err);
void store_view_close(struct store_view *v);
/* To the newest commit. On failure the view stays where it was. */
int store_view_move(struct store_view *v, struct err *err);

/* The record of a revision without its value checked; ERR_IO when there is none. */
int store_view_record(struct store_view *v, rev revision, struct store_record *ret, struct err *err);
/* Checks the value of a record that is handed out. */
int store_view_value(struct store_view *v, const struct store_record *r, struct err *err);
/* From the newest entry of a key to the record that was current after revision `at`: 1, 0 when there was no object then. */
int store_view_find(struct store_view *v, const struct store_entry *e, rev at, struct store_record *ret,
                    struct err *err);
/* 0, or ERR_EXPIRED, or ERR_INVALID for a revision that is not there yet. */
int store_view_has(const struct store_view *v, rev at, struct err *err);

/* A place in a database that survives the moves of the view. */
struct store_cursor {
    MDB_cursor *cursor;
    uint64_t generation; /* of the view it stands in; 0: nowhere */
};

/* As store_view_record, with a cursor on the log that is kept between calls: records close to each other are found
 * without a search from the root. */
int store_view_record_at(struct store_view *v, struct store_cursor *c, rev revision, struct store_record *ret,
                         struct err *err);

/* Makes the cursor usable in this view; *ret_stands: it still is where it was. */
int store_cursor_enter(struct store_cursor *c, struct store_view *v, MDB_dbi dbi, bool *ret_stands, struct err *err);
void store_cursor_done(struct store_cursor *c);

/* The event of a record, its value checked. A deletion without a value of its own shows that of the record it replaced. */
int store_view_event(struct store_view *v, const struct store_record *r, struct store_event *ret, struct err *err);

/* ---- Tables (store_table.c). ---- */

struct store_tables {
    struct intern names;
    struct map ids;     /* name → its number, as a pointer */
    struct arena arena; /* of what follows */
    VEC(str) list;      /* number - 1 → name */
};

int store_tables_load(struct store_tables *t, const struct store_view *v, struct err *err);
void store_tables_done(struct store_tables *t);

/* ---- Writing (store_job.c, store_commit.c, store_compact.c, store_writer.c). ---- */

/* A write on its way: one block with everything it points to. */
struct store_job {
    struct store_job *next;
    size_t bytes;
    int64_t time;
    void (*done)(void *ctx, const struct store_result *result);
    void *ctx;
    const struct store_change *changes; /* the value is whole, value_rest is empty */
    struct store_entry *before;         /* of each change, while it is being committed: what it replaces */
    const struct store_guard *guards;
    size_t n_changes, n_guards;
    bool is_cleanup;
    bool is_refused; /* for lack of space, before anything was tried */
    struct store_result result;
    char *message; /* heap, or NULL */
};

struct store_jobs {
    struct store_job *first, **last;
};

int store_job_check(const struct store_tables *tables, const struct store_write *w, struct err *err);
/* Bytes a job for this write takes. */
size_t store_job_size(const struct store_write *w);
struct store_job *store_job_new(const struct store_write *w, int64_t time);
void store_job_free(struct store_job *job);
void store_job_fail(struct store_job *job, const struct err *err);

void store_jobs_init(struct store_jobs *jobs);
void store_jobs_push(struct store_jobs *jobs, struct store_job *job);
/* Moves all of from behind to. */
void store_jobs_move(struct store_jobs *to, struct store_jobs *from);

/* A table that is not in the file yet. */
struct store_new_table {
    uint32_t table;
    str name; /* interned: stays until the store is closed */
};

struct store_limits {
    size_t batch_max, batch_bytes, queue_bytes;
    int64_t keep_ns;
    uint64_t keep_bytes;
};

/* ---- Space (store_room.c). ---- */

/* Space for commits; belongs to the writer thread. */
struct store_room {
    uint64_t reserve; /* bytes kept for deletions */
    uint64_t end;     /* of the part of the file whose blocks are allocated */
    int why;          /* the file could not be extended: a code of LMDB or errno; 0: it could */
    bool is_low;      /* history is given up at once, commits are small */
    bool is_full;     /* only deletions are accepted */
};

/* Allocates the reserve, as far as there is space. */
void store_room_open(struct store_room *room, const struct store_file *f);
/* Makes space for the jobs and fails those for which there is none. */
void store_room_admit(struct store_room *room, const struct store_file *f, struct store_jobs *jobs);
/* How many jobs a commit may have while space is low, so that the pages it needs are a small part of the reserve. */
size_t store_room_batch(const struct store_room *room);

/* What one commit needs and carries from one to the next; belongs to the writer thread. */
struct store_commit {
    const struct store_file *file;
    const struct store_limits *limits;
    struct store_state state; /* as of the last commit */
    struct store_room room;
    uint32_t format; /* of the file */
    struct arena arena;
    VEC(struct store_new_table) tables; /* not in the file yet */
    VEC(int64_t) counts;                /* number - 1 → objects more or less than the file says */
    VEC(uint32_t) touched;              /* numbers of tables whose count changes */
};

/* What is known of a commit while it is made. */
struct store_batch {
    MDB_txn *txn;
    struct store_state state;
    size_t n_changes;
    int64_t now; /* when the youngest write was submitted */
};

/* Makes the changes of all jobs that can be made and sets all results. seen: events up to this revision were handed out.
 * True when something was committed. Without jobs it only gives up history. */
bool store_commit_jobs(struct store_commit *c, struct store_jobs *jobs, rev seen);
/* Space is low and there is history to give up: a commit is worth making though no job waits. */
bool store_commit_can_reclaim(const struct store_commit *c, rev seen);
/* Gives up history that is too old or too much, a bounded piece of it. */
int store_compact(const struct store_commit *c, struct store_batch *b, rev seen, struct err *err);

struct store_writer {
    pthread_t thread;
    struct store_commit commit; /* the thread's */
    void (*wake)(void *ctx);
    void *ctx;
    _Atomic rev seen;   /* set by the loop */
    atomic_bool is_low; /* the writer waits for seen to reach each commit before it makes the next one */

    sem_t more;   /* posted when the writer is parked and has to look again */
    sem_t opened; /* posted once, when the space was measured */

    pthread_mutex_t mutex; /* guards what follows */
    bool is_parked;
    struct store_jobs queue, finished;
    struct arena arena;
    VEC(struct store_new_table) tables; /* of the loop, for the writer */
    uint64_t commits;
    bool is_full;    /* of commit.room, for the loop */
    bool is_stuck;   /* it waits until the loop has opened the file again */
    bool has_failed; /* the last commit that only gave up history; the next one comes with a job */
    bool is_closing;
};

int store_writer_start(struct store_writer *w, struct err *err);
/* Waits until all that was queued is finished. */
void store_writer_stop(struct store_writer *w);
void store_writer_table(struct store_writer *w, struct store_new_table table);
void store_writer_push(struct store_writer *w, struct store_job *job);
struct store_progress {
    uint64_t commits;
    bool is_full;
    bool is_stuck; /* the writer waits for store_writer_go_on */
};

/* Takes what is finished. */
struct store_progress store_writer_take(struct store_writer *w, struct store_jobs *ret);
/* Events up to this revision were handed out. */
void store_writer_see(struct store_writer *w, rev revision);
void store_writer_go_on(struct store_writer *w, const struct store_state *state);

struct store_event store_event_of(const struct store_record *r);

struct store {
    struct store_options options;
    struct store_limits limits;
    struct store_file file;
    struct store_view view;
    struct store_tables tables;
    struct store_writer writer;
    struct store_jobs finished; /* taken from the writer, not handed out yet */
    size_t pending, pending_bytes;
    uint64_t commits, writes;
    bool is_failing, is_full, is_polling, is_closing;
};
