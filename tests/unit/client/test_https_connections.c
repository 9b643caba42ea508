/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS transport: how many connections there are, and what happens when one goes away or none comes. */
#include "httpsworld.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- One connection. ---- */

static void watches_share_a_connection(void **state)
{
    enum { N = 20 };
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    static struct got watch[N], call;
    for (size_t i = 0; i < N; i++)
        got_watch(w, &watch[i], "/watch");
    UNTIL(&w->t, w->t.n_watches == N);
    for (size_t i = 0; i < N; i++)
        testserver_event(&w->t, i, S("event"));
    got_get(w, &call, "/hello");
    UNTIL(&w->t, call.is_over);
    for (size_t i = 0; i < N; i++)
        UNTIL(&w->t, str_eq(buf_str(&watch[i].body), S("event")));
    assert_int_equal(http_server_stats(w->t.server).accepted, 1);
    testserver_end(&w->t, 3);
    UNTIL(&w->t, watch[3].is_over);
    assert_int_equal(watch[3].status, 200);
    for (size_t i = 0; i < N; i++)
        got_done(&watch[i]);
    got_done(&call);
    httpsworld_free(w);
}

/* One connection is full: there is a second, and when that is full too, calls wait for their turn. */
static void further_connections(void **state)
{
    enum { N = 30 };
    struct http_limits limits = {.streams = 10};
    struct https_options options = {.connections = 2};
    struct httpsworld *w = httpsworld_new(0, &limits, &options);
    static struct got g[N];
    for (size_t i = 0; i < N; i++)
        got_watch(w, &g[i], "/watch");
    UNTIL(&w->t, w->t.n_watches == 20);
    testserver_settle(&w->t);
    assert_int_equal(w->t.n_watches, 20);
    assert_int_equal(http_server_stats(w->t.server).accepted, 2);
    assert_int_equal(https_stats(w->transport).waiting, 10);
    testserver_end(&w->t, 5);
    UNTIL(&w->t, w->t.n_watches == 21);
    got_cancel(&g[0]);
    UNTIL(&w->t, w->t.n_watches == 22);
    assert_int_equal(http_server_stats(w->t.server).accepted, 2);
    /* They do not wait for ever. */
    httpsworld_pass(w, 31);
    size_t refused = 0;
    for (size_t i = 0; i < N; i++) {
        if (g[i].is_over && g[i].status == 0) {
            refused++;
            assert_int_equal(g[i].err.code, ERR_UNAVAILABLE);
            assert_true(g[i].can_retry);
        }
        got_done(&g[i]);
    }
    assert_int_equal(refused, 8);
    httpsworld_free(w);
}

/* ---- Goodbyes. ---- */

/* The server says goodbye: what it has is answered there, everything else by the next one, and nobody hears an error. */
static void goodbye(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0}, b = {0}, c = {0}, d = {0};
    got_get(w, &a, "/later");
    got_watch(w, &b, "/watch");
    UNTIL(&w->t, w->t.n_later == 1 && w->t.n_watches == 1);
    struct http_server *old = testserver_replace(&w->t);
    loop_turn(w->t.loop, 0); /* the goodbye is on its way, but has not been read */
    got_start(w, &c, (struct client_request){.method = S("POST"), .target = S("/echo"), .body = S("once")});
    UNTIL(&w->t, c.is_over);
    assert_true(got_is(&c, 200, "once"));
    assert_int_equal(w->t.handled, 3);
    assert_int_equal(http_server_stats(w->t.server).accepted, 1);
    assert_false(a.is_over || b.is_over);
    testserver_answer(&w->t, 0, 200, S("in time"));
    testserver_event(&w->t, 0, S("event"));
    testserver_end(&w->t, 0);
    UNTIL(&w->t, a.is_over && b.is_over && w->t.is_drained);
    assert_true(got_is(&a, 200, "in time") && got_is(&b, 200, "event"));
    UNTIL(&w->t, https_stats(w->transport).connections == 1);
    got_get(w, &d, "/hello");
    UNTIL(&w->t, d.is_over);
    assert_int_equal(http_server_stats(w->t.server).accepted, 1);
    assert_int_equal(https_stats(w->transport).failed, 0);
    http_server_free(old);
    got_done(&a), got_done(&b), got_done(&c), got_done(&d);
    httpsworld_free(w);
}

