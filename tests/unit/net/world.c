/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
/* After those it needs. */
#include <cmocka.h>

/* ---- The handler. ---- */

static void on_gone(struct http_exchange *x)
{
    struct world *w = x->user;
    w->gone++;
    if (w->watching == x)
        w->watching = NULL;
}

static enum http_fill fill_bytes(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    size_t *left = ctx;
    struct world *w = x->user;
    char piece[1000];
    size_t n = room < sizeof piece ? room : sizeof piece;
    n = *left < n ? *left : n;
    memset(piece, 'x', sizeof piece);
    buf_add(out, piece, n);
    *left -= n;
    w->filled += n;
    return *left ? HTTP_MORE : HTTP_END;
}

static enum http_fill fill_events(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct world *w = ctx;
    (void)x;
    size_t n = w->events.n < room ? w->events.n : room;
    if (n)
        buf_add(out, w->events.p, n);
    if (n < w->events.n)
        memmove(w->events.p, w->events.p + n, w->events.n - n);
    w->events.n -= n;
    if (w->events.n)
        return HTTP_MORE;
    return w->are_events_over ? HTTP_END : HTTP_WAIT;
}

static enum http_fill fill_abort(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct world *w = x->user;
    (void)ctx;
    (void)room;
    if (w->filled++)
        return HTTP_ABORT;
    buf_add_str(out, S("half of it"));
    return HTTP_MORE;
}

static void remember_peer(struct world *w, const struct http_exchange *x)
{
    w->peer_state = x->peer->state;
    w->peer_der = str_dup(&w->arena, x->peer->der);
    w->peer_not_after = x->peer->not_after;
}

static void echo(struct http_exchange *x)
{
    static const struct http_header plain = {S_INIT("Content-Type"), S_INIT("text/plain")};
    struct http_headers headers = {&plain, 1};
    if (x->is_too_large)
        http_answer(x, 413, headers, S("too large"));
    else
        http_answer(x, 200, headers,
                    str_fmt(&x->arena, "%.*s %.*s?%.*s %zu", STR(x->method), STR(x->path), STR(x->query), x->body.n));
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct world *w = ctx;
    x->user = w;
    x->gone = on_gone;
    w->handled++;
    remember_peer(w, x);
    if (str_eq(x->path, S("/later"))) {
        w->later[w->n_later++ % 16] = x;
    } else if (str_eq(x->path, S("/bytes"))) {
        uint64_t n = 0;
        str_to_uint64(x->query, &n);
        size_t *left = ARENA_NEW(&x->arena, size_t);
        *left = (size_t)n;
        http_stream(x, 200, (struct http_headers){0}, (struct http_source){fill_bytes, left});
    } else if (str_eq(x->path, S("/events"))) {
        w->watching = x;
        http_stream(x, 200, (struct http_headers){0}, (struct http_source){fill_events, w});
        http_forget(x);
    } else if (str_eq(x->path, S("/abort"))) {
        http_stream(x, 200, (struct http_headers){0}, (struct http_source){fill_abort, w});
    } else if (str_eq(x->path, S("/header"))) {
        const struct http_header evil = {S("Warning"), S("a\r\nEvil: yes\n")};
        http_answer(x, 200, (struct http_headers){&evil, 1}, S("ok"));
    } else {
        echo(x);
    }
}

/* ---- The world. ---- */

