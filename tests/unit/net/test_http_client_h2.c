/* SPDX-License-Identifier: Apache-2.0 */
/* The client: many calls at once, TLS, and servers that are not ours. */
#include "testclient.h"

#include "lib/keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- HTTP/2 only. ---- */

static void parallel_streams(void **state)
{
    enum { N = 500 };
    struct http_limits limits = {.streams = N};
    struct testclient *f = testclient_start(true, &limits);
    static struct heard h[N];
    memset(h, 0, sizeof h);
    for (size_t i = 0; i < N; i++)
        testclient_ask(f, &h[i], "GET", i % 2 ? "/later" : "/large?20000", (str){0});
    UNTIL(&f->t, f->t.n_later == N / 2);
    for (size_t i = N / 2; i-- > 0;)
        testserver_answer(&f->t, i, 200 + (int)(i % 2), S("at last"));
    for (size_t i = 0; i < N; i++) {
        UNTIL(&f->t, h[i].is_over);
        assert_true(h[i].is_complete);
        assert_true(i % 2 ? heard_is(&h[i], "at last") : heard_is_large(&h[i], 20000));
        heard_done(&h[i]);
    }
    assert_int_equal(http_server_stats(f->t.server).accepted, 1);
    testclient_stop(f);
}

/* More calls than the server allows streams: the rest waits its turn. */
static void more_calls_than_streams(void **state)
{
    enum { N = 50 };
    struct http_limits limits = {.streams = 7};
    struct testclient *f = testclient_start(true, &limits);
    static struct heard h[N];
    memset(h, 0, sizeof h);
    testclient_ask(f, &h[0], "GET", "/hello", (str){0});
    UNTIL(&f->t, h[0].is_over); /* the client knows the limit by now */
    for (size_t i = 1; i < N; i++)
        testclient_ask(f, &h[i], "GET", "/later", (str){0});
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
    testclient_stop(f);
}

/* A paused reader holds up nobody else, and its source stops: many of them stay within their windows. */
static void paused_readers(void **state)
{
    enum { N = 20 };
    struct testclient *f = testclient_start(true, NULL);
    static struct heard h[N], last;
    memset(h, 0, sizeof h);
    for (size_t i = 0; i < N; i++) {
        h[i].pause_after = 1;
        testclient_ask(f, &h[i], "GET", "/large?4000000", (str){0});
    }
    for (size_t i = 0; i < N; i++)
        UNTIL(&f->t, h[i].body.n);
    for (int i = 0; i < 300; i++)
        loop_turn(f->t.loop, 0);
    assert_true(f->t.made < (size_t)N * (400 << 10));
    memset(&last, 0, sizeof last);
    testclient_ask(f, &last, "GET", "/large?4000000", (str){0});
    UNTIL(&f->t, last.is_over);
    assert_true(heard_is_large(&last, 4000000));
    for (size_t i = 0; i < N; i++) {
        h[i].pause_after = 0;
        http_call_resume(h[i].call);
        UNTIL(&f->t, h[i].is_over);
        assert_true(heard_is_large(&h[i], 4000000));
        heard_done(&h[i]);
    }
    heard_done(&last);
    testclient_stop(f);
}

/* What is at work ends in peace, what comes too late is told to go elsewhere, and then the connection closes. */
static void drain_lets_calls_end(void **state)
{
    struct testclient *f = testclient_start(true, NULL);
    struct heard a = {0}, b = {0};
    testclient_ask(f, &a, "GET", "/later", (str){0});
    UNTIL(&f->t, f->t.n_later == 1);
    testserver_drain(&f->t);
    UNTIL(&f->t, !http_client_can_call(f->client));
    testclient_ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_true(!b.is_complete && b.can_retry);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_false(a.is_over || f->t.is_drained);
    testserver_answer(&f->t, 0, 200, S("in time"));
    UNTIL(&f->t, a.is_over);
    assert_true(heard_is(&a, "in time"));
    UNTIL(&f->t, f->t.is_drained && f->is_gone);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
}

