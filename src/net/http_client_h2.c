/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_client_internal.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

enum { CONNECTION_WINDOW = 16 << 20 /* what paused listeners hold back is limited stream by stream */ };

static nghttp2_session *session_of(struct http_client *c)
{
    return c->session;
}

static void lost(struct http_client *c, struct http_call *call, uint32_t code)
{
    struct err err;
    bool is_refused = code == NGHTTP2_REFUSED_STREAM && !call->has_head; /* who has begun to answer has taken it */
    if (is_refused)
        err_set(&err, ERR_UNAVAILABLE, "%.*s did not take the request", STR(c->authority));
    else if (code == NGHTTP2_NO_ERROR)
        err_set(&err, ERR_IO, "%.*s ended the answer before its end", STR(c->authority));
    else
        err_set(&err, ERR_IO, "%.*s cut the answer off: %s", STR(c->authority), nghttp2_http2_strerror(code));
    client_call_end(call, &err, is_refused || !call->is_sent);
}

/* ---- What comes in. ---- */

/* NULL: cancelled, or all of them are: nghttp2 goes on until it has seen all of the bytes that came. */
static struct http_call *call_of(const struct http_client *c, int32_t id)
{
    return c->is_freed ? NULL : nghttp2_session_get_stream_user_data(c->session, id);
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    (void)ng;
    struct http_call *call = call_of(ctx, frame->hd.stream_id);
    if (call && !call->has_head) {
        call->headers.n = 0; /* those of an interim answer are of no interest */
        call->status = 0;
    }
    return 0;
}

/* The call ends here, whatever the server goes on to say. err NULL: it has said all. */
static void give_up(nghttp2_session *ng, struct http_call *call, const struct err *err)
{
    nghttp2_session_set_stream_user_data(ng, call->id, NULL);
    nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, call->id, NGHTTP2_CANCEL);
    client_call_end(call, err, false);
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name_p, size_t name_n,
                     const uint8_t *value_p, size_t value_n, uint8_t flags, void *ctx)
{
    (void)flags;
    struct http_client *c = ctx;
    struct http_call *call = call_of(ctx, frame->hd.stream_id);
    if (call == NULL || call->has_head)
        return 0; /* trailers */
    str name = {(const char *)name_p, name_n}, value = {(const char *)value_p, value_n};
    int64_t status;
    if (str_eq(name, S(":status"))) {
        call->status = str_to_int64(value, &status) && status >= 100 && status <= 999 ? (int)status : 0;
    } else if (!client_call_header(call, name, value)) {
        struct err err;
        err_set(&err, ERR_TOO_LARGE, "%.*s answered with too many headers", STR(c->authority));
        give_up(ng, call, &err);
    }
    return 0;
}

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    struct http_client *c = ctx;
    if (frame->hd.type == NGHTTP2_SETTINGS && !(frame->hd.flags & NGHTTP2_FLAG_ACK)) {
        client_ready(c);
        return 0;
    }
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        struct err why;
        err_set(&why, ERR_UNAVAILABLE, "%.*s takes no more requests on this connection", STR(c->authority));
        client_closing(c, &why);
        return 0;
    }
    struct http_call *call = call_of(ctx, frame->hd.stream_id);
    if (call == NULL || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    call->is_answered = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.type == NGHTTP2_HEADERS && !call->has_head && call->status >= 200)
        client_call_head(call);
    call = call_of(ctx, frame->hd.stream_id); /* unless its listener has cancelled it */
    if (call && call->is_answered && call->has_head && !call->is_all_sent)
        give_up(ng, call, NULL); /* it has made up its mind, and may never read the rest */
    return 0;
}

static int on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *ctx)
{
    (void)flags;
    nghttp2_session_consume_connection(ng, n);
    struct http_call *call = call_of(ctx, id);
    if (call)
        client_call_data(call, (str){(const char *)data, n});
    return 0;
}

