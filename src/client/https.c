/* SPDX-License-Identifier: Apache-2.0 */
#include "client/https.h"

#include "client/header.h"
#include "client/https_internal.h"
#include "client/retry_after.h"

#include <assert.h>
#include <stdlib.h>

enum { TRIES = 4 }; /* of requests that the server surely has not acted on */

static struct https *https_of(struct transport *t)
{
    return (struct https *)t; /* its first member */
}

/* ---- Lists of calls. ---- */

static void list_remove(struct transport_call *call)
{
    struct https_list *l = call->list;
    if (l == NULL)
        return;
    *(call->prev ? &call->prev->next : &l->first) = call->next;
    *(call->next ? &call->next->prev : &l->last) = call->prev;
    l->n--;
    call->prev = call->next = NULL;
    call->list = NULL;
}

void https_list_move(struct transport_call *call, struct https_list *list)
{
    list_remove(call);
    if (list == NULL)
        return;
    call->prev = list->last;
    *(list->last ? &list->last->next : &list->first) = call;
    list->last = call;
    list->n++;
    call->list = list;
}

/* The first, which is in no list then; NULL when there is none. */
static struct transport_call *list_pop(struct https_list *l)
{
    struct transport_call *call = l->first;
    if (call == NULL)
        return NULL;
    l->first = call->next;
    *(l->first ? &l->first->prev : &l->last) = NULL;
    l->n--;
    call->next = NULL;
    call->list = NULL;
    return call;
}

/* ---- The end of a call. ---- */

static void call_free(struct transport_call *call)
{
    struct https *t = call->t;
    if (call->conn)
        https_conn_leave(call);
    credentials_cancel(t->credentials, &call->wait);
    loop_timer_cancel(t->loop, &call->timer);
    list_remove(call);
    buf_done(&call->body);
    arena_done(&call->try_arena);
    arena_done(&call->arena);
    free(call);
    t->n_calls--;
}

/* Says the last word: only from the loop, and with nothing done to the call after it. */
static void tell(struct transport_call *call)
{
    struct https *t = call->t;
    if (call->conn)
        https_conn_leave(call);
    loop_timer_cancel(t->loop, &call->timer);
    list_remove(call);
    call->answer.body = buf_str(&call->body);
    call->answer.collected = &call->body;
    call->listener.end(call->ctx, &call->answer);
    call_free(call);
}

static void on_work(struct loop_work *w)
{
    struct https *t = (struct https *)((char *)w - offsetof(struct https, work));
    t->is_work_queued = false;
    struct transport_call *call;
    for (size_t n = t->ended.n; n > 0 && (call = list_pop(&t->ended)); n--) /* and not what comes in place of it */
        tell(call);
    if (t->ended.first && !t->is_work_queued) {
        t->is_work_queued = true;
        loop_defer(t->loop, &t->work);
    }
}

static void set_failed(struct transport_call *call, const struct err *err, bool can_retry)
{
    struct err *mine = ARENA_NEW(&call->arena, struct err);
    *mine = *err;
    call->answer = (struct client_answer){.err = mine, .can_retry = can_retry};
    buf_done(&call->body);
    call->body = (struct buf){0};
}

void https_call_fail(struct transport_call *call, const struct err *err, bool can_retry)
{
    struct https *t = call->t;
    if (call->conn)
        https_conn_leave(call);
    credentials_cancel(t->credentials, &call->wait);
    loop_timer_cancel(t->loop, &call->timer);
    set_failed(call, err, can_retry);
    https_list_move(call, &t->ended);
    if (t->is_work_queued)
        return;
    t->is_work_queued = true;
    loop_defer(t->loop, &t->work);
}

/* ---- Time. ---- */

/* at 0: no limit but that of the call. */
static void set_timer(struct transport_call *call, int64_t at)
{
    int64_t now = loop_now(call->t->loop);
    if (at == 0 || (call->end_at && call->end_at < at))
        at = call->end_at;
    if (at)
        loop_timer_set(call->t->loop, &call->timer, at > now ? at - now : 0);
    else
        loop_timer_cancel(call->t->loop, &call->timer);
}

