/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/testserver.h"

#include <stdlib.h>

static const struct http_header TEXT = {S_INIT("Content-Type"), S_INIT("text/plain")};

static struct testserver *of(struct http_exchange *x)
{
    return x->user;
}

static void on_gone(struct http_exchange *x)
{
    of(x)->gone++;
}

/* ---- /large ---- */

struct large {
    struct testserver *t;
    size_t at, n;
};

static enum http_fill fill_large(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct large *l = ctx;
    (void)x;
    size_t n = room + 1000 < l->n - l->at ? room + 1000 : l->n - l->at; /* more than asked for: that is allowed */
    for (size_t i = 0; i < n; i++)
        buf_add_char(out, testserver_byte(l->at + i));
    l->at += n;
    l->t->made += n;
    return l->at == l->n ? HTTP_END : HTTP_MORE;
}

/* ---- /cut ---- */

static enum http_fill fill_cut(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    (void)x, (void)room;
    bool *is_again = ctx;
    if (*is_again)
        return HTTP_ABORT;
    *is_again = true;
    for (int i = 0; i < 100; i++)
        buf_add_char(out, 'c');
    return HTTP_MORE;
}

/* ---- /watch ---- */

static enum http_fill fill_watch(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct testserver_watch *w = ctx;
    (void)room;
    size_t n = w->pending.n;
    of(x)->made += n;
    buf_add_str(out, buf_str(&w->pending));
    w->pending.n = 0;
    return w->is_ended ? HTTP_END : HTTP_WAIT;
}

static void on_watch_gone(struct http_exchange *x)
{
    struct testserver *t = of(x);
    on_gone(x);
    for (size_t i = 0; i < t->n_watches; i++)
        if (t->watches[i] && t->watches[i]->x == x) {
            buf_done(&t->watches[i]->pending);
            free(t->watches[i]);
            t->watches[i] = NULL;
            return;
        }
    fail_msg("an exchange was gone twice");
}

static void watch(struct testserver *t, struct http_exchange *x)
{
    assert_true(t->n_watches < TESTSERVER_MANY);
    struct testserver_watch *w = t->watches[t->n_watches++] = calloc(1, sizeof *w);
    w->x = x;
    x->gone = on_watch_gone;
    http_stream(x, 200, (struct http_headers){&TEXT, 1}, (struct http_source){fill_watch, w});
    if (t->forgets)
        http_forget(x);
}

void testserver_event(struct testserver *t, size_t i, str text)
{
    assert_non_null(t->watches[i]);
    buf_add_str(&t->watches[i]->pending, text);
    http_resume(t->watches[i]->x);
}

void testserver_end(struct testserver *t, size_t i)
{
    assert_non_null(t->watches[i]);
    t->watches[i]->is_ended = true;
    http_resume(t->watches[i]->x);
}

void testserver_answer(struct testserver *t, size_t i, int status, str body)
{
    struct http_exchange *x = t->later[i];
    assert_non_null(x);
    t->later[i] = NULL;
    http_answer(x, status, (struct http_headers){&TEXT, 1}, body);
}

/* ---- All. ---- */

static void handle(void *ctx, struct http_exchange *x)
{
    struct testserver *t = ctx;
    struct http_headers headers = {&TEXT, 1};
    t->handled++;
    x->user = t;
    x->gone = on_gone;
    if (t->also && t->also(t, x))
        return;
    if (x->is_too_large) {
        http_answer(x, 413, headers, S("too large"));
    } else if (str_eq(x->path, S("/hello"))) {
        http_answer(x, 200, headers, S("hello"));
    } else if (str_eq(x->path, S("/none"))) {
        http_answer(x, 204, (struct http_headers){0}, (str){0});
    } else if (str_eq(x->path, S("/echo"))) {
        http_answer(x, 200, headers, x->body);
    } else if (str_eq(x->path, S("/what"))) {
        http_answer(x, 200, headers,
                    str_fmt(&x->arena, "%.*s %.*s ?%.*s host=%.*s n=%zu x=%.*s", STR(x->method), STR(x->path),
                            STR(x->query), STR(http_header(x, S("Host"))), x->headers.n,
                            STR(http_header(x, S("X-Test")))));
    } else if (str_eq(x->path, S("/large"))) {
        uint64_t n;
        assert_true(str_to_uint64(x->query, &n));
        struct large *l = ARENA_NEW(&x->arena, struct large);
        *l = (struct large){t, 0, n};
        http_stream(x, 200, headers, (struct http_source){fill_large, l});
    } else if (str_eq(x->path, S("/cut"))) {
        http_stream(x, 200, headers, (struct http_source){fill_cut, ARENA_NEW(&x->arena, bool)});
    } else if (str_eq(x->path, S("/watch"))) {
        watch(t, x);
    } else if (str_eq(x->path, S("/later"))) {
        assert_true(t->n_later < TESTSERVER_MANY);
        t->later[t->n_later++] = x;
    } else {
        http_answer(x, 404, headers, S("no such test"));
    }
}

void testserver_open(struct testserver *t)
{
    struct err err = {0};
    t->options.port = t->port;
    assert_int_equal(http_server_new(t->loop, &t->options, &t->server, &err), 0);
    t->port = http_server_port(t->server);
}

void testserver_start_on(struct testserver *t, const struct clock *clock, const struct http_limits *limits,
                         struct tls_context *tls)
{
    struct err err = {0};
    *t = (struct testserver){0};
    t->options = (struct http_server_options){.host = S("127.0.0.1"), .tls = tls, .handle = handle, .ctx = t};
    if (limits)
        t->options.limits = *limits;
    assert_int_equal(loop_new_on(clock, &t->loop, &err), 0);
    testserver_open(t);
}

void testserver_start(struct testserver *t, const struct http_limits *limits, struct tls_context *tls)
{
    testserver_start_on(t, &clock_system, limits, tls);
}

void testserver_start_with_head(struct testserver *t, const struct http_limits *limits,
                                void (*head)(void *ctx, struct http_exchange *x))
{
    testserver_start(t, limits, NULL);
    testserver_close(t);
    t->options.head = head;
    testserver_open(t);
}

static void on_drained(void *ctx)
{
    struct testserver *t = ctx;
    t->is_drained = true;
}

void testserver_drain(struct testserver *t)
{
    http_server_drain(t->server, INT64_C(60000000000), on_drained, t);
}

void testserver_close(struct testserver *t)
{
    for (size_t i = 0; i < t->n_later; i++)
        if (t->later[i])
            testserver_answer(t, i, 503, S("the test is over"));
    http_server_free(t->server);
    t->server = NULL;
}

struct http_server *testserver_replace(struct testserver *t)
{
    struct http_server *old = t->server;
    testserver_drain(t);
    testserver_open(t);
    return old;
}

void testserver_stop(struct testserver *t)
{
    if (t->server)
        testserver_close(t);
    testserver_settle(t);
    assert_int_equal(t->gone, t->handled); /* each exchange had its last word, once */
    loop_free(t->loop);
}
