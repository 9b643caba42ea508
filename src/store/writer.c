/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that waits for the disk, so that nobody else has to. While it commits one batch the next one gathers in the
 * queue: the slower the disk, the more writes share one sync. */
#include "store/inside.h"

#include <errno.h>
#include <signal.h>

enum { STACK_BYTES = 256 << 10 };

static void take_batch(struct store_writer *w, struct store_jobs *ret)
{
    const struct store_limits *limits = w->commit.limits;
    size_t n = 0, bytes = 0;
    struct store_job *job;
    while ((job = w->queue.first) != NULL && n < limits->batch_max &&
           (n == 0 || bytes + job->bytes <= limits->batch_bytes)) {
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

static void *run(void *arg)
{
    struct store_writer *w = arg;
    struct store_jobs batch;
    store_jobs_init(&batch);
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        while ((w->queue.first == NULL || w->is_stuck) && !w->is_closing)
            pthread_cond_wait(&w->more, &w->mutex);
        if (w->queue.first == NULL)
            break;
        take_batch(w, &batch);
        pthread_mutex_unlock(&w->mutex);
        bool committed = store_commit_jobs(&w->commit, &batch, atomic_load(&w->seen));
        bool stuck = !committed && store_file_is_stuck(w->commit.file);
        pthread_mutex_lock(&w->mutex);
        store_jobs_move(&w->finished, &batch);
        w->commits += committed;
        w->is_stuck = stuck;
        pthread_mutex_unlock(&w->mutex);
        if (w->wake)
            w->wake(w->ctx);
        pthread_mutex_lock(&w->mutex);
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
    pthread_cond_init(&w->more, NULL);
    int rc = start(w);
    if (rc == 0)
        return 0;
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->mutex);
    errno = rc;
    return err_set(err, ERR_INTERNAL, "start the thread that writes the store: %m");
}

void store_writer_stop(struct store_writer *w)
{
    pthread_mutex_lock(&w->mutex);
    w->is_closing = true;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
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
    pthread_mutex_unlock(&w->mutex);
    pthread_cond_signal(&w->more); /* it finds the lock open */
}

bool store_writer_take(struct store_writer *w, struct store_jobs *ret, uint64_t *ret_commits)
{
    pthread_mutex_lock(&w->mutex);
    store_jobs_move(ret, &w->finished);
    *ret_commits = w->commits;
    bool stuck = w->is_stuck;
    pthread_mutex_unlock(&w->mutex);
    return stuck;
}

void store_writer_go_on(struct store_writer *w, const struct store_state *state)
{
    pthread_mutex_lock(&w->mutex);
    w->commit.state = *state;
    w->is_stuck = false;
    pthread_cond_signal(&w->more);
    pthread_mutex_unlock(&w->mutex);
}
