/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that waits for the disk, so that nobody else has to. While it commits one batch the next one gathers in the
 * queue: the slower the disk, the more writes share one sync. */
#include "store/store_internal.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum { STACK_BYTES = 256 << 10, MEASURE_SECONDS = 5 };

static void take_batch(struct store_writer *w, struct store_jobs *ret)
{
    const struct store_limits *limits = w->commit.limits;
    const struct store_room *room = &w->commit.room;
    size_t n = 0, bytes = 0, max = limits->batch_max;
    struct store_job *job;
    if (room->is_low && store_room_batch(room) < max)
        max = store_room_batch(room);
    while ((job = w->queue.first) != NULL && n < max && (n == 0 || bytes + job->bytes <= limits->batch_bytes)) {
        w->queue.first = job->next;
        if (w->queue.first == NULL)
            w->queue.last = &w->queue.first;
        n++;
        bytes += job->bytes;
        store_jobs_push(ret, job);
    }
    vec_each(&w->tables, t) * vec_push(&w->commit.arena, &w->commit.tables) = *t;
    w->tables.n = 0;
}

/* Whether a commit may be made now; the mutex is held. While space is low, each commit waits until the loop has seen the one
 * before: only then its pages are free and its history can be given up. */
static bool has_work(const struct store_writer *w)
{
    const struct store_commit *c = &w->commit;
    rev seen = atomic_load(&w->seen);
    if (w->is_stuck || (c->room.is_low && seen < c->state.revision))
        return false;
    return w->queue.first || (!w->has_failed && store_commit_can_reclaim(c, seen));
}

/* Until unpark_writer is called; the mutex is held, but not meanwhile. False after a time without that, which has an end only while
 * the disk is full. A semaphore and not a condition: a thread that wakes from a condition has marked the mutex as contended, and
 * unlocking it is a call into the kernel, with every write. */
static bool park_writer(struct store_writer *w)
{
    struct timespec until;
    bool is_full = w->is_full;
    w->is_parked = true;
    pthread_mutex_unlock(&w->mutex);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += MEASURE_SECONDS;
    int rc = is_full ? sem_clockwait(&w->more, CLOCK_MONOTONIC, &until) : sem_wait(&w->more);
    bool is_late = rc < 0 && errno == ETIMEDOUT;
    pthread_mutex_lock(&w->mutex);
    w->is_parked = false;
    return !is_late;
}

/* Unlocks the mutex and lets the writer look again. It finds the lock open. */
static void unpark_writer(struct store_writer *w)
{
    bool is_parked = w->is_parked;
    w->is_parked = false;
    pthread_mutex_unlock(&w->mutex);
    if (is_parked)
        sem_post(&w->more);
}

/* No event reports that a disk has space again: it is measured from time to time. Nothing else is done on a timer. */
static void wait_for_work(struct store_writer *w)
{
    while (!w->is_closing && !has_work(w))
        if (!park_writer(w) && !w->is_stuck)
            return;
}

/* Commits what is queued, or gives up history, or only measures. */
static void make_commit(struct store_writer *w)
{
    struct store_commit *c = &w->commit;
    struct store_jobs batch, none;
    store_jobs_init(&batch);
    store_jobs_init(&none);
    take_batch(w, &batch);
    bool has_jobs = batch.first != NULL;
    pthread_mutex_unlock(&w->mutex);
    bool committed = store_commit_jobs(c, &batch, atomic_load(&w->seen));
    bool stuck = !committed && store_file_is_stuck(c->file);
    if (c->room.why && !stuck)
        store_room_admit(&c->room, c->file, &none); /* what the commit has left */
    pthread_mutex_lock(&w->mutex);
    bool was_full = w->is_full;
    store_jobs_move(&w->finished, &batch);
    w->commits += committed;
    w->has_failed = !committed && !has_jobs;
    w->is_stuck = stuck;
    w->is_full = c->room.is_full;
    atomic_store(&w->is_low, c->room.is_low);
    pthread_mutex_unlock(&w->mutex);
    if (w->wake && (has_jobs || committed || stuck || was_full != c->room.is_full))
        w->wake(w->ctx);
    pthread_mutex_lock(&w->mutex);
}

static void *run(void *arg)
{
    struct store_writer *w = arg;
    struct store_jobs none;
    store_jobs_init(&none);
    store_room_open(&w->commit.room, w->commit.file);
    store_room_admit(&w->commit.room, w->commit.file, &none);
    pthread_mutex_lock(&w->mutex);
    w->is_full = w->commit.room.is_full;
    atomic_store(&w->is_low, w->commit.room.is_low);
    sem_post(&w->opened);
    for (;;) {
        wait_for_work(w);
        if (w->is_closing && w->queue.first == NULL)
            break;
        make_commit(w);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

/* Signals are the business of the loop. A file that may not grow shows as EFBIG here, not as SIGXFSZ. */
static int start(struct store_writer *w)
{
    pthread_attr_t attr;
    sigset_t all, old;
    sigfillset(&all);
    int rc = pthread_attr_init(&attr);
    if (rc)
        return rc;
    rc = pthread_attr_setstacksize(&attr, STACK_BYTES);
    if (rc == 0)
        rc = pthread_sigmask(SIG_SETMASK, &all, &old);
    if (rc == 0) {
        rc = pthread_create(&w->thread, &attr, run, w);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    pthread_attr_destroy(&attr);
    return rc;
}

int store_writer_start(struct store_writer *w, struct err *err)
{
    store_jobs_init(&w->queue);
    store_jobs_init(&w->finished);
    pthread_mutex_init(&w->mutex, NULL);
    sem_init(&w->more, 0, 0);
    sem_init(&w->opened, 0, 0);
    int rc = start(w);
    if (rc == 0) {
        while (sem_wait(&w->opened) < 0)
            continue;
        return 0;
    }
    sem_destroy(&w->opened);
    sem_destroy(&w->more);
    pthread_mutex_destroy(&w->mutex);
    errno = rc;
    return err_set(err, ERR_INTERNAL, "start the thread that writes the store: %m");
}

void store_writer_stop(struct store_writer *w)
{
    pthread_mutex_lock(&w->mutex);
    w->is_closing = true;
    unpark_writer(w);
    pthread_join(w->thread, NULL);
}

void store_writer_table(struct store_writer *w, struct store_new_table table)
{
    pthread_mutex_lock(&w->mutex);
    *vec_push(&w->arena, &w->tables) = table;
    pthread_mutex_unlock(&w->mutex);
}

void store_writer_push(struct store_writer *w, struct store_job *job)
{
    pthread_mutex_lock(&w->mutex);
    store_jobs_push(&w->queue, job);
    unpark_writer(w);
}

struct store_progress store_writer_take(struct store_writer *w, struct store_jobs *ret)
{
    pthread_mutex_lock(&w->mutex);
    store_jobs_move(ret, &w->finished);
    struct store_progress progress = {.commits = w->commits, .is_full = w->is_full, .is_stuck = w->is_stuck};
    pthread_mutex_unlock(&w->mutex);
    return progress;
}

void store_writer_see(struct store_writer *w, rev revision)
{
    atomic_store(&w->seen, revision);
    if (!atomic_load(&w->is_low))
        return;
    pthread_mutex_lock(&w->mutex);
    unpark_writer(w);
}

void store_writer_go_on(struct store_writer *w, const struct store_state *state)
{
    pthread_mutex_lock(&w->mutex);
    w->commit.state = *state;
    w->is_stuck = false;
    unpark_writer(w);
}
