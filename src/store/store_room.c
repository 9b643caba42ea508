/* SPDX-License-Identifier: Apache-2.0 */
/* Space for commits, and the reserve.
 *
 *   0                                   last page                end                map_bytes
 *   ├─ pages in use and free pages ─────────┼──── tail ───────────┼─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┤
 *                                                 blocks allocated     not allocated
 *
 * LMDB never changes a page in place: a deletion first needs pages for copies, and returns pages only in later commits. On a
 * full disk it would fail, and nothing else makes space. So the blocks of the tail are allocated ahead, and a part of it is
 * kept back:
 *
 *   writes of any kind        while tail and free pages hold more than the reserve
 *   cleanup (is_cleanup)      while they hold more than half of it
 *   deletions                 always
 *
 * A deletion stores no value again and copies a few pages; with the history that is given up after it the file has more free
 * pages than before. So deletions cannot use up the reserve, but an update can: an object that is marked as being deleted is
 * written again, as large as it is. Those have the first half of the reserve only.
 *
 * Values of more than a page need consecutive pages. Free pages may be scattered, so for those the tail counts alone: half of
 * the reserve (cleanup: a quarter) stays in the tail.
 *
 * While space is low, history is given up as soon as its events were handed out, and the commits are small: each one leaves
 * its pages to the one after the next. */
#include "store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum {
    RESERVE_MAX = 16 << 20, /* bytes; less of a small map (a quarter) or disk (an eighth) */
    AHEAD = 4 << 20,        /* bytes to allocate beyond what is needed, so that few commits have to */
    PAGES_PER_CHANGE = 3,   /* copied beside those of the value: leaves of the index and the log, and a split */
    PAGES_PER_COMMIT = 64,  /* copied once: inner pages, free lists */
    PAGES_PER_JOB_LOW = 32, /* of a deletion, with the history it lets go, in three commits */
};

static uint64_t tail_begin(const struct store_file *f)
{
    MDB_envinfo info;
    (void)mdb_env_info(f->env, &info);
    return ((uint64_t)info.me_last_pgno + 1) * f->page_bytes;
}

static uint64_t tail_bytes(const struct store_room *room, const struct store_file *f)
{
    uint64_t begin = tail_begin(f);
    return room->end > begin ? room->end - begin : 0;
}

/* ---- Allocating. ---- */

static uint64_t choose_reserve(const struct store_file *f, int fd)
{
    struct statvfs disk;
    uint64_t reserve = RESERVE_MAX;
    if (f->map_bytes / 4 < reserve)
        reserve = f->map_bytes / 4;
    if (fstatvfs(fd, &disk) == 0 && (uint64_t)disk.f_blocks * disk.f_frsize / 8 < reserve)
        reserve = (uint64_t)disk.f_blocks * disk.f_frsize / 8;
    return reserve - reserve % f->page_bytes;
}

/* A file system that cannot allocate gets zeros written, behind the end of the file only. */
static int allocate_blocks(int fd, uint64_t from, uint64_t to)
{
    struct stat st;
    int rc;
    do
        rc = fallocate(fd, 0, (off_t)from, (off_t)(to - from)) < 0 ? errno : 0;
    while (rc == EINTR);
    if (rc != EOPNOTSUPP)
        return rc;
    if (fstat(fd, &st) < 0)
        return errno;
    return (uint64_t)st.st_size >= to ? 0 : posix_fallocate(fd, st.st_size, (off_t)to - st.st_size);
}

/* Makes the tail that large. Whatever fails, what is allocated stays so. */
static bool extend_tail(struct store_room *room, const struct store_file *f, uint64_t tail)
{
    int fd;
    uint64_t to = tail_begin(f) + tail;
    if (to > f->map_bytes) {
        room->why = MDB_MAP_FULL;
        return false;
    }
    int rc = mdb_env_get_fd(f->env, &fd);
    if (rc == 0)
        rc = allocate_blocks(fd, room->end, to);
    if (rc == 0)
        room->end = to;
    room->why = rc;
    return rc == 0;
}

