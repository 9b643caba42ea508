/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread asks and waits:
 *
 *   thread   client_ask ─► inbox … … … … … … … … … … … … … … … … … … … … … … ─► awake
 *                            │                                                     ▲
 *   loop                     └─► attempt ─► answered, or lost for good ─► finish ──┘
 *                                  ▲  │
 *                                  │  │ 429, 503 with Retry-After, lost but harmless
 *                                  └──┘ after a pause
 *
 * The wait belongs to its thread. The loop alone touches it from when it takes it out of the inbox until finish; then the thread
 * alone does. The lock of the client goes with the first handing over, the semaphore of the crowd with the second: a condition
 * would wake the thread into a lock that the loop still holds, and the two would wait for each other once more with each answer. A
 * thread that asks several things at once is woken once, when all of them are over: the crowd counts them.
 */
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>

#include "client/client_internal.h"

enum { ATTEMPTS = 10 };

static const int64_t second_ns = 1000000000;
#define TOTAL_NS (60 * second_ns) /* no attempt begins later than this after the first… */
#define LIMIT_NS (60 * second_ns) /* …and none takes longer, unless the request says so */
#define PAUSE_NS (second_ns / 10) /* after the first attempt; then twice as long each time… */
#define PAUSE_MAX_NS (10 * second_ns)
#define RETRY_AFTER_MAX_NS (30 * second_ns) /* a server does not send us to sleep for longer */

struct crowd {
    sem_t over;
    size_t left; /* not over; the loop's */
};

struct wait {
    struct client *client;
    struct crowd *crowd;
    struct wait *next, **link; /* in the inbox (link is NULL), later among the waits of the client */
    struct client_request request;
    struct client_call *call;
    struct loop_timer pause;
    unsigned attempts;
    int64_t began;
    struct client_reply *reply;
    struct err *err;
};

void client_reply_done(struct client_reply *r)
{
    buf_done(&r->body);
}

/* ---- On the loop. ---- */

/* The last touch: as soon as the crowd is told, the wait may be gone. */
static void finish(struct wait *w)
{
    if (w->link) {
        *w->link = w->next;
        if (w->next)
            w->next->link = w->link;
    }
    loop_timer_cancel(w->client->loop, &w->pause);
    struct crowd *crowd = w->crowd;
    if (--crowd->left == 0)
        (void)sem_post(&crowd->over);
}

static void attempt(void *ctx);

/* A pause that doubles, of which the last half is left to chance: clients that were refused together come back apart. */
static int64_t pause_of(struct wait *w)
{
    int64_t ns = PAUSE_NS;
    for (unsigned i = 1; i < w->attempts && ns < PAUSE_MAX_NS; i++)
        ns *= 2;
    if (ns > PAUSE_MAX_NS)
        ns = PAUSE_MAX_NS;
    return ns / 2 + (int64_t)(random_uint64(&w->client->random) % (uint64_t)(ns / 2 + 1));
}

static bool is_worth_another(const struct wait *w, const struct client_answer *answer)
{
    if (answer->status)
        return answer->status == 429 || (answer->status == 503 && answer->retry_after_ns > 0);
    if (w->client->is_impatient && !w->client->was_answered)
        return false;
    if (answer->can_retry)
        return true;
    bool is_lost = answer->err->code == ERR_UNAVAILABLE || answer->err->code == ERR_IO;
    return is_lost && str_eq(w->request.method, S("GET")); /* does no harm twice */
}

/* True: an attempt will follow. */
static bool try_again(struct wait *w, const struct client_answer *answer)
{
    if (!is_worth_another(w, answer) || w->attempts >= ATTEMPTS)
        return false;
    int64_t pause = pause_of(w);
    if (answer->retry_after_ns > 0 && answer->status)
        pause = answer->retry_after_ns < RETRY_AFTER_MAX_NS ? answer->retry_after_ns : RETRY_AFTER_MAX_NS;
    if (loop_now(w->client->loop) - w->began + pause > TOTAL_NS)
        return false;
    loop_timer_set(w->client->loop, &w->pause, pause);
    return true;
}

/* A page of a list is some megabyte: it is not copied where it need not be. */
static void take_body(struct client_reply *reply, const struct client_answer *answer)
{
    if (answer->collected && reply->body.p == NULL) {
        reply->body = *answer->collected;
        *answer->collected = (struct buf){0};
    } else {
        buf_add_str(&reply->body, answer->body);
    }
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    struct wait *w = ctx;
    w->call = NULL;
    w->client->was_answered |= answer->status != 0;
    if (try_again(w, answer))
        return;
    w->reply->status = answer->status;
    take_body(w->reply, answer);
    if (answer->status == 0)
        *w->err = *answer->err;
    finish(w);
}

static void attempt(void *ctx)
{
    static const struct client_listener listener = {.end = on_end};
    struct wait *w = ctx;
    w->attempts++;
    w->call = client_start(w->client, &w->request, &listener, w);
}

