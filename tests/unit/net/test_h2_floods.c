/* SPDX-License-Identifier: Apache-2.0 */
/* Peers of HTTP/2 that keep the server busy, or make it remember, for nothing. Each is sent away, or costs nothing, and others
 * are served. */
#include "peer.h"

#include <stdlib.h>

static struct testserver server;

/* 16 KB in 100 fields of 160 bytes, into one block. */
static void too_large_a_head(void **state)
{
    struct http_limits limits = {.head_bytes = 8000};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    struct buf b = {0};
    char value[150];
    memset(value, 'v', sizeof value);
    peer_pseudo(&b, S("GET"), S("/hello"));
    for (int i = 0; i < 90; i++)
        peer_field(&b, S("x"), (str){value, sizeof value});
    peer_frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 431);
    peer_get(&p, 3, S("/hello"));
    assert_true(peer_find(&p, HEADERS, 3, &f));
    assert_int_equal(peer_status(&f), 200);
    assert_int_equal(server.handled, 1);
    buf_done(&b);
    peer_stop(&p);
}

/* A field of 4,000 bytes is put into the table once, and then named with one byte each time: 40 MB of head in 10 KB. */
static void bomb_of_indexed_fields(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f;
    struct buf b = {0};
    char *value = malloc(3900);
    memset(value, 'v', 3900);
    peer_pseudo(&b, S("GET"), S("/hello"));
    buf_add_char(&b, 0x40); /* literal, to be indexed */
    peer_add_int(&b, 1);
    buf_add_char(&b, 'x');
    peer_add_int(&b, 3900);
    buf_add(&b, value, 3900);
    for (int i = 0; i < 10000; i++)
        buf_add_char(&b, (char)(0x80 | 62));
    peer_frame(&p, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 431);
    assert_int_equal(server.handled, 0);
    peer_assert_serves(&server);
    free(value);
    buf_done(&b);
    peer_stop(&p);
}

/* The same within what one head may have, for hundreds of requests whose bodies never come: few bytes on the wire, and all of
 * it to be remembered. What all requests may hold together is for heads too. */
static void heads_without_bodies(void **state)
{
    enum { STREAMS = 200, COPIES = 15, FIELD = 3900, HEADS = 1000000 };
    struct http_limits limits = {.bodies_bytes = HEADS, .streams = STREAMS};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    char *value = malloc(FIELD);
    memset(value, 'v', FIELD);
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct buf b = {0};
        peer_pseudo(&b, S("PUT"), S("/echo"));
        if (i == 0) {
            buf_add_char(&b, 0x40); /* literal, to be indexed */
            peer_add_int(&b, 1);
            buf_add_char(&b, 'x');
            peer_add_int(&b, FIELD);
            buf_add(&b, value, FIELD);
        }
        for (int k = 0; k < COPIES; k++)
            buf_add_char(&b, (char)(0x80 | 62));
        peer_frame(&p, HEADERS, END_HEADERS, 2 * i + 1, buf_str(&b));
        buf_done(&b);
    }
    TURN_UNTIL(&p, p.out.n == 0);
    do
        TURN_UNTIL(&p, peer_next(&p, &f));
    while (f.type != HEADERS);
    assert_int_equal(peer_status(&f), 429);
    assert_in_range(f.id, 11, 2 * HEADS / (COPIES * FIELD) + 1); /* those before it wait for their bodies */
    assert_true(peer_find(&p, HEADERS, 2 * STREAMS - 1, &f));
    assert_in_range(http_server_stats(server.server).head_bytes, HEADS / 2, HEADS);
    TURN_UNTIL(&p, http_server_stats(server.server).exchanges <= HEADS / (COPIES * FIELD));
    for (uint32_t i = 0; i < STREAMS; i++)
        peer_reset(&p, 2 * i + 1);
    TURN_UNTIL(&p, http_server_stats(server.server).head_bytes == 0);
    peer_get(&p, 2 * STREAMS + 1, S("/hello"));
    assert_true(peer_find(&p, HEADERS, 2 * STREAMS + 1, &f));
    assert_int_equal(peer_status(&f), 200);
    free(value);
    peer_stop(&p);
}

static void continuation_flood(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct buf b = {0};
    peer_pseudo(&b, S("GET"), S("/hello"));
    peer_frame(&p, HEADERS, END_STREAM, 1, buf_str(&b));
    for (int i = 0; i < 20000; i++)
        peer_frame(&p, CONTINUATION, 0, 1, S(""));
    TURN_UNTIL(&p, p.is_ended);
    peer_assert_serves(&server);
    assert_int_equal(server.handled, 1);
    UNTIL(&server, http_server_stats(server.server).exchanges == 0);
    buf_done(&b);
    peer_stop(&p);
}

static void continuation_flood_with_fields(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct buf b = {0}, more = {0};
    peer_pseudo(&b, S("GET"), S("/hello"));
    while (more.n < 16000)
        peer_field(&more, S("x-field"), S("with a value that takes some room"));
    peer_frame(&p, HEADERS, END_STREAM, 1, buf_str(&b));
    for (int i = 0; i < 500; i++)
        peer_frame(&p, CONTINUATION, 0, 1, buf_str(&more));
    TURN_UNTIL(&p, p.is_ended);
    peer_assert_serves(&server);
    assert_int_equal(server.handled, 1);
    buf_done(&b);
    buf_done(&more);
    peer_stop(&p);
}

