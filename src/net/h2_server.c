/* SPDX-License-Identifier: Apache-2.0 */
#include "net/h2_server.h"

#include <stdlib.h>

enum {
    CONNECTION_WINDOW = 1 << 20, /* of bodies on their way to us; what they may take of memory is limited elsewhere */
    STREAM_WINDOW = 256 << 10,
    UNSENT_ACKS = 1000,  /* answers to PING and SETTINGS that the peer does not fetch */
    RESET_BURST = 20000, /* of nghttp2's own limit: above ours, which knows more (h2_guard.c) */
    RESETS_PER_SECOND = 2000,
    COST_OF_RESET = 1,
    COST_OF_RESET_AT_WORK = 10,
};

static const int64_t GOODBYE_NS = 1000000000;

/* ---- Lists. ---- */

static void list_remove(struct h2_list *l, struct h2_stream *st)
{
    *(st->prev ? &st->prev->next : &l->first) = st->next;
    *(st->next ? &st->next->prev : &l->last) = st->prev;
    st->prev = st->next = NULL;
}

static void list_append(struct h2_list *l, struct h2_stream *st)
{
    st->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = st;
    l->last = st;
}

void h2_stream_move(struct h2_stream *st, enum h2_state state)
{
    struct h2_session *s = st->session;
    if (st->state < H2_STATES)
        list_remove(&s->lists[st->state], st);
    st->state = (uint8_t)state;
    list_append(&s->lists[state], st);
    if (state == H2_SENDING)
        st->since = loop_now(conn_loop(s->conn));
}

/* Out of the session; then it is ended or abandoned. */
static struct exchange *take_out(struct h2_stream *st)
{
    struct h2_session *s = st->session;
    list_remove(&s->lists[st->state], st);
    h2_drop_rest(st);
    if (--s->streams == 0)
        conn_set_idle(s->conn, true);
    return &st->e;
}

/* ---- After nghttp2: what it has reported is done here. ---- */

/* Where the peer gives no window, one request is begun after the other: its answer may be of any size. */
static bool may_begin(struct h2_session *s, const struct h2_stream *st)
{
    if (!account_may_begin(s->account))
        return false;
    bool is_closed = nghttp2_session_get_remote_window_size(s->ng) <= 0 ||
                     nghttp2_session_get_stream_remote_window_size(s->ng, st->id) <= 0;
    return !is_closed || (s->account->answers == 0 && s->lists[H2_AT_WORK].first == NULL);
}

static void settle(struct h2_session *s)
{
    h2_release_streams(s);
    for (struct h2_stream *st; (st = s->lists[H2_CLOSED].first);)
        exchange_end(take_out(st));
    for (struct h2_stream *st; !s->is_ended && (st = s->lists[H2_READY].first) && may_begin(s, st);) {
        h2_stream_move(st, H2_AT_WORK);
        exchange_handle(&st->e);
    }
}

static void finish_if_over(struct h2_session *s)
{
    if (!nghttp2_session_want_read(s->ng) && !nghttp2_session_want_write(s->ng))
        conn_finish(s->conn);
}

void h2_end(struct h2_session *s, uint32_t code)
{
    if (s->is_ended)
        return;
    s->is_ended = true;
    nghttp2_session_terminate_session(s->ng, code);
    conn_wake(s->conn);
}

void h2_goodbye(struct h2_session *s)
{
    s->goodbye_at = 0;
    nghttp2_submit_goaway(s->ng, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(s->ng), NGHTTP2_NO_ERROR,
                          NULL, 0);
    conn_wake(s->conn);
}

/* ---- What nghttp2 reports. ---- */

static int on_frame(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    (void)ng;
    struct h2_session *s = ctx;
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)
        h2_request_frame(s, frame);
    else if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) && s->goodbye_at)
        h2_goodbye(s);
    return 0;
}

static int on_frame_sent(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    struct h2_session *s = ctx;
    if (frame->hd.type == NGHTTP2_GOAWAY && s->goodbye_at) /* its answer shows that the peer has seen this */
        nghttp2_submit_ping(ng, NGHTTP2_FLAG_NONE, NULL);
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
    if (st == NULL)
        return 0;
    st->is_sent = true;
    if (!st->is_received) /* it has its answer and may stop talking */
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_NO_ERROR);
    return 0;
}

