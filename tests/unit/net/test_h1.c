/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 as peers see it: order, framing, streams. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define GET(path) "GET " path " HTTP/1.1\r\nHost: test\r\n\r\n"

static void expect_text(str got, const char *want)
{
    if (!str_eq(got, str_of(want)))
        fail_msg("got \"%.*s\", want \"%s\"", STR(got), want);
}

static void keeps_the_connection(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/echo?a=b")));
    expect_text(peer_answer(p, 200), "GET /echo?a=b 0");
    peer_send(p, S("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello"));
    expect_text(peer_answer(p, 200), "POST /echo? 5");
    struct http_server_stats stats = http_server_stats(w->server);
    assert_int_equal(stats.accepted, 1);
    assert_int_equal(stats.requests, 2);
    assert_int_equal(stats.connections, 1);
    assert_int_equal(stats.exchanges, 0);
    assert_int_equal(stats.body_bytes, 0);
    world_settle(w);
    assert_int_equal(w->gone, 2);
    peer_free(p);
    world_until_connections(w, 0);
    world_free(w);
}

static void reads_byte_by_byte(void **state)
{
    static const char text[] = "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nTrailer: t\r\n\r\n" GET("/echo?2");
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        peer_send(p, (str){text + i, 1});
        loop_turn(w->loop, MS);
    }
    expect_text(peer_answer(p, 200), "POST /echo? 4");
    expect_text(peer_answer(p, 200), "GET /echo?2 0");
    peer_free(p);
    world_free(w);
}

static void answers_in_order(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    struct buf all = {.arena = &w->arena};
    for (int i = 0; i < 500; i++)
        buf_fmt(&all, "GET /echo?%d HTTP/1.1\r\nHost: test\r\n\r\n", i);
    peer_send(p, buf_str(&all));
    for (int i = 0; i < 500; i++)
        expect_text(peer_answer(p, 200), str_cstr(&w->arena, str_fmt(&w->arena, "GET /echo?%d 0", i)));
    peer_free(p);
    world_free(w);
}

static void looks_at_one_request_at_a_time(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/later") GET("/later") GET("/echo?third")));
    world_until_later(w, 1);
    world_settle(w);
    assert_int_equal(w->handled, 1);
    http_answer(w->later[0], 200, (struct http_headers){0}, S("first"));
    world_until_later(w, 2);
    assert_int_equal(w->handled, 2);
    http_answer(w->later[1], 201, (struct http_headers){0}, S("second"));
    expect_text(peer_answer(p, 200), "first");
    expect_text(peer_answer(p, 201), "second");
    expect_text(peer_answer(p, 200), "GET /echo?third 0");
    peer_free(p);
    world_free(w);
}

/* All of them are answered to a peer that sends no more, and then the connection ends. */
static void answers_who_sends_no_more(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/later") GET("/echo?2")));
    peer_end(p);
    world_until_later(w, 1);
    world_settle(w);
    http_answer(w->later[0], 200, (struct http_headers){0}, S("first"));
    expect_text(peer_answer(p, 200), "first");
    expect_text(peer_answer(p, 200), "GET /echo?2 0");
    peer_until_over(p);
    assert_false(p->is_reset);
    peer_free(p);
    world_until_connections(w, 0);
    world_free(w);
}

static void waits_for_100_continue(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S("PUT /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n"));
    expect_text(peer_expect(p, S("\r\n\r\n")), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(w->handled, 0);
    peer_send(p, S("abc"));
    expect_text(peer_answer(p, 200), "PUT /echo? 3");
    /* Not when the body is there already, nor when there is none, nor when it is too large anyway. */
    peer_send(p, S("PUT /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"));
    expect_text(peer_answer(p, 200), "PUT /echo? 3");
    peer_send(p, S("PUT /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n"));
    expect_text(peer_answer(p, 200), "PUT /echo? 0");
    peer_send(p, S("PUT /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n"));
    expect_text(peer_answer(p, 413), "too large");
    peer_until_over(p);
    peer_free(p);
    world_free(w);
}