static int on_closed_stream(nghttp2_session *ng, int32_t id, uint32_t code, void *ctx)
{
    (void)ng;
    struct http_client *c = ctx;
    struct http_call *call = call_of(ctx, id);
    if (c->waiting.first)
        client_later(c); /* there is room now */
    if (call == NULL)
        return 0;
    /* A server that has answered may tell us to stop talking, with NO_ERROR. */
    if (code == NGHTTP2_NO_ERROR && call->has_head && call->is_answered)
        client_call_end(call, NULL, false);
    else
        lost(ctx, call, code);
    return 0;
}

/* ---- What goes out. ---- */

static int on_frame_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    (void)ng;
    bool is_ours = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    struct http_call *call = is_ours ? call_of(ctx, frame->hd.stream_id) : NULL;
    if (call) {
        call->is_sent = true;
        call->is_all_sent = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    }
    return 0;
}

static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *p, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    (void)ng, (void)source;
    struct http_call *call = call_of(ctx, id);
    if (call == NULL)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* cancelled; it will not be missed */
    str left = str_from(call->request.body, call->body_at);
    str piece = str_upto(left, room);
    if (piece.n)
        memcpy(p, piece.p, piece.n);
    call->body_at += piece.n;
    if (piece.n == left.n)
        *flags = NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)piece.n;
}

static nghttp2_nv nv_of(str name, str value)
{
    return (nghttp2_nv){(uint8_t *)name.p, (uint8_t *)value.p, name.n, value.n, NGHTTP2_NV_FLAG_NONE};
}

static void start_call(struct http_client *c, struct http_call *call)
{
    const struct http_request *r = &call->request;
    nghttp2_nv *nv = arena_alloc(&call->arena, arena_array_size(r->headers.n + 5, sizeof *nv));
    size_t n = 0;
    nv[n++] = nv_of(S(":method"), r->method);
    nv[n++] = nv_of(S(":scheme"), c->options.tls ? S("https") : S("http"));
    nv[n++] = nv_of(S(":authority"), c->authority);
    nv[n++] = nv_of(S(":path"), r->target);
    for (size_t i = 0; i < r->headers.n; i++)
        nv[n++] = nv_of(r->headers.p[i].name, r->headers.p[i].value);
    if (r->body.n)
        nv[n++] = nv_of(S("content-length"), str_fmt(&call->arena, "%zu", r->body.n));
    nghttp2_data_provider provider = {.read_callback = read_body};
    call->is_started = true;
    client_list_move(call, &c->at_work);
    call->id = nghttp2_submit_request(session_of(c), NULL, nv, n, r->body.n ? &provider : NULL, call);
    if (call->id < 0) { /* no stream ids are left */
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "%.*s: this connection is used up", STR(c->authority));
        client_closing(c, &err);
        client_call_end(call, &err, true);
    }
}

/* nghttp2 has a queue for calls past the server's limit, but those in it could not be told that the server says goodbye. */
static size_t room(const struct http_client *c)
{
    uint32_t limit = nghttp2_session_get_remote_settings(c->session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    return limit > c->at_work.n ? limit - c->at_work.n : 0;
}

static void start(struct http_client *c)
{
    while (!c->is_freed && c->state == CLIENT_OPEN && c->waiting.first && room(c))
        start_call(c, c->waiting.first);
    conn_wake(c->conn);
}

static void forget(struct http_call *call)
{
    nghttp2_session *ng = session_of(call->client);
    nghttp2_session_set_stream_user_data(ng, call->id, NULL);
    nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, call->id, NGHTTP2_CANCEL);
    if (call->client->conn)
        conn_wake(call->client->conn);
}

static void taken(struct http_call *call, size_t n)
{
    nghttp2_session_consume_stream(session_of(call->client), call->id, n);
    if (call->client->conn)
        conn_wake(call->client->conn);
}

static void pause_call(struct http_call *call, bool is_paused)
{
    (void)call, (void)is_paused; /* the window does it */
}

/* ---- On the connection. ---- */

static void fail(struct http_client *c, const char *why)
{
    conn_drop(c->conn, ERR_IO, why);
}

static void finish_if_over(struct http_client *c)
{
    nghttp2_session *ng = session_of(c);
    if (!c->is_freed && !nghttp2_session_want_read(ng) && !nghttp2_session_want_write(ng))
        conn_finish(c->conn);
}

