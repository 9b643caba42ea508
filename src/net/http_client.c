/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_client_internal.h"

#include <stdlib.h>

/* ---- Lists of calls. ---- */

static void list_remove(struct http_call *call)
{
    struct client_list *l = call->list;
    if (l == NULL)
        return;
    *(call->prev ? &call->prev->next : &l->first) = call->next;
    *(call->next ? &call->next->prev : &l->last) = call->prev;
    l->n--;
    call->prev = call->next = NULL;
    call->list = NULL;
}

static void list_append(struct client_list *l, struct http_call *call)
{
    call->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = call;
    l->last = call;
    l->n++;
    call->list = l;
}

void client_list_move(struct http_call *call, struct client_list *list)
{
    list_remove(call);
    list_append(list, call);
}

/* The first, which is in no list then; NULL when there is none. */
static struct http_call *list_pop(struct client_list *l)
{
    struct http_call *call = l->first;
    if (call == NULL)
        return NULL;
    l->first = call->next;
    *(l->first ? &l->first->prev : &l->last) = NULL;
    l->n--;
    call->next = NULL;
    call->list = NULL;
    return call;
}

static void list_move_all(struct client_list *from, struct client_list *to)
{
    for (struct http_call *call; (call = list_pop(from));)
        list_append(to, call);
}

/* Of a call that is in no list. */
static void call_free(struct http_call *call)
{
    loop_timer_cancel(call->client->loop, &call->timer);
    buf_done(&call->held);
    arena_done(&call->head);
    arena_done(&call->arena);
    free(call);
}

/* ---- Work at the end of the turn: what may not be said from within a function of ours. ---- */

void client_later(struct http_client *c)
{
    if (c->is_work_queued)
        return;
    c->is_work_queued = true;
    loop_defer(c->loop, &c->work);
}

static void end_with(struct http_call *call, const struct err *err, bool can_retry)
{
    const struct http_listener *listener = call->listener;
    list_remove(call);
    call->is_started = false;
    loop_timer_cancel(call->client->loop, &call->timer);
    listener->end(call->ctx, call, err, can_retry);
    call_free(call);
}

/* What came while the listener was paused. */
static void show_held(struct http_call *call)
{
    struct buf held = call->held;
    call->held = (struct buf){0};
    if (call->is_started)
        call->client->protocol->taken(call, held.n);
    call->listener->data(call->ctx, call, buf_str(&held));
    buf_done(&held);
}

/* A listener may do anything to any call, make new ones and free the client: so each call is taken out before its listener is
 * called, and those that were seen are kept apart until all were. */
static void show_resumed(struct http_client *c, struct client_list *l)
{
    struct client_list seen = {0};
    for (struct http_call *call; !c->is_freed && (call = list_pop(l));) {
        if (call->is_paused || call->held.n || !call->is_ended)
            list_append(&seen, call);
        if (call->is_paused)
            continue;
        if (call->held.n)
            show_held(call);
        else if (call->is_ended)
            end_with(call, NULL, false);
    }
    for (struct http_call *call; (call = list_pop(&seen));) {
        list_append(l, call);
        if (!call->is_paused && (call->held.n || call->is_ended))
            client_later(c);
    }
}

static void end_all(struct http_client *c, struct client_list *l)
{
    struct client_list these = {
        0}; /* and not those that a listener makes in place of what has failed: they have their turn */
    list_move_all(l, &these);
    for (struct http_call *call; !c->is_freed && (call = list_pop(&these));)
        end_with(call, &c->why, !call->is_sent);
    list_move_all(&these, l);
}

static void start_waiting(struct http_client *c)
{
    if (c->state == CLIENT_OPEN)
        c->protocol->start(c);
    else if (c->state != CLIENT_CONNECTING)
        end_all(c, &c->waiting);
}

static void client_destroy(struct http_client *c)
{
    client_connect_done(c);
    conn_host_done(&c->host);
    if (c->protocol)
        c->protocol->done(c);
    loop_defer_cancel(c->loop, &c->work);
    struct client_list *lists[] = {&c->waiting, &c->at_work, &c->ended};
    for (size_t i = 0; i < COUNT(lists); i++)
        for (struct http_call *call; (call = list_pop(lists[i]));)
            call_free(call);
    tls_unref(c->options.tls);
    arena_done(&c->arena);
    free(c);
}

