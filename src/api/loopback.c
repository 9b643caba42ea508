/* SPDX-License-Identifier: Apache-2.0 */
#include "api/loopback.h"

#include <assert.h>
#include <stdlib.h>

#include "api/pipeline.h"

/* One call: an exchange whose carrier is this file instead of a socket. */
struct loopback {
    struct http_exchange x;
    struct loopback_call call;
    struct api *api;
    struct loopback *next, **link; /* among the streams of the server */
    struct loop_work pump;
    struct http_source source;
    struct buf body;
    int status;
    bool is_entering; /* inside loopback_start: the caller does not have the handle yet */
    bool is_streaming, is_over, is_cancelled, is_delivered;
    bool is_waiting; /* for its pump, which is deferred */
    bool is_pumping;
};

enum { ROOM = 64 * 1024 };

static const struct tls_peer nobody = {TLS_PEER_NONE, {0}, 0};

static struct loopback *of_exchange(struct http_exchange *x)
{
    return (struct loopback *)((char *)x - offsetof(struct loopback, x));
}

static void release(struct loopback *l)
{
    if (!l->is_over || l->is_pumping || l->is_entering)
        return;
    if (l->is_waiting)
        loop_defer_cancel(l->api->options.loop, &l->pump);
    if (l->link) {
        *l->link = l->next;
        if (l->next)
            l->next->link = l->link;
    }
    if (l->x.gone)
        l->x.gone(&l->x);
    buf_done(&l->body);
    arena_done(&l->x.arena);
    free(l);
}

static void deliver(struct loopback *l, int status, struct http_headers headers, str body)
{
    l->is_over = true;
    if (!l->is_cancelled && !l->is_delivered) {
        l->is_delivered = true;
        l->call.done(l->call.ctx, status, headers, body);
    }
}

static void answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    struct loopback *l = of_exchange(x);
    deliver(l, status, headers, body);
    release(l);
}

static bool resume(struct http_exchange *x);

/* One piece in one turn of the loop: a list of thousands of objects does not keep others waiting. */
static void pump(struct loop_work *w)
{
    struct loopback *l = (struct loopback *)((char *)w - offsetof(struct loopback, pump));
    enum http_fill fill = HTTP_WAIT;
    l->is_waiting = false;
    l->is_pumping = true;
    if (!l->is_over)
        fill = l->source.fill(l->source.ctx, &l->x, &l->body, ROOM);
    if (l->call.piece && l->body.n && !l->is_cancelled)
        l->call.piece(l->call.ctx, buf_str(&l->body));
    if (l->call.piece)
        buf_done(&l->body); /* most watches say next to nothing for most of the time */
    l->is_pumping = false;
    if (l->is_over) {
        release(l);
    } else if (fill == HTTP_MORE) {
        resume(&l->x);
    } else if (fill == HTTP_END || fill == HTTP_ABORT) {
        deliver(l, fill == HTTP_END ? l->status : 0, (struct http_headers){0}, buf_str(&l->body));
        release(l);
    }
}

static bool resume(struct http_exchange *x)
{
    struct loopback *l = of_exchange(x);
    if (!l->is_streaming || l->is_waiting || l->is_over)
        return false;
    l->is_waiting = true;
    l->pump.fn = pump;
    loop_defer(l->api->options.loop, &l->pump);
    return true;
}

static void stream(struct http_exchange *x, int status, struct http_headers headers, struct http_source source)
{
    struct loopback *l = of_exchange(x);
    (void)headers;
    l->is_streaming = true;
    l->status = status;
    l->source = source;
    l->next = l->api->loopbacks;
    l->link = &l->api->loopbacks;
    if (l->next)
        l->next->link = &l->next;
    l->api->loopbacks = l;
    resume(x);
    l->is_over =
        l->is_cancelled; /* while it waited for something: the pump finds that nobody listens, and lets it go */
}

static void forget(struct http_exchange *x)
{
    x->method = x->path = x->query = x->body = (str){0};
    x->headers = (struct http_headers){0};
    arena_done(&x->arena);
}