/* The same on a connection that gave no answer yet: once, that is nobody's fault. */
static void goodbye_before_any_answer(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0}, b = {0};
    got_get(w, &a, "/later");
    UNTIL(&w->t, w->t.n_later == 1);
    struct http_server *old = testserver_replace(&w->t);
    loop_turn(w->t.loop, 0);
    got_start(w, &b, (struct client_request){.method = S("POST"), .target = S("/echo"), .body = S("once")});
    UNTIL(&w->t, b.is_over);
    assert_true(got_is(&b, 200, "once"));
    assert_int_equal(w->t.handled, 2);
    assert_false(a.is_over);
    assert_int_equal(https_stats(w->transport).opened, 2);
    assert_int_equal(https_stats(w->transport).failed, 1);
    testserver_answer(&w->t, 0, 200, S("in time"));
    UNTIL(&w->t, a.is_over && w->t.is_drained);
    assert_true(got_is(&a, 200, "in time"));
    http_server_free(old);
    got_done(&a), got_done(&b);
    httpsworld_free(w);
}

/* A server that says goodbye all the time, while watches stay on the connections it leaves behind. */
static void goodbye_again_and_again(void **state)
{
    enum { N = 7 };
    struct https_options options = {.connections = 1};
    struct httpsworld *w = httpsworld_new(0, NULL, &options);
    struct http_server *old[N];
    static struct got watch[N], last;
    for (size_t i = 0; i < N; i++) {
        got_watch(w, &watch[i], "/watch");
        UNTIL(&w->t, w->t.n_watches == i + 1);
        testserver_event(&w->t, i, S("event"));
        UNTIL(&w->t, watch[i].body.n);
        old[i] = testserver_replace(&w->t);
        testserver_settle(&w->t);
    }
    got_get(w, &last, "/hello");
    UNTIL(&w->t, last.is_over);
    assert_true(got_is(&last, 200, "hello"));
    for (size_t i = 0; i < N; i++) /* the oldest have to begin anew */
        assert_int_equal(watch[i].is_over, i < 4);
    assert_int_equal(watch[0].err.code, ERR_UNAVAILABLE);
    assert_true(https_stats(w->transport).connections <= 5);
    for (size_t i = 0; i < N; i++) {
        got_done(&watch[i]);
        http_server_free(old[i]);
    }
    got_done(&last);
    httpsworld_free(w);
}

/* ---- Back-off. ---- */

static void expect_refusal(struct httpsworld *w)
{
    struct got g = {0};
    got_get(w, &g, "/hello");
    UNTIL(&w->t, g.is_over);
    assert_int_equal(g.err.code, ERR_UNAVAILABLE);
    assert_true(g.can_retry);
    assert_non_null(strstr(g.err.msg, "Connection refused"));
    got_done(&g);
}

static uint64_t opened(const struct httpsworld *w)
{
    return https_stats(w->transport).opened;
}

/* Tenths of a second until another connection is tried. */
static int until_next_try(struct httpsworld *w)
{
    uint64_t before = opened(w);
    for (int tenths = 1; tenths < 1000; tenths++) {
        clock_fake_advance(&w->now, INT64_C(100000000));
        loop_turn(w->t.loop, 0);
        if (opened(w) > before) {
            UNTIL(&w->t, https_stats(w->transport).connections == 0);
            return tenths;
        }
    }
    fail_msg("it was given up");
    return 0;
}

/* Connection refused: told at once, tried again after pauses that grow; then the server is back. */
static void server_away_and_back(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got watch = {0}, a = {0}, late = {0};
    got_watch(w, &watch, "/watch");
    got_get(w, &late, "/later");
    UNTIL(&w->t, w->t.n_watches == 1 && w->t.n_later == 1);
    testserver_event(&w->t, 0, S("event"));
    UNTIL(&w->t, watch.body.n);
    testserver_close(&w->t);
    UNTIL(&w->t, watch.is_over && late.is_over);
    assert_false(late.status || late.can_retry); /* what the server knows of is for the caller to repeat */
    assert_int_equal(watch.status, 0);
    assert_int_equal(watch.err.code, ERR_UNAVAILABLE);
    assert_false(watch.can_retry);
    static const int at_most[] = {10, 20, 40, 80, 160, 300, 300, 300};
    for (size_t i = 0; i < COUNT(at_most); i++) {
        uint64_t before = opened(w);
        expect_refusal(w);
        assert_int_equal(opened(w), before + (i == 0)); /* the first try is made at once */
        for (int j = 0; j < 10; j++)
            expect_refusal(w); /* the others are told what is known */
        assert_int_equal(opened(w), before + (i == 0));
        int tenths = until_next_try(w);
        assert_true(tenths >= at_most[i] / 2 && tenths <= at_most[i] + 1);
    }
    /* Nobody asks: nobody tries. */
    uint64_t before = opened(w);
    httpsworld_pass(w, 300);
    assert_int_equal(opened(w), before);
    /* Back: the next call is served, and the pauses begin anew. */
    testserver_open(&w->t);
    got_get(w, &a, "/hello");
    UNTIL(&w->t, a.is_over);
    assert_true(got_is(&a, 200, "hello"));
    testserver_close(&w->t);
    UNTIL(&w->t, https_stats(w->transport).connections == 0);
    before = opened(w);
    expect_refusal(w);
    assert_int_equal(opened(w), before + 1);
    assert_true(until_next_try(w) <= 11);
    got_done(&watch), got_done(&a), got_done(&late);
    httpsworld_free(w);
}

