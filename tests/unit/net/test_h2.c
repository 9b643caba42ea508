/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side of HTTP/2: how it is meant to be, slow peers, requests that are not to be understood. */
#include "peer.h"

#include <unistd.h>

static struct testserver server;

/* ---- How it is meant to be. ---- */

static void answers(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f;
    peer_get(&p, 1, S("/what?a=b?c"));
    assert_true(peer_find(&p, SETTINGS, 0, &f));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 200);
    assert_true(peer_find(&p, DATA, 1, &f));
    assert_true(str_eq(f.payload, S("GET /what ?a=b?c host=test n=1 x=")));
    assert_true(f.flags & END_STREAM);
    peer_stop(&p);
}

static void trailers_are_passed_over(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f;
    struct buf b = {0};
    peer_pseudo(&b, S("POST"), S("/echo"));
    peer_frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    b.n = 0;
    peer_field(&b, S("x-checksum"), S("1234"));
    peer_frame(&p, DATA, 0, 1, S("body"));
    peer_frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 200);
    assert_true(peer_find(&p, DATA, 1, &f));
    assert_true(str_eq(f.payload, S("body")));
    buf_done(&b);
    peer_stop(&p);
}

static void expect_continue(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f;
    struct buf b = {0};
    peer_pseudo(&b, S("POST"), S("/echo"));
    peer_field(&b, S("expect"), S("100-continue"));
    peer_frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 100);
    peer_frame(&p, DATA, END_STREAM, 1, S("body"));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 200);
    buf_done(&b);
    peer_stop(&p);
}

/* Streams take turns, so a watch is heard while long answers are on their way. */
static void streams_take_turns(void **state)
{
    struct peer p = peer_start(&server, NULL, 1 << 30);
    struct seen f;
    peer_window(&p, 0, 1 << 30);
    peer_get(&p, 1, S("/watch"));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    for (uint32_t id = 3; id < 11; id += 2)
        peer_get(&p, id, S("/large?30000000"));
    assert_true(peer_find(&p, DATA, 9, &f));
    testserver_event(&server, 0, S("event"));
    assert_true(peer_find(&p, DATA, 1, &f));
    assert_true(server.made < 60000000);
    size_t bytes[11] = {0};
    for (int i = 0; i < 400; i++) {
        while (!peer_next(&p, &f))
            peer_turn(&p);
        if (f.type == DATA)
            bytes[f.id] += f.payload.n;
    }
    for (uint32_t id = 3; id < 11; id += 2)
        assert_true(bytes[id] > 1400000 && bytes[id] < 1800000);
    peer_stop(&p);
}

/* A source is only asked for what there is room for. */
static void window_holds_sources_back(void **state)
{
    struct peer p = peer_start(&server, NULL, 1000);
    struct seen f;
    size_t got = 0;
    peer_get(&p, 1, S("/large?100000"));
    for (int i = 0; i < 100; i++)
        peer_turn(&p);
    assert_true(server.made <= 3000); /* a source may give a little more than it was asked for */
    while (got < 100000) {
        assert_true(peer_find(&p, DATA, 1, &f));
        for (size_t i = 0; i < f.payload.n; i++)
            assert_int_equal(f.payload.p[i], testserver_byte(got + i));
        got += f.payload.n;
        if (f.payload.n) {
            peer_window(&p, 1, (uint32_t)f.payload.n);
            peer_window(&p, 0, (uint32_t)f.payload.n);
        }
    }
    assert_int_equal(got, 100000);
    peer_stop(&p);
}

/* …and not at all while the peer takes nothing. */
static void deaf_peer_holds_sources_back(void **state)
{
    struct peer p = peer_start(&server, NULL, 0x7fffffff);
    peer_window(&p, 0, 0x7fffffff - 65535);
    peer_get(&p, 1, S("/large?300000000"));
    p.is_deaf = true;
    for (int i = 0; i < 3000; i++)
        peer_turn(&p);
    size_t made = server.made;
    assert_true(made < 20000000); /* what the kernel takes, and 256 KiB */
    for (int i = 0; i < 100; i++)
        peer_turn(&p);
    assert_int_equal(server.made, made);
    peer_assert_serves(&server);
    peer_stop(&p);
}