static void answers_head_without_a_body(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(
        p, S("HEAD /echo HTTP/1.1\r\nHost: test\r\n\r\nHEAD /bytes?100 HTTP/1.1\r\nHost: test\r\n\r\n" GET("/echo")));
    str head = peer_expect(p, S("\r\n\r\n"));
    assert_true(str_find(head, S("Content-Length: 13\r\n")) > 0);
    head = peer_expect(p, S("\r\n\r\n"));
    assert_true(str_has_prefix(head, S("HTTP/1.1 200 OK\r\n"))); /* nothing came before it */
    assert_true(str_find(head, S("Transfer-Encoding: chunked\r\n")) > 0);
    expect_text(peer_answer(p, 200), "GET /echo? 0");
    assert_int_equal(w->filled, 0);
    world_settle(w);
    assert_int_equal(w->gone, 3);
    peer_free(p);
    world_free(w);
}

static void leaves_out_the_body_where_none_may_be(void **state)
{
    static const int statuses[] = {204, 304};
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    for (size_t i = 0; i < 2; i++) {
        peer_send(p, S(GET("/later")));
        world_until_later(w, i + 1);
        http_answer(w->later[i], statuses[i], (struct http_headers){0}, S("body"));
        str head = peer_expect(p, S("\r\n\r\n"));
        assert_true(str_find(head, S("Content-Length")) < 0);
    }
    peer_send(p, S(GET("/echo")));
    expect_text(peer_answer(p, 200), "GET /echo? 0");
    peer_free(p);
    world_free(w);
}