/* Somebody was turned away while the server was down: the connection is there before the next call. */
static void reconnects_by_itself(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0};
    testserver_close(&w->t);
    expect_refusal(w);
    expect_refusal(w);
    testserver_open(&w->t);
    httpsworld_pass(w, 2);
    UNTIL(&w->t, http_server_stats(w->t.server).accepted == 1);
    got_get(w, &a, "/hello");
    UNTIL(&w->t, a.is_over);
    assert_true(got_is(&a, 200, "hello"));
    assert_int_equal(http_server_stats(w->t.server).accepted, 1);
    got_done(&a);
    httpsworld_free(w);
}

/* A server that is not believed, or takes connections and gives no answers, is not asked in a hurry either. */
static void useless_servers(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0};
    struct keys other = keys_make(&w->arena, &(struct keys_options){.name = "other", .ends_in = 3600});
    tls_unref(w->credentials.tls);
    w->credentials.tls = httpsworld_tls(w, other.certificate, "localhost");
    for (int i = 0; i < 5; i++) {
        got_get(w, &a, "/hello");
        UNTIL(&w->t, a.is_over);
        assert_int_equal(a.err.code, ERR_UNAVAILABLE);
        assert_non_null(strstr(a.err.msg, "certificate signed by unknown authority"));
        assert_null(strstr(a.err.msg, "Bearer"));
        got_done(&a);
    }
    assert_int_equal(opened(w), 1);
    /* The right authority is there: no pause for that. */
    httpsworld_rotate(w);
    got_get(w, &a, "/hello");
    UNTIL(&w->t, a.is_over);
    assert_true(got_is(&a, 200, "hello"));
    got_done(&a);
    httpsworld_free(w);
}

/* ---- Certificates that change. ---- */

static void rotation(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got watch = {0}, late = {0}, a = {0}, second = {0};
    got_watch(w, &watch, "/watch");
    got_get(w, &late, "/later");
    UNTIL(&w->t, w->t.n_watches == 1 && w->t.n_later == 1);
    httpsworld_rotate(w);
    got_get(w, &a, "/hello");
    got_watch(w, &second, "/watch");
    UNTIL(&w->t, a.is_over && w->t.n_watches == 2);
    assert_int_equal(http_server_stats(w->t.server).accepted, 2);
    httpsworld_pass(w, 29);
    testserver_event(&w->t, 0, S("event"));
    UNTIL(&w->t, watch.body.n);
    assert_false(watch.is_over || late.is_over);
    httpsworld_pass(w, 2); /* half a minute is over: watches have to begin anew, calls may end in peace */
    assert_true(watch.is_over && !late.is_over && !second.is_over);
    assert_int_equal(watch.err.code, ERR_UNAVAILABLE);
    assert_int_equal(https_stats(w->transport).connections, 2);
    testserver_answer(&w->t, 0, 200, S("in peace"));
    UNTIL(&w->t, late.is_over);
    assert_true(got_is(&late, 200, "in peace"));
    UNTIL(&w->t, http_server_stats(w->t.server).connections == 1);
    assert_int_equal(https_stats(w->transport).failed, 0);
    got_done(&watch), got_done(&late), got_done(&a), got_done(&second);
    httpsworld_free(w);
}

/* ---- HTTP/1.1. ---- */

