/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS transport: answers, whole, cut, huge, late, or none at all. */
#include "httpsworld.h"

#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static bool is_large(const struct got *g, size_t n)
{
    if (g->body.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (g->body.p[i] != testserver_byte(i))
            return false;
    return true;
}

/* ---- Sizes. ---- */

static void check_sizes(unsigned over)
{
    struct https_options options = {.answer_bytes = 1000000};
    struct httpsworld *w = httpsworld_new(over, NULL, &options);
    struct got a = {0}, b = {0}, c = {0}, d = {0};
    got_get(w, &a, "/large?1000000");
    got_get(w, &b, "/large?1000001");
    got_watch(w, &c, "/large?5000000");
    UNTIL(&w->t, a.is_over && b.is_over && c.is_over);
    assert_true(a.status == 200 && is_large(&a, 1000000));
    assert_int_equal(b.err.code, ERR_TOO_LARGE);
    assert_false(b.can_retry);
    assert_int_equal(b.body.n, 0);
    assert_true(c.status == 200 && is_large(&c, 5000000)); /* taken in pieces, it may be of any size */
    assert_true(c.pieces > 10);
    /* The connection is as good as before, or there is another. */
    got_get(w, &d, "/hello");
    UNTIL(&w->t, d.is_over);
    assert_true(got_is(&d, 200, "hello"));
    got_done(&a), got_done(&b), got_done(&c), got_done(&d);
    httpsworld_free(w);
}

static void sizes_h2(void **state)
{
    check_sizes(0);
}

static void sizes_h1(void **state)
{
    check_sizes(OVER_H1);
}

static bool say_large(struct testserver *t, struct http_exchange *x)
{
    char *body = calloc(1, 2000);
    http_answer(x, str_eq(x->path, S("/500")) ? 500 : 200, (struct http_headers){0}, (str){body, 2000});
    free(body);
    return true;
}

/* What says that it is too large is not read at all; answers other than 200 are collected, and have the limit too. */
static void large_by_its_own_words(void **state)
{
    struct https_options options = {.answer_bytes = 1000};
    struct httpsworld *w = httpsworld_new(OVER_PLAIN, NULL, &options);
    struct got a = {0}, b = {0};
    w->t.also = say_large;
    got_get(w, &a, "/");
    got_watch(w, &b, "/500");
    UNTIL(&w->t, a.is_over && b.is_over);
    assert_int_equal(a.err.code, ERR_TOO_LARGE);
    assert_int_equal(b.err.code, ERR_TOO_LARGE);
    assert_int_equal(b.pieces, 0);
    got_done(&a), got_done(&b);
    httpsworld_free(w);
}

/* ---- Headers. ---- */

static bool say_later(struct testserver *t, struct http_exchange *x)
{
    static const struct http_header seconds[] = {{S_INIT("retry-after"), S_INIT("7")}};
    static const struct http_header date[] = {{S_INIT("Retry-After"), S_INIT("Sun, 09 Sep 2001 01:46:50 GMT")}};
    static const struct http_header packed[] = {{S_INIT("Content-Encoding"), S_INIT("gzip")}};
    static const struct http_header plain[] = {{S_INIT("Content-Encoding"), S_INIT("identity")}};
    if (str_eq(x->path, S("/seconds")))
        http_answer(x, 429, (struct http_headers){seconds, 1}, S("slowly"));
    else if (str_eq(x->path, S("/date")))
        http_answer(x, 503, (struct http_headers){date, 1}, S("slowly"));
    else if (str_eq(x->path, S("/packed")))
        http_answer(x, 200, (struct http_headers){packed, 1}, S("\x1f\x8b"));
    else
        http_answer(x, 200, (struct http_headers){plain, 1}, S("plain"));
    return true;
}

static void headers_of_answers(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL); /* it is 2001-09-09T01:46:40Z */
    struct got a = {0}, b = {0}, c = {0}, d = {0};
    w->t.also = say_later;
    got_get(w, &a, "/seconds");
    got_watch(w, &b, "/date");
    got_get(w, &c, "/packed");
    got_get(w, &d, "/plain");
    UNTIL(&w->t, a.is_over && b.is_over && c.is_over && d.is_over);
    assert_true(got_is(&a, 429, "slowly") && got_is(&b, 503, "slowly"));
    assert_int_equal(a.retry_after_ns, 7 * SECOND);
    assert_int_equal(b.retry_after_ns, 10 * SECOND);
    assert_int_equal(b.pieces, 0);
    assert_int_equal(c.err.code, ERR_IO); /* nobody asked for it, and nobody could read it */
    assert_true(got_is(&d, 200, "plain"));
    assert_int_equal(d.retry_after_ns, 0);
    got_done(&a), got_done(&b), got_done(&c), got_done(&d);
    httpsworld_free(w);
}

/* ---- Ends. ---- */