static void closes_after_http_1_0(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w), *q = peer_new(w), *r = peer_new(w);
    peer_send(p, S("GET /echo HTTP/1.0\r\n\r\n"));
    expect_text(peer_answer(p, 200), "GET /echo? 0");
    peer_until_over(p);
    /* …unless it asks for more. */
    peer_send(q, S("GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    str head = peer_expect(q, S("\r\n\r\n"));
    assert_true(str_find(head, S("Connection: keep-alive\r\n")) > 0);
    expect_text(peer_expect(q, S(" 0")), "GET /echo? 0");
    peer_send(q, S("GET /bytes?5000 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    head = peer_expect(q, S("\r\n\r\n"));
    assert_true(str_find(head, S("Transfer-Encoding")) < 0);
    assert_true(str_find(head, S("Connection: close\r\n")) > 0);
    peer_until_over(q);
    assert_int_equal(q->got.n, 5000); /* the end of the connection is the end of the stream */
    assert_false(q->is_reset);
    peer_send(r, S("GET /echo HTTP/1.1\r\nHost: test\r\nConnection: x, Close\r\n\r\n"));
    expect_text(peer_answer(r, 200), "GET /echo? 0");
    peer_until_over(r);
    peer_free(p);
    peer_free(q);
    peer_free(r);
    world_until_connections(w, 0);
    world_free(w);
}

/* The body of a chunked answer, as a strict reader sees it. */
static str peer_chunked(struct peer *p)
{
    struct buf body = {.arena = &p->w->arena};
    for (;;) {
        str size = peer_expect(p, S("\r\n"));
        char *end;
        unsigned long n = strtoul(str_cstr(&p->w->arena, size), &end, 16);
        assert_true(*end == '\r');
        size_t before = body.n;
        while (body.n - before < n + 2) {
            str line = peer_expect(p, S("\r\n"));
            buf_add_str(&body, line);
        }
        body.n -= 2;
        assert_int_equal(body.n - before, n);
        if (n == 0)
            return buf_str(&body);
    }
}

static void streams_in_chunks(void **state)
{
    static const char *const sizes[] = {"1", "15", "16", "17", "999", "65536", "1000000"};
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        peer_send(p, str_fmt(&w->arena, "GET /bytes?%s HTTP/1.1\r\nHost: test\r\n\r\n", sizes[i]));
        str head = peer_expect(p, S("\r\n\r\n"));
        assert_true(str_find(head, S("Transfer-Encoding: chunked\r\n")) > 0);
        str body = peer_chunked(p);
        assert_int_equal(body.n, strtoul(sizes[i], NULL, 10));
        for (size_t k = 0; k < body.n; k++)
            assert_int_equal(body.p[k], 'x');
    }
    world_settle(w);
    assert_int_equal(w->gone, 7);
    peer_free(p);
    world_free(w);
}

static void streams_when_there_is_something(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/events") GET("/echo?after")));
    peer_expect(p, S("\r\n\r\n"));
    world_settle(w);
    assert_int_equal(p->got.n, 0);
    assert_int_equal(w->watching->path.n, 0); /* forgotten */
    assert_int_equal(arena_footprint(&w->watching->arena), 0);
    buf_add_str(&w->events, S("one"));
    http_resume(w->watching);
    http_resume(w->watching);
    assert_int_equal(w->events.n, 3); /* fill is not called from here */
    expect_text(peer_expect(p, S("one\r\n")), "00000003\r\none\r\n");
    http_resume(w->watching); /* for nothing */
    world_settle(w);
    buf_add_str(&w->events, S("two"));
    w->are_events_over = true;
    http_resume(w->watching);
    expect_text(peer_expect(p, S("0\r\n\r\n")), "00000003\r\ntwo\r\n0\r\n\r\n");
    expect_text(peer_answer(p, 200), "GET /echo?after 0");
    world_settle(w);
    assert_int_equal(w->gone, 2);
    peer_free(p);
    world_free(w);
}

static void breaks_off_so_that_the_peer_notices(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S("GET /abort HTTP/1.0\r\n\r\n"));
    peer_until_over(p);
    assert_true(p->is_reset);
    world_until_connections(w, 0);
    world_settle(w);
    assert_int_equal(w->gone, 1);
    peer_free(p);
    world_free(w);
}

static void keeps_headers_on_their_line(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S(GET("/header")));
    str head = peer_expect(p, S("\r\n\r\n"));
    assert_true(str_find(head, S("\nEvil")) < 0);
    assert_true(str_find(head, S("Warning: a  Evil: yes \r\n")) > 0);
    peer_free(p);
    world_free(w);
}

static void refuses_and_closes(void **state)
{
    struct world *w = world_new(NULL, NULL);
    struct peer *p = peer_new(w);
    peer_send(p, S("GET /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" GET(
                     "/echo")));
    str head = peer_expect(p, S("\r\n\r\n"));
    assert_true(str_has_prefix(head, S("HTTP/1.1 400 Bad Request\r\n")));
    assert_true(str_find(head, S("Connection: close\r\n")) > 0);
    peer_until_over(p);
    expect_text(buf_str(&p->got), "Content-Length beside Transfer-Encoding\n");
    assert_false(p->is_reset);
    assert_int_equal(w->handled, 0);
    peer_free(p);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_connection),
        cmocka_unit_test(reads_byte_by_byte),
        cmocka_unit_test(answers_in_order),
        cmocka_unit_test(looks_at_one_request_at_a_time),
        cmocka_unit_test(answers_who_sends_no_more),
        cmocka_unit_test(waits_for_100_continue),
        cmocka_unit_test(answers_head_without_a_body),
        cmocka_unit_test(leaves_out_the_body_where_none_may_be),
        cmocka_unit_test(closes_after_http_1_0),
        cmocka_unit_test(streams_in_chunks),
        cmocka_unit_test(streams_when_there_is_something),
        cmocka_unit_test(breaks_off_so_that_the_peer_notices),
        cmocka_unit_test(keeps_headers_on_their_line),
        cmocka_unit_test(refuses_and_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