/* An answer whose head nghttp2 finds too large; of our making, but nobody should wait for it for ever. */
static int on_frame_not_sent(nghttp2_session *ng, const nghttp2_frame *frame, int code, void *ctx)
{
    (void)code, (void)ctx;
    if (frame->hd.type == NGHTTP2_HEADERS)
        nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

static int on_stream_closed(nghttp2_session *ng, int32_t id, uint32_t code, void *ctx)
{
    (void)code;
    struct h2_session *s = ctx;
    struct h2_stream *st = nghttp2_session_get_stream_user_data(ng, id);
    if (id == s->head_id) /* malformed: nghttp2 resets the stream, and does not report the end of such a head */
        s->head_since = 0;
    if (st == NULL)
        return 0;
    if (!st->is_sent)
        h2_guard_charge(s, st->state == H2_AT_WORK ? COST_OF_RESET_AT_WORK : COST_OF_RESET);
    if (st->state == H2_AT_WORK)
        exchange_abandon(take_out(st));
    else
        h2_stream_move(st, H2_CLOSED);
    return 0;
}

/* ---- On the connection. ---- */

static size_t input(void *ctx, struct conn *c, str bytes)
{
    (void)c;
    struct h2_session *s = ctx;
    if (!s->is_ended) {
        ssize_t n = nghttp2_session_mem_recv(s->ng, (const uint8_t *)bytes.p, bytes.n);
        if (n < 0)
            h2_end(s, n == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_PROTOCOL_ERROR);
    }
    settle(s);
    finish_if_over(s);
    return bytes.n;
}

static void output(void *ctx, struct conn *c, struct buf *out, size_t room)
{
    struct h2_session *s = ctx;
    s->out = out;
    s->framed = out->n;
    s->enough = out->n + room;
    ssize_t n = 1;
    while (n > 0 && s->framed < s->enough) {
        const uint8_t *p;
        n = nghttp2_session_mem_send(s->ng, &p);
        out->n = s->framed; /* without what was begun for a frame that did not come about */
        if (n > 0)
            buf_add(out, p, (size_t)n);
        s->framed = out->n;
    }
    s->out = NULL;
    if (n < 0)
        conn_drop(c, ERR_INTERNAL, nghttp2_strerror((int)n));
    settle(s);
    finish_if_over(s);
}

static void end(void *ctx, struct conn *c)
{
    (void)ctx;
    conn_finish(c);
}

/* Two GOAWAYs (RFC 9113, 6.8): the first says that it is about to end, the second, a round trip later, which requests were
 * taken; so none that is on its way is lost. */
static void drain(void *ctx, struct conn *c)
{
    struct h2_session *s = ctx;
    if (s->is_draining || s->is_ended)
        return;
    s->is_draining = true;
    nghttp2_submit_shutdown_notice(s->ng);
    s->goodbye_at = loop_now(conn_loop(c)) + GOODBYE_NS;
    h2_timer_within(s, GOODBYE_NS);
    conn_wake(c);
}

static void closed(void *ctx, struct conn *c)
{
    (void)c;
    struct h2_session *s = ctx;
    s->is_ended = true;
    for (int state = 0; state < H2_STATES; state++)
        for (struct h2_stream *st; (st = s->lists[state].first);) {
            struct exchange *e = take_out(st);
            if (state == H2_AT_WORK)
                exchange_abandon(e);
            else
                exchange_end(e);
        }
    nghttp2_session_del(s->ng);
    account_close(s->account);
    free(s);
}

static const struct conn_user session_user = {
    .input = input,
    .end = end,
    .output = output,
    .timeout = h2_on_timeout,
    .drain = drain,
    .closed = closed,
};

/* ---- Beginning. ---- */

static void must(int code)
{
    if (code != 0)
        abort(); /* out of memory is all that is left */
}

static nghttp2_session *session_new(struct h2_session *s)
{
    nghttp2_session_callbacks *callbacks;
    must(nghttp2_session_callbacks_new(&callbacks));
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, h2_on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, h2_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, h2_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_closed);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, h2_on_send_data);
    nghttp2_option *option;
    must(nghttp2_option_new(&option));
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, UNSENT_ACKS);
#ifdef HAVE_NGHTTP2_STREAM_RESET_RATE_LIMIT
    nghttp2_option_set_stream_reset_rate_limit(option, RESET_BURST, RESETS_PER_SECOND);
#endif
    nghttp2_session *ng;
    nghttp2_mem memory = h2_memory(s);
    must(nghttp2_session_server_new3(&ng, callbacks, s, option, &memory));
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return ng;
}

void h2_session_start(struct account *a, struct conn *c)
{
    struct h2_session *s = xcalloc(1, sizeof *s);
    s->server = a->server;
    s->account = a;
    s->conn = c;
    s->limits = exchange_limits(s->server);
    s->ng = session_new(s);
    h2_guard_init(s);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, (uint32_t)s->limits->streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)s->limits->head_bytes},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    must(nghttp2_submit_settings(s->ng, NGHTTP2_FLAG_NONE, settings, COUNT(settings)));
    must(nghttp2_session_set_local_window_size(s->ng, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW));
    conn_set_user(c, &session_user, s);
    conn_set_idle(c, true);
    conn_wake(c);
}