struct world *world_new(const struct http_limits *limits, const struct tls_server_options *tls)
{
    struct err err = {0};
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    assert_int_equal(loop_new(&w->loop, &err), 0);
    if (tls && tls_server_new(tls, &w->tls, &err) < 0)
        fail_msg("%s", err.msg);
    struct http_server_options o = {.host = S("127.0.0.1"), .tls = w->tls, .handle = handle, .ctx = w};
    if (limits)
        o.limits = *limits;
    if (http_server_new(w->loop, &o, &w->server, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_not_equal(http_server_port(w->server), 0);
    return w;
}

void world_free(struct world *w)
{
    http_server_free(w->server);
    tls_unref(w->tls);
    loop_free(w->loop);
    buf_done(&w->events);
    arena_done(&w->arena);
    free(w);
}

void world_until(struct world *w, bool (*cond)(void *ctx), void *ctx, const char *what)
{
    int64_t end = clock_mono_ns(&clock_system) + WORLD_PATIENCE;
    while (!cond(ctx)) {
        if (clock_mono_ns(&clock_system) > end)
            fail_msg("waited in vain for %s", what);
        loop_turn(w->loop, MS);
    }
}

struct count {
    struct world *w;
    size_t n;
};

static bool has_connections(void *ctx)
{
    struct count *c = ctx;
    return http_server_stats(c->w->server).connections == c->n;
}

void world_until_connections(struct world *w, size_t n)
{
    struct count c = {w, n};
    world_until(w, has_connections, &c, "the number of connections");
}

static bool has_later(void *ctx)
{
    struct count *c = ctx;
    return c->w->n_later == c->n;
}

void world_until_later(struct world *w, size_t n)
{
    struct count c = {w, n};
    world_until(w, has_later, &c, "a request");
}

void world_settle(struct world *w)
{
    for (int i = 0; i < 20; i++)
        loop_turn(w->loop, 0);
}

/* ---- Peers. ---- */

struct peer *peer_new(struct world *w)
{
    struct peer *p = calloc(1, sizeof *p);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(http_server_port(w->server))};
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_non_null(p);
    p->w = w;
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(p->fd, (struct sockaddr *)&sa, sizeof sa), 0); /* the kernel accepts for the server */
    assert_int_equal(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
    return p;
}

void peer_free(struct peer *p)
{
    SSL_free(p->ssl);
    SSL_CTX_free(p->ctx);
    if (p->fd >= 0)
        (void)close(p->fd);
    buf_done(&p->got);
    free(p);
}

/* What came of a call: true when it is to be tried again. */
static bool is_again(struct peer *p, ssize_t n)
{
    if (p->ssl) {
        int why = SSL_get_error(p->ssl, (int)n);
        if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
            return true;
        p->is_reset = why != SSL_ERROR_ZERO_RETURN;
    } else {
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return true;
        p->is_reset = n < 0;
    }
    p->is_over = true;
    return false;
}

static void give(SSL_CTX *ctx, str ca, const struct keys *keys)
{
    BIO *b = BIO_new_mem_buf(ca.p, (int)ca.n);
    X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), x);
    X509_free(x);
    BIO_free(b);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (keys == NULL)
        return;
    BIO *c = BIO_new_mem_buf(keys->certificate.p, (int)keys->certificate.n);
    BIO *k = BIO_new_mem_buf(keys->key.p, (int)keys->key.n);
    X509 *own = PEM_read_bio_X509(c, NULL, NULL, NULL);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(k, NULL, NULL, NULL);
    assert_int_equal(SSL_CTX_use_certificate(ctx, own), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
    X509_free(own);
    EVP_PKEY_free(key);
    BIO_free(c);
    BIO_free(k);
}

static bool has_shaken(void *ctx)
{
    struct peer *p = ctx;
    ERR_clear_error();
    int rc = p->is_over ? 1 : SSL_connect(p->ssl);
    return rc == 1 || !is_again(p, rc);
}

struct peer *peer_new_tls(struct world *w, str ca, const struct keys *keys, int max_version)
{
    struct peer *p = peer_new(w);
    p->ctx = SSL_CTX_new(TLS_client_method());
    if (max_version) {
        SSL_CTX_set_min_proto_version(p->ctx, 0);
        SSL_CTX_set_security_level(p->ctx, 0);
        SSL_CTX_set_max_proto_version(p->ctx, max_version);
    }
    give(p->ctx, ca, keys);
    SSL_CTX_set_alpn_protos(p->ctx, (const unsigned char *)"\x08http/1.1", 9);
    p->ssl = SSL_new(p->ctx);
    SSL_set_fd(p->ssl, p->fd);
    world_until(w, has_shaken, p, "a handshake");
    return p;
}