static void on_work(struct loop_work *w)
{
    struct http_client *c = (struct http_client *)((char *)w - offsetof(struct http_client, work));
    c->is_work_queued = false;
    if (c->is_freed) {
        client_destroy(c);
        return;
    }
    client_enter(c);
    show_resumed(c, &c->at_work);
    show_resumed(c, &c->ended);
    if (!c->is_freed)
        start_waiting(c);
    client_leave(c);
}

/* ---- For the protocols. ---- */

bool client_call_header(struct http_call *call, str name, str value)
{
    call->head_bytes += name.n + value.n + 32;
    if (call->head_bytes > call->client->options.head_bytes)
        return false;
    *vec_push(&call->head, &call->headers) =
        (struct http_header){str_dup(&call->head, name), str_dup(&call->head, value)};
    return true;
}

void client_call_head(struct http_call *call)
{
    call->has_head = true;
    int64_t left = call->total_at - loop_now(call->client->loop);
    if (call->total_at)
        loop_timer_set(call->client->loop, &call->timer, left > 0 ? left : 0);
    else
        loop_timer_cancel(call->client->loop, &call->timer);
    if (call->is_all_sent) { /* watches stay for long, and need not keep it */
        call->request = (struct http_request){0};
        arena_done(&call->arena);
    }
    /* The call may be gone when its listener has seen the head. */
    struct arena head = call->head;
    struct http_headers headers = {call->headers.p, call->headers.n};
    call->head = (struct arena){0};
    call->headers.p = NULL;
    call->headers.n = call->headers.cap = 0;
    if (call->listener->head)
        call->listener->head(call->ctx, call, call->status, headers);
    arena_done(&head);
}

void client_call_data(struct http_call *call, str bytes)
{
    if (call->is_paused || call->held.n) {
        buf_add_str(&call->held, bytes);
        return;
    }
    call->client->protocol->taken(call, bytes.n);
    call->listener->data(call->ctx, call, bytes);
}

void client_call_end(struct http_call *call, const struct err *err, bool can_retry)
{
    if (err == NULL && (call->is_paused || call->held.n)) {
        call->is_ended = true;
        call->is_started = false;
        client_list_move(call, &call->client->ended);
        return;
    }
    end_with(call, err, can_retry);
}

void client_ready(struct http_client *c)
{
    loop_timer_cancel(c->loop, &c->timer);
    if (c->waiting.first)
        client_later(c);
    if (!c->is_freed && c->options.ready)
        c->options.ready(c->options.ctx);
}

void client_closing(struct http_client *c, const struct err *why)
{
    if (c->state >= CLIENT_CLOSING)
        return;
    c->state = CLIENT_CLOSING;
    c->why = *why;
    client_later(c);
}

void client_gone(struct http_client *c)
{
    if (c->state == CLIENT_GONE)
        return;
    bool is_in_order = c->why.code == ERR_NONE;
    if (is_in_order)
        err_set(&c->why, ERR_UNAVAILABLE, "%.*s closed the connection", STR(c->authority));
    c->state = CLIENT_GONE;
    end_all(c, &c->at_work);
    if (!c->is_freed)
        end_all(c, &c->waiting);
    if (!c->is_freed && c->options.gone)
        c->options.gone(c->options.ctx, is_in_order ? NULL : &c->why);
}

/* ---- Clients. ---- */

void client_enter(struct http_client *c)
{
    c->depth++;
}

void client_leave(struct http_client *c)
{
    if (--c->depth == 0 && c->is_freed)
        client_later(c);
}

static void set_defaults(struct http_client_options *o)
{
    int64_t *times[] = {&o->connect_ns, &o->ping_ns, &o->ping_wait_ns};
    static const int64_t seconds[] = {10, 30, 15};
    for (size_t i = 0; i < 3; i++)
        if (*times[i] == 0)
            *times[i] = seconds[i] * NS_PER_S;
    if (o->head_bytes == 0)
        o->head_bytes = 64 << 10;
    if (o->window_bytes == 0)
        o->window_bytes = 256 << 10;
}

static void on_conn_timer(void *ctx)
{
    struct http_client *c = ctx;
    if (c->conn) { /* it shakes hands, or has not greeted: all else follows from its end */
        conn_drop(c->conn, ERR_UNAVAILABLE, "no greeting in time");
        return;
    }
    err_set(&c->why, ERR_UNAVAILABLE, "connect to %.*s: no answer in time", STR(c->authority));
    client_enter(c);
    client_connect_done(c);
    client_gone(c);
    client_leave(c);
}

