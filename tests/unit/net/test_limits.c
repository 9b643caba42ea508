/* SPDX-License-Identifier: Apache-2.0 */
/* What peers cannot do to the server: wait for ever, send or hold too much, take others' place; and how it ends. */
#include "world.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: test\r\n\r\n"
#define POST(headers) "POST /echo HTTP/1.1\r\nHost: test\r\n" headers "\r\n\r\n"

static void expect_text(str got, const char *want)
{
    if (!str_eq(got, str_of(want)))
        fail_msg("got \"%.*s\", want \"%s\"", STR(got), want);
}

static str many(struct world *w, char c, size_t n)
{
    struct buf b = {.arena = &w->arena};
    for (size_t i = 0; i < n; i++)
        buf_add_char(&b, c);
    return buf_str(&b);
}

/* The whole server is still there for others. */
static void expect_alive(struct world *w)
{
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/echo")));
    expect_text(peer_answer(p, 200), "GET /echo? 0");
    peer_free(p);
}

/* ---- Time. ---- */

static void cuts_off(struct http_limits limits, const char *start)
{
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, str_of(start));
    peer_until_over(p);
    world_until_connections(w, 0);
    assert_int_equal(w->handled, 0);
    world_settle(w);
    assert_int_equal(http_server_stats(w->server).exchanges, 0);
    assert_int_equal(http_server_stats(w->server).body_bytes, 0);
    expect_alive(w);
    peer_free(p);
    world_free(w);
}

static void does_not_wait_for_slow_heads(void **state)
{
    cuts_off((struct http_limits){.head_ns = 20 * MS}, "GET / HTTP/1.1\r\nHost: te");
}

/* One that sends a byte now and then gains nothing by it. */
static void does_not_wait_for_trickling_heads(void **state)
{
    struct http_limits limits = {.head_ns = 200 * MS, .head_bytes = SIZE_MAX / 2};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S("GET / HTTP/1.1\r\nX: "));
    world_until_connections(w, 1);
    int64_t end = clock_mono_ns(&clock_system) + WORLD_PATIENCE;
    while (http_server_stats(w->server).connections) {
        if (clock_mono_ns(&clock_system) > end)
            fail_msg("still waiting for the end of a head");
        (void)!send(p->fd, "x", 1, MSG_NOSIGNAL);
        loop_turn(w->loop, 2 * MS);
    }
    peer_free(p);
    world_free(w);
}

static void does_not_wait_for_slow_bodies(void **state)
{
    cuts_off((struct http_limits){.body_ns = 20 * MS}, POST("Content-Length: 10") "abc");
    cuts_off((struct http_limits){.body_ns = 20 * MS}, POST("Transfer-Encoding: chunked") "a\r\nabc");
}

static void does_not_keep_idle_connections(void **state)
{
    cuts_off((struct http_limits){.idle_ns = 20 * MS}, "");
    /* The same after a request, and in good order. */
    struct http_limits limits = {.idle_ns = 500 * MS};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/echo")));
    expect_text(peer_answer(p, 200), "GET /echo? 0");
    peer_until_over(p);
    assert_false(p->is_reset);
    world_until_connections(w, 0);
    peer_free(p);
    world_free(w);
}

/* A request at work is not idle, however long it takes. */
static bool has_time_passed(void *ctx)
{
    int64_t *end = ctx;
    return clock_mono_ns(&clock_system) > *end;
}

static void lets_handlers_take_their_time(void **state)
{
    struct http_limits limits = {.idle_ns = 5 * MS, .head_ns = 5 * MS, .body_ns = 5 * MS, .stall_ns = 5 * MS};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/later")));
    world_until_later(w, 1);
    int64_t end = clock_mono_ns(&clock_system) + 20 * MS;
    world_until(w, has_time_passed, &end, "time");
    http_answer(w->later[0], 200, (struct http_headers){0}, S("at last"));
    expect_text(peer_answer(p, 200), "at last");
    peer_free(p);
    world_free(w);
}

/* The server's end of a peer's connection; it is in this process too. */
static int other_end(const struct peer *p)
{
    struct sockaddr_in own = {0}, other = {0};
    socklen_t n = sizeof own;
    assert_int_equal(getsockname(p->fd, (struct sockaddr *)&own, &n), 0);
    for (int fd = 0; fd < 1024; fd++) {
        n = sizeof other;
        if (getpeername(fd, (struct sockaddr *)&other, &n) == 0 && n == sizeof other && other.sin_family == AF_INET &&
            other.sin_port == own.sin_port)
            return fd;
    }
    fail_msg("no other end");
    return -1;
}

