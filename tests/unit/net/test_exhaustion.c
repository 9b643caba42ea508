/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer can make the server hold, before and after it is known who it is. */
#include "peer.h"

#include <stdlib.h>

static struct testserver server;
static size_t heads;

/* /refused is answered by its head. "known" in X-Test is a credential. */
static void judge_head(void *ctx, struct http_exchange *x)
{
    (void)ctx;
    heads++;
    x->is_known = str_eq(http_header(x, S("x-test")), S("known"));
    if (str_eq(x->path, S("/refused")))
        http_answer(x, 403, (struct http_headers){0}, S("refused"));
}

static void start(const struct http_limits *limits)
{
    heads = 0;
    testserver_start_with_head(&server, limits, judge_head);
}

static void stop(struct peer *p)
{
    peer_done(p);
    testserver_settle(&server);
    testserver_stop(&server);
}

/* Waits until the text has come, and takes everything up to its end. */
static bool has_come(struct peer *p, const char *text)
{
    ptrdiff_t at = str_find((str){p->in.p + p->at, p->in.n - p->at}, str_of(text));
    if (at >= 0)
        p->at += (size_t)at + strlen(text);
    return at >= 0;
}

static void expect(struct peer *p, const char *text)
{
    TURN_UNTIL(p, has_come(p, text));
}

static void put(struct peer *p, const char *text)
{
    buf_add_str(&p->out, str_of(text));
}

static void send_head(struct peer *p, uint32_t id, int flags, const char *method, const char *path)
{
    struct buf b = {0};
    peer_pseudo(&b, str_of(method), str_of(path));
    peer_field(&b, S("x-test"), S("known"));
    peer_frame(p, HEADERS, END_HEADERS | flags, id, buf_str(&b));
    buf_done(&b);
}

/* ---- Heads are judged before bodies are read. ---- */

static void h1_skips_bodies_of_refused_heads(void **state)
{
    start(NULL);
    struct peer p = peer_connect(&server);
    put(&p, "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    expect(&p, "HTTP/1.1 403 ");
    put(&p, "56789GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&p, "hello");
    put(&p, "POST /refused HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n");
    expect(&p, "refused");
    put(&p, "2\r\nef\r\n0\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(&p, "hello");
    assert_int_equal(heads, 4);
    assert_int_equal(server.handled, 2);
    stop(&p);
}

static void h1_reads_no_long_bodies_of_refused_heads(void **state)
{
    static const char *const starts[] = {
        "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nabc",
        "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
    };
    start(NULL);
    for (size_t i = 0; i < 2; i++) {
        struct peer p = peer_connect(&server);
        put(&p, starts[i]);
        expect(&p, "HTTP/1.1 403 ");
        assert_int_equal(p.at, strlen("HTTP/1.1 403 ")); /* no 100 before it */
        expect(&p, "Connection: close\r\n");
        TURN_UNTIL(&p, p.is_ended);
        peer_done(&p);
    }
    struct peer p = peer_connect(&server);
    put(&p, "POST /refused HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect(&p, "refused");
    for (int i = 0; i < 400; i++) {
        put(&p, "400\r\n");
        for (int k = 0; k < 64; k++)
            put(&p, "0123456789abcdef");
        put(&p, "\r\n");
    }
    TURN_UNTIL(&p, p.is_ended);
    assert_int_equal(server.handled, 0);
    stop(&p);
}

static void h1_asks_the_head_before_the_body(void **state)
{
    start(NULL);
    struct peer p = peer_connect(&server);
    put(&p, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    expect(&p, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(heads, 1);
    assert_int_equal(server.handled, 0);
    put(&p, "12345");
    expect(&p, "12345");
    assert_int_equal(heads, 1);
    stop(&p);
}

static void h2_keeps_nothing_of_refused_bodies(void **state)
{
    static char body[4000];
    struct seen f;
    start(NULL);
    struct peer p = peer_connect(&server);
    peer_greet(&p, 65535);
    send_head(&p, 1, 0, "POST", "/refused");
    peer_frame(&p, DATA, 0, 1, (str){body, sizeof body});
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 403);
    assert_true(peer_find(&p, RST_STREAM, 1, &f));
    assert_int_equal(peer_code(&f), NO_ERROR);
    assert_int_equal(http_server_stats(server.server).body_bytes, 0);
    send_head(&p, 3, 0, "POST", "/echo");
    peer_frame(&p, DATA, END_STREAM, 3, S("abc"));
    assert_true(peer_find(&p, DATA, 3, &f));
    assert_int_equal(f.payload.n, 3);
    send_head(&p, 5, END_STREAM, "GET", "/refused");
    assert_true(peer_find(&p, DATA, 5, &f));
    assert_true(str_eq(f.payload, S("refused")));
    assert_int_equal(heads, 3);
    assert_int_equal(server.handled, 1);
    stop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h1_skips_bodies_of_refused_heads),
        cmocka_unit_test(h1_reads_no_long_bodies_of_refused_heads),
        cmocka_unit_test(h1_asks_the_head_before_the_body),
        cmocka_unit_test(h2_keeps_nothing_of_refused_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