static void rapid_reset(struct peer *p, str path)
{
    for (uint32_t id = 1; id < 60001 && !p->is_ended; id += 2) {
        peer_get(p, id, path);
        peer_reset(p, id);
        if (id % 64 == 1)
            peer_turn(p);
    }
}

/* Open, reset, open, reset: none of it is to be answered, all of it to be worked on. */
static void rapid_reset_flood(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    rapid_reset(&p, S("/hello"));
    peer_assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_true(server.handled < 12000);
    peer_stop(&p);
}

/* …while the work goes on: that is noticed sooner. */
static void rapid_reset_of_work(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    for (uint32_t id = 1; id < 60001 && !p.is_ended; id += 2) {
        peer_get(&p, id, S("/later"));
        TURN_UNTIL(&p, p.out.n == 0);
        peer_turn(&p);
        peer_turn(&p);
        peer_reset(&p, id);
    }
    peer_assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_true(server.n_later < 1500);
    peer_stop(&p);
}

/* Not with resets of its own, but by making us reset (a window that gets too large). */
static void made_to_reset(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    for (uint32_t id = 1; id < 60001 && !p.is_ended; id += 2) {
        peer_get(&p, id, S("/later"));
        TURN_UNTIL(&p, p.out.n == 0);
        peer_turn(&p);
        peer_turn(&p);
        peer_window(&p, id, 0x7fffffff);
    }
    peer_assert_ends(&p, ENHANCE_YOUR_CALM);
    assert_true(server.n_later < 1500);
    peer_stop(&p);
}

/* A client may close a thousand watches at once, where it may have so many. */
static void a_thousand_watches_closed(void **state)
{
    struct http_limits limits = {.streams = 1000};
    struct peer p = peer_start(&server, &limits, 65535);
    struct seen f;
    for (int round = 0; round < 2; round++) {
        uint32_t first = (uint32_t)(round * 2000 + 1);
        for (uint32_t i = 0; i < 1000; i++)
            peer_get(&p, first + 2 * i, S("/watch"));
        TURN_UNTIL(&p, server.n_watches == 1000 * (size_t)(round + 1));
        for (uint32_t i = 0; i < 1000; i++)
            peer_reset(&p, first + 2 * i);
        TURN_UNTIL(&p, server.gone == 1000 * (size_t)(round + 1));
    }
    peer_get(&p, 9001, S("/hello"));
    assert_true(peer_find(&p, HEADERS, 9001, &f));
    assert_int_equal(peer_status(&f), 200);
    peer_stop(&p);
}

static void flood_of(int type, str payload, bool is_deaf)
{
    struct peer p = peer_start(&server, NULL, 65535);
    p.is_deaf = is_deaf;
    for (int i = 0; i < 200000 && !p.is_ended; i++) {
        peer_frame(&p, type, 0, type == PRIORITY ? 1 : 0, payload);
        if (i % 1000 == 0)
            peer_turn(&p);
    }
    peer_assert_serves(&server);
    p.is_deaf = false;
    p.out.n = 0;
    peer_assert_ends(&p, ENHANCE_YOUR_CALM);
    peer_stop(&p);
}

static void ping_flood(void **state)
{
    flood_of(PING, S("12345678"), false);
}

static void ping_flood_of_the_deaf(void **state)
{
    flood_of(PING, S("12345678"), true);
}

static void settings_flood(void **state)
{
    flood_of(SETTINGS, S(""), false);
}

static void priority_flood(void **state)
{
    flood_of(PRIORITY, S("\0\0\0\0\x10"), false);
}

/* Nobody has to answer those, so they cost no more than their bytes. */
static void unknown_frames_are_passed_over(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct seen f;
    for (int i = 0; i < 20000; i++)
        peer_frame(&p, 0x77, 0, 1, S("what is this"));
    peer_get(&p, 1, S("/hello"));
    assert_true(peer_find(&p, HEADERS, 1, &f));
    assert_int_equal(peer_status(&f), 200);
    peer_stop(&p);
}

static void empty_data_flood(void **state)
{
    struct peer p = peer_start(&server, NULL, 65535);
    struct buf b = {0};
    peer_pseudo(&b, S("PUT"), S("/echo"));
    peer_frame(&p, HEADERS, END_HEADERS, 1, buf_str(&b));
    for (int i = 0; i < 50000; i++)
        peer_frame(&p, DATA, 0, 1, S(""));
    peer_assert_ends(&p, ENHANCE_YOUR_CALM);
    buf_done(&b);
    peer_stop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_large_a_head),
        cmocka_unit_test(bomb_of_indexed_fields),
        cmocka_unit_test(heads_without_bodies),
        cmocka_unit_test(continuation_flood),
        cmocka_unit_test(continuation_flood_with_fields),
        cmocka_unit_test(rapid_reset_flood),
        cmocka_unit_test(rapid_reset_of_work),
        cmocka_unit_test(made_to_reset),
        cmocka_unit_test(a_thousand_watches_closed),
        cmocka_unit_test(ping_flood),
        cmocka_unit_test(ping_flood_of_the_deaf),
        cmocka_unit_test(settings_flood),
        cmocka_unit_test(priority_flood),
        cmocka_unit_test(unknown_frames_are_passed_over),
        cmocka_unit_test(empty_data_flood),
    };
    return cmocka_run_group_tests_name("h2_floods", tests, NULL, NULL);
}
