/* SPDX-License-Identifier: Apache-2.0 */
/* What other threads may do to a loop: hand over work, and stop it. The thread sanitizer watches this program too (tools/test). */
#include "net/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 4, JOBS = 5000 };

struct job {
    struct loop_work work;
    struct crowd *crowd;
    int thread, number;
};

struct crowd {
    struct loop *loop;
    int next[THREADS]; /* the number of the job expected of each thread */
    int done, wrong;
    struct poster {
        struct crowd *crowd;
        int thread;
        struct job jobs[JOBS];
    } posters[THREADS];
};

static void on_job(struct loop_work *w)
{
    struct job *j = (struct job *)w;
    struct crowd *c = j->crowd;
    c->wrong += c->next[j->thread]++ != j->number;
    if (++c->done == THREADS * JOBS)
        loop_stop(c->loop);
}

static void *post_all(void *arg)
{
    struct poster *p = arg;
    for (int i = 0; i < JOBS; i++) {
        p->jobs[i] = (struct job){.work = {.fn = on_job}, .crowd = p->crowd, .thread = p->thread, .number = i};
        loop_post(p->crowd->loop, &p->jobs[i].work);
    }
    return NULL;
}

static void takes_work_of_all(void **state)
{
    struct crowd *c = calloc(1, sizeof *c);
    pthread_t threads[THREADS];
    assert_non_null(c);
    assert_int_equal(loop_new(&c->loop, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        c->posters[i].crowd = c;
        c->posters[i].thread = i;
        assert_int_equal(pthread_create(&threads[i], NULL, post_all, &c->posters[i]), 0);
    }
    loop_run(c->loop);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(c->done, THREADS * JOBS);
    assert_int_equal(c->wrong, 0);
    loop_free(c->loop);
    free(c);
}

static void *stop(void *arg)
{
    loop_stop(arg);
    return NULL;
}

static void stops_when_told(void **state)
{
    struct loop *l;
    pthread_t thread;
    assert_int_equal(loop_new(&l, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, stop, l), 0);
    loop_run(l);
    assert_int_equal(pthread_join(thread, NULL), 0);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_work_of_all),
        cmocka_unit_test(stops_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
