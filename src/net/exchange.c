/* SPDX-License-Identifier: Apache-2.0 */
#include "net/exchange.h"

#include "net/server.h"

#include <assert.h>
#include <stdlib.h>

struct exchange *exchange_new(struct http_server *s, struct conn *c, const struct http_carrier *carrier, size_t size)
{
    assert(size >= sizeof(struct exchange));
    struct exchange *e = calloc(1, size);
    if (e == NULL)
        abort();
    e->server = s;
    e->x.carrier = carrier;
    e->x.peer = conn_peer(c);
    e->x.remote = conn_remote(c);
    e->next = s->exchanges;
    if (e->next)
        e->next->prev = e;
    s->exchanges = e;
    s->stats.exchanges++;
    return e;
}

/* ---- What requests may hold together. ---- */

static bool has_room(const struct http_server *s, size_t n)
{
    size_t held = s->stats.body_bytes + s->stats.head_bytes;
    return held < s->limits.bodies_bytes && n <= s->limits.bodies_bytes - held;
}

bool exchange_head_add(struct exchange *e, size_t n)
{
    if (!has_room(e->server, n))
        return false;
    e->head += n;
    e->server->stats.head_bytes += n;
    return true;
}

static void drop_head(struct exchange *e)
{
    if (e->server)
        e->server->stats.head_bytes -= e->head;
    e->head = 0;
}

static void drop_body(struct exchange *e)
{
    buf_done(&e->body);
    if (e->server)
        e->server->stats.body_bytes -= e->charged;
    e->charged = 0;
}

enum exchange_body exchange_body_add(struct exchange *e, str bytes)
{
    struct http_server *s = e->server;
    if (e->x.is_too_large || bytes.n > s->limits.body_bytes - e->body.n) {
        e->x.is_too_large = true;
        drop_body(e);
        return BODY_TOO_LARGE;
    }
    /* Charged is what has come, not what was announced: announcing costs a peer nothing. */
    if (!has_room(s, bytes.n)) {
        drop_body(e);
        return BODY_NO_ROOM;
    }
    buf_add_str(&e->body, bytes);
    e->charged += bytes.n;
    s->stats.body_bytes += bytes.n;
    return BODY_OK;
}

/* ---- Turns. ---- */

bool exchange_head(struct exchange *e)
{
    struct http_server *s = e->server;
    e->is_head_seen = true;
    s->stats.requests++;
    if (s->head)
        s->head(s->ctx, &e->x);
    return !e->is_answered;
}

void exchange_handle(struct exchange *e)
{
    struct http_server *s = e->server;
    e->x.body = buf_str(&e->body);
    if (e->is_head_seen || exchange_head(e))
        s->handle(s->ctx, &e->x);
}

void exchange_forget(struct http_exchange *x)
{
    assert(exchange_of(x)->is_streaming);
    drop_body(exchange_of(x));
    drop_head(exchange_of(x));
    x->method = x->path = x->query = x->body = (str){0};
    x->headers = (struct http_headers){0};
    arena_done(&x->arena);
}

/* ---- Without a peer: the answer that is still to come ends the exchange. ---- */

static void lost_answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    (void)status;
    (void)headers;
    (void)body;
    exchange_end(exchange_of(x));
}

static void lost_stream(struct http_exchange *x, int status, struct http_headers headers, struct http_source source)
{
    (void)status;
    (void)headers;
    (void)source;
    exchange_end(exchange_of(x));
}

static void lost_call(struct http_exchange *x)
{
    (void)x;
}

/* Nobody is there any more: neither peer nor session. */
static void lose(struct exchange *e)
{
    static const struct http_carrier lost = {
        .answer = lost_answer, .stream = lost_stream, .resume = lost_call, .forget = lost_call};
    static const struct tls_peer nobody = {.state = TLS_PEER_NONE};
    e->x.carrier = &lost;
    e->x.is_lost = true;
    e->x.peer = &nobody; /* fails closed, should anybody still ask */
    e->x.remote = str_dup(&e->x.arena, e->x.remote);
}

void exchange_finish(struct exchange *e)
{
    struct http_server *s = e->server;
    if (e->x.gone)
        e->x.gone(&e->x);
    drop_body(e);
    drop_head(e);
    if (s && s->exchanges == e)
        s->exchanges = e->next;
    if (e->prev)
        e->prev->next = e->next;
    if (e->next)
        e->next->prev = e->prev;
    arena_done(&e->x.arena);
    free(e);
    if (s) {
        s->stats.exchanges--;
        server_settle(s);
    }
}

static void finish(struct loop_work *w)
{
    exchange_finish((struct exchange *)((char *)w - offsetof(struct exchange, finish)));
}

void exchange_end(struct exchange *e)
{
    if (e->is_ended)
        return;
    e->is_ended = true;
    if (e->server == NULL) {
        exchange_finish(e);
        return;
    }
    lose(e);
    e->finish.fn = finish;
    loop_defer(e->server->loop, &e->finish);
}

void exchange_abandon(struct exchange *e)
{
    if (e->is_streaming)
        exchange_end(e);
    else
        lose(e);
}