static size_t input(void *ctx, struct conn *conn, str bytes)
{
    struct http_client *c = ctx;
    client_enter(c);
    c->heard_at = loop_now(c->loop);
    c->pinged_at = 0;
    ssize_t n = nghttp2_session_mem_recv(session_of(c), (const uint8_t *)bytes.p, bytes.n);
    if (n < 0)
        fail(c, nghttp2_strerror((int)n));
    finish_if_over(c);
    conn_wake(conn);
    client_leave(c);
    return bytes.n;
}

static void output(void *ctx, struct conn *conn, struct buf *out, size_t room)
{
    struct http_client *c = ctx;
    size_t enough = out->n + room;
    client_enter(c);
    ssize_t n = 1;
    while (n > 0 && out->n < enough) {
        const uint8_t *p;
        n = nghttp2_session_mem_send(session_of(c), &p);
        if (n > 0)
            buf_add(out, p, (size_t)n);
    }
    if (n < 0)
        fail(c, nghttp2_strerror((int)n));
    finish_if_over(c);
    (void)conn;
    client_leave(c);
}

/* A connection that broke without a word (a cable, a sleeping machine) would keep watches waiting for ever. */
static void timeout(void *ctx, struct conn *conn)
{
    struct http_client *c = ctx;
    int64_t now = loop_now(c->loop), next = c->options.ping_ns;
    if (c->pinged_at && now - c->pinged_at >= c->options.ping_wait_ns) {
        conn_drop(conn, ERR_UNAVAILABLE, "the server gave no sign of life");
        return;
    }
    if (c->pinged_at) {
        next = c->pinged_at + c->options.ping_wait_ns - now;
    } else if (now - c->heard_at < c->options.ping_ns) {
        next = c->heard_at + c->options.ping_ns - now;
    } else if (c->at_work.first) {
        c->pinged_at = now;
        nghttp2_submit_ping(session_of(c), NGHTTP2_FLAG_NONE, NULL);
        conn_wake(conn);
        next = c->options.ping_wait_ns;
    }
    conn_timer_set(conn, next);
}

static void end(void *ctx, struct conn *conn)
{
    (void)ctx;
    conn_finish(conn);
}

static void closed(void *ctx, struct conn *conn)
{
    struct http_client *c = ctx;
    c->conn = NULL;
    const struct err *why = conn_why(conn);
    if (why)
        err_set(&c->why, ERR_UNAVAILABLE, "%.*s: %s", STR(c->authority), why->msg);
    client_enter(c);
    client_gone(c);
    client_leave(c);
}

/* ---- Beginning and end. ---- */

static void must(int code)
{
    if (code != 0)
        abort(); /* out of memory is all that is left */
}

static nghttp2_session *session_new(struct http_client *c)
{
    nghttp2_session_callbacks *callbacks;
    must(nghttp2_session_callbacks_new(&callbacks));
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_closed_stream);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_option *option;
    must(nghttp2_option_new(&option));
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_session *ng;
    must(nghttp2_session_client_new2(&ng, callbacks, c, option));
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return ng;
}

static void begin(struct http_client *c)
{
    nghttp2_session *ng = c->session = session_new(c);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)c->options.window_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)c->options.head_bytes},
    };
    must(nghttp2_submit_settings(ng, NGHTTP2_FLAG_NONE, settings, COUNT(settings)));
    must(nghttp2_session_set_local_window_size(ng, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW));
    c->heard_at = loop_now(c->loop);
    conn_timer_set(c->conn, c->options.ping_ns);
}

static void done(struct http_client *c)
{
    nghttp2_session_del(c->session);
    c->session = NULL;
}

static const struct conn_user h2_user = {
    .input = input,
    .end = end,
    .output = output,
    .timeout = timeout,
    .closed = closed,
};

const struct client_protocol client_h2 = {
    .user = &h2_user,
    .begin = begin,
    .start = start,
    .room = room,
    .forget = forget,
    .taken = taken,
    .pause = pause_call,
    .done = done,
};
