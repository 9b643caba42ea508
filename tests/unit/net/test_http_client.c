/* SPDX-License-Identifier: Apache-2.0 */
/* The client against our own server, in one loop. */
#include "testserver.h"

#include "keys.h"

#include "net/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
    struct testserver t;
    struct http_client *client;
    bool is_h2;
    bool is_gone;
    struct err why;
};

/* One call and what became of it. */
struct heard {
    struct http_call *call; /* NULL: ended */
    size_t pause_after;     /* bytes; 0: never */
    struct http_client *frees;
    struct buf body;
    struct arena arena;
    str content_type;
    size_t pieces;
    int status;
    struct err err;
    bool is_over, is_complete, can_retry;
    bool cancels; /* at the first bytes */
};

static void on_head(void *ctx, struct http_call *call, int status, struct http_headers headers)
{
    struct heard *h = ctx;
    assert_ptr_equal(h->call, call);
    assert_int_equal(h->status, 0);
    h->status = status;
    for (size_t i = 0; i < headers.n; i++)
        if (http_name_eq(headers.p[i].name, S("Content-Type")))
            h->content_type = str_dup(&h->arena, headers.p[i].value);
}

static void on_data(void *ctx, struct http_call *call, str bytes)
{
    struct heard *h = ctx;
    assert_ptr_equal(h->call, call);
    assert_true(bytes.n > 0);
    assert_true(h->status > 0);
    buf_add_str(&h->body, bytes);
    h->pieces++;
    if (h->pause_after && h->body.n >= h->pause_after)
        http_call_pause(call);
    if (h->cancels) {
        h->call = NULL;
        http_call_cancel(call);
    }
    if (h->frees)
        http_client_free(h->frees);
}

static void on_end(void *ctx, struct http_call *call, const struct err *err, bool can_retry)
{
    struct heard *h = ctx;
    assert_ptr_equal(h->call, call);
    assert_false(h->is_over);
    h->call = NULL;
    h->is_over = true;
    h->is_complete = err == NULL;
    h->can_retry = can_retry;
    if (err)
        h->err = *err;
}

static const struct http_listener listener = {on_head, on_data, on_end};

static void ask(struct fixture *f, struct heard *h, const char *method, const char *target, str body)
{
    static const struct http_header headers[] = {{S_INIT("X-Test"), S_INIT("yes")}};
    struct http_request r = {.method = str_of(method), .target = str_of(target), .headers = {headers, 1}, .body = body};
    *h = (struct heard){.pause_after = h->pause_after, .cancels = h->cancels, .frees = h->frees};
    h->call = http_call_new(f->client, &r, &listener, h);
}

static void heard_done(struct heard *h)
{
    buf_done(&h->body);
    arena_done(&h->arena);
}

static void on_client_gone(void *ctx, const struct err *why)
{
    struct fixture *f = ctx;
    assert_false(f->is_gone);
    f->is_gone = true;
    if (why)
        f->why = *why;
}

static void connect_client(struct fixture *f, struct http_client_options options)
{
    struct err err;
    options.host = S("127.0.0.1");
    options.port = f->t.port;
    options.is_h2 = f->is_h2;
    options.gone = on_client_gone;
    options.ctx = f;
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
}

static struct fixture *set_up(bool is_h2, const struct http_limits *limits)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->is_h2 = is_h2;
    testserver_start(&f->t, limits, NULL);
    connect_client(f, (struct http_client_options){0});
    return f;
}

static void tear_down(struct fixture *f)
{
    http_client_free(f->client);
    testserver_settle(&f->t);
    testserver_stop(&f->t);
    free(f);
}

static bool heard_text(const struct heard *h, const char *text)
{
    return str_eq(buf_str(&h->body), str_of(text));
}