static void pool_of_h1(void **state)
{
    struct https_options options = {.h1_calls = 2, .h1_watches = 3};
    struct httpsworld *w = httpsworld_new(OVER_H1, NULL, &options);
    static struct got watch[3], call[6], more, last;
    for (size_t i = 0; i < 6; i++)
        got_get(w, &call[i], "/later");
    for (size_t i = 0; i < 3; i++)
        got_watch(w, &watch[i], "/watch");
    UNTIL(&w->t, w->t.n_later == 2 && w->t.n_watches == 3); /* watches do not wait behind calls */
    testserver_settle(&w->t);
    assert_int_equal(w->t.n_later, 2);
    assert_int_equal(http_server_stats(w->t.server).accepted, 5);
    got_watch(w, &more, "/watch");
    UNTIL(&w->t, more.is_over);
    assert_int_equal(more.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(more.err.msg, "too many watches"));
    for (size_t i = 0; i < 6; i++) {
        UNTIL(&w->t, w->t.n_later > i);
        testserver_answer(&w->t, i, 200, S("ok"));
    }
    for (size_t i = 0; i < 6; i++)
        UNTIL(&w->t, call[i].is_over && call[i].status == 200);
    assert_int_equal(http_server_stats(w->t.server).accepted, 5); /* they were used again */
    for (size_t i = 0; i < 3; i++) {
        testserver_event(&w->t, i, S("event"));
        UNTIL(&w->t, watch[i].body.n == 5);
    }
    httpsworld_pass(w, 91); /* idle ones go */
    UNTIL(&w->t, http_server_stats(w->t.server).connections == 3);
    got_cancel(&watch[0]); /* its connection is of no more use */
    UNTIL(&w->t, http_server_stats(w->t.server).connections == 2);
    got_watch(w, &last, "/watch");
    UNTIL(&w->t, w->t.n_watches == 4);
    for (size_t i = 0; i < 6; i++)
        got_done(&call[i]);
    for (size_t i = 0; i < 3; i++)
        got_done(&watch[i]);
    got_done(&more), got_done(&last);
    httpsworld_free(w);
}

static void idle_h2(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0}, b = {0};
    got_get(w, &a, "/hello");
    UNTIL(&w->t, a.is_over);
    httpsworld_pass(w, 89);
    assert_int_equal(https_stats(w->transport).connections, 1);
    httpsworld_pass(w, 2);
    UNTIL(&w->t, http_server_stats(w->t.server).connections == 0);
    got_get(w, &b, "/hello");
    UNTIL(&w->t, b.is_over);
    assert_true(got_is(&b, 200, "hello"));
    assert_int_equal(https_stats(w->transport).failed, 0);
    got_done(&a), got_done(&b);
    httpsworld_free(w);
}

/* The server closes a connection just when the next request is on its way: reading may be done again, writing may not. */
static void closed_on_the_way(void **state)
{
    for (int is_write = 0; is_write < 2; is_write++) {
        struct httpsworld *w = httpsworld_new(OVER_PLAIN, NULL, NULL);
        struct got a = {0}, b = {0};
        got_get(w, &a, "/hello");
        UNTIL(&w->t, a.is_over);
        struct client_request r = {.method = is_write ? S("POST") : S("GET"), .target = S("/what")};
        got_start(w, &b, r);
        loop_turn(w->t.loop, 0); /* the request is in the socket, and nobody has read it */
        loop_turn(w->t.loop, 0);
        size_t handled = w->t.handled;
        assert_int_equal(handled, 1);
        testserver_close(&w->t);
        testserver_open(&w->t);
        UNTIL(&w->t, b.is_over);
        assert_int_equal(b.status, is_write ? 0 : 200);
        assert_int_equal(w->t.handled, handled + !is_write);
        assert_false(is_write && b.can_retry);
        got_done(&a), got_done(&b);
        httpsworld_free(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watches_share_a_connection),
        cmocka_unit_test(further_connections),
        cmocka_unit_test(goodbye),
        cmocka_unit_test(goodbye_before_any_answer),
        cmocka_unit_test(goodbye_again_and_again),
        cmocka_unit_test(server_away_and_back),
        cmocka_unit_test(reconnects_by_itself),
        cmocka_unit_test(useless_servers),
        cmocka_unit_test(rotation),
        cmocka_unit_test(pool_of_h1),
        cmocka_unit_test(idle_h2),
        cmocka_unit_test(closed_on_the_way),
    };
    return cmocka_run_group_tests_name("https_connections", tests, NULL, NULL);
}
