/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow.h"

#include "cli/cli.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

void follow_catch(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---- On the loop. ---- */

static void tell(struct follow *f)
{
    pthread_mutex_lock(&f->lock);
    f->has_news = true;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
}

/* Whoever sends a NS_PER_S one does not want to wait for anything. */
static void on_signal(void *ctx, int number)
{
    struct follow *f = ctx;
    pthread_mutex_lock(&f->lock);
    bool is_second = f->signal != 0;
    f->signal = number;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
    if (is_second)
        _exit(CLI_SIGNALLED + number);
    client_stop(f->session->client);
}

static void on_data(void *ctx, str bytes)
{
    if (bytes.n)
        tell(ctx);
}

/* Servers end watches by and by; others do not let everybody watch who may get. */
static void on_end(void *ctx, const struct client_answer *answer)
{
    struct follow *f = ctx;
    (void)answer;
    f->call = NULL;
    loop_timer_set(f->session->loop, &f->again, NS_PER_S);
}

static void start(struct follow *f)
{
    static const struct client_listener listener = {.data = on_data, .end = on_end};
    struct client_request request = {.method = S("GET"), .target = f->target};
    f->call = client_start(f->session->client, &request, &listener, f);
}

static void on_again(void *ctx)
{
    struct follow *f = ctx;
    tell(f);
    start(f);
}

static struct follow *of_work(struct loop_work *w)
{
    return (struct follow *)((char *)w - offsetof(struct follow, work));
}

static void done(struct follow *f)
{
    pthread_mutex_lock(&f->lock);
    f->is_done = true;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
}

/* Without it Ctrl-C would be heard by nobody: it gets its old meaning back. */
static void do_open(struct loop_work *w)
{
    struct follow *f = of_work(w);
    struct err err;
    f->signals = (struct signals){.fn = on_signal, .ctx = f};
    f->is_open = signals_open(&f->signals, f->session->loop, &err) == 0;
    done(f);
}

static void do_watch(struct loop_work *w)
{
    struct follow *f = of_work(w);
    f->again = (struct loop_timer){.fn = on_again, .ctx = f};
    start(f);
    done(f);
}

static void do_close(struct loop_work *w)
{
    struct follow *f = of_work(w);
    loop_timer_cancel(f->session->loop, &f->again);
    client_cancel(f->call);
    f->call = NULL;
    signals_close(&f->signals);
    done(f);
}

/* ---- On the main thread. ---- */

static void on_loop(struct follow *f, void (*fn)(struct loop_work *w))
{
    f->is_done = false;
    f->work.fn = fn;
    loop_post(f->session->loop, &f->work);
    pthread_mutex_lock(&f->lock);
    while (!f->is_done)
        pthread_cond_wait(&f->wake, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

int follow_open(struct follow *f, struct session *session, struct err *err)
{
    pthread_condattr_t attr;
    *f = (struct follow){.session = session};
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&f->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    on_loop(f, do_open);
    return f->is_open ? 0 : err_set(err, ERR_IO, "cannot wait for signals");
}

void follow_watch(struct follow *f, const struct client_ref *ref)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf target = {.arena = &f->arena};
    struct client_ref all = *ref;
    assert(f->target.n == 0 && ref->name.n);
    all.name = (str){0};
    client_path(&target, &all);
    client_query(&target, S("fieldSelector"), str_fmt(&scratch, "metadata.name=%.*s", STR(ref->name)));
    client_query(&target, S("watch"), S("true"));
    f->target = buf_str(&target);
    on_loop(f, do_watch);
}

enum follow_news follow_wait(struct follow *f, int64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / NS_PER_S), .tv_nsec = (long)(until_ns % NS_PER_S)};
    int code = 0;
    pthread_mutex_lock(&f->lock);
    while (!f->signal && !f->has_news && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&f->wake, &f->lock, &until);
    enum follow_news news = f->signal ? FOLLOW_INTERRUPTED : f->has_news ? FOLLOW_CHANGED : FOLLOW_LATE;
    f->has_news = false;
    pthread_mutex_unlock(&f->lock);
    return news;
}

int follow_signal(struct follow *f)
{
    if (!f->session)
        return 0;
    pthread_mutex_lock(&f->lock);
    int number = f->signal;
    pthread_mutex_unlock(&f->lock);
    return number;
}

void follow_close(struct follow *f)
{
    if (!f->session)
        return;
    on_loop(f, do_close);
    (void)pthread_cond_destroy(&f->wake);
    (void)pthread_mutex_destroy(&f->lock);
    arena_done(&f->arena);
    *f = (struct follow){0};
}
