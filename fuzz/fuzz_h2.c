/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may send after the preface of HTTP/2, against a server that answers at once, later, or streams. Seeds are
 * hexadecimal, so that they can be read and explained: "hex", then digits; blanks are passed over, and so is all from a #
 * to the end of its line. Anything else is taken as it is. */
#include "net/http_server.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct loop *loop;
    struct http_server *server;
    struct http_exchange *later, *watch; /* one of each is enough */
    size_t handled, gone;
};

static enum http_fill fill(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    (void)ctx;
    (void)x;
    buf_add(out, "event", room < 5 ? room : 5);
    return HTTP_WAIT;
}

static void on_gone(struct http_exchange *x)
{
    struct world *w = x->user;
    w->gone++;
    if (w->watch == x)
        w->watch = NULL;
    assert(w->later != x); /* stays until it is answered */
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct world *w = ctx;
    struct http_headers none = {0};
    w->handled++;
    x->user = w;
    x->gone = on_gone;
    assert(x->path.n > 0 && x->method.n > 0);
    if (x->path.n % 3 == 1 && w->later == NULL) {
        w->later = x;
    } else if (x->path.n % 3 == 2 && w->watch == NULL) {
        w->watch = x;
        http_stream(x, 200, none, (struct http_source){fill, NULL});
        http_forget(x);
    } else {
        http_answer(x, x->is_too_large ? 413 : 200, x->headers.n < 5 ? x->headers : none, x->body);
    }
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

static void swallow(int fd)
{
    static char bytes[1 << 16];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
}

static void start(struct world *w)
{
    struct http_server_options options = {.host = S("127.0.0.1"), .handle = handle, .ctx = w};
    options.limits = (struct http_limits){.body_bytes = 1000, .headers = 20, .streams = 10, .head_bytes = 4000};
    if (loop_new(&w->loop, NULL) < 0 || http_server_new(w->loop, &options, &w->server, NULL) < 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w;
    if (w.loop == NULL)
        start(&w);
    struct buf in = {0};
    buf_add_str(&in, S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    if (size >= 3 && memcmp(data, "hex", 3) == 0)
        decode(&in, data + 3, size - 3);
    else
        buf_add(&in, data, size);
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
        abort();
    server_welcome(w.server, fds[0], S("fuzz"), &(struct account_address){0});
    for (size_t at = 0; at < in.n;) {
        ssize_t n = send(fds[1], in.p + at, in.n - at, MSG_NOSIGNAL);
        at = n < 0 ? in.n : at + (size_t)n; /* cut off, if need be */
        loop_turn(w.loop, 0);
        loop_turn(w.loop, 0);
        swallow(fds[1]);
    }
    if (w.watch)
        http_resume(w.watch);
    loop_turn(w.loop, 0);
    swallow(fds[1]);
    if (w.later && size % 2) {
        struct http_exchange *x = w.later;
        w.later = NULL;
        http_answer(x, 200, (struct http_headers){0}, S("at last"));
    }
    loop_turn(w.loop, 0);
    (void)close(fds[1]);
    for (int i = 0; i < 5; i++)
        loop_turn(w.loop, 0);
    if (w.later) {
        struct http_exchange *x = w.later;
        w.later = NULL;
        http_answer(x, 200, (struct http_headers){0}, S("to nobody"));
        loop_turn(w.loop, 0);
        loop_turn(w.loop, 0);
    }
    struct http_server_stats stats = http_server_stats(w.server);
    assert(stats.connections == 0 && stats.exchanges == 0 && stats.body_bytes == 0);
    assert(w.handled == w.gone);
    buf_done(&in);
    return 0;
}