static void on_timer(void *ctx)
{
    struct transport_call *call = ctx;
    struct https *t = call->t;
    struct err err;
    bool is_sent = call->conn != NULL;
    if (call->end_at && loop_now(t->loop) >= call->end_at)
        err_set(&err, ERR_TIMEOUT, "no answer from %.*s in time", STR(t->config->server));
    else
        err_set(&err, ERR_UNAVAILABLE, "no connection to %.*s had room in time", STR(t->config->server));
    https_call_fail(call, &err, !is_sent);
    https_pump(t); /* it may have made room */
}

/* ---- Requests. ---- */

static int check_headers(struct http_headers h, struct err *err)
{
    for (size_t i = 0; i < h.n; i++)
        if (!header_is_value(h.p[i].value))
            return err_set(err, ERR_INVALID, "the header %.*s would have a line break in it, or the like",
                           STR(h.p[i].name));
    return 0;
}

/* Of two that are named a server takes one, and not the one that was meant. */
static int check_request(const struct https *t, const struct client_request *r, struct err *err)
{
    if (!header_is_value(r->method) || !header_is_value(r->target) || str_find_char(r->target, ' ') >= 0)
        return err_set(err, ERR_INVALID, "the request has a character in it that must not be there");
    if (r->as.n && t->config->as.user.n)
        return err_set(err, ERR_INVALID, "who acts for %.*s cannot act for %.*s", STR(t->config->as.user), STR(r->as));
    return 0;
}

static void make_headers(struct transport_call *call, struct http_headers credentials)
{
    struct arena *a = &call->try_arena;
    const struct client_request *r = &call->request;
    struct http_header *h = ARENA_ARRAY(a, struct http_header, credentials.n + 4);
    size_t n = 0;
    h[n++] = (struct http_header){S("User-Agent"), call->t->user_agent};
    h[n++] = (struct http_header){S("Accept"), r->accept.n ? r->accept : S("application/json")};
    if (r->body.n)
        h[n++] = (struct http_header){S("Content-Type"), r->content_type.n ? r->content_type : S("application/json")};
    for (size_t i = 0; i < credentials.n; i++)
        h[n++] = (struct http_header){str_dup(a, credentials.p[i].name), str_dup(a, credentials.p[i].value)};
    if (r->as.n)
        h[n++] = (struct http_header){S("Impersonate-User"), r->as};
    call->headers = (struct http_headers){h, n};
}

/* To the end of those who wait for a connection. */
static void wait_for_connection(struct transport_call *call)
{
    struct https *t = call->t;
    https_list_move(call, &t->waiting);
    set_timer(call, loop_now(t->loop) + t->options.wait_ns);
    https_pump(t);
}

/* A server that is to be spoken to over TLS is never spoken to without. */
static int take_credentials(struct transport_call *call, const struct credentials_now *now, struct err *err)
{
    struct https *t = call->t;
    if (t->config->is_tls && now->tls == NULL)
        return err_set(err, ERR_INTERNAL, "there is no TLS for %.*s", STR(t->config->server));
    arena_reset(&call->try_arena);
    make_headers(call, now->headers);
    call->serial = now->serial;
    if (check_headers(call->headers, err) < 0)
        return err->code;
    https_set_tls(t, now->tls);
    return 0;
}

static void on_credentials(void *ctx, const struct credentials_now *now, const struct err *err)
{
    struct transport_call *call = ctx;
    struct err bad;
    if (now == NULL)
        https_call_fail(call, err, true);
    else if (take_credentials(call, now, &bad) < 0)
        https_call_fail(call, &bad, true);
    else
        wait_for_connection(call);
}

static void ask(struct transport_call *call)
{
    struct https *t = call->t;
    https_list_move(call, &t->asking);
    set_timer(call, 0);
    call->wait = (struct credentials_wait){.done = on_credentials, .ctx = call};
    credentials_get(t->credentials, &call->wait);
}

/* ---- Answers. ---- */

/* The call is over, in the middle of the answer. */
static void break_off(struct transport_call *call, enum err_code code, const char *why)
{
    struct err err;
    err_set(&err, code, "%.*s: %s", STR(call->t->config->server), why);
    struct https *t = call->t;
    https_conn_leave(call);
    set_failed(call, &err, false);
    tell(call);
    https_pump(t);
}