static void peer_read(struct peer *p)
{
    char piece[4096];
    while (!p->is_over && !p->is_deaf) {
        ERR_clear_error();
        ssize_t n = p->ssl ? SSL_read(p->ssl, piece, sizeof piece) : recv(p->fd, piece, sizeof piece, 0);
        if (n > 0)
            buf_add(&p->got, piece, (size_t)n);
        else if (is_again(p, n))
            return;
    }
}

struct sending {
    struct peer *p;
    str left;
};

static bool has_sent(void *ctx)
{
    struct sending *s = ctx;
    if (s->left.n == 0 || s->p->is_over)
        return true;
    ERR_clear_error();
    ssize_t n = s->p->ssl ? SSL_write(s->p->ssl, s->left.p, (int)s->left.n)
                          : send(s->p->fd, s->left.p, s->left.n, MSG_NOSIGNAL);
    if (n > 0)
        s->left = str_from(s->left, (size_t)n);
    else if (!is_again(s->p, n))
        s->p->is_over = false; /* there may be something to read all the same */
    else
        return false;
    return n <= 0 || s->left.n == 0;
}

void peer_send(struct peer *p, str bytes)
{
    struct sending s = {p, bytes};
    world_until(p->w, has_sent, &s, "the server to read");
}

void peer_end(struct peer *p)
{
    if (p->ssl)
        SSL_shutdown(p->ssl);
    shutdown(p->fd, SHUT_WR);
}

struct wish {
    struct peer *p;
    str text;
    size_t end;
};

static bool has_come(void *ctx)
{
    struct wish *w = ctx;
    peer_read(w->p);
    ptrdiff_t at = str_find(buf_str(&w->p->got), w->text);
    if (at >= 0)
        w->end = (size_t)at + w->text.n;
    return at >= 0 || w->p->is_over;
}

/* The first n bytes of what was received. */
static str take(struct peer *p, size_t n)
{
    str s = str_dup(&p->w->arena, (str){p->got.p, n});
    p->got.n -= n;
    if (p->got.n)
        memmove(p->got.p, p->got.p + n, p->got.n);
    return s;
}

str peer_expect(struct peer *p, str text)
{
    struct wish w = {.p = p, .text = text};
    world_until(p->w, has_come, &w, str_cstr(&p->w->arena, text));
    if (w.end == 0)
        fail_msg("the end came instead of \"%.*s\", after \"%.*s\"", STR(text), STR(buf_str(&p->got)));
    return take(p, w.end);
}

static bool has_bytes(void *ctx)
{
    struct wish *w = ctx;
    peer_read(w->p);
    return w->p->got.n >= w->end || w->p->is_over;
}

str peer_answer(struct peer *p, int status)
{
    str head = peer_expect(p, S("\r\n\r\n"));
    str start = str_fmt(&p->w->arena, "HTTP/1.1 %d ", status);
    if (!str_has_prefix(head, start))
        fail_msg("expected %d, got \"%.*s\"", status, STR(head));
    uint64_t n = 0;
    ptrdiff_t at = str_find(head, S("Content-Length: "));
    assert_true(at >= 0);
    str value, rest;
    assert_true(str_cut(str_from(head, (size_t)at + 16), '\r', &value, &rest));
    assert_true(str_to_uint64(value, &n));
    struct wish w = {.p = p, .end = (size_t)n};
    world_until(p->w, has_bytes, &w, "a body");
    assert_true(p->got.n >= n);
    return n ? take(p, (size_t)n) : (str){0};
}

static bool is_over(void *ctx)
{
    struct peer *p = ctx;
    peer_read(p);
    return p->is_over;
}

void peer_until_over(struct peer *p)
{
    world_until(p->w, is_over, p, "the end of the connection");
}
