/* SPDX-License-Identifier: Apache-2.0 */
/* The client against our own server, in one loop: what it does with HTTP/1.1 and HTTP/2 alike. */
#include "testclient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_simple(bool is_h2)
{
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {0}, b = {0}, c = {0}, d = {0}, e = {0};
    testclient_ask(f, &a, "GET", "/hello", (str){0});
    testclient_ask(f, &b, "PUT", "/what?x=1&y=%20", S("body"));
    testclient_ask(f, &c, "POST", "/echo", S("come back"));
    testclient_ask(f, &d, "HEAD", "/hello", (str){0});
    testclient_ask(f, &e, "DELETE", "/none", (str){0});
    assert_false(a.is_over);
    UNTIL(&f->t, a.is_over && b.is_over && c.is_over && d.is_over && e.is_over);
    assert_true(a.is_complete && b.is_complete && c.is_complete && d.is_complete && e.is_complete);
    assert_int_equal(a.status, 200);
    assert_true(heard_is(&a, "hello"));
    assert_true(str_eq(a.content_type, S("text/plain")));
    char want[100];
    (void)snprintf(want, sizeof want, "PUT /what ?x=1&y=%%20 host=127.0.0.1:%u n=3 x=yes", f->t.port);
    b.body.p = realloc(b.body.p, b.body.n + 1);
    b.body.p[b.body.n] = 0;
    assert_string_equal(b.body.p, want);
    assert_true(heard_is(&c, "come back"));
    assert_int_equal(d.status, 200);
    assert_int_equal(d.body.n, 0);
    assert_int_equal(e.status, 204);
    assert_int_equal(http_client_is_h2(f->client), is_h2);
    assert_true(http_client_can_call(f->client));
    assert_int_equal(http_server_stats(f->t.server).connections, 1);
    heard_done(&a), heard_done(&b), heard_done(&c), heard_done(&d), heard_done(&e);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard down = {0}, up = {0};
    char *body = malloc(N);
    for (size_t i = 0; i < N; i++)
        body[i] = testserver_byte(i);
    testclient_ask(f, &down, "GET", "/large?8000000", (str){0});
    testclient_ask(f, &up, "POST", "/echo", (str){body, N});
    memset(body, 0, N); /* the call has its own */
    UNTIL(&f->t, down.is_over && up.is_over);
    assert_true(down.is_complete && up.is_complete);
    assert_true(heard_is_large(&down, 8000000));
    assert_true(heard_is_large(&up, N));
    assert_int_equal(http_server_stats(f->t.server).body_bytes, 0);
    free(body);
    heard_done(&down), heard_done(&up);
    testclient_stop(f);
}

static void large_h1(void **state)
{
    check_large(false);
}

static void large_h2(void **state)
{
    check_large(true);
}

/* A testclient_listener that is paused makes the source stop, and nothing is lost. */
static void check_pause(bool is_h2)
{
    enum { N = 16 << 20 };
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {.pause_after = 100000}, b = {0};
    char target[40];
    (void)snprintf(target, sizeof target, "/large?%d", N);
    testclient_ask(f, &a, "GET", target, (str){0});
    UNTIL(&f->t, a.body.n >= 100000);
    for (int i = 0; i < 200; i++)
        loop_turn(f->t.loop, 0);
    size_t held = a.body.n, made = f->t.made;
    assert_true(held < 600000);
    if (is_h2) {
        assert_true(made < 1000000); /* window and buffers; TCP's own buffers may hold more with HTTP/1.1 */
        testclient_ask(f, &b, "GET", "/hello", (str){0});
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
    assert_true(heard_is_large(&a, N));
    heard_done(&a);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/large?5000", (str){0});
    http_call_pause(a.call);
    UNTIL(&f->t, f->t.gone == 1 || (!is_h2 && f->t.handled == 1));
    testserver_settle(&f->t);
    assert_false(a.is_over);
    assert_int_equal(a.body.n, 0);
    http_call_resume(a.call);
    assert_int_equal(a.body.n, 0); /* nothing calls back from within */
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete);
    assert_true(heard_is_large(&a, 5000));
    heard_done(&a);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    f->t.forgets = true;
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/watch", (str){0});
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
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/cut", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_true(a.status == 200 || !is_h2); /* a reset may overtake the head */
    assert_false(a.is_complete);
    assert_false(a.can_retry);
    assert_int_equal(a.err.code, is_h2 ? ERR_IO : ERR_UNAVAILABLE);
    assert_int_equal(http_client_can_call(f->client), is_h2);
    heard_done(&a);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {0}, b = {0};
    testclient_ask(f, &a, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.status == 200);
    http_call_cancel(a.call);
    UNTIL(&f->t, f->t.gone == 1);
    assert_false(a.is_over);
    if (!is_h2) {
        UNTIL(&f->t, f->is_gone);
        assert_false(http_client_can_call(f->client));
        http_client_free(f->client);
        f->is_gone = false;
        testclient_connect(f, (struct http_client_options){0});
    }
    testclient_ask(f, &b, "PUT", "/later", S("something"));
    UNTIL(&f->t, f->t.n_later == 1);
    http_call_cancel(b.call);
    testserver_settle(&f->t);
    assert_int_equal(f->t.gone, 1);
    assert_true(str_eq(f->t.later[0]->body, S("something")));
    testserver_answer(&f->t, 0, 200, S("to nobody"));
    UNTIL(&f->t, f->t.gone == 2);
    assert_int_equal(http_server_stats(f->t.server).exchanges, 0);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
}