static void on_head(void *ctx, struct http_call *http_call, int status, struct http_headers headers)
{
    (void)http_call;
    struct transport_call *call = ctx;
    struct https *t = call->t;
    uint64_t length = 0;
    bool is_compressed = false;
    https_conn_answered(call->conn);
    call->answer = (struct client_answer){.status = status};
    call->is_passed_on = status == 200 && https_call_is_streamed(call);
    for (size_t i = 0; i < headers.n; i++) {
        str name = headers.p[i].name, value = headers.p[i].value;
        if (http_name_eq(name, S("Content-Type")))
            call->answer.content_type = str_dup(&call->try_arena, value);
        else if (http_name_eq(name, S("Retry-After")))
            call->answer.retry_after_ns = retry_after_parse(value, clock_wall_ns(&t->options.credentials.clock));
        else if (http_name_eq(name, S("Content-Length")))
            (void)str_to_uint64(value, &length);
        else if (http_name_eq(name, S("Content-Encoding")))
            is_compressed = !http_name_eq(value, S("identity"));
    }
    if (call->is_passed_on) { /* nothing is tried again from here on, and watches stay for long */
        call->request = (struct client_request){0};
        arena_done(&call->arena);
    }
    if (is_compressed)
        break_off(call, ERR_IO, "the answer is compressed, which was not asked for");
    else if (!call->is_passed_on && length > t->options.answer_bytes)
        break_off(call, ERR_TOO_LARGE, "the answer is too large");
}

static void on_data(void *ctx, struct http_call *http_call, str bytes)
{
    (void)http_call;
    struct transport_call *call = ctx;
    if (call->is_passed_on)
        call->listener.data(call->ctx, bytes);
    else if (bytes.n > call->t->options.answer_bytes - call->body.n)
        break_off(call, ERR_TOO_LARGE, "the answer is too large");
    else
        buf_add_str(&call->body, bytes);
}

/* A server that closes a connection of HTTP/1.1 while the next request is on its way to it has most likely not read that; and
 * reading twice does no harm. */
static bool is_lost_on_the_way(const struct transport_call *call, const struct err *err)
{
    str method = call->request.method;
    return err->code == ERR_UNAVAILABLE && !call->conn->is_h2 && call->conn->has_answered && call->answer.status == 0 &&
           (str_eq(method, S("GET")) || str_eq(method, S("HEAD")));
}

static bool is_to_refresh(const struct transport_call *call)
{
    return call->answer.status == 401 && !call->has_refreshed &&
           credentials_refused(call->t->credentials, call->serial);
}

static void on_end(void *ctx, struct http_call *http_call, const struct err *err, bool can_retry)
{
    (void)http_call;
    struct transport_call *call = ctx;
    struct https *t = call->t;
    bool is_again = err && (can_retry || is_lost_on_the_way(call, err)) && ++call->tries < TRIES;
    if (err && !http_client_can_call(call->conn->client))
        https_conn_failed(call->conn, err); /* unless it answered before: then the next one may come at once */
    call->call = NULL;
    https_conn_leave(call);
    if (is_again) {
        wait_for_connection(call);
        return;
    }
    if (err == NULL && is_to_refresh(call)) {
        call->has_refreshed = true;
        call->answer = (struct client_answer){0};
        buf_done(&call->body);
        ask(call);
        return;
    }
    if (err)
        set_failed(call, err, can_retry);
    tell(call);
    https_pump(t);
}

void https_call_begin(struct transport_call *call, struct https_conn *conn)
{
    static const struct http_listener listener = {.head = on_head, .data = on_data, .end = on_end};
    struct http_request r = {
        .method = call->request.method,
        .target = call->request.target,
        .headers = call->headers,
        .body = call->request.body,
    };
    https_list_move(call, &conn->calls);
    call->conn = conn;
    call->answer = (struct client_answer){0};
    set_timer(call, 0);
    call->call = http_call_new(conn->client, &r, &listener, call);
}

/* ---- The transport. ---- */