/* Calls past the server's limit have not been heard by it: when it says goodbye they end, though the connection goes on. */
static void drain_frees_who_waits(void **state)
{
    struct http_limits limits = {.streams = 1};
    struct testclient *f = testclient_start(true, &limits);
    struct heard a = {0}, b = {0};
    UNTIL(&f->t, f->n_ready);
    assert_int_equal(http_client_room(f->client), 1);
    testclient_ask(f, &a, "GET", "/watch", (str){0});
    assert_int_equal(http_client_room(f->client), 0);
    UNTIL(&f->t, a.status == 200);
    testclient_ask(f, &b, "GET", "/hello", (str){0});
    testserver_settle(&f->t);
    assert_false(b.is_over);
    testserver_drain(&f->t);
    UNTIL(&f->t, b.is_over);
    assert_true(b.can_retry);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_int_equal(http_client_room(f->client), 0);
    assert_false(a.is_over || f->is_gone);
    testserver_event(&f->t, 0, S("event"));
    UNTIL(&f->t, heard_is(&a, "event"));
    testserver_end(&f->t, 0);
    UNTIL(&f->t, a.is_over && f->is_gone);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
}

static void drain_of_idle_connections(void **state)
{
    struct testclient *f = testclient_start(true, NULL);
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/hello", (str){0});
    UNTIL(&f->t, a.is_over);
    testserver_drain(&f->t);
    UNTIL(&f->t, f->t.is_drained && f->is_gone);
    heard_done(&a);
    testclient_stop(f);
}

static void too_large_a_body(void **state)
{
    struct http_limits limits = {.body_bytes = 100000};
    struct testclient *f = testclient_start(true, &limits);
    struct heard a = {0}, b = {0}, c = {0};
    char *body = calloc(1, 1000000);
    testclient_ask(f, &a, "POST", "/echo", (str){body, 1000000});
    testclient_ask(f, &b, "POST", "/echo", (str){body, 100000});
    UNTIL(&f->t, a.is_over && b.is_over);
    assert_int_equal(a.status, 413);
    assert_true(a.is_complete);
    assert_int_equal(b.status, 200);
    assert_int_equal(b.body.n, 100000);
    testclient_ask(f, &c, "POST", "/echo", (str){body, 100001});
    UNTIL(&f->t, c.is_over);
    assert_int_equal(c.status, 413);
    free(body);
    heard_done(&a), heard_done(&b), heard_done(&c);
    testclient_stop(f);
}

static void bodies_have_one_budget(void **state)
{
    struct http_limits limits = {.bodies_bytes = 150000};
    struct testclient *f = testclient_start(true, &limits);
    struct heard a = {0}, b = {0}, c = {0};
    char *body = calloc(1, 100000);
    testclient_ask(f, &a, "POST", "/later", (str){body, 100000});
    UNTIL(&f->t, f->t.n_later == 1);
    assert_int_equal(http_server_stats(f->t.server).body_bytes, 100000);
    testclient_ask(f, &b, "POST", "/echo", (str){body, 100000});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.status, 429);
    testserver_answer(&f->t, 0, 200, (str){0});
    UNTIL(&f->t, a.is_over);
    assert_int_equal(http_server_stats(f->t.server).body_bytes, 0);
    testclient_ask(f, &c, "POST", "/echo", (str){body, 100000});
    UNTIL(&f->t, c.is_over);
    assert_int_equal(c.status, 200);
    free(body);
    heard_done(&a), heard_done(&b), heard_done(&c);
    testclient_stop(f);
}

static void too_large_a_head(void **state)
{
    struct http_limits limits = {.headers = 20};
    struct testclient *f = testclient_start(true, &limits);
    struct heard a = {0}, b = {0};
    struct http_header many[30];
    for (size_t i = 0; i < 30; i++)
        many[i] = (struct http_header){S("X-Test"), S("again")};
    struct http_request r = {.method = S("GET"), .target = S("/hello"), .headers = {many, 30}};
    a.call = http_call_new(f->client, &r, &testclient_listener, &a);
    UNTIL(&f->t, a.is_over);
    assert_int_equal(a.status, 431);
    testclient_ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.status, 200);
    assert_int_equal(f->t.handled, 1);
    heard_done(&a), heard_done(&b);
    testclient_stop(f);
}

/* ---- Servers that are not ours. ---- */