int http_client_new(struct loop *l, const struct http_client_options *options, struct http_client **ret,
                    struct err *err)
{
    if (options->host.n == 0 || memchr(options->host.p, 0, options->host.n))
        return err_set(err, ERR_INVALID, "connect: no host is given");
    struct http_client *c = xcalloc(1, sizeof *c);
    c->loop = l;
    c->options = *options;
    set_defaults(&c->options);
    c->options.host = str_of(str_cstr(&c->arena, options->host));
    if (options->tls)
        tls_ref(options->tls);
    bool is_v6 = str_find_char(options->host, ':') >= 0;
    c->authority = str_fmt(&c->arena, is_v6 ? "[%.*s]:%u" : "%.*s:%u", STR(options->host), options->port);
    c->host = (struct conn_host){
        .loop = l,
        .pending_bytes = 256 << 10,
        .input_bytes = c->options.head_bytes + 1,
        .handshake_ns = c->options.connect_ns,
        .idle_ns = INT64_MAX / 4,
        .stall_ns = 60 * NS_PER_S,
    };
    conn_host_init(&c->host);
    c->work.fn = on_work;
    c->timer = (struct loop_timer){.fn = on_conn_timer, .ctx = c};
    c->connect_at = loop_now(l) + c->options.connect_ns;
    loop_timer_set(l, &c->timer, c->options.connect_ns);
    client_connect(c);
    *ret = c;
    return 0;
}

void http_client_free(struct http_client *c)
{
    if (c == NULL || c->is_freed)
        return;
    c->is_freed = true;
    if (c->depth == 0)
        client_destroy(c);
}

bool http_client_can_call(const struct http_client *c)
{
    return c->state == CLIENT_CONNECTING || c->state == CLIENT_OPEN;
}

size_t http_client_room(const struct http_client *c)
{
    size_t room = c->state == CLIENT_OPEN ? c->protocol->room(c) : 0;
    return room > c->waiting.n ? room - c->waiting.n : 0;
}

bool http_client_is_h2(const struct http_client *c)
{
    return c->protocol == &client_h2;
}

/* ---- Calls. ---- */

static void on_call_timer(void *ctx)
{
    struct http_call *call = ctx;
    struct http_client *c = call->client;
    struct err err;
    if (c->is_freed)
        return; /* within this turn; not a word more */
    err_set(&err, ERR_TIMEOUT, "no %s from %.*s in time", call->has_head ? "complete answer" : "answer",
            STR(c->authority));
    client_enter(c);
    bool is_sent = call->is_sent;
    if (call->is_started)
        c->protocol->forget(call);
    end_with(call, &err, !is_sent);
    client_leave(c);
}

static struct http_headers copy_headers(struct arena *a, struct http_headers from)
{
    struct http_header *p = ARENA_ARRAY(a, struct http_header, from.n);
    for (size_t i = 0; i < from.n; i++)
        p[i] = (struct http_header){str_dup(a, from.p[i].name), str_dup(a, from.p[i].value)};
    return (struct http_headers){p, from.n};
}

struct http_call *http_call_new(struct http_client *c, const struct http_request *request,
                                const struct http_listener *listener, void *ctx)
{
    struct http_call *call = xcalloc(1, sizeof *call);
    call->client = c;
    call->listener = listener;
    call->ctx = ctx;
    call->request = *request;
    call->request.method = str_dup(&call->arena, request->method);
    call->request.target = str_dup(&call->arena, request->target);
    call->request.headers = copy_headers(&call->arena, request->headers);
    call->request.body = str_dup(&call->arena, request->body);
    call->timer = (struct loop_timer){.fn = on_call_timer, .ctx = call};
    int64_t first = request->head_ns ? request->head_ns : request->total_ns;
    if (request->total_ns) {
        call->total_at = loop_now(c->loop) + request->total_ns;
        first = first < request->total_ns ? first : request->total_ns;
    }
    if (first)
        loop_timer_set(c->loop, &call->timer, first);
    client_list_move(call, &c->waiting);
    client_later(c);
    return call;
}

void http_call_pause(struct http_call *call)
{
    call->is_paused = true;
    if (call->is_started)
        call->client->protocol->pause(call, true);
}

void http_call_resume(struct http_call *call)
{
    call->is_paused = false;
    if (call->is_started)
        call->client->protocol->pause(call, false);
    if (call->held.n || call->is_ended)
        client_later(call->client);
}

void http_call_cancel(struct http_call *call)
{
    if (call == NULL)
        return;
    if (call->is_started)
        call->client->protocol->forget(call);
    list_remove(call);
    call_free(call);
}
