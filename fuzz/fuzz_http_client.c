/* SPDX-License-Identifier: Apache-2.0 */
/* What a server may send to our client, over HTTP/1.1 and HTTP/2: three calls are made, one of which has a body larger than the
 * first window and one of which is cancelled in the middle. Seeds for HTTP/2 are hexadecimal, so that they can be read and
 * explained: "hex", then digits; blanks are passed over, and so is all from a # to the end of its line. Anything else is
 * what a server of HTTP/1.1 says. */
#include "net/http_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS = 3 };

struct call {
    struct http_call *http; /* NULL: over */
    bool has_head, is_cancelled;
};

struct world {
    struct loop *loop;
    int listener;
    uint16_t port;
    bool is_gone;
};

static void on_head(void *ctx, struct http_call *http, int status, struct http_headers headers)
{
    struct call *call = ctx;
    assert(call->http == http && !call->has_head && status >= 200 && status <= 999);
    call->has_head = true;
    for (size_t i = 0; i < headers.n; i++)
        assert(headers.p[i].name.n > 0);
}

static void on_data(void *ctx, struct http_call *http, str bytes)
{
    struct call *call = ctx;
    assert(call->http == http && call->has_head && bytes.n > 0);
    if (bytes.p[0] == 'p')
        http_call_pause(http);
    if (bytes.p[0] != 'c')
        return;
    call->is_cancelled = true;
    call->http = NULL;
    http_call_cancel(http);
}

static void on_end(void *ctx, struct http_call *http, const struct err *err, bool can_retry)
{
    struct call *call = ctx;
    assert(call->http == http && !call->is_cancelled);
    assert(err || call->has_head); /* complete: there was an answer */
    assert(err || !can_retry);
    call->http = NULL;
}

static void on_gone(void *ctx, const struct err *why)
{
    struct world *w = ctx;
    (void)why;
    assert(!w->is_gone);
    w->is_gone = true;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void decode(struct buf *to, const uint8_t *p, size_t n)
{
    int high = -1;
    bool is_comment = false;
    for (size_t i = 0; i < n; i++) {
        is_comment = p[i] == '#' || (is_comment && p[i] != '\n');
        int digit = is_comment ? -1 : hex_digit(p[i]);
        if (digit >= 0 && high >= 0)
            buf_add_char(to, (char)(high * 16 + digit));
        if (digit >= 0)
            high = high >= 0 ? -1 : digit;
    }
}

static void start(struct world *w)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    w->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (w->listener < 0 || bind(w->listener, (struct sockaddr *)&a, n) < 0 || listen(w->listener, 5) < 0 ||
        getsockname(w->listener, (struct sockaddr *)&a, &n) < 0 || loop_new(&w->loop, NULL) < 0)
        abort();
    w->port = ntohs(a.sin_port);
}

static void turn(struct world *w, int times)
{
    while (times-- > 0)
        loop_turn(w->loop, 0);
}

/* The server's side: says its part while it reads what comes, then is gone; with a reset, which leaves no port in use. */
static void serve(struct world *w, str says)
{
    static char bytes[1 << 16];
    static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    turn(w, 2);
    int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        abort();
    for (size_t at = 0; at < says.n;) {
        turn(w, 3);
        while (recv(fd, bytes, sizeof bytes, 0) > 0)
            continue;
        ssize_t n = send(fd, says.p + at, says.n - at, MSG_NOSIGNAL);
        at = n < 0 ? says.n : at + (size_t)n; /* cut off, if need be */
    }
    turn(w, 5);
    (void)shutdown(fd, SHUT_WR);
    turn(w, 5);
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    static const struct http_listener listener = {.head = on_head, .data = on_data, .end = on_end};
    static char body[100000];
    if (w.loop == NULL)
        start(&w);
    bool is_h2 = size >= 3 && memcmp(data, "hex", 3) == 0;
    struct buf says = {0};
    if (is_h2)
        decode(&says, data + 3, size - 3);
    else
        buf_add(&says, data, size);
    struct http_client *client;
    struct http_client_options options = {
        .host = S("127.0.0.1"), .port = w.port, .is_h2 = is_h2, .head_bytes = 4000, .gone = on_gone, .ctx = &w};
    w.is_gone = false;
    if (http_client_new(w.loop, &options, &client, NULL) < 0)
        abort();
    struct call calls[CALLS] = {0};
    for (size_t i = 0; i < CALLS; i++) {
        struct http_request r = {.method = i == 1 ? S("POST") : S("GET"), .target = S("/")};
        if (i == 1)
            r.body = (str){body, sizeof body};
        calls[i].http = http_call_new(client, &r, &listener, &calls[i]);
    }
    serve(&w, buf_str(&says));
    for (int i = 0; i < 1000 && !w.is_gone; i++)
        loop_turn(w.loop, 1000000);
    assert(w.is_gone);
    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].http)
            http_call_resume(calls[i].http);
    turn(&w, 3);
    http_client_free(client);
    turn(&w, 2);
    buf_done(&says);
    return 0;
}