/* Nothing in HTTP/1.1 shows that the machine of an idle watcher is gone. */
static void has_the_kernel_ask_silent_peers(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    world_until_connections(w, 1);
    int is_on = 0, seconds = 0;
    socklen_t n = sizeof is_on;
    assert_int_equal(getsockopt(other_end(p), SOL_SOCKET, SO_KEEPALIVE, &is_on, &n), 0);
    n = sizeof seconds;
    assert_int_equal(getsockopt(other_end(p), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, &n), 0);
    assert_true(is_on);
    assert_int_equal(seconds, 180);
    peer_free(p);
    world_free(w);
}

/* ---- Size. ---- */

static void refuses_large_heads(void **state)
{
    struct http_limits limits = {.head_bytes = 1000, .headers = 10};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w), *q = peer_new(w), *r = peer_new(w);
    peer_send(p, S("GET /echo HTTP/1.1\r\nHost: test\r\nX: "));
    peer_send(p, many(w, 'x', 5000)); /* without an end */
    peer_answer(p, 431);
    peer_until_over(p);
    peer_send(q, S("GET /echo HTTP/1.1\r\nHost: test\r\n"));
    for (int i = 0; i < 10; i++)
        peer_send(q, S("X: y\r\n"));
    peer_answer(q, 431);
    peer_until_over(q);
    /* As many and as large as allowed. */
    peer_send(r, S("GET /echo HTTP/1.1\r\nHost: test\r\n"));
    for (int i = 0; i < 9; i++)
        peer_send(r, S("X: y\r\n"));
    peer_send(r, S("\r\n"));
    expect_text(peer_answer(r, 200), "GET /echo? 0");
    str start = S("GET /echo HTTP/1.1\r\nHost: test\r\nX: ");
    peer_send(r, start);
    peer_send(r, many(w, 'x', 1000 - start.n - 4));
    peer_send(r, S("\r\n\r\n"));
    expect_text(peer_answer(r, 200), "GET /echo? 0");
    peer_free(p);
    peer_free(q);
    peer_free(r);
    world_free(w);
}

static void throws_large_bodies_away(void **state)
{
    struct http_limits limits = {.body_bytes = 1000};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w), *q = peer_new(w), *r = peer_new(w);
    peer_send(p, S(POST("Content-Length: 1001")));
    peer_send(p, many(w, 'x', 500));
    expect_text(peer_answer(p, 413), "too large");
    peer_until_over(p);
    assert_false(p->is_reset);
    peer_send(q, S(POST("Transfer-Encoding: chunked")));
    for (int i = 0; i < 11; i++) {
        peer_send(q, S("64\r\n"));
        peer_send(q, many(w, 'x', 100));
        peer_send(q, S("\r\n"));
    }
    expect_text(peer_answer(q, 413), "too large");
    peer_until_over(q);
    peer_send(r, S(POST("Content-Length: 1000")));
    peer_send(r, many(w, 'x', 1000));
    expect_text(peer_answer(r, 200), "POST /echo? 1000");
    world_settle(w);
    assert_int_equal(http_server_stats(w->server).body_bytes, 0);
    peer_free(p);
    peer_free(q);
    peer_free(r);
    world_free(w);
}

/* What is announced costs nobody anything; what has come counts until it is answered. */
static void bounds_all_bodies_together(void **state)
{
    struct http_limits limits = {.body_bytes = 1000, .bodies_bytes = 1750}; /* with three heads */
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w), *q = peer_new(w), *r = peer_new(w);
    peer_send(p, S(POST("Content-Length: 1000")));
    peer_send(p, many(w, 'x', 999));
    peer_send(q, S(POST("Content-Length: 1000")));
    while (http_server_stats(w->server).body_bytes < 999)
        loop_turn(w->loop, MS);
    peer_send(r, S("POST /later HTTP/1.1\r\nHost: test\r\nContent-Length: 501\r\n\r\n"));
    peer_send(r, many(w, 'x', 501));
    world_until_later(w, 1); /* 1500, and the heads */
    peer_send(q, many(w, 'x', 500));
    str head = peer_expect(q, S("\r\n\r\n"));
    assert_true(str_has_prefix(head, S("HTTP/1.1 429 Too Many Requests\r\n")));
    assert_true(str_find(head, S("Retry-After: 1\r\n")) > 0);
    expect_text(peer_expect(q, S("\n")), "Too many requests, please try again later.\n");
    peer_until_over(q);
    http_answer(w->later[0], 200, (struct http_headers){0}, S("done"));
    expect_text(peer_answer(r, 200), "done");
    peer_send(p, S("x"));
    expect_text(peer_answer(p, 200), "POST /echo? 1000");
    world_settle(w);
    assert_int_equal(http_server_stats(w->server).body_bytes, 0);
    peer_free(p);
    peer_free(q);
    peer_free(r);
    world_free(w);
}