/* Takes the connection and then says nothing at all. */
static void server_without_a_sign_of_life(void **state)
{
    struct testclient *f = testclient_start(true, NULL);
    int fd = testclient_listen_instead(f);
    testclient_connect(f, (struct http_client_options){.ping_ns = 1000000, .ping_wait_ns = 1000000});
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/watch", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_int_equal(a.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(a.err.msg, "no sign of life"));
    assert_false(a.can_retry); /* it may have been heard */
    UNTIL(&f->t, f->is_gone);
    (void)close(fd);
    heard_done(&a);
    testclient_stop(f);
}

/* …and does not even greet. */
static void server_that_does_not_greet(void **state)
{
    struct testclient *f = testclient_start(true, NULL);
    int fd = testclient_listen_instead(f);
    testclient_connect(f, (struct http_client_options){.connect_ns = 1000000});
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/hello", (str){0});
    UNTIL(&f->t, a.is_over && f->is_gone);
    assert_int_equal(a.err.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(a.err.msg, "no greeting in time"));
    assert_int_equal(f->n_ready, 0);
    (void)close(fd);
    heard_done(&a);
    testclient_stop(f);
}

/* One that answers PINGs and has nothing else to say is left alone. */
static void quiet_watch(void **state)
{
    struct testclient *f = testclient_start(true, NULL);
    http_client_free(f->client);
    testclient_connect(f, (struct http_client_options){.ping_ns = 1000000, .ping_wait_ns = 100000000});
    struct heard a = {0};
    testclient_ask(f, &a, "GET", "/watch", (str){0});
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
    testclient_stop(f);
}

/* The server says which request was the last that it took: those after it can be tried elsewhere, that one cannot. */
static void goaway_tells_what_was_taken(void **state)
{
    static const char frames[] = "\0\0\0\4\0\0\0\0\0"                   /* SETTINGS */
                                 "\0\0\x8\7\0\0\0\0\0\0\0\0\1\0\0\0\0"; /* GOAWAY: stream 1 */
    struct testclient *f = testclient_start(true, NULL);
    int fd = testclient_listen_instead(f);
    testclient_connect(f, (struct http_client_options){0});
    struct heard a = {0}, b = {0};
    testclient_ask(f, &a, "PUT", "/1", (str){0});
    testclient_ask(f, &b, "PUT", "/2", (str){0});
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
    testclient_stop(f);
}