static const struct http_carrier carrier = {.answer = answer, .stream = stream, .resume = resume, .forget = forget};

static struct strs dup_strs(struct arena *a, struct strs list)
{
    str *p = ARENA_ARRAY(a, str, list.n);
    for (size_t i = 0; i < list.n; i++)
        p[i] = str_dup(a, list.p[i]);
    return (struct strs){p, list.n};
}

static const struct rules *dup_rules(struct arena *a, const struct rules *rules)
{
    struct rules *copy = ARENA_NEW(a, struct rules);
    *copy = rules_dup(a, *rules);
    return copy;
}

struct authz_identity loopback_dup_identity(struct arena *a, const struct authz_identity *who)
{
    struct authz_extra *extra = ARENA_ARRAY(a, struct authz_extra, who->n_extra);
    for (size_t i = 0; i < who->n_extra; i++)
        extra[i] = (struct authz_extra){str_dup(a, who->extra[i].key), dup_strs(a, who->extra[i].values)};
    return (struct authz_identity){.user = str_dup(a, who->user),
                                   .groups = dup_strs(a, who->groups),
                                   .uid = str_dup(a, who->uid),
                                   .extra = extra,
                                   .n_extra = who->n_extra,
                                   .only = who->only ? dup_rules(a, who->only) : NULL};
}

static struct http_headers make_headers(struct arena *a, const struct loopback_call *call)
{
    struct http_header *p = ARENA_ARRAY(a, struct http_header, call->headers.n + 3);
    size_t n = 0;
    for (size_t i = 0; i < call->headers.n; i++)
        p[n++] = (struct http_header){str_dup(a, call->headers.p[i].name), str_dup(a, call->headers.p[i].value)};
    p[n++] = (struct http_header){S("accept"), call->accept.n ? str_dup(a, call->accept) : S("application/json")};
    p[n++] = (struct http_header){S("content-type"),
                                  call->content_type.n ? str_dup(a, call->content_type) : S("application/json")};
    /* Who manages the fields it sets. */
    p[n++] =
        (struct http_header){S("user-agent"), call->user_agent.n ? str_dup(a, call->user_agent) : S("kube-apiserver")};
    return (struct http_headers){p, n};
}

struct loopback *loopback_start(struct api *api, const struct loopback_call *call)
{
    struct loopback *l = xcalloc(1, sizeof *l);
    struct arena *a = &l->x.arena;
    l->call = *call;
    l->api = api;
    str target = str_dup(a, call->target);
    str_cut(target, '?', &l->x.path, &l->x.query);
    l->x.carrier = &carrier;
    l->x.method = str_dup(a, call->method);
    l->x.headers = make_headers(a, call);
    l->x.body = str_dup(a, call->body);
    l->x.peer = &nobody;
    l->x.remote = S("loopback");
    struct authz_identity who = loopback_dup_identity(a, &call->who);
    l->is_entering = true;
    pipeline_enter_as(api, &l->x, &who);
    l->is_entering = false;
    if (!l->is_over)
        return l;
    release(l);
    return NULL;
}

void loopback_cancel(struct loopback *l)
{
    l->is_cancelled = true;
    if (!l->is_streaming)
        return; /* stays until it is answered */
    l->is_over = true;
    release(l);
}

void loopback_close(struct api *api)
{
    for (struct loopback *l = api->loopbacks; l; l = api->loopbacks) {
        assert(!l->is_pumping);
        api->loopbacks = l->next;
        if (l->next)
            l->next->link = &api->loopbacks;
        l->link = NULL;
        deliver(l, 0, (struct http_headers){0}, (str){0});
        release(l);
    }
}

struct authz_identity loopback_self(void)
{
    static const str groups[] = {S_INIT("system:masters"), S_INIT("system:authenticated")};
    return (struct authz_identity){.user = S("system:apiserver"), .groups = {groups, 2}};
}