/* ---- Peers that do not read. ---- */

static void fills_only_what_is_taken(void **state)
{
    enum { WHOLE = 50 << 20, KERNEL = 16 << 20 };
    struct http_limits limits = {.pending_bytes = 100 << 10, .stall_ns = 50 * MS};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    p->is_deaf = true;
    peer_send(p, S(GET("/bytes?52428800")));
    world_until_connections(w, 1);
    world_until_connections(w, 0); /* after stall_ns */
    world_settle(w);
    assert_int_equal(w->gone, 1);
    assert_true(w->filled < KERNEL); /* what the sockets took, and at most pending_bytes more */
    p->is_deaf = false;
    peer_until_over(p);
    assert_true(p->is_reset);
    assert_true(p->got.n <= w->filled + 100000);
    expect_alive(w);
    peer_free(p);
    world_free(w);
}

/* Reading slowly is all right, as long as something moves. */
static void waits_for_slow_readers(void **state)
{
    struct http_limits limits = {.stall_ns = WORLD_PATIENCE};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/bytes?20000000")));
    peer_expect(p, S("\r\n\r\n"));
    p->is_deaf = true;
    world_settle(w);
    assert_true(w->filled < 20000000);
    p->is_deaf = false;
    peer_expect(p, S("\r\n0\r\n\r\n"));
    assert_int_equal(w->filled, 20000000);
    peer_free(p);
    world_free(w);
}

