/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue costs: keys that are added, taken and done, by one thread and by four at once, and retries with many keys
 * waiting for their time. An operation is one call. */
#include "control/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 10000, ROUNDS = 100, THREADS = 4 };

static char names[KEYS][32];

static int64_t now(void)
{
    return clock_mono_ns(&clock_system);
}

static void tell(const char *what, uint64_t operations, int64_t since)
{
    double seconds = (double)(now() - since) / 1e9;
    printf("%-48s %12.0f operations/s\n", what, (double)operations / seconds);
}

static struct queue *make(struct loop *loop)
{
    return queue_new(&(struct queue_options){.loop = loop, .clock = clock_system, .random = random_system});
}

static void one_thread(struct loop *loop)
{
    struct queue *q = make(loop);
    str key;
    int64_t start = now();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KEYS; i++)
            queue_add(q, str_of(names[i]));
        while (queue_try_take(q, &key))
            queue_done(q, key);
    }
    tell("one thread: add, take, done", UINT64_C(3) * ROUNDS * KEYS, start);
    queue_free(q);
}

static void *work(void *arg)
{
    struct queue *q = arg;
    str key;
    uint64_t n = 0;
    while (queue_take(q, &key)) {
        queue_done(q, key);
        n += 2;
    }
    return (void *)(uintptr_t)n; /* NOLINT(performance-no-int-to-ptr): a number */
}

static void *add(void *arg)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < KEYS; i++)
            queue_add(arg, str_of(names[i]));
    return NULL;
}

/* Two add, two work; those that add are never waited for. */
static void four_threads(struct loop *loop)
{
    struct queue *q = make(loop);
    pthread_t threads[THREADS];
    uint64_t operations = UINT64_C(2) * ROUNDS * KEYS;
    int64_t start = now();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, i % 2 ? work : add, q) != 0)
            abort();
    for (int i = 0; i < THREADS; i += 2)
        (void)pthread_join(threads[i], NULL);
    queue_close(q);
    for (int i = 1; i < THREADS; i += 2) {
        void *n;
        (void)pthread_join(threads[i], &n);
        operations += (uintptr_t)n;
    }
    tell("four threads: two add, two take and say done", operations, start);
    queue_free(q);
}

static void retries(struct loop *loop)
{
    struct queue *q = make(loop);
    int64_t start = now();
    for (int round = 0; round < ROUNDS / 10; round++)
        for (int i = 0; i < KEYS; i++)
            queue_retry(q, str_of(names[i]));
    tell("one thread: retry, 10,000 keys waiting", UINT64_C(1) * ROUNDS / 10 * KEYS, start);
    queue_free(q);
}

int main(void)
{
    struct loop *loop;
    if (loop_new(&loop, NULL) < 0)
        return 1;
    for (int i = 0; i < KEYS; i++)
        (void)snprintf(names[i], sizeof names[i], "namespace-%d/name-%d", i % 100, i);
    one_thread(loop);
    four_threads(loop);
    retries(loop);
    loop_free(loop);
    return 0;
}
