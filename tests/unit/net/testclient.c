/* SPDX-License-Identifier: Apache-2.0 */
#include "testclient.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

static void on_head(void *ctx, struct http_call *call, int status, struct http_headers headers)
{
    struct heard *h = ctx;
    assert_ptr_equal(h->call, call);
    assert_int_equal(h->status, 0);
    h->status = status;
    for (size_t i = 0; i < headers.n; i++)
        if (http_name_eq(headers.p[i].name, S("Content-Type")))
            h->content_type = str_dup(&h->arena, headers.p[i].value);
}

static void on_data(void *ctx, struct http_call *call, str bytes)
{
    struct heard *h = ctx;
    assert_ptr_equal(h->call, call);
    assert_true(bytes.n > 0);
    assert_true(h->status > 0);
    buf_add_str(&h->body, bytes);
    h->pieces++;
    if (h->pause_after && h->body.n >= h->pause_after)
        http_call_pause(call);
    if (h->cancels) {
        h->call = NULL;
        http_call_cancel(call);
    }
    if (h->frees)
        http_client_free(h->frees);
}

static void on_end(void *ctx, struct http_call *call, const struct err *err, bool can_retry)
{
    struct heard *h = ctx;
    assert_ptr_equal(h->call, call);
    assert_false(h->is_over);
    h->call = NULL;
    h->is_over = true;
    h->is_complete = err == NULL;
    h->can_retry = can_retry;
    if (err)
        h->err = *err;
}

const struct http_listener testclient_listener = {on_head, on_data, on_end};

void testclient_ask(struct testclient *f, struct heard *h, const char *method, const char *target, str body)
{
    static const struct http_header headers[] = {{S_INIT("X-Test"), S_INIT("yes")}};
    struct http_request r = {.method = str_of(method), .target = str_of(target), .headers = {headers, 1}, .body = body};
    *h = (struct heard){.pause_after = h->pause_after, .cancels = h->cancels, .frees = h->frees};
    h->call = http_call_new(f->client, &r, &testclient_listener, h);
}

void heard_done(struct heard *h)
{
    buf_done(&h->body);
    arena_done(&h->arena);
}

static void on_client_ready(void *ctx)
{
    struct testclient *f = ctx;
    f->n_ready++;
}

static void on_client_gone(void *ctx, const struct err *why)
{
    struct testclient *f = ctx;
    assert_false(f->is_gone);
    f->is_gone = true;
    if (why)
        f->why = *why;
}

void testclient_connect(struct testclient *f, struct http_client_options options)
{
    struct err err;
    options.host = S("127.0.0.1");
    options.port = f->t.port;
    options.is_h2 = f->is_h2;
    options.ready = on_client_ready;
    options.gone = on_client_gone;
    options.ctx = f;
    assert_int_equal(http_client_new(f->t.loop, &options, &f->client, &err), 0);
}

struct testclient *testclient_start(bool is_h2, const struct http_limits *limits)
{
    struct testclient *f = calloc(1, sizeof *f);
    f->is_h2 = is_h2;
    testserver_start(&f->t, limits, NULL);
    testclient_connect(f, (struct http_client_options){0});
    return f;
}

void testclient_stop(struct testclient *f)
{
    http_client_free(f->client);
    testserver_settle(&f->t);
    testserver_stop(&f->t);
    free(f);
}

int testclient_listen_instead(struct testclient *f)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    http_client_free(f->client);
    f->client = NULL;
    f->t.port = ntohs(a.sin_port);
    return fd;
}

bool heard_is(const struct heard *h, const char *text)
{
    return str_eq(buf_str(&h->body), str_of(text));
}

bool heard_is_large(const struct heard *h, size_t n)
{
    if (h->body.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (h->body.p[i] != testserver_byte(i))
            return false;
    return true;
}
