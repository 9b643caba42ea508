/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection's life:
 *
 *   http_client_new ──► connecting ── ready ──► takes calls ──┬── GOAWAY ──────────► calls end ──► gone
 *        ▲                  │                                 ├── another context ─► calls end ──► closed by us
 *        │ back-off         │ gone                            ├── no calls, idle ──────────────► closed by us
 *        └──────────────────┴── gone without an answer ◄──────┘
 *
 * HTTP/2: one connection takes all calls, a second is opened when the first has no room left. HTTP/1.1: one call at a time each,
 * so there are as many as there are calls, within limits: watches never give theirs back.
 */
#include "client/https_internal.h"

#include <assert.h>
#include <stdlib.h>

enum {
    BACKOFF_MAX = 30, /* seconds */
    DRAINING = 4,     /* times as many connections as there may be, before watches on the oldest of them are cut off */
};

/* ---- Back-off. ---- */

/* After the n-th failure in a row: about 1, 2, 4, … 30 seconds; half of it is chance, so that the clients of a server that comes
 * back do not all come at once. */
static int64_t backoff_ns(struct https *t)
{
    uint32_t seconds = t->failures > 5 ? BACKOFF_MAX : UINT32_C(1) << (t->failures - 1);
    uint32_t half_ms = seconds * 500;
    return (half_ms + random_below(&t->options.random, half_ms + 1)) * INT64_C(1000000);
}

static void reset_backoff(struct https *t)
{
    t->failures = 0;
    t->retry_at = 0;
    t->is_wanted = false;
    loop_timer_cancel(t->loop, &t->timer);
}

void https_conn_answered(struct https_conn *conn)
{
    conn->has_answered = true;
    if (conn->t->failures)
        reset_backoff(conn->t);
}

/* is_forgiven: nothing bad came before it, and the server was there: it may be about to be replaced by another. */
static void back_off(struct https *t, bool is_forgiven)
{
    t->n_failed++;
    t->failures++;
    int64_t delay = is_forgiven ? 0 : backoff_ns(t);
    t->retry_at = loop_now(t->loop) + delay;
    loop_timer_set(t->loop, &t->timer, delay);
}

void https_conn_failed(struct https_conn *conn, const struct err *why)
{
    if (conn->is_failed || conn->has_answered || conn->is_retired)
        return;
    conn->is_failed = true;
    conn->t->why = *why;
    back_off(conn->t, conn->is_ready && conn->t->failures == 0);
}

/* ---- Beginning and end. ---- */

void https_conn_close(struct https_conn *conn)
{
    struct https *t = conn->t;
    assert(conn->calls.n == 0);
    *(conn->prev ? &conn->prev->next : &t->first) = conn->next;
    *(conn->next ? &conn->next->prev : &t->last) = conn->prev;
    t->n_conns--;
    loop_timer_cancel(t->loop, &conn->timer);
    http_client_free(conn->client);
    tls_unref(conn->tls);
    free(conn);
}

static void on_ready(void *ctx)
{
    struct https_conn *conn = ctx;
    struct https *t = conn->t;
    if (!conn->is_ready && conn->calls.n == 0)
        loop_timer_set(t->loop, &conn->timer, t->options.idle_ns);
    conn->is_ready = true;
    conn->is_h2 = http_client_is_h2(conn->client);
    t->is_h1 = !conn->is_h2;
    https_pump(t);
}

static void on_gone(void *ctx, const struct err *why)
{
    struct https_conn *conn = ctx;
    struct https *t = conn->t;
    struct err closed;
    if (why == NULL) {
        err_set(&closed, ERR_UNAVAILABLE, "%.*s closed the connection", STR(t->config->server));
        why = &closed;
    }
    if (!conn->is_ready || conn->was_used) /* that nobody had a use for it does not speak against it */
        https_conn_failed(conn, why);
    https_conn_close(conn);
    https_pump(t);
}

/* A watch never ends by itself, so that an outdated connection would stay for good. */
static void cut_watches(struct https_conn *conn)
{
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "the connection to %.*s was replaced by another", STR(conn->t->config->server));
    for (struct transport_call *call = conn->calls.first, *next; call; call = next) {
        next = call->next;
        if (https_call_is_streamed(call))
            https_call_fail(call, &err, false);
    }
}

static void on_conn_timer(void *ctx)
{
    struct https_conn *conn = ctx;
    if (conn->calls.n) /* retired */
        cut_watches(conn);
    else
        https_conn_close(conn);
}

static void retire(struct https_conn *conn)
{
    if (conn->is_retired)
        return;
    conn->is_retired = true;
    if (conn->calls.n)
        loop_timer_set(conn->t->loop, &conn->timer, conn->t->options.drain_ns);
    else
        https_conn_close(conn);
}

static void open_one(struct https *t)
{
    struct https_conn *conn = xcalloc(1, sizeof *conn);
    struct http_client_options options = {
        .host = t->config->host,
        .port = t->config->port,
        .tls = t->tls,
        .connect_ns = t->options.connect_ns,
        .ping_ns = t->options.ping_ns,
        .ping_wait_ns = t->options.ping_wait_ns,
        .ready = on_ready,
        .gone = on_gone,
        .ctx = conn,
    };
    if (http_client_new(t->loop, &options, &conn->client, &t->why) < 0) {
        free(conn);
        back_off(t, false);
        return;
    }
    conn->t = t;
    conn->tls = tls_ref(t->tls);
    conn->timer = (struct loop_timer){.fn = on_conn_timer, .ctx = conn};
    conn->prev = t->last;
    *(t->last ? &t->last->next : &t->first) = conn;
    t->last = conn;
    t->n_conns++;
    t->n_opened++;
}