static void drain_says_goodbye_twice(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f, ping;
    peer_get(&p, 1, S("/later"));
    TURN_UNTIL(&p, server.n_later == 1);
    testserver_drain(&server);
    assert_true(peer_find(&p, GOAWAY, 0, &f));
    assert_int_equal(peer_number(f.payload.p, 4), 0x7fffffff);
    assert_int_equal(peer_code(&f), NO_ERROR);
    assert_true(peer_find(&p, PING, 0, &ping));
    peer_get(&p, 3, S("/hello")); /* was on its way */
    peer_frame(&p, PING, ACK, 0, ping.payload);
    assert_true(peer_find(&p, GOAWAY, 0, &f));
    assert_int_equal(peer_number(f.payload.p, 4), 3);
    peer_get(&p, 5, S("/hello")); /* is too late */
    for (int i = 0; i < 20; i++)
        peer_turn(&p);
    assert_int_equal(server.handled, 2);
    assert_false(server.is_drained || p.is_ended);
    testserver_answer(&server, 0, 200, S("late but good"));
    TURN_UNTIL(&p, p.is_ended);
    peer_done(&p);
    UNTIL(&server, server.is_drained);
    testserver_stop(&server);
}

static void idle_connections_end(void **state)
{
    struct http_limits limits = {.idle_ns = 1000000};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    assert_true(peer_find(&p, GOAWAY, 0, &f));
    assert_int_equal(peer_code(&f), NO_ERROR);
    assert_true(peer_find(&p, PING, 0, &f));
    peer_frame(&p, PING, ACK, 0, f.payload);
    TURN_UNTIL(&p, p.is_ended);
    peer_stop(&p);
}

static void watches_are_not_idle(void **state)
{
    struct http_limits limits = {.idle_ns = 1000000, .stall_ns = 1000000};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    peer_get(&p, 1, S("/watch"));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    for (int i = 0; i < 30; i++) {
        loop_turn(server.loop, 1000000);
        peer_turn(&p);
    }
    testserver_event(&server, 0, S("event"));
    assert_true(peer_find(&p, DATA, 1, &f));
    peer_stop(&p);
}

/* ---- Slow peers. ---- */

static void head_that_never_ends(void **state)
{
    struct http_limits limits = {.head_ns = 1000000};
    struct peer p = peer_start(&server, &limits, 65535);
    struct buf b = {0};
    peer_pseudo(&b, S("GET"), S("/hello"));
    peer_frame(&p, HEADERS, END_STREAM, 1, buf_str(&b));
    buf_done(&b);
    peer_assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_int_equal(server.handled, 1); /* of the other peer */
    peer_stop(&p);
}

/* The head of a malformed request has come to its end as any other: nobody waits for it, and who shares the connection stays. */
static void malformed_head_does_not_end_others(void **state)
{
    struct http_limits limits = {.head_ns = 1000000};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    struct buf b = {0};
    peer_get(&p, 1, S("/watch"));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    peer_pseudo(&b, S("GET"), S("/hello"));
    peer_field(&b, S("Upper-Case"), S("is not for names"));
    peer_frame(&p, HEADERS, END_HEADERS | END_STREAM, 3, buf_str(&b));
    assert_true(peer_find(&p, RST_STREAM, 3, &f));
    for (int i = 0; i < 30; i++) {
        loop_turn(server.loop, 1000000);
        peer_turn(&p);
    }
    testserver_event(&server, 0, S("event"));
    assert_true(peer_find(&p, DATA, 1, &f));
    buf_done(&b);
    peer_stop(&p);
}