static void server_that_speaks_something_else(void **state)
{
    for (int is_h2 = 0; is_h2 < 2; is_h2++) {
        struct testclient *f = testclient_start(is_h2, NULL);
        int fd = testclient_listen_instead(f);
        testclient_connect(f, (struct http_client_options){0});
        struct heard a = {0};
        testclient_ask(f, &a, "GET", "/", (str){0});
        testserver_settle(&f->t);
        int server = accept(fd, NULL, NULL);
        assert_true(send(server, "220 smtp.example ESMTP\r\n\r\n", 26, MSG_NOSIGNAL) == 26);
        UNTIL(&f->t, a.is_over && f->is_gone);
        assert_int_equal(a.err.code, ERR_UNAVAILABLE);
        assert_false(a.is_complete || a.can_retry);
        (void)close(server);
        (void)close(fd);
        heard_done(&a);
        testclient_stop(f);
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
    struct testclient *f = calloc(1, sizeof *f);
    struct heard a = {0}, b = {0}, c = {0};
    testserver_start(&f->t, NULL, tls);
    testclient_connect(f, (struct http_client_options){.tls = good});
    testclient_ask(f, &a, "GET", "/large?3000000", (str){0});
    UNTIL(&f->t, a.is_over);
    assert_true(a.is_complete && heard_is_large(&a, 3000000));
    assert_true(http_client_is_h2(f->client));
    http_client_free(f->client);
    testclient_connect(f, (struct http_client_options){.tls = bad});
    testclient_ask(f, &b, "GET", "/hello", (str){0});
    UNTIL(&f->t, b.is_over);
    assert_int_equal(b.err.code, ERR_UNAVAILABLE);
    assert_true(b.can_retry);
    http_client_free(f->client);
    f->is_gone = false;
    testclient_connect(f, (struct http_client_options){.tls = misled});
    testclient_ask(f, &c, "GET", "/hello", (str){0});
    UNTIL(&f->t, c.is_over);
    assert_int_equal(c.err.code, ERR_UNAVAILABLE);
    assert_int_equal(f->t.handled, 1);
    heard_done(&a), heard_done(&b), heard_done(&c);
    tls_unref(tls), tls_unref(good), tls_unref(bad), tls_unref(misled);
    testclient_stop(f);
}

/* Why a server is not believed is said in words that help: whom to ask, or what to change. */
static void reasons_of_distrust(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct keys ca = keys_make(&arena, &(struct keys_options){.name = "authority", .ends_in = 3600});
    struct keys other = keys_make(&arena, &(struct keys_options){.name = "authority", .ends_in = 3600});
    struct keys stranger = keys_make(&arena, &(struct keys_options){.name = "stranger", .ends_in = 3600});
    struct keys past_ca = keys_make(&arena, &(struct keys_options){.name = "past", .starts_in = -99, .ends_in = -9});
    struct keys_options good = {.name = "localhost", .by = &ca, .ends_in = 3600}, past = good, future = good,
                        client = good, of_past = good;
    past.starts_in = -7200, past.ends_in = -3600;
    future.starts_in = 1800;
    client.is_client = true;
    of_past.by = &past_ca;
    const struct {
        const struct keys_options *own;
        str ca;
        const char *name, *want;
    } rows[] = {
        {&good, stranger.certificate, "localhost", "TLS handshake: certificate signed by unknown authority"},
        {&good, other.certificate, "localhost", "TLS handshake: certificate signed by unknown authority"},
        {&good, ca.certificate, "elsewhere",
         "TLS handshake: certificate is valid for localhost, 127.0.0.1, not elsewhere"},
        {&good, ca.certificate, "127.0.0.2",
         "TLS handshake: certificate is valid for localhost, 127.0.0.1, not 127.0.0.2"},
        {&past, ca.certificate, "localhost", "TLS handshake: certificate has expired: 20"},
        {&future, ca.certificate, "localhost", "TLS handshake: certificate is not yet valid: 20"},
        {&of_past, past_ca.certificate, "localhost", "TLS handshake: certificate of its authority has expired: 20"},
        {&client, ca.certificate, "localhost", "TLS handshake: certificate may not be used for servers"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct testclient *f = calloc(1, sizeof *f);
        struct keys own = keys_make(&arena, rows[i].own);
        struct tls_server_options options = {.certificate_pem = own.certificate, .key_pem = own.key};
        struct tls_context *tls, *client_tls = client_context(rows[i].ca, str_of(rows[i].name));
        struct heard a = {0};
        struct err err;
        assert_int_equal(tls_server_new(&options, &tls, &err), 0);
        testserver_start(&f->t, NULL, tls);
        testclient_connect(f, (struct http_client_options){.tls = client_tls});
        testclient_ask(f, &a, "GET", "/hello", (str){0});
        UNTIL(&f->t, a.is_over);
        assert_int_equal(a.err.code, ERR_UNAVAILABLE);
        if (strstr(a.err.msg, rows[i].want) == NULL)
            fail_msg("row %zu: %s", i, a.err.msg);
        assert_int_equal(f->t.handled, 0);
        heard_done(&a);
        tls_unref(tls), tls_unref(client_tls);
        testclient_stop(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parallel_streams),
        cmocka_unit_test(more_calls_than_streams),
        cmocka_unit_test(paused_readers),
        cmocka_unit_test(drain_lets_calls_end),
        cmocka_unit_test(drain_frees_who_waits),
        cmocka_unit_test(drain_of_idle_connections),
        cmocka_unit_test(too_large_a_body),
        cmocka_unit_test(bodies_have_one_budget),
        cmocka_unit_test(too_large_a_head),
        cmocka_unit_test(server_without_a_sign_of_life),
        cmocka_unit_test(server_that_does_not_greet),
        cmocka_unit_test(quiet_watch),
        cmocka_unit_test(goaway_tells_what_was_taken),
        cmocka_unit_test(server_that_speaks_something_else),
        cmocka_unit_test(over_tls),
        cmocka_unit_test(reasons_of_distrust),
    };
    return cmocka_run_group_tests_name("http_client_h2", tests, NULL, NULL);
}