static bool is_large(const struct heard *h, size_t n)
{
    if (h->body.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (h->body.p[i] != testserver_byte(i))
            return false;
    return true;
}

/* ---- What both protocols do. ---- */

static void check_simple(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {0}, b = {0}, c = {0}, d = {0}, e = {0};
    ask(f, &a, "GET", "/hello", (str){0});
    ask(f, &b, "PUT", "/what?x=1&y=%20", S("body"));
    ask(f, &c, "POST", "/echo", S("come back"));
    ask(f, &d, "HEAD", "/hello", (str){0});
    ask(f, &e, "DELETE", "/none", (str){0});
    assert_false(a.is_over);
    UNTIL(&f->t, a.is_over && b.is_over && c.is_over && d.is_over && e.is_over);
    assert_true(a.is_complete && b.is_complete && c.is_complete && d.is_complete && e.is_complete);
    assert_int_equal(a.status, 200);
    assert_true(heard_text(&a, "hello"));
    assert_true(str_eq(a.content_type, S("text/plain")));
    char want[100];
    (void)snprintf(want, sizeof want, "PUT /what ?x=1&y=%%20 host=127.0.0.1:%u n=3 x=yes", f->t.port);
    b.body.p = realloc(b.body.p, b.body.n + 1);
    b.body.p[b.body.n] = 0;
    assert_string_equal(b.body.p, want);
    assert_true(heard_text(&c, "come back"));
    assert_int_equal(d.status, 200);
    assert_int_equal(d.body.n, 0);
    assert_int_equal(e.status, 204);
    assert_int_equal(http_client_is_h2(f->client), is_h2);
    assert_true(http_client_can_call(f->client));
    assert_int_equal(http_server_stats(f->t.server).connections, 1);
    heard_done(&a), heard_done(&b), heard_done(&c), heard_done(&d), heard_done(&e);
    tear_down(f);
}

static void simple_h1(void **state)
{
    check_simple(false);
}

static void simple_h2(void **state)
{
    check_simple(true);
}

static void check_large(bool is_h2)
{
    enum { N = 2500000 };
    struct fixture *f = set_up(is_h2, NULL);
    struct heard down = {0}, up = {0};
    char *body = malloc(N);
    for (size_t i = 0; i < N; i++)
        body[i] = testserver_byte(i);
    ask(f, &down, "GET", "/large?8000000", (str){0});
    ask(f, &up, "POST", "/echo", (str){body, N});
    memset(body, 0, N); /* the call has its own */
    UNTIL(&f->t, down.is_over && up.is_over);
    assert_true(down.is_complete && up.is_complete);
    assert_true(is_large(&down, 8000000));
    assert_true(is_large(&up, N));
    assert_int_equal(http_server_stats(f->t.server).body_bytes, 0);
    free(body);
    heard_done(&down), heard_done(&up);
    tear_down(f);
}

static void large_h1(void **state)
{
    check_large(false);
}

static void large_h2(void **state)
{
    check_large(true);
}

/* A listener that is paused makes the source stop, and nothing is lost. */
static void check_pause(bool is_h2)
{
    enum { N = 16 << 20 };
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {.pause_after = 100000}, b = {0};
    char target[40];
    (void)snprintf(target, sizeof target, "/large?%d", N);
    ask(f, &a, "GET", target, (str){0});
    UNTIL(&f->t, a.body.n >= 100000);
    for (int i = 0; i < 200; i++)
        loop_turn(f->t.loop, 0);
    size_t held = a.body.n, made = f->t.made;
    assert_true(held < 600000);
    if (is_h2) {
        assert_true(made < 1000000); /* window and buffers; TCP's own buffers may hold more with HTTP/1.1 */
        ask(f, &b, "GET", "/hello", (str){0});
        UNTIL(&f->t, b.is_over); /* others are not held up */
        assert_true(b.is_complete);
        heard_done(&b);
    }
    assert_true(made < N);
    for (int i = 0; i < 50; i++)
        loop_turn(f->t.loop, 0);
    assert_int_equal(a.body.n, held);
    assert_false(a.is_over);
    a.pause_after = 0;
    http_call_resume(a.call);
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete);
    assert_true(is_large(&a, N));
    heard_done(&a);
    tear_down(f);
}

static void pause_h1(void **state)
{
    check_pause(false);
}

static void pause_h2(void **state)
{
    check_pause(true);
}

/* The end comes after what was held back, and not while paused. */
static void check_end_while_paused(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {0};
    ask(f, &a, "GET", "/large?5000", (str){0});
    http_call_pause(a.call);
    UNTIL(&f->t, f->t.gone == 1 || (!is_h2 && f->t.handled == 1));
    testserver_settle(&f->t);
    assert_false(a.is_over);
    assert_int_equal(a.body.n, 0);
    http_call_resume(a.call);
    assert_int_equal(a.body.n, 0); /* nothing calls back from within */
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete);
    assert_true(is_large(&a, 5000));
    heard_done(&a);
    tear_down(f);
}

static void end_while_paused_h1(void **state)
{
    check_end_while_paused(false);
}