static void cancel_h1(void **state)
{
    check_cancel(false);
}

static void cancel_h2(void **state)
{
    check_cancel(true);
}

/* From within its own testclient_listener. */
static void check_cancel_inside(bool is_h2)
{
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {.cancels = true};
    testclient_ask(f, &a, "GET", "/large?3000000", (str){0});
    UNTIL(&f->t, f->t.gone == 1);
    testserver_settle(&f->t);
    assert_int_equal(a.pieces, 1);
    assert_false(a.is_over);
    heard_done(&a);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {.frees = f->client}, b = {0};
    testclient_ask(f, &a, "GET", "/large?3000000", (str){0});
    testclient_ask(f, &b, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.pieces);
    f->client = NULL;
    UNTIL(&f->t, http_server_stats(f->t.server).connections == 0);
    assert_int_equal(a.pieces, 1);
    assert_false(a.is_over || b.is_over || f->is_gone);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {0}, b = {0};
    testclient_ask(f, &a, "GET", "/watch", (str){0});
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
    testclient_ask(f, &b, "GET", "/hello", (str){0}); /* too late, and told so, not from within */
    assert_false(b.is_over);
    UNTIL(&f->t, b.is_over);
    assert_true(!b.is_complete && b.can_retry);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {0}, b = {0};
    struct http_request r = {.method = S("GET"), .target = S("/later"), .head_ns = 1000000};
    a.call = http_call_new(f->client, &r, &testclient_listener, &a);
    UNTIL(&f->t, a.is_over);
    assert_int_equal(a.err.code, ERR_TIMEOUT);
    assert_int_equal(a.status, 0);
    if (!is_h2) {
        http_client_free(f->client);
        testclient_connect(f, (struct http_client_options){0});
        f->is_gone = false;
    }
    r = (struct http_request){
        .method = S("GET"), .target = S("/watch"), .head_ns = 3600000000000, .total_ns = 30000000};
    b.call = http_call_new(f->client, &r, &testclient_listener, &b);
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.err.code, ERR_TIMEOUT);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
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
    struct testclient *f = testclient_start(true, NULL);
    http_client_free(f->client);
    http_server_free(f->t.server);
    f->t.server = NULL;
    testclient_connect(f, (struct http_client_options){0});
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/hello", (str){0});
    UNTIL(&f->t, a.is_over && f->is_gone);
    assert_true(a.can_retry);
    assert_int_equal(a.err.code, ERR_UNAVAILABLE);
    char want[100];
    (void)snprintf(want, sizeof want, "connect to 127.0.0.1:%u: Connection refused", f->t.port);
    assert_string_equal(a.err.msg, want);
    assert_string_equal(f->why.msg, want);
    heard_done(&a);
    testclient_stop(f);
}

static void names_are_looked_up(void **state)
{
    struct testclient *f = testclient_start(true, NULL);
    struct heard a = {0}, b = {0};
    struct err err;
    http_client_free(f->client);
    struct http_client_options options = {.host = S("localhost"), .port = f->t.port, .is_h2 = true};
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
    testclient_ask(f, &a, "GET", "/hello", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete);
    http_client_free(f->client);
    options.host = S("no-such-host.invalid");
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
    testclient_ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(b.err.msg, "look up no-such-host.invalid: "));
    assert_true(b.can_retry);
    http_client_free(f->client); /* while a lookup is at work */
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
}

/* ---- Sources that have more to say before their fill has returned. ---- */

static enum http_fill fill_twice(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    int *times = ctx;
    buf_add_str(out, ++*times == 1 ? S("one ") : S("two"));
    if (*times > 1)
        return HTTP_END;
    http_resume(x);
    return HTTP_WAIT;
}

static bool stream_twice(struct testserver *t, struct http_exchange *x)
{
    http_stream(x, 200, (struct http_headers){0}, (struct http_source){fill_twice, ARENA_NEW(&x->arena, int)});
    return true;
}

static void check_resume_inside_fill(bool is_h2)
{
    struct testclient *f = testclient_start(is_h2, NULL);
    struct heard a = {0};
    f->t.also = stream_twice;
    testclient_ask(f, &a, "GET", "/", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete && heard_is(&a, "one two"));
    heard_done(&a);
    testclient_stop(f);
}

static void resume_inside_fill_h1(void **state)
{
    check_resume_inside_fill(false);
}

static void resume_inside_fill_h2(void **state)
{
    check_resume_inside_fill(true);
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
        cmocka_unit_test(resume_inside_fill_h1),
        cmocka_unit_test(resume_inside_fill_h2),
    };
    return cmocka_run_group_tests_name("http_client", tests, NULL, NULL);
}