static void check_cut(unsigned over)
{
    struct httpsworld *w = httpsworld_new(over, NULL, NULL);
    struct got a = {0}, b = {0}, c = {0};
    got_get(w, &a, "/cut");
    got_watch(w, &b, "/cut");
    UNTIL(&w->t, a.is_over && b.is_over);
    assert_int_equal(a.status, 0);
    assert_int_equal(a.body.n, 0);
    assert_false(a.can_retry);
    assert_int_equal(b.status, 0);
    assert_true(over || b.body.n == 100); /* that much it was shown; a reset may overtake it */
    assert_false(b.can_retry);
    httpsworld_pass(w, 2); /* connections that gave no answer at all count as failures */
    got_get(w, &c, "/hello");
    UNTIL(&w->t, c.is_over);
    assert_true(got_is(&c, 200, "hello"));
    got_done(&a), got_done(&b), got_done(&c);
    httpsworld_free(w);
}

static void cut_h2(void **state)
{
    check_cut(0);
}

static void cut_h1(void **state)
{
    check_cut(OVER_H1);
}

static void check_times(unsigned over)
{
    struct httpsworld *w = httpsworld_new(over, NULL, NULL);
    struct got a = {0}, b = {0}, c = {0};
    struct client_request r = {.method = S("GET"), .target = S("/later"), .total_ns = 5 * SECOND};
    got_start(w, &a, r);
    r.total_ns = 60 * SECOND;
    got_start(w, &b, r);
    got_watch(w, &c, "/watch");
    UNTIL(&w->t, w->t.n_later == 2 && w->t.n_watches == 1);
    httpsworld_pass(w, 6);
    assert_true(a.is_over && !b.is_over);
    assert_int_equal(a.err.code, ERR_TIMEOUT);
    assert_false(a.can_retry); /* the server may still act on it */
    testserver_answer(&w->t, 1, 200, S("at last"));
    UNTIL(&w->t, b.is_over);
    assert_true(got_is(&b, 200, "at last"));
    httpsworld_pass(w, 3600); /* a watch has no limit */
    assert_false(c.is_over);
    testserver_event(&w->t, 0, S("event"));
    UNTIL(&w->t, c.body.n == 5);
    got_done(&a), got_done(&b), got_done(&c);
    httpsworld_free(w);
}

static void times_h1(void **state)
{
    check_times(OVER_H1);
}

/* Who is out of time makes room for the next; and waiting for room is part of one's time. */
static void times_while_waiting(void **state)
{
    struct http_limits limits = {.streams = 1};
    struct https_options options = {.connections = 1};
    struct httpsworld *w = httpsworld_new(0, &limits, &options);
    struct got a = {0}, b = {0}, c = {0};
    struct client_request r = {.method = S("GET"), .target = S("/later"), .total_ns = 5 * SECOND};
    got_start(w, &a, r);
    UNTIL(&w->t, w->t.n_later == 1);
    got_get(w, &b, "/hello");
    r.total_ns = 2 * SECOND;
    got_start(w, &c, r);
    httpsworld_pass(w, 3);
    assert_true(c.is_over && !b.is_over && !a.is_over);
    assert_int_equal(c.err.code, ERR_TIMEOUT);
    assert_true(c.can_retry); /* it went nowhere */
    httpsworld_pass(w, 3);
    assert_true(a.is_over);
    UNTIL(&w->t, b.is_over);
    assert_true(got_is(&b, 200, "hello"));
    got_done(&a), got_done(&b), got_done(&c);
    httpsworld_free(w);
}

/* ---- Cancelling. ---- */

static void check_cancel(unsigned over)
{
    struct httpsworld *w = httpsworld_new(over, NULL, NULL);
    struct got a = {0}, b = {.cancels = true}, c = {0}, d = {0};
    got_get(w, &a, "/later");
    got_watch(w, &b, "/watch");
    got_get(w, &c, "/hello");
    got_cancel(&c); /* before it went anywhere */
    UNTIL(&w->t, w->t.n_later == 1 && w->t.n_watches == 1);
    testserver_event(&w->t, 0, S("event"));
    UNTIL(&w->t, b.pieces);
    assert_null(b.call); /* from within its listener */
    got_cancel(&a);
    UNTIL(&w->t, w->t.watches[0] == NULL);
    testserver_settle(&w->t);
    assert_false(a.is_over || b.is_over || c.is_over);
    assert_int_equal(b.pieces, 1);
    assert_int_equal(w->t.handled, 2);
    assert_int_equal(https_stats(w->transport).failed, 0);
    got_get(w, &d, "/hello");
    UNTIL(&w->t, d.is_over);
    assert_true(got_is(&d, 200, "hello"));
    assert_true(over || http_server_stats(w->t.server).accepted == 1);
    got_done(&a), got_done(&b), got_done(&c), got_done(&d);
    httpsworld_free(w);
}

static void cancel_h2(void **state)
{
    check_cancel(0);
}

static void cancel_h1(void **state)
{
    check_cancel(OVER_H1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_h2),
        cmocka_unit_test(sizes_h1),
        cmocka_unit_test(large_by_its_own_words),
        cmocka_unit_test(headers_of_answers),
        cmocka_unit_test(cut_h2),
        cmocka_unit_test(cut_h1),
        cmocka_unit_test(times_h1),
        cmocka_unit_test(times_while_waiting),
        cmocka_unit_test(cancel_h2),
        cmocka_unit_test(cancel_h1),
    };
    return cmocka_run_group_tests_name("https_answers", tests, NULL, NULL);
}
