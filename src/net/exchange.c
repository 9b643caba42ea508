/* SPDX-License-Identifier: Apache-2.0 */
#include "net/exchange.h"

#include "net/http_server.h"

#include <assert.h>
#include <stdlib.h>

struct exchange *exchange_new(struct account *a, struct conn *c, const struct http_carrier *carrier, size_t size)
{
    struct http_server *s = a->server;
    assert(size >= sizeof(struct exchange));
    struct exchange *e = xcalloc(1, size);
    e->server = s;
    e->account = a;
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

bool exchange_head_add(struct exchange *e, size_t n)
{
    if (!account_take_request(e->account, n))
        return false;
    e->head += n;
    e->server->stats.head_bytes += n;
    return true;
}

static void drop_head(struct exchange *e)
{
    if (e->server && e->head) {
        e->server->stats.head_bytes -= e->head;
        account_give_request(e->account, e->head);
    }
    e->head = 0;
}

static void drop_body(struct exchange *e)
{
    buf_done(&e->body);
    if (e->server && e->charged) {
        e->server->stats.body_bytes -= e->charged;
        account_give_request(e->account, e->charged);
    }
    e->charged = 0;
}

size_t exchange_body_limit(const struct exchange *e)
{
    const struct http_limits *l = &e->server->limits;
    size_t unknown = l->unknown_bytes / 2;
    return e->account->is_known || l->body_bytes < unknown ? l->body_bytes : unknown;
}

int64_t exchange_body_deadline(const struct exchange *e, int64_t now)
{
    const struct http_limits *l = &e->server->limits;
    int64_t at = now + l->body_ns, whole = e->body_since + l->body_all_ns;
    int64_t due = e->body_since + l->body_grace_ns + (int64_t)(e->body.n / l->body_rate) * NS_PER_S;
    at = whole < at ? whole : at;
    return due < at ? due : at;
}

enum exchange_body exchange_body_add(struct exchange *e, str bytes)
{
    struct http_server *s = e->server;
    if (e->x.is_too_large || bytes.n > exchange_body_limit(e) - e->body.n) {
        e->x.is_too_large = true;
        drop_body(e);
        return BODY_TOO_LARGE;
    }
    /* Charged is what has come, not what was announced: announcing costs a peer nothing. */
    if (!account_take_request(e->account, bytes.n)) {
        drop_body(e);
        return BODY_NO_ROOM;
    }
    buf_add_str(&e->body, bytes);
    e->charged += bytes.n;
    s->stats.body_bytes += bytes.n;
    return BODY_OK;
}

/* ---- Long answers. ---- */

struct shared_text *shared_text_ref(struct http_server *s, str bytes)
{
    struct shared_text *t = map_get(&s->texts, bytes);
    if (t == NULL) {
        t = xmalloc(sizeof *t + bytes.n);
        *t = (struct shared_text){.server = s, .n = bytes.n};
        memcpy(t->p, bytes.p, bytes.n);
        map_set(&s->texts, (str){t->p, t->n}, t);
        s->stats.shared_bytes += t->n;
    }
    t->refs++;
    return t;
}

void shared_text_unref(struct shared_text *t)
{
    if (t == NULL || --t->refs > 0)
        return;
    map_del(&t->server->texts, (str){t->p, t->n});
    t->server->stats.shared_bytes -= t->n;
    free(t);
}

/* ---- Turns. ---- */

bool exchange_head(struct exchange *e)
{
    struct http_server *s = e->server;
    struct account *a = e->account; /* of the connection, whatever becomes of the exchange */
    e->is_head_seen = true;
    e->body_since = loop_now(s->loop);
    s->stats.requests++;
    if (s->head)
        s->head(s->ctx, &e->x);
    if (e->x.is_known)
        account_set_known(a);
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

static bool lost_resume(struct http_exchange *x)
{
    (void)x;
    return false;
}

static void lost_forget(struct http_exchange *x)
{
    (void)x;
}

/* Nobody is there any more: neither peer nor session. */
static void lose(struct exchange *e)
{
    static const struct http_carrier lost = {
        .answer = lost_answer, .stream = lost_stream, .resume = lost_resume, .forget = lost_forget};
    static const struct tls_peer nobody = {.state = TLS_PEER_NONE};
    e->x.carrier = &lost;
    e->x.is_abandoned = true;
    e->x.peer = &nobody; /* fails closed, should anybody still ask */
    e->x.remote = str_dup(&e->x.arena, e->x.remote);
    if (e->server == NULL)
        return;
    account_give_request(e->account, e->head + e->charged);
    e->account = &e->server->orphans;
    e->account->requests += e->head + e->charged;
    e->server->accounts.known_requests += e->head + e->charged; /* whether there is room or not */
}

static void release(struct exchange *e)
{
    if (e->is_released)
        return;
    e->is_released = true;
    if (e->x.gone)
        e->x.gone(&e->x);
    drop_body(e);
    drop_head(e);
    arena_done(&e->x.arena);
}

void exchange_finish(struct exchange *e)
{
    struct http_server *s = e->server;
    release(e);
    if (s && s->exchanges == e)
        s->exchanges = e->next;
    if (e->prev)
        e->prev->next = e->next;
    if (e->next)
        e->next->prev = e->prev;
    free(e);
    if (s) {
        s->stats.exchanges--;
        server_settle(s);
    }
}

static void finish(struct loop_work *w)
{
    struct exchange *e = (struct exchange *)((char *)w - offsetof(struct exchange, finish));
    e->is_release_queued = false;
    if (e->is_ended)
        exchange_finish(e);
    else
        release(e);
}

static void queue_release(struct exchange *e)
{
    if (e->is_release_queued)
        return;
    e->is_release_queued = true;
    e->finish.fn = finish;
    loop_defer(e->server->loop, &e->finish);
}

void exchange_answered(struct exchange *e)
{
    queue_release(e);
}

void exchange_end(struct exchange *e)
{
    if (e->is_ended)
        return;
    e->is_ended = true;
    if (e->server == NULL || e->is_released) {
        exchange_finish(e);
        return;
    }
    lose(e);
    queue_release(e);
}

void exchange_abandon(struct exchange *e)
{
    if (e->is_streaming)
        exchange_end(e);
    else
        lose(e);
}