/* Thousands of requests whose answers nobody reads: they wait where they are. */
static void answers_only_who_reads(void **state)
{
    struct http_limits limits = {.pending_bytes = 10000, .stall_ns = 100 * MS};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    int small = 4096;
    assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    struct buf all = {.arena = &w->arena};
    for (int i = 0; i < 2000; i++)
        buf_add_str(&all, S(GET("/echo")));
    p->is_deaf = true;
    size_t sent = 0;
    world_until_connections(w, 1);
    for (int i = 0; i < 2000 && http_server_stats(w->server).connections; i++) {
        ssize_t n = send(p->fd, all.p + sent % all.n, all.n - sent % all.n, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        loop_turn(w->loop, MS);
    }
    world_until_connections(w, 0);
    assert_true(w->handled > 10);
    assert_true((size_t)w->handled < sent / (sizeof GET("/echo") - 1));
    expect_alive(w);
    peer_free(p);
    world_free(w);
}

/* ---- Peers that go away. ---- */

static void forgets_half_requests(void **state)
{
    static const char *const starts[] = {"", "G", "GET / HTTP/1.1\r\n", POST("Content-Length: 10") "abc",
                                         POST("Transfer-Encoding: chunked") "5\r\nab"};
    struct world *w = world_new(NULL, NULL);
    for (size_t i = 0; i < COUNT(starts); i++) {
        struct peer *p = peer_new(w), *q = peer_new(w);
        peer_send(p, str_of(starts[i]));
        peer_send(q, str_of(starts[i]));
        world_until_connections(w, 2);
        world_settle(w);
        struct linger reset = {.l_onoff = 1};
        assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
        peer_free(p);
        peer_end(q); /* sends no more, but would read */
        peer_until_over(q);
        peer_free(q);
        world_until_connections(w, 0);
    }
    assert_int_equal(w->handled, 0);
    world_settle(w);
    assert_int_equal(http_server_stats(w->server).exchanges, 0);
    assert_int_equal(http_server_stats(w->server).body_bytes, 0);
    world_free(w);
}

static void keeps_what_is_to_be_answered(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w), *q = peer_new(w);
    peer_send(p, S("POST /later HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello"));
    world_until_later(w, 1);
    peer_send(q, S(GET("/later")));
    world_until_later(w, 2);
    peer_free(p);
    struct linger reset = {.l_onoff = 1};
    assert_int_equal(setsockopt(q->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    peer_free(q);
    world_until_connections(w, 1); /* the one that ended in order may still be reading, for all we know */
    world_settle(w);
    assert_int_equal(w->gone, 0);
    expect_text(w->later[0]->body, "hello");
    expect_text(w->later[1]->path, "/later");
    assert_true(w->later[1]->remote.n > 10);
    http_answer(w->later[0], 200, (struct http_headers){0}, S("too late"));
    world_settle(w);
    assert_int_equal(w->gone, 1);
    http_stream(w->later[1], 200, (struct http_headers){0}, (struct http_source){0});
    world_settle(w);
    assert_int_equal(w->gone, 2);
    world_until_connections(w, 0);
    world_settle(w);
    assert_int_equal(http_server_stats(w->server).exchanges, 0);
    world_free(w);
}

static bool is_gone(void *ctx)
{
    struct world *w = ctx;
    return w->gone == 1;
}

static void ends_streams_nobody_reads(void **state)
{
    struct world *w = world_new(NULL, NULL);
    for (int kind = 0; kind < 3; kind++) {
        struct peer *p = peer_new(w);
        w->gone = 0;
        peer_send(p, kind == 2 ? S(GET("/events") GET("/echo")) : S(GET("/events")));
        peer_expect(p, S("\r\n\r\n"));
        if (kind == 0) {
            struct linger reset = {.l_onoff = 1};
            assert_int_equal(setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
        }
        peer_free(p);
        world_until(w, is_gone, w, "the end of a stream");
        world_until_connections(w, 0);
    }
    world_free(w);
}

static void survives_without_the_server(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w), *q = peer_new(w);
    peer_send(p, S(GET("/later")));
    peer_send(q, S(GET("/events")));
    world_until_later(w, 1);
    peer_expect(q, S("\r\n\r\n"));
    http_server_free(w->server);
    w->server = NULL;
    assert_int_equal(w->gone, 1);
    http_answer(w->later[0], 200, (struct http_headers){0}, S("too late"));
    world_settle(w);
    assert_int_equal(w->gone, 2);
    peer_free(p);
    peer_free(q);
    world_free(w);
}

/* ---- Many peers. ---- */

/* Whoever still reads its answer is not idle: it would get half of it. */
static void does_not_cut_answers_for_newcomers(void **state)
{
    enum { ANSWER = 30 << 20 };
    struct http_limits limits = {.connections = 1};
    struct world *w = world_new(&limits, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/later")));
    world_until_later(w, 1);
    p->is_deaf = true;
    http_answer(w->later[0], 200, (struct http_headers){0}, many(w, 'x', ANSWER));
    world_settle(w);
    struct peer *q = peer_new(w);
    peer_until_over(q); /* there is no place */
    p->is_deaf = false;
    assert_int_equal(peer_answer(p, 200).n, ANSWER);
    struct peer *r = peer_new(w); /* now there is */
    peer_send(r, S(GET("/echo")));
    expect_text(peer_answer(r, 200), "GET /echo? 0");
    peer_until_over(p);
    peer_free(p);
    peer_free(q);
    peer_free(r);
    world_free(w);
}

static void makes_place_for_newcomers(void **state)
{
    struct http_limits limits = {.connections = 3};
    struct world *w = world_new(&limits, NULL);
    struct peer *old = peer_new(w), *busy = peer_new(w), *young = peer_new(w);
    peer_send(busy, S(GET("/later")));
    world_until_later(w, 1);
    peer_send(old, S(GET("/echo")));
    peer_answer(old, 200);
    peer_send(young, S(GET("/echo")));
    peer_answer(young, 200);
    struct peer *next = peer_new(w);
    peer_send(next, S(GET("/later")));
    world_until_later(w, 2);
    peer_until_over(old); /* the one that was idle for longest */
    peer_send(young, S(GET("/later")));
    world_until_later(w, 3);
    struct peer *last = peer_new(w); /* nobody is idle now */
    peer_until_over(last);
    assert_int_equal(http_server_stats(w->server).refused, 2);
    assert_int_equal(http_server_stats(w->server).connections, 3);
    for (int i = 0; i < 3; i++)
        http_answer(w->later[i], 200, (struct http_headers){0}, S("ok"));
    expect_text(peer_answer(busy, 200), "ok");
    peer_free(old);
    peer_free(busy);
    peer_free(young);
    peer_free(next);
    peer_free(last);
    world_free(w);
}

/* ---- The end. ---- */

static void on_drained(void *ctx)
{
    int *n = ctx;
    ++*n;
}

static bool is_drained(void *ctx)
{
    int *n = ctx;
    return *n == 1;
}

static void drains(void **state)
{
    int drained = 0;
    struct world *w = world_new(NULL, NULL);
    struct peer *idle = peer_new(w), *busy = peer_new(w), *watch = peer_new(w), *half = peer_new(w);
    peer_send(idle, S(GET("/echo")));
    peer_answer(idle, 200);
    peer_send(busy, S(GET("/later")));
    peer_send(watch, S(GET("/events")));
    peer_expect(watch, S("\r\n\r\n"));
    peer_send(half, S(POST("Content-Length: 4") "ab"));
    world_until_later(w, 1);
    while (http_server_stats(w->server).body_bytes < 2)
        loop_turn(w->loop, MS);
    uint16_t port = http_server_port(w->server);
    http_server_drain(w->server, WORLD_PATIENCE, on_drained, &drained);
    peer_until_over(idle);
    assert_false(idle->is_reset);
    peer_send(half, S("cd")); /* what has begun is taken to its end */
    expect_text(peer_answer(half, 200), "POST /echo? 4");
    peer_until_over(half);
    assert_int_equal(drained, 0);
    http_answer(w->later[0], 200, (struct http_headers){0}, S("ok"));
    str head = peer_expect(busy, S("\r\n\r\n"));
    assert_true(str_find(head, S("Connection: close\r\n")) > 0);
    peer_until_over(busy);
    w->are_events_over = true;
    http_resume(w->watching);
    peer_expect(watch, S("0\r\n\r\n"));
    peer_until_over(watch);
    peer_free(idle);
    peer_free(busy);
    peer_free(watch);
    peer_free(half);
    world_until(w, is_drained, &drained, "the end of the drain");
    /* Nobody listens any more: the port is free for others. */
    struct http_server_options o = {.host = S("127.0.0.1"), .port = port};
    struct http_server *other;
    assert_int_equal(http_server_new(w->loop, &o, &other, NULL), 0);
    http_server_free(other);
    world_free(w);
}

static void drains_in_time(void **state)
{
    int drained = 0;
    struct world *w = world_new(NULL, NULL);
    struct peer *busy = peer_new(w), *watch = peer_new(w);
    peer_send(busy, S(GET("/later")));
    peer_send(watch, S(GET("/events")));
    peer_expect(watch, S("\r\n\r\n"));
    world_until_later(w, 1);
    http_server_drain(w->server, 10 * MS, on_drained, &drained);
    world_until(w, is_drained, &drained, "the end of the drain");
    assert_int_equal(http_server_stats(w->server).connections, 0);
    world_settle(w);
    assert_int_equal(w->gone, 1);
    http_answer(w->later[0], 200, (struct http_headers){0}, S("too late"));
    world_settle(w);
    assert_int_equal(w->gone, 2);
    peer_until_over(busy);
    peer_until_over(watch);
    peer_free(busy);
    peer_free(watch);
    world_free(w);
}

static void says_when_the_port_is_taken(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct http_server_options o = {.host = S("127.0.0.1"), .port = http_server_port(w->server)};
    struct http_server *other = NULL;
    struct err err;
    assert_int_equal(http_server_new(w->loop, &o, &other, &err), ERR_CONFLICT);
    assert_null(other);
    o = (struct http_server_options){.host = S("no address")};
    assert_int_equal(http_server_new(w->loop, &o, &other, &err), ERR_INVALID);
    o = (struct http_server_options){.host = S("localhost")};
    assert_int_equal(http_server_new(w->loop, &o, &other, &err), 0);
    http_server_free(other);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_not_wait_for_slow_heads),
        cmocka_unit_test(does_not_wait_for_trickling_heads),
        cmocka_unit_test(does_not_wait_for_slow_bodies),
        cmocka_unit_test(does_not_keep_idle_connections),
        cmocka_unit_test(lets_handlers_take_their_time),
        cmocka_unit_test(has_the_kernel_ask_silent_peers),
        cmocka_unit_test(refuses_large_heads),
        cmocka_unit_test(throws_large_bodies_away),
        cmocka_unit_test(bounds_all_bodies_together),
        cmocka_unit_test(fills_only_what_is_taken),
        cmocka_unit_test(waits_for_slow_readers),
        cmocka_unit_test(answers_only_who_reads),
        cmocka_unit_test(forgets_half_requests),
        cmocka_unit_test(keeps_what_is_to_be_answered),
        cmocka_unit_test(ends_streams_nobody_reads),
        cmocka_unit_test(survives_without_the_server),
        cmocka_unit_test(does_not_cut_answers_for_newcomers),
        cmocka_unit_test(makes_place_for_newcomers),
        cmocka_unit_test(drains),
        cmocka_unit_test(drains_in_time),
        cmocka_unit_test(says_when_the_port_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
