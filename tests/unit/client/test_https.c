/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS transport: requests, and the credentials they carry. */
#include "httpsworld.h"

#include <stdlib.h>
#include <string.h>

static str header_of(const struct http_exchange *x, const char *name)
{
    return http_header(x, str_of(name));
}

/* What a server sees of a request; /base/… is told apart from our own paths. */
static bool echo_head(struct testserver *t, struct http_exchange *x)
{
    if (!str_has_prefix(x->path, S("/base/")))
        return false;
    static const char *const names[] = {"User-Agent", "Accept", "Content-Type", "Authorization", "Impersonate-User"};
    struct buf b = {.arena = &x->arena};
    buf_fmt(&b, "%.*s %.*s ?%.*s", STR(x->method), STR(x->path), STR(x->query));
    for (size_t i = 0; i < COUNT(names); i++)
        buf_fmt(&b, " | %.*s", STR(header_of(x, names[i])));
    buf_fmt(&b, " | %.*s", STR(x->body));
    static const struct http_header type = {S_INIT("Content-Type"), S_INIT("application/json;x=y")};
    http_answer(x, 201, (struct http_headers){&type, 1}, buf_str(&b));
    return true;
}

static void check_requests(unsigned flags)
{
    struct httpsworld *w = httpsworld_new(flags, NULL, NULL);
    struct got a = {0}, b = {0};
    w->t.also = echo_head;
    w->config.base_path = S("/base");
    w->credentials.headers[1] = (struct http_header){S("Impersonate-User"), S("system:admin")};
    w->credentials.n_headers = 2;
    got_get(w, &a, "/api/v1/namespaces?limit=5");
    got_start(w, &b,
              (struct client_request){.method = S("PATCH"),
                                      .target = S("/x"),
                                      .accept = S("text/plain"),
                                      .content_type = S("application/apply-patch+yaml"),
                                      .body = S("{}")});
    UNTIL(&w->t, a.is_over && b.is_over);
    assert_true(got_is(&a, 201,
                       "GET /base/api/v1/namespaces ?limit=5 | reeve/1.2.3 (linux) | application/json |  | "
                       "Bearer first | system:admin | "));
    assert_true(str_eq(a.content_type, S("application/json;x=y")));
    assert_true(got_is(&b, 201,
                       "PATCH /base/x ? | reeve/1.2.3 (linux) | text/plain | application/apply-patch+yaml | "
                       "Bearer first | system:admin | {}"));
    got_done(&a), got_done(&b);
    httpsworld_free(w);
}

static void requests_h2(void **state)
{
    check_requests(0);
}

static void requests_h1(void **state)
{
    check_requests(OVER_H1);
}

static void requests_plain(void **state)
{
    check_requests(OVER_PLAIN);
}

/* ---- Credentials. ---- */

static bool demand_second(struct testserver *t, struct http_exchange *x)
{
    if (str_eq(header_of(x, "Authorization"), S("Bearer second")))
        return false;
    http_answer(x, 401, (struct http_headers){0}, S("who are you?"));
    return true;
}

static bool demand_third(struct testserver *t, struct http_exchange *x)
{
    http_answer(x, 401, (struct http_headers){0}, S("none of these"));
    return true;
}

/* A token that has gone stale is exchanged for the new one, and nobody notices. */
static void unauthorized_then_refreshed(void **state)
{
    for (unsigned over = 0; over <= OVER_H1; over++) {
        struct httpsworld *w = httpsworld_new(over, NULL, NULL);
        struct got a = {0}, b = {0}, c = {0};
        w->t.also = demand_second;
        w->credentials.has_more = true;
        got_get(w, &a, "/hello");
        got_watch(w, &b, "/watch");
        got_start(w, &c, (struct client_request){.method = S("POST"), .target = S("/echo"), .body = S("body")});
        UNTIL(&w->t, a.is_over && c.is_over && w->t.n_watches == 1);
        assert_true(got_is(&a, 200, "hello") && got_is(&c, 200, "body"));
        testserver_event(&w->t, 0, S("event"));
        UNTIL(&w->t, b.body.n);
        assert_true(str_eq(buf_str(&b.body), S("event"))); /* and nothing of the 401 */
        got_done(&a), got_done(&b), got_done(&c);
        httpsworld_free(w);
    }
}