static void body_that_never_ends(void **state)
{
    struct http_limits limits = {.body_ns = 1000000};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    struct buf b = {0};
    peer_pseudo(&b, S("PUT"), S("/echo"));
    peer_frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    peer_frame(&p, DATA, 0, 1, S("half of it"));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 408);
    assert_true(peer_find(&p, RST_STREAM, 1, &f));
    assert_int_equal(peer_code(&f), NO_ERROR);
    UNTIL(&server, http_server_stats(server.server).body_bytes == 0);
    peer_get(&p, 3, S("/hello"));
    assert_true(peer_find(&p, HEADERS, 3, &f));
    assert_int_equal(peer_status(&f), 200);
    assert_int_equal(server.handled, 1);
    buf_done(&b);
    peer_stop(&p);
}

/* A peer that gives no window is not waited for, for ever; its other streams are not touched. */
static void stream_that_is_not_read(void **state)
{
    struct http_limits limits = {.stall_ns = 1000000};
    struct peer p = peer_start(&server, &limits, 100);
    struct seen f;
    peer_get(&p, 1, S("/watch"));
    peer_get(&p, 3, S("/large?1000"));
    assert_true(peer_find(&p, RST_STREAM, 3, &f));
    assert_int_equal(peer_code(&f), CANCEL);
    UNTIL(&server, server.gone == 1);
    testserver_event(&server, 0, S("event"));
    assert_true(peer_find(&p, DATA, 1, &f));
    peer_stop(&p);
}

/* ---- Requests that are not to be understood. ---- */

static void bad_preface(void **state)
{
    testserver_start(&server, NULL, NULL);
    struct peer p = peer_connect(&server);
    buf_add_str(&p.out, S("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"));
    TURN_UNTIL(&p, p.is_ended);
    peer_assert_serves(&server);
    peer_stop(&p);
}

static void no_settings_first(void **state)
{
    testserver_start(&server, NULL, NULL);
    struct peer p = peer_connect(&server);
    buf_add_str(&p.out, PEER_PREFACE);
    peer_get(&p, 1, S("/hello"));
    peer_assert_ends(&p, PROTOCOL_ERROR);
    peer_stop(&p);
}

static void frame_of_nonsense(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    peer_frame(&p, DATA, 0, 0, S("on no stream"));
    peer_assert_ends(&p, PROTOCOL_ERROR);
    peer_stop(&p);
}

static void malformed_requests(void **state)
{
    static const struct {
        const char *what;
        struct http_header fields[8];
        int status; /* 0: the stream is reset */
    } rows[] = {
        {"two paths",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":path"), S_INIT("/what")},
          {S_INIT(":authority"), S_INIT("test")}},
         0},
        {"a pseudo header after others",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT("x"), S_INIT("y")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")}},
         0},
        {"no path",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":authority"), S_INIT("test")}},
         0},
        {"capital letters",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("Authorization"), S_INIT("Bearer x")}},
         0},
        {"a control character: must not be dropped, as who is impersonated may be in it",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("impersonate-user"), S_INIT("jane\x01")}},
         0},
        {"a line break",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("x"), S_INIT("a\r\nimpersonate-user: jane")}},
         0},
        {"headers of a connection",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("transfer-encoding"), S_INIT("chunked")}},
         0},
        {"two hosts",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("host"), S_INIT("other")}},
         400},
        {"a tunnel", {{S_INIT(":method"), S_INIT("CONNECT")}, {S_INIT(":authority"), S_INIT("test:443")}}, 400},
        {"a host, once more: that is all right",
         {{S_INIT(":method"), S_INIT("GET")},
          {S_INIT(":scheme"), S_INIT("http")},
          {S_INIT(":path"), S_INIT("/hello")},
          {S_INIT(":authority"), S_INIT("test")},
          {S_INIT("host"), S_INIT("test")}},
         200},
    };
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f;
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint32_t id = (uint32_t)(2 * i + 1);
        struct buf b = {0};
        for (size_t k = 0; k < 8 && rows[i].fields[k].name.n; k++)
            peer_field(&b, rows[i].fields[k].name, rows[i].fields[k].value);
        peer_frame(&p, HEADERS, END_HEADERS | END_STREAM, id, buf_str(&b));
        buf_done(&b);
        print_message("# %s\n", rows[i].what);
        assert_true(peer_find(&p, rows[i].status ? HEADERS : RST_STREAM, id, &f));
        assert_int_equal(rows[i].status ? peer_status(&f) : (int)peer_code(&f), rows[i].status ? rows[i].status : 1);
    }
    assert_int_equal(server.handled, 1);
    peer_stop(&p);
}

