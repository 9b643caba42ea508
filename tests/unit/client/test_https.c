/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTPS transport: requests and answers, credentials, and one connection for all of it. */
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
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_h2),         cmocka_unit_test(requests_h1),
        cmocka_unit_test(requests_plain),      cmocka_unit_test(watches_share_a_connection),
        cmocka_unit_test(further_connections),
    };
    return cmocka_run_group_tests_name("https", tests, NULL, NULL);
}