/* ---- Which call goes where. ---- */

static bool is_usable(const struct https_conn *conn)
{
    return !conn->is_retired && !conn->is_failed && http_client_can_call(conn->client);
}

static size_t connecting(const struct https *t)
{
    size_t n = 0;
    for (const struct https_conn *conn = t->first; conn; conn = conn->next)
        n += !conn->is_ready && is_usable(conn);
    return n;
}

/* HTTP/1.1: whether one more of this kind is within its limit. */
static bool may_begin_h1(const struct https *t, const struct transport_call *call)
{
    return https_call_is_streamed(call) ? t->n_h1_watches < t->options.h1_watches : t->n_h1_calls < t->options.h1_calls;
}

static struct https_conn *conn_for(const struct https *t, const struct transport_call *call)
{
    for (struct https_conn *conn = t->first; conn; conn = conn->next)
        if (conn->is_ready && is_usable(conn) && http_client_room(conn->client) &&
            (conn->is_h2 || may_begin_h1(t, call)))
            return conn;
    return NULL;
}

static size_t *h1_count(struct https *t, const struct transport_call *call)
{
    return https_call_is_streamed(call) ? &t->n_h1_watches : &t->n_h1_calls;
}

static void begin(struct transport_call *call, struct https_conn *conn)
{
    if (!conn->is_h2)
        ++*h1_count(call->t, call);
    loop_timer_cancel(call->t->loop, &conn->timer);
    conn->was_used = true;
    https_call_begin(call, conn);
}

void https_conn_leave(struct transport_call *call)
{
    struct https *t = call->t;
    struct https_conn *conn = call->conn;
    if (!conn->is_h2)
        --*h1_count(t, call);
    if (!conn->is_h2 && call->call)
        conn->is_retired = true; /* what is left of the answer would be in the way */
    http_call_cancel(call->call);
    call->call = NULL;
    call->conn = NULL;
    https_list_move(call, NULL);
    if (conn->calls.n)
        return;
    if (conn->is_retired)
        https_conn_close(conn);
    else
        loop_timer_set(t->loop, &conn->timer, t->options.idle_ns);
}

/* How many connections should be on their way for those who wait. */
static size_t wanted(const struct https *t)
{
    if (!t->is_h1)
        return t->waiting.n > 0;
    size_t calls = 0, watches = 0;
    for (const struct transport_call *call = t->waiting.first; call; call = call->next)
        ++*(https_call_is_streamed(call) ? &watches : &calls);
    size_t room = t->options.h1_calls - t->n_h1_calls;
    return watches + (calls < room ? calls : room); /* watches past their limit do not wait */
}

/* A server that says goodbye again and again, while watches go on for minutes on what it leaves behind, must not keep us from
 * opening another; but there is a limit to what is left behind. False: there is no place. */
static bool make_place(struct https *t, size_t limit)
{
    size_t usable = 0;
    struct https_conn *oldest = NULL;
    for (struct https_conn *conn = t->first; conn; conn = conn->next) {
        usable += is_usable(conn);
        if (oldest == NULL && !is_usable(conn))
            oldest = conn;
    }
    if (usable >= limit)
        return false;
    if (t->n_conns >= DRAINING * limit && oldest)
        cut_watches(oldest);
    return t->n_conns < limit * DRAINING * 2; /* other calls end by themselves */
}

static void open_more(struct https *t)
{
    size_t limit = t->is_h1 ? t->options.h1_calls + t->options.h1_watches : t->options.connections;
    for (size_t n = connecting(t), want = wanted(t); n < want; n++)
        if (loop_now(t->loop) >= t->retry_at && make_place(t, limit))
            open_one(t);
}

/* Whoever waits has nothing to wait for. */
static void turn_away(struct https *t)
{
    if (t->waiting.first)
        t->is_wanted = true;
    while (t->waiting.first)
        https_call_fail(t->waiting.first, &t->why, true);
}

static void refuse_watch(struct transport_call *call)
{
    struct err err;
    err_set(&err, ERR_UNAVAILABLE, "%.*s: too many watches for HTTP/1.1, where each needs a connection",
            STR(call->t->config->server));
    https_call_fail(call, &err, true);
}

void https_pump(struct https *t)
{
    for (struct transport_call *call = t->waiting.first, *next; call; call = next) {
        next = call->next;
        struct https_conn *conn = conn_for(t, call);
        if (conn)
            begin(call, conn);
        else if (!t->is_h1)
            break; /* nor is there room for the others */
        else if (https_call_is_streamed(call) && !may_begin_h1(t, call))
            refuse_watch(call);
    }
    if (t->waiting.first == NULL)
        return;
    open_more(t);
    for (const struct https_conn *conn = t->first; conn; conn = conn->next)
        if (is_usable(conn))
            return; /* it is on its way, or will have room */
    if (loop_now(t->loop) < t->retry_at)
        turn_away(t);
}

void https_on_retry(void *ctx)
{
    struct https *t = ctx;
    if (!t->is_wanted)
        return; /* the next call will do it */
    t->is_wanted = false;
    for (const struct https_conn *conn = t->first; conn; conn = conn->next)
        if (is_usable(conn))
            return;
    if (make_place(t, t->options.connections))
        open_one(t);
}

void https_set_tls(struct https *t, struct tls_context *tls)
{
    if (t->tls == tls)
        return;
    tls_unref(t->tls);
    t->tls = tls_ref(tls);
    reset_backoff(t); /* what failed may have been the certificates */
    for (struct https_conn *conn = t->first, *next; conn; conn = next) {
        next = conn->next;
        retire(conn);
    }
}