static void body_of_another_length(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f;
    struct buf b = {0};
    peer_pseudo(&b, S("PUT"), S("/echo"));
    peer_field(&b, S("content-length"), S("10"));
    peer_frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    peer_frame(&p, DATA, END_STREAM, 1, S("short"));
    assert_true(peer_find(&p, RST_STREAM, 1, &f));
    assert_int_equal(peer_code(&f), PROTOCOL_ERROR);
    assert_int_equal(server.handled, 0);
    buf_done(&b);
    peer_stop(&p);
}

static void too_many_streams(void **state)
{
    struct http_limits limits = {.streams = 10};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    for (uint32_t i = 0; i < 11; i++)
        peer_get(&p, 2 * i + 1, S("/later"));
    assert_true(peer_find(&p, RST_STREAM, 21, &f));
    assert_int_equal(peer_code(&f), REFUSED_STREAM);
    assert_int_equal(server.n_later, 10);
    peer_stop(&p);
}

/* ---- Peers that go away. ---- */

static void peer_gone(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct buf b = {0};
    peer_get(&p, 1, S("/watch"));
    peer_get(&p, 3, S("/later"));
    peer_get(&p, 5, S("/large?10000000"));
    peer_pseudo(&b, S("PUT"), S("/echo"));
    peer_frame(&p, HEADERS, END_HEADERS, 7, buf_str(&b));
    peer_frame(&p, DATA, 0, 7, S("half"));
    TURN_UNTIL(&p, server.handled == 3 && http_server_stats(server.server).exchanges == 4);
    (void)close(p.fd);
    UNTIL(&server, http_server_stats(server.server).connections == 0);
    UNTIL(&server, server.gone == 2);
    assert_int_equal(http_server_stats(server.server).exchanges, 1);
    assert_int_equal(http_server_stats(server.server).body_bytes, 0);
    testserver_answer(&server, 0, 200, S("to nobody"));
    UNTIL(&server, server.gone == 3);
    buf_done(&b);
    buf_done(&p.out);
    buf_done(&p.in);
    testserver_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(trailers_are_passed_over),
        cmocka_unit_test(expect_continue),
        cmocka_unit_test(streams_take_turns),
        cmocka_unit_test(window_holds_sources_back),
        cmocka_unit_test(deaf_peer_holds_sources_back),
        cmocka_unit_test(drain_says_goodbye_twice),
        cmocka_unit_test(idle_connections_end),
        cmocka_unit_test(watches_are_not_idle),
        cmocka_unit_test(head_that_never_ends),
        cmocka_unit_test(malformed_head_does_not_end_others),
        cmocka_unit_test(body_that_never_ends),
        cmocka_unit_test(stream_that_is_not_read),
        cmocka_unit_test(bad_preface),
        cmocka_unit_test(no_settings_first),
        cmocka_unit_test(frame_of_nonsense),
        cmocka_unit_test(malformed_requests),
        cmocka_unit_test(body_of_another_length),
        cmocka_unit_test(too_many_streams),
        cmocka_unit_test(peer_gone),
    };
    return cmocka_run_group_tests_name("h2", tests, NULL, NULL);
}