static struct transport_call *start(struct transport *transport, const struct client_request *r,
                                    const struct client_listener *listener, void *ctx)
{
    struct https *t = https_of(transport);
    struct transport_call *call = calloc(1, sizeof *call);
    struct err err;
    if (call == NULL)
        abort();
    call->t = t;
    call->listener = *listener;
    call->ctx = ctx;
    call->timer = (struct loop_timer){.fn = on_timer, .ctx = call};
    call->end_at = r->total_ns ? loop_now(t->loop) + r->total_ns : 0;
    call->request = (struct client_request){
        .method = str_dup(&call->arena, r->method),
        .target = str_fmt(&call->arena, "%.*s%.*s", STR(t->config->base_path), STR(r->target)),
        .accept = str_dup(&call->arena, r->accept),
        .content_type = str_dup(&call->arena, r->content_type),
        .body = str_dup(&call->arena, r->body),
        .as = str_dup(&call->arena, r->as),
    };
    t->n_calls++;
    if (check_request(t, r, &err) < 0) {
        https_call_fail(call, &err, false); /* it is no better the next time */
    } else if (t->asking.n + t->waiting.n >= t->options.waiting) {
        err_set(&err, ERR_UNAVAILABLE, "too many calls wait for a connection to %.*s", STR(t->config->server));
        https_call_fail(call, &err, true);
    } else {
        ask(call);
    }
    return call;
}

static void cancel(struct transport *transport, struct transport_call *call)
{
    struct https *t = https_of(transport);
    call_free(call);
    https_pump(t);
}

static void destroy(struct transport *transport)
{
    struct https *t = https_of(transport);
    assert(t->n_calls == 0);
    while (t->first)
        https_conn_close(t->first);
    loop_timer_cancel(t->loop, &t->timer);
    if (t->is_work_queued)
        loop_defer_cancel(t->loop, &t->work);
    credentials_free(t->credentials);
    tls_unref(t->tls);
    arena_done(&t->arena);
    free(t);
}

static void set_defaults(struct https_options *o)
{
    struct {
        size_t *p, value;
    } sizes[] = {
        {&o->waiting, 1000},
        {&o->connections, 8},
        {&o->h1_calls, 8},
        {&o->h1_watches, 256},
        {&o->answer_bytes, CLIENT_ANSWER_BYTES},
    };
    struct {
        int64_t *p, seconds;
    } times[] = {{&o->wait_ns, 30}, {&o->idle_ns, 90}, {&o->drain_ns, 30}};
    for (size_t i = 0; i < COUNT(sizes); i++)
        if (*sizes[i].p == 0)
            *sizes[i].p = sizes[i].value;
    for (size_t i = 0; i < COUNT(times); i++)
        if (*times[i].p == 0)
            *times[i].p = times[i].seconds * NS_PER_S;
}

int https_new(struct loop *l, const struct client_config *config, const struct https_options *options,
              struct transport **ret, struct err *err)
{
    static const struct transport_ops ops = {.start = start, .cancel = cancel, .free = destroy};
    if (config->host.n == 0 || !header_is_value(config->host) || !header_is_value(config->base_path))
        return err_set(err, ERR_INVALID, "the server's address makes no sense");
    struct https *t = xcalloc(1, sizeof *t);
    t->base.ops = &ops;
    t->loop = l;
    t->config = config;
    t->options = *options;
    set_defaults(&t->options);
    t->user_agent = str_fmt(&t->arena, "reeve/%.*s (linux)", STR(options->version));
    t->credentials = credentials_new(l, config, &t->options.credentials);
    t->work.fn = on_work;
    t->timer = (struct loop_timer){.fn = https_on_retry, .ctx = t};
    *ret = &t->base;
    return 0;
}

int https_set_token(struct transport *t, str token, struct err *err)
{
    return credentials_set_token(https_of(t)->credentials, token, err);
}

struct https_stats https_stats(const struct transport *transport)
{
    const struct https *t = (const struct https *)transport;
    return (struct https_stats){
        .connections = t->n_conns,
        .calls = t->n_calls,
        .waiting = t->asking.n + t->waiting.n,
        .opened = t->n_opened,
        .failed = t->n_failed,
    };
}