/* Without new ones the answer is the server's. */
static void unauthorized_for_good(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0}, b = {0};
    w->t.also = demand_second;
    got_watch(w, &a, "/watch");
    UNTIL(&w->t, a.is_over);
    assert_true(got_is(&a, 401, "who are you?"));
    assert_int_equal(a.pieces, 0);
    assert_int_equal(w->credentials.refused, 1);
    assert_int_equal(w->credentials.asked, 1);
    /* New ones that are refused too: once is enough. */
    w->credentials.has_more = w->credentials.is_endless = true;
    w->t.also = demand_third;
    got_get(w, &b, "/hello");
    UNTIL(&w->t, b.is_over);
    assert_int_equal(b.status, 401);
    assert_int_equal(w->credentials.asked, 3);
    assert_int_equal(w->t.handled, 3);
    got_done(&a), got_done(&b);
    httpsworld_free(w);
}

/* A plugin takes its time: calls wait, can be given up, and run out of time. */
static void slow_credentials(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0}, b = {0}, c = {0};
    w->credentials.is_slow = true;
    got_get(w, &a, "/hello");
    got_get(w, &b, "/hello");
    got_start(w, &c, (struct client_request){.method = S("GET"), .target = S("/hello"), .total_ns = 1000000000});
    testserver_settle(&w->t);
    assert_int_equal(https_stats(w->transport).connections, 0);
    got_cancel(&b);
    httpsworld_pass(w, 2);
    assert_true(c.is_over && !a.is_over);
    assert_int_equal(c.err.code, ERR_TIMEOUT);
    assert_true(c.can_retry);
    fake_credentials_come(w);
    UNTIL(&w->t, a.is_over);
    assert_true(got_is(&a, 200, "hello"));
    assert_int_equal(w->t.handled, 1);
    got_done(&a), got_done(&b), got_done(&c);
    httpsworld_free(w);
}

static void broken_credentials(void **state)
{
    struct httpsworld *w = httpsworld_new(0, NULL, NULL);
    struct got a = {0}, b = {0}, c = {0};
    w->credentials.is_broken = true;
    got_get(w, &a, "/hello");
    UNTIL(&w->t, a.is_over);
    assert_int_equal(a.err.code, ERR_UNAUTHORIZED);
    assert_string_equal(a.err.msg, "the plugin gave nothing");
    /* A token that would be two headers goes nowhere, and is not shown. */
    w->credentials.is_broken = false;
    w->credentials.headers[0].value = S("Bearer hush\r\nImpersonate-User: admin");
    got_get(w, &b, "/hello");
    UNTIL(&w->t, b.is_over);
    assert_int_equal(b.err.code, ERR_INVALID);
    assert_null(strstr(b.err.msg, "hush"));
    /* TLS that is missing is not done without. */
    tls_unref(w->credentials.tls);
    w->credentials.tls = NULL;
    w->credentials.headers[0].value = S("Bearer hush");
    got_get(w, &c, "/hello");
    UNTIL(&w->t, c.is_over);
    assert_int_equal(c.err.code, ERR_INTERNAL);
    assert_int_equal(https_stats(w->transport).opened, 0);
    got_done(&a), got_done(&b), got_done(&c);
    httpsworld_free(w);
}

/* ---- On behalf of somebody. ---- */

#define ACCOUNT "system:serviceaccount:app:deployer"