void store_room_open(struct store_room *room, const struct store_file *f)
{
    struct stat st;
    int fd;
    *room = (struct store_room){0};
    if (mdb_env_get_fd(f->env, &fd) != 0 || fstat(fd, &st) < 0)
        return;
    room->reserve = choose_reserve(f, fd);
    /* From 0 on: a file of an older version has holes, where pages were freed before they were written. */
    uint64_t size = (uint64_t)st.st_size, begin = tail_begin(f);
    if (size - begin >= room->reserve && size <= f->map_bytes) {
        room->end = size;
        return;
    }
    if (!extend_tail(room, f, room->reserve + AHEAD) && !extend_tail(room, f, room->reserve))
        room->end = size < f->map_bytes ? size - size % f->page_bytes : f->map_bytes;
}

/* ---- Counting. ---- */

/* Bytes of free pages: each entry of LMDB's table of them begins with how many it has. */
static uint64_t free_bytes(const struct store_file *f)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t pages = 0;
    size_t n;
    if (mdb_txn_begin(f->env, NULL, MDB_RDONLY, &txn) != 0)
        return 0;
    if (mdb_cursor_open(txn, 0, &cursor) == 0) {
        while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
            if (value.mv_size < sizeof n)
                continue;
            memcpy(&n, value.mv_data, sizeof n);
            pages += n;
        }
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    return pages * f->page_bytes;
}

/* Bytes of pages a job may need. */
struct need {
    uint64_t all;
    uint64_t runs; /* of it consecutive pages, for values of more than one */
};

static struct need need_of(const struct store_job *job, uint64_t page)
{
    struct need need = {0};
    for (size_t i = 0; i < job->n_changes; i++) {
        uint64_t pages = job->changes[i].value.n / page + 1;
        need.all += (pages + PAGES_PER_CHANGE) * page;
        if (pages > 1)
            need.runs += (pages + 1) * page;
    }
    return need;
}

/* ---- Who gets it. ---- */

static bool is_deletion(const struct store_job *job)
{
    for (size_t i = 0; i < job->n_changes; i++)
        if (!job->changes[i].is_delete)
            return false;
    return true;
}

/* Gives out what is left, job by job. */
static void share_out(const struct store_room *room, const struct store_file *f, struct store_jobs *jobs,
                      struct need left)
{
    struct err err;
    for (struct store_job *job = jobs->first; job; job = job->next) {
        struct need need = need_of(job, f->page_bytes);
        uint64_t kept = job->is_cleanup ? room->reserve / 2 : room->reserve;
        bool fits = left.all >= kept + need.all && (need.runs == 0 || left.runs >= kept / 2 + need.runs);
        if (!fits && !is_deletion(job)) {
            store_file_error(f, room->why, &err);
            store_job_fail(job, &err);
            job->is_refused = true;
            continue;
        }
        left.all -= need.all < left.all ? need.all : left.all;
        left.runs -= need.runs < left.runs ? need.runs : left.runs;
    }
}

void store_room_admit(struct store_room *room, const struct store_file *f, struct store_jobs *jobs)
{
    uint64_t want = room->reserve + (uint64_t)PAGES_PER_COMMIT * f->page_bytes;
    for (const struct store_job *job = jobs->first; job; job = job->next)
        want += need_of(job, f->page_bytes).all;
    if (tail_bytes(room, f) >= want || extend_tail(room, f, want + AHEAD) || extend_tail(room, f, want)) {
        room->why = 0;
        room->is_low = room->is_full = false;
        return;
    }
    struct need left = {.runs = tail_bytes(room, f)};
    left.all = left.runs + free_bytes(f);
    room->is_low = left.all < 2 * room->reserve;
    room->is_full = left.all < room->reserve + (uint64_t)PAGES_PER_COMMIT * f->page_bytes;
    share_out(room, f, jobs, left);
}

size_t store_room_batch(const struct store_room *room)
{
    size_t jobs = room->reserve / 4 / ((size_t)PAGES_PER_JOB_LOW * 4096);
    return jobs ? jobs : 1;
}