void client_waits_arrive(struct loop_work *work)
{
    struct client *c = (struct client *)((char *)work - offsetof(struct client, arrival));
    (void)pthread_mutex_lock(&c->lock);
    struct wait *list = c->inbox;
    c->inbox = NULL;
    c->inbox_end = &c->inbox;
    c->is_posted = false;
    (void)pthread_mutex_unlock(&c->lock);
    for (struct wait *w = list, *next; w; w = next) {
        next = w->next;
        w->next = c->waits;
        w->link = &c->waits;
        if (c->waits)
            c->waits->link = &w->next;
        c->waits = w;
        w->began = loop_now(c->loop);
        attempt(w);
    }
}

static void give_up(struct wait *w)
{
    client_cancel(w->call);
    err_set(w->err, ERR_UNAVAILABLE, "the client was stopped");
    finish(w);
}

void client_waits_stop(struct client *c)
{
    (void)pthread_mutex_lock(&c->lock);
    struct wait *list = c->inbox;
    c->inbox = NULL;
    c->inbox_end = &c->inbox;
    (void)pthread_mutex_unlock(&c->lock);
    for (struct wait *w = list, *next; w; w = next) {
        next = w->next;
        give_up(w);
    }
    while (c->waits)
        give_up(c->waits);
}

/* ---- On the thread that asks. ---- */

static bool enter(struct client *c, struct wait *list, size_t n)
{
    (void)pthread_mutex_lock(&c->lock);
    bool is_open = !c->is_stopped;
    for (size_t i = 0; is_open && i < n; i++) {
        *c->inbox_end = &list[i];
        c->inbox_end = &list[i].next;
    }
    if (is_open && !c->is_posted) {
        loop_post(c->loop, &c->arrival);
        c->is_posted = true;
    }
    (void)pthread_mutex_unlock(&c->lock);
    return is_open;
}

/* Hands them over; the crowd stays where it is until wait_end. */
static void wait_begin(struct client *c, struct crowd *crowd, struct wait *list, size_t n)
{
    *crowd = (struct crowd){.left = n};
    if (sem_init(&crowd->over, 0, 0))
        abort();
    for (size_t i = 0; i < n; i++) {
        struct wait *w = &list[i];
        w->client = c;
        w->crowd = crowd;
        w->pause = (struct loop_timer){.fn = attempt, .ctx = w};
        w->reply->status = 0;
        if (w->request.total_ns == 0)
            w->request.total_ns = LIMIT_NS;
    }
    if (enter(c, list, n))
        return;
    for (size_t i = 0; i < n; i++)
        err_set(list[i].err, ERR_UNAVAILABLE, "the client was stopped");
    (void)sem_post(&crowd->over);
}

static void wait_end(struct crowd *crowd)
{
    int rc;
    while ((rc = sem_wait(&crowd->over)) < 0 && errno == EINTR)
        ;
    assert(rc == 0);
    (void)sem_destroy(&crowd->over);
}

static void wait_for(struct client *c, struct wait *list, size_t n)
{
    struct crowd crowd;
    wait_begin(c, &crowd, list, n);
    wait_end(&crowd);
    for (size_t i = 0; i < n; i++)
        list[i].crowd = NULL; /* gone */
}

struct client_asking {
    struct crowd crowd;
    struct wait wait;
    struct client_reply reply;
    struct err err;
    struct arena arena;
};

struct client_asking *client_ask_begin(struct client *c, const struct client_request *request)
{
    struct client_asking *asking = xcalloc(1, sizeof *asking);
    asking->wait = (struct wait){.request = *request, .reply = &asking->reply, .err = &asking->err};
    asking->wait.request.target = str_dup(&asking->arena, request->target);
    wait_begin(c, &asking->crowd, &asking->wait, 1);
    return asking;
}

int client_ask_end(struct client_asking *asking, struct client_reply *ret, struct err *err)
{
    if (asking == NULL)
        return 0;
    wait_end(&asking->crowd);
    int code = asking->reply.status ? 0 : (int)asking->err.code;
    if (err && code < 0)
        *err = asking->err;
    if (ret)
        *ret = asking->reply;
    else
        client_reply_done(&asking->reply);
    arena_done(&asking->arena);
    free(asking);
    return code;
}

int client_ask(struct client *c, const struct client_request *request, struct client_reply *ret, struct err *err)
{
    struct err unused = {0};
    struct wait w = {.request = *request, .reply = ret, .err = err ? err : &unused};
    wait_for(c, &w, 1);
    return ret->status ? 0 : (int)w.err->code;
}

void client_raw_all(struct client *c, struct arena *a, struct client_question *list, size_t n)
{
    struct wait *waits = ARENA_ARRAY(a, struct wait, n);
    struct client_reply *replies = ARENA_ARRAY(a, struct client_reply, n);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        waits[i] = (struct wait){.request = list[i].request, .reply = &replies[i], .err = &list[i].err};
    wait_for(c, waits, n);
    for (size_t i = 0; i < n; i++) {
        struct client_question *q = &list[i];
        q->code = replies[i].status ? client_reply_read(a, &replies[i], &q->ret, &q->err) : (int)q->err.code;
        client_reply_done(&replies[i]);
    }
}