static void acts_for_others(void **state)
{
    struct httpsworld *w = httpsworld_new(OVER_PLAIN, NULL, NULL);
    struct client_request request = {.method = S("GET"), .target = S("/x"), .as = S(ACCOUNT)};
    struct got a = {0}, b = {0}, c = {0};
    w->t.also = echo_head;
    w->config.base_path = S("/base");
    got_start(w, &a, request);
    got_get(w, &b, "/x");
    UNTIL(&w->t, a.is_over && b.is_over);
    assert_true(
        got_is(&a, 201, "GET /base/x ? | reeve/1.2.3 (linux) | application/json |  | Bearer first | " ACCOUNT " | "));
    assert_true(got_is(&b, 201, "GET /base/x ? | reeve/1.2.3 (linux) | application/json |  | Bearer first |  | "));
    request.as = S("jane\r\nImpersonate-Group: system:masters");
    got_start(w, &c, request);
    UNTIL(&w->t, c.is_over);
    assert_int_equal(c.err.code, ERR_INVALID);
    got_done(&a), got_done(&b), got_done(&c);
    httpsworld_free(w);
}

/* A server takes the first of two; whoever it is, it is not the one who was meant. */
static void acts_for_one_alone(void **state)
{
    struct httpsworld *w = httpsworld_new(OVER_PLAIN, NULL, NULL);
    struct got a = {0};
    w->t.also = echo_head;
    w->config.as.user = S("system:admin");
    got_start(w, &a, (struct client_request){.method = S("GET"), .target = S("/base/x"), .as = S(ACCOUNT)});
    UNTIL(&w->t, a.is_over);
    assert_int_equal(a.err.code, ERR_INVALID);
    assert_string_equal(a.err.msg, "who acts for system:admin cannot act for " ACCOUNT);
    assert_false(a.can_retry);
    got_done(&a);
    httpsworld_free(w);
}

/* ---- Requests that cannot be. ---- */

static void bad_requests(void **state)
{
    struct httpsworld *w = httpsworld_new(OVER_PLAIN, NULL, NULL);
    static const char *const targets[] = {"/a b", "/a\r\nX: y", "/a HTTP/1.1\r\nHost: x\r\n\r\nGET /b"};
    struct got a = {0};
    for (size_t i = 0; i < 3; i++) {
        got_get(w, &a, targets[i]);
        UNTIL(&w->t, a.is_over);
        assert_int_equal(a.err.code, ERR_INVALID);
        got_done(&a);
    }
    struct client_config config = {.host = {0}};
    struct transport *none;
    struct err err;
    assert_int_equal(https_new(w->t.loop, &config, &(struct https_options){0}, &none, &err), ERR_INVALID);
    httpsworld_free(w);
}

/* Who has to wait is not let in without end. */
static void too_many_wait(void **state)
{
    struct https_options options = {.waiting = 3};
    struct httpsworld *w = httpsworld_new(0, NULL, &options);
    struct got g[4] = {0};
    for (size_t i = 0; i < 4; i++)
        got_get(w, &g[i], "/hello");
    for (size_t i = 0; i < 4; i++)
        UNTIL(&w->t, g[i].is_over);
    for (size_t i = 0; i < 3; i++)
        assert_true(got_is(&g[i], 200, "hello"));
    assert_int_equal(g[3].err.code, ERR_UNAVAILABLE);
    assert_true(g[3].can_retry);
    for (size_t i = 0; i < 4; i++)
        got_done(&g[i]);
    httpsworld_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_h2),           cmocka_unit_test(requests_h1),
        cmocka_unit_test(requests_plain),        cmocka_unit_test(unauthorized_then_refreshed),
        cmocka_unit_test(unauthorized_for_good), cmocka_unit_test(slow_credentials),
        cmocka_unit_test(broken_credentials),    cmocka_unit_test(acts_for_others),
        cmocka_unit_test(acts_for_one_alone),    cmocka_unit_test(bad_requests),
        cmocka_unit_test(too_many_wait),
    };
    return cmocka_run_group_tests_name("https", tests, NULL, NULL);
}