static void end_while_paused_h2(void **state)
{
    check_end_while_paused(true);
}

static void check_watch(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    f->t.forgets = true;
    struct heard a = {0};
    ask(f, &a, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.status == 200);
    assert_int_equal(a.body.n, 0);
    for (int i = 0; i < 100; i++) {
        testserver_event(&f->t, 0, S("event\n"));
        UNTIL(&f->t, a.body.n == 6 * (size_t)(i + 1));
    }
    testserver_end(&f->t, 0);
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete);
    assert_int_equal(f->t.gone, 1);
    heard_done(&a);
    tear_down(f);
}

static void watch_h1(void **state)
{
    check_watch(false);
}

static void watch_h2(void **state)
{
    check_watch(true);
}

static void check_cut(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {0};
    ask(f, &a, "GET", "/cut", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_true(a.status == 200 || !is_h2); /* a reset may overtake the head */
    assert_false(a.is_complete);
    assert_false(a.can_retry);
    assert_int_equal(a.err.code, is_h2 ? ERR_IO : ERR_UNAVAILABLE);
    assert_int_equal(http_client_can_call(f->client), is_h2);
    heard_done(&a);
    tear_down(f);
}

static void cut_h1(void **state)
{
    check_cut(false);
}

static void cut_h2(void **state)
{
    check_cut(true);
}

/* A peer that goes away ends a stream, but not an exchange that is to be answered. */
static void check_cancel(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {0}, b = {0};
    ask(f, &a, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.status == 200);
    http_call_cancel(a.call);
    UNTIL(&f->t, f->t.gone == 1);
    assert_false(a.is_over);
    if (!is_h2) {
        UNTIL(&f->t, f->is_gone);
        assert_false(http_client_can_call(f->client));
        http_client_free(f->client);
        f->is_gone = false;
        connect_client(f, (struct http_client_options){0});
    }
    ask(f, &b, "PUT", "/later", S("something"));
    UNTIL(&f->t, f->t.n_later == 1);
    http_call_cancel(b.call);
    testserver_settle(&f->t);
    assert_int_equal(f->t.gone, 1);
    assert_true(str_eq(f->t.later[0]->body, S("something")));
    testserver_answer(&f->t, 0, 200, S("to nobody"));
    UNTIL(&f->t, f->t.gone == 2);
    assert_int_equal(http_server_stats(f->t.server).exchanges, 0);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

static void cancel_h1(void **state)
{
    check_cancel(false);
}

static void cancel_h2(void **state)
{
    check_cancel(true);
}

/* From within its own listener. */
static void check_cancel_inside(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {.cancels = true};
    ask(f, &a, "GET", "/large?3000000", (str){0});
    UNTIL(&f->t, f->t.gone == 1);
    testserver_settle(&f->t);
    assert_int_equal(a.pieces, 1);
    assert_false(a.is_over);
    heard_done(&a);
    tear_down(f);
}

static void cancel_inside_h1(void **state)
{
    check_cancel_inside(false);
}

static void cancel_inside_h2(void **state)
{
    check_cancel_inside(true);
}

static void check_free_inside(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {.frees = f->client}, b = {0};
    ask(f, &a, "GET", "/large?3000000", (str){0});
    ask(f, &b, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.pieces);
    f->client = NULL;
    UNTIL(&f->t, http_server_stats(f->t.server).connections == 0);
    assert_int_equal(a.pieces, 1);
    assert_false(a.is_over || b.is_over || f->is_gone);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

static void free_inside_h1(void **state)
{
    check_free_inside(false);
}

static void free_inside_h2(void **state)
{
    check_free_inside(true);
}

static void check_server_gone(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {0}, b = {0};
    ask(f, &a, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.status == 200);
    testserver_event(&f->t, 0, S("last words"));
    UNTIL(&f->t, a.body.n);
    http_server_free(f->t.server);
    f->t.server = NULL;
    UNTIL(&f->t, f->is_gone);
    assert_true(a.is_over && !a.is_complete && !a.can_retry);
    assert_int_equal(a.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(a.err.msg, "127.0.0.1:"));
    assert_false(http_client_can_call(f->client));
    ask(f, &b, "GET", "/hello", (str){0}); /* too late, and told so, not from within */
    assert_false(b.is_over);
    UNTIL(&f->t, b.is_over);
    assert_true(!b.is_complete && b.can_retry);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

static void server_gone_h1(void **state)
{
    check_server_gone(false);
}

static void server_gone_h2(void **state)
{
    check_server_gone(true);
}

static void check_timeouts(bool is_h2)
{
    struct fixture *f = set_up(is_h2, NULL);
    struct heard a = {0}, b = {0};
    struct http_request r = {.method = S("GET"), .target = S("/later"), .head_ns = 1000000};
    a.call = http_call_new(f->client, &r, &listener, &a);
    UNTIL(&f->t, a.is_over);
    assert_int_equal(a.err.code, ERR_TIMEOUT);
    assert_int_equal(a.status, 0);
    if (!is_h2) {
        http_client_free(f->client);
        connect_client(f, (struct http_client_options){0});
        f->is_gone = false;
    }
    r = (struct http_request){
        .method = S("GET"), .target = S("/watch"), .head_ns = 3600000000000, .total_ns = 30000000};
    b.call = http_call_new(f->client, &r, &listener, &b);
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.err.code, ERR_TIMEOUT);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

static void timeouts_h1(void **state)
{
    check_timeouts(false);
}

static void timeouts_h2(void **state)
{
    check_timeouts(true);
}

static void nobody_listens(void **state)
{
    struct fixture *f = set_up(true, NULL);
    http_client_free(f->client);
    http_server_free(f->t.server);
    f->t.server = NULL;
    connect_client(f, (struct http_client_options){0});
    struct heard a = {0};
    ask(f, &a, "GET", "/hello", (str){0});
    UNTIL(&f->t, a.is_over && f->is_gone);
    assert_true(a.can_retry);
    assert_int_equal(a.err.code, ERR_UNAVAILABLE);
    char want[100];
    (void)snprintf(want, sizeof want, "connect to 127.0.0.1:%u: Connection refused", f->t.port);
    assert_string_equal(a.err.msg, want);
    assert_string_equal(f->why.msg, want);
    heard_done(&a);
    tear_down(f);
}

static void names_are_looked_up(void **state)
{
    struct fixture *f = set_up(true, NULL);
    struct heard a = {0}, b = {0};
    struct err err;
    http_client_free(f->client);
    struct http_client_options options = {
        .host = S("localhost"), .port = f->t.port, .is_h2 = true, .gone = on_client_gone, .ctx = f};
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
    ask(f, &a, "GET", "/hello", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete);
    http_client_free(f->client);
    options.host = S("no-such-host.invalid");
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
    ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(b.err.msg, "look up no-such-host.invalid: "));
    assert_true(b.can_retry);
    http_client_free(f->client); /* while a lookup is at work */
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

/* ---- HTTP/2 only. ---- */

static void parallel_streams(void **state)
{
    enum { N = 500 };
    struct fixture *f = set_up(true, NULL);
    static struct heard h[N];
    memset(h, 0, sizeof h);
    for (size_t i = 0; i < N; i++)
        ask(f, &h[i], "GET", i % 2 ? "/later" : "/large?20000", (str){0});
    UNTIL(&f->t, f->t.n_later == N / 2);
    for (size_t i = N / 2; i-- > 0;)
        testserver_answer(&f->t, i, 200 + (int)(i % 2), S("at last"));
    for (size_t i = 0; i < N; i++) {
        UNTIL(&f->t, h[i].is_over);
        assert_true(h[i].is_complete);
        assert_true(i % 2 ? heard_text(&h[i], "at last") : is_large(&h[i], 20000));
        heard_done(&h[i]);
    }
    assert_int_equal(http_server_stats(f->t.server).accepted, 1);
    tear_down(f);
}

/* More calls than the server allows streams: the rest waits its turn. */
static void more_calls_than_streams(void **state)
{
    enum { N = 50 };
    struct http_limits limits = {.streams = 7};
    struct fixture *f = set_up(true, &limits);
    static struct heard h[N];
    memset(h, 0, sizeof h);
    ask(f, &h[0], "GET", "/hello", (str){0});
    UNTIL(&f->t, h[0].is_over); /* the client knows the limit by now */
    for (size_t i = 1; i < N; i++)
        ask(f, &h[i], "GET", "/later", (str){0});
    UNTIL(&f->t, f->t.n_later == 7);
    testserver_settle(&f->t);
    assert_int_equal(f->t.n_later, 7);
    for (size_t i = 0; i + 1 < N; i++) {
        UNTIL(&f->t, f->t.n_later > i);
        testserver_answer(&f->t, i, 200, S("ok"));
    }
    for (size_t i = 1; i < N; i++) {
        UNTIL(&f->t, h[i].is_over);
        assert_true(h[i].is_complete);
        heard_done(&h[i]);
    }
    heard_done(&h[0]);
    tear_down(f);
}

/* A paused reader holds up nobody else, and its source stops: many of them stay within their windows. */
static void paused_readers(void **state)
{
    enum { N = 20 };
    struct fixture *f = set_up(true, NULL);
    static struct heard h[N], last;
    memset(h, 0, sizeof h);
    for (size_t i = 0; i < N; i++) {
        h[i].pause_after = 1;
        ask(f, &h[i], "GET", "/large?4000000", (str){0});
    }
    for (size_t i = 0; i < N; i++)
        UNTIL(&f->t, h[i].body.n);
    for (int i = 0; i < 300; i++)
        loop_turn(f->t.loop, 0);
    assert_true(f->t.made < (size_t)N * (400 << 10));
    memset(&last, 0, sizeof last);
    ask(f, &last, "GET", "/large?4000000", (str){0});
    UNTIL(&f->t, last.is_over);
    assert_true(is_large(&last, 4000000));
    for (size_t i = 0; i < N; i++) {
        h[i].pause_after = 0;
        http_call_resume(h[i].call);
        UNTIL(&f->t, h[i].is_over);
        assert_true(is_large(&h[i], 4000000));
        heard_done(&h[i]);
    }
    heard_done(&last);
    tear_down(f);
}

/* What is at work ends in peace, what comes too late is told to go elsewhere, and then the connection closes. */
static void drain_lets_calls_end(void **state)
{
    struct fixture *f = set_up(true, NULL);
    struct heard a = {0}, b = {0};
    ask(f, &a, "GET", "/later", (str){0});
    UNTIL(&f->t, f->t.n_later == 1);
    testserver_drain(&f->t);
    UNTIL(&f->t, !http_client_can_call(f->client));
    ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_true(!b.is_complete && b.can_retry);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_false(a.is_over || f->t.is_drained);
    testserver_answer(&f->t, 0, 200, S("in time"));
    UNTIL(&f->t, a.is_over);
    assert_true(heard_text(&a, "in time"));
    UNTIL(&f->t, f->t.is_drained && f->is_gone);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

static void drain_of_idle_connections(void **state)
{
    struct fixture *f = set_up(true, NULL);
    struct heard a = {0};
    ask(f, &a, "GET", "/hello", (str){0});
    UNTIL(&f->t, a.is_over);
    testserver_drain(&f->t);
    UNTIL(&f->t, f->t.is_drained && f->is_gone);
    heard_done(&a);
    tear_down(f);
}

static void too_large_a_body(void **state)
{
    struct http_limits limits = {.body_bytes = 100000};
    struct fixture *f = set_up(true, &limits);
    struct heard a = {0}, b = {0}, c = {0};
    char *body = calloc(1, 1000000);
    ask(f, &a, "POST", "/echo", (str){body, 1000000});
    ask(f, &b, "POST", "/echo", (str){body, 100000});
    UNTIL(&f->t, a.is_over && b.is_over);
    assert_int_equal(a.status, 413);
    assert_true(a.is_complete);
    assert_int_equal(b.status, 200);
    assert_int_equal(b.body.n, 100000);
    ask(f, &c, "POST", "/echo", (str){body, 100001});
    UNTIL(&f->t, c.is_over);
    assert_int_equal(c.status, 413);
    free(body);
    heard_done(&a), heard_done(&b), heard_done(&c);
    tear_down(f);
}

static void bodies_have_one_budget(void **state)
{
    struct http_limits limits = {.bodies_bytes = 150000};
    struct fixture *f = set_up(true, &limits);
    struct heard a = {0}, b = {0}, c = {0};
    char *body = calloc(1, 100000);
    ask(f, &a, "POST", "/later", (str){body, 100000});
    UNTIL(&f->t, f->t.n_later == 1);
    assert_int_equal(http_server_stats(f->t.server).body_bytes, 100000);
    ask(f, &b, "POST", "/echo", (str){body, 100000});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.status, 429);
    testserver_answer(&f->t, 0, 200, (str){0});
    UNTIL(&f->t, a.is_over);
    assert_int_equal(http_server_stats(f->t.server).body_bytes, 0);
    ask(f, &c, "POST", "/echo", (str){body, 100000});
    UNTIL(&f->t, c.is_over);
    assert_int_equal(c.status, 200);
    free(body);
    heard_done(&a), heard_done(&b), heard_done(&c);
    tear_down(f);
}

static void too_large_a_head(void **state)
{
    struct http_limits limits = {.headers = 20};
    struct fixture *f = set_up(true, &limits);
    struct heard a = {0}, b = {0};
    struct http_header many[30];
    for (size_t i = 0; i < 30; i++)
        many[i] = (struct http_header){S("X-Test"), S("again")};
    struct http_request r = {.method = S("GET"), .target = S("/hello"), .headers = {many, 30}};
    a.call = http_call_new(f->client, &r, &listener, &a);
    UNTIL(&f->t, a.is_over);
    assert_int_equal(a.status, 431);
    ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.status, 200);
    assert_int_equal(f->t.handled, 1);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

/* ---- Servers that are not ours. ---- */

/* Listens on a port of its own, in place of our server. */
static int listen_instead(struct fixture *f)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    http_client_free(f->client);
    f->client = NULL;
    f->t.port = ntohs(a.sin_port);
    return fd;
}

/* Takes the connection and then says nothing at all. */
static void server_without_a_sign_of_life(void **state)
{
    struct fixture *f = set_up(true, NULL);
    int fd = listen_instead(f);
    connect_client(f, (struct http_client_options){.ping_ns = 1000000, .ping_wait_ns = 1000000});
    struct heard a = {0};
    ask(f, &a, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_int_equal(a.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(a.err.msg, "no sign of life"));
    assert_false(a.can_retry); /* it may have been heard */
    UNTIL(&f->t, f->is_gone);
    (void)close(fd);
    heard_done(&a);
    tear_down(f);
}

/* One that answers PINGs and has nothing else to say is left alone. */
static void quiet_watch(void **state)
{
    struct fixture *f = set_up(true, NULL);
    http_client_free(f->client);
    connect_client(f, (struct http_client_options){.ping_ns = 1000000, .ping_wait_ns = 100000000});
    struct heard a = {0};
    ask(f, &a, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.status == 200);
    int64_t start = loop_now(f->t.loop);
    while (loop_now(f->t.loop) - start <
           250000000) /* long enough for it to be given up, were its answers not counted */
        loop_turn(f->t.loop, 1000000);
    assert_false(a.is_over);
    testserver_event(&f->t, 0, S("event"));
    UNTIL(&f->t, a.body.n == 5);
    assert_false(a.is_over);
    heard_done(&a);
    tear_down(f);
}

/* The server says which request was the last that it took: those after it can be tried elsewhere, that one cannot. */
static void goaway_tells_what_was_taken(void **state)
{
    static const char frames[] = "\0\0\0\4\0\0\0\0\0"                   /* SETTINGS */
                                 "\0\0\x8\7\0\0\0\0\0\0\0\0\1\0\0\0\0"; /* GOAWAY: stream 1 */
    struct fixture *f = set_up(true, NULL);
    int fd = listen_instead(f);
    connect_client(f, (struct http_client_options){0});
    struct heard a = {0}, b = {0};
    ask(f, &a, "PUT", "/1", (str){0});
    ask(f, &b, "PUT", "/2", (str){0});
    testserver_settle(&f->t);
    int server = accept(fd, NULL, NULL);
    assert_true(server >= 0);
    assert_int_equal(send(server, frames, sizeof frames - 1, MSG_NOSIGNAL), sizeof frames - 1);
    UNTIL(&f->t, b.is_over);
    assert_true(b.can_retry);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_false(a.is_over || http_client_can_call(f->client));
    (void)close(server);
    UNTIL(&f->t, a.is_over);
    assert_false(a.is_complete || a.can_retry);
    UNTIL(&f->t, f->is_gone);
    (void)close(fd);
    heard_done(&a), heard_done(&b);
    tear_down(f);
}

static void server_that_speaks_something_else(void **state)
{
    for (int is_h2 = 0; is_h2 < 2; is_h2++) {
        struct fixture *f = set_up(is_h2, NULL);
        int fd = listen_instead(f);
        connect_client(f, (struct http_client_options){0});
        struct heard a = {0};
        ask(f, &a, "GET", "/", (str){0});
        testserver_settle(&f->t);
        int server = accept(fd, NULL, NULL);
        assert_true(send(server, "220 smtp.example ESMTP\r\n\r\n", 26, MSG_NOSIGNAL) == 26);
        UNTIL(&f->t, a.is_over && f->is_gone);
        assert_int_equal(a.err.code, ERR_UNAVAILABLE);
        assert_false(a.is_complete || a.can_retry);
        (void)close(server);
        (void)close(fd);
        heard_done(&a);
        tear_down(f);
    }
}

/* ---- TLS. ---- */

static struct tls_context *client_context(str ca, str name)
{
    struct tls_context *tls;
    struct err err;
    struct tls_client_options options = {.ca_pem = ca, .server_name = name};
    assert_int_equal(tls_client_new(&options, &tls, &err), 0);
    return tls;
}

/* HTTP/2 is agreed on; a server that cannot prove who it is hears nothing from us. */
static void over_tls(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct keys own = keys_make(&arena, &(struct keys_options){.name = "localhost", .ends_in = 3600});
    struct keys other = keys_make(&arena, &(struct keys_options){.name = "localhost", .ends_in = 3600});
    struct tls_server_options options = {.certificate_pem = own.certificate, .key_pem = own.key};
    struct tls_context *tls, *good = client_context(own.certificate, S("localhost"));
    struct tls_context *bad = client_context(other.certificate, S("localhost"));
    struct tls_context *misled = client_context(own.certificate, S("elsewhere"));
    struct err err;
    assert_int_equal(tls_server_new(&options, &tls, &err), 0);
    struct fixture *f = calloc(1, sizeof *f);
    struct heard a = {0}, b = {0}, c = {0};
    testserver_start(&f->t, NULL, tls);
    connect_client(f, (struct http_client_options){.tls = good});
    ask(f, &a, "GET", "/large?3000000", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete && is_large(&a, 3000000));
    assert_true(http_client_is_h2(f->client));
    http_client_free(f->client);
    connect_client(f, (struct http_client_options){.tls = bad});
    ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_true(b.can_retry);
    http_client_free(f->client);
    f->is_gone = false;
    connect_client(f, (struct http_client_options){.tls = misled});
    ask(f, &c, "GET", "/hello", (str){0});
    UNTIL(&f->t, c.is_over);
    assert_int_equal(c.err.code, ERR_UNAVAILABLE);
    assert_int_equal(f->t.handled, 1);
    heard_done(&a), heard_done(&b), heard_done(&c);
    tls_unref(tls), tls_unref(good), tls_unref(bad), tls_unref(misled);
    tear_down(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_h1),
        cmocka_unit_test(simple_h2),
        cmocka_unit_test(large_h1),
        cmocka_unit_test(large_h2),
        cmocka_unit_test(pause_h1),
        cmocka_unit_test(pause_h2),
        cmocka_unit_test(end_while_paused_h1),
        cmocka_unit_test(end_while_paused_h2),
        cmocka_unit_test(watch_h1),
        cmocka_unit_test(watch_h2),
        cmocka_unit_test(cut_h1),
        cmocka_unit_test(cut_h2),
        cmocka_unit_test(cancel_h1),
        cmocka_unit_test(cancel_h2),
        cmocka_unit_test(cancel_inside_h1),
        cmocka_unit_test(cancel_inside_h2),
        cmocka_unit_test(free_inside_h1),
        cmocka_unit_test(free_inside_h2),
        cmocka_unit_test(server_gone_h1),
        cmocka_unit_test(server_gone_h2),
        cmocka_unit_test(timeouts_h1),
        cmocka_unit_test(timeouts_h2),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(names_are_looked_up),
        cmocka_unit_test(parallel_streams),
        cmocka_unit_test(more_calls_than_streams),
        cmocka_unit_test(paused_readers),
        cmocka_unit_test(drain_lets_calls_end),
        cmocka_unit_test(drain_of_idle_connections),
        cmocka_unit_test(too_large_a_body),
        cmocka_unit_test(bodies_have_one_budget),
        cmocka_unit_test(too_large_a_head),
        cmocka_unit_test(server_without_a_sign_of_life),
        cmocka_unit_test(quiet_watch),
        cmocka_unit_test(goaway_tells_what_was_taken),
        cmocka_unit_test(server_that_speaks_something_else),
        cmocka_unit_test(over_tls),
    };
    return cmocka_run_group_tests_name("http_client", tests, NULL, NULL);
}
