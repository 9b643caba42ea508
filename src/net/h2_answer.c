/* SPDX-License-Identifier: Apache-2.0 */
#include "net/h2_server.h"

#include <assert.h>
#include <stdio.h>

enum { FRAME_HEAD = 9 };

/* ---- The body, frame by frame. ----
 *
 *   out  [ … whole frames | 9 bytes for a head | what fill appends ……… | too much for one frame ]
 *                      framed                   start                   start + room
 *
 * Sources append straight to the output of the connection; the head of the frame comes in front once nghttp2 knows it. */

static str rest_of(const struct h2_stream *st)
{
    return st->shared ? (str){st->shared->p, st->shared->n} : buf_str(&st->rest);
}

/* False: the session holds far more than it may. */
static bool add_rest(struct h2_stream *st, const char *p, size_t n)
{
    buf_add(&st->rest, p, n);
    return account_take_answer(st->session->account, n);
}

/* The same, for the whole body of an answer. */
static bool set_rest(struct h2_stream *st, str body)
{
    if (body.n < SHARED_LEAST)
        return add_rest(st, body.p, body.n);
    st->shared = shared_text_ref(st->session->server, body);
    return account_take_answer(st->session->account, body.n);
}

void h2_drop_rest(struct h2_stream *st)
{
    account_give_answer(st->session->account, rest_of(st).n);
    buf_done(&st->rest);
    shared_text_unref(st->shared);
    st->shared = NULL;
    st->rest_at = 0;
}

static size_t take_rest(struct h2_stream *st, struct buf *out, size_t room)
{
    str rest = str_upto(str_from(rest_of(st), st->rest_at), room);
    buf_add_str(out, rest);
    st->rest_at += rest.n;
    if (st->rest_at == rest_of(st).n)
        h2_drop_rest(st);
    return rest.n;
}

static size_t take_fill(struct h2_stream *st, struct buf *out, size_t room)
{
    size_t start = out->n, made;
    do {
        st->was_resumed = false;
        st->fill = (uint8_t)st->source.fill(st->source.ctx, &st->e.x, out, room);
        made = out->n - start;
        assert(made > 0 || st->fill != HTTP_MORE);
    } while (made == 0 && st->fill == HTTP_WAIT && st->was_resumed);
    if (st->fill == HTTP_WAIT && st->was_resumed)
        st->fill = HTTP_MORE;
    if (made <= room)
        return made;
    bool is_within = add_rest(st, out->p + start + room, made - room);
    out->n = start + room;
    if (!is_within)
        st->fill = HTTP_ABORT;
    return room;
}

void h2_release_streams(struct h2_session *s)
{
    if (!s->holds_back || !account_may_begin(s->account))
        return;
    s->holds_back = false;
    for (struct h2_stream *st = s->lists[H2_SENDING].first; st; st = st->next) {
        if (st->is_held_back)
            nghttp2_session_resume_data(s->ng, st->id);
        st->is_held_back = false;
    }
    conn_wake(s->conn);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is nghttp2's */
static ssize_t read_body(nghttp2_session *ng, int32_t id, uint8_t *p, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    (void)ng, (void)id, (void)p;
    struct h2_session *s = ctx;
    struct h2_stream *st = source->ptr;
    struct buf *out = s->out;
    out->n = s->framed;
    buf_grow(out, FRAME_HEAD);
    out->n += FRAME_HEAD;
    size_t n = rest_of(st).n ? take_rest(st, out, room) : 0;
    bool can_fill = n < room && rest_of(st).n == 0 && st->fill == HTTP_MORE, is_full = !account_may_begin(s->account);
    if (can_fill && !is_full)
        n += take_fill(st, out, room - n);
    if (n == 0 && can_fill && is_full) { /* until the peer has taken more of what other streams have made */
        st->is_held_back = s->holds_back = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    bool is_all = rest_of(st).n == 0;
    if (n == 0 && st->fill == HTTP_ABORT)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (is_all && st->fill == HTTP_WAIT)
        h2_stream_move(st, H2_WAITING);
    else
        h2_stream_move(st, H2_SENDING); /* progress */
    if (n == 0 && st->fill == HTTP_WAIT)
        return NGHTTP2_ERR_DEFERRED;
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (is_all && st->fill == HTTP_END)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

int h2_on_send_data(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head, size_t n,
                    nghttp2_data_source *source, void *ctx)
{
    (void)ng, (void)frame, (void)source;
    struct h2_session *s = ctx;
    assert(s->out->n == s->framed + FRAME_HEAD + n);
    memcpy(s->out->p + s->framed, head, FRAME_HEAD);
    s->framed = s->out->n;
    return s->framed >= s->enough ? NGHTTP2_ERR_PAUSE : 0;
}

/* ---- The head. ---- */

static nghttp2_nv nv_of(str name, str value)
{
    /* nghttp2 copies both, and makes the letters of the name small. */
    return (nghttp2_nv){(uint8_t *)name.p, (uint8_t *)value.p, name.n, value.n, NGHTTP2_NV_FLAG_NONE};
}

static bool can_have_body(const struct h2_stream *st, int status)
{
    return !st->is_head && status != 204 && status != 304;
}

/* length < 0: not known, so it is not told. */
static void submit(struct h2_stream *st, int status, struct http_headers headers, int64_t length)
{
    struct h2_session *s = st->session;
    struct arena *a = &st->e.x.arena;
    bool has_body = length != 0 && can_have_body(st, status);
    nghttp2_nv *nv = arena_alloc(a, arena_array_size(headers.n + 3, sizeof *nv));
    char digits[4], length_digits[24];
    (void)snprintf(digits, sizeof digits, "%03u", (unsigned)status % 1000);
    size_t n = 0;
    nv[n++] = nv_of(S(":status"), str_of(digits));
    for (size_t i = 0; i < headers.n; i++)
        nv[n++] = nv_of(headers.p[i].name, headers.p[i].value);
    nv[n++] = nv_of(S("date"), exchange_date(s->server));
    if (length >= 0 && status != 204 && status != 304) {
        (void)snprintf(length_digits, sizeof length_digits, "%lld", (long long)length);
        nv[n++] = nv_of(S("content-length"), str_of(length_digits));
    }
    nghttp2_data_provider provider = {.source.ptr = st, .read_callback = read_body};
    if (nghttp2_submit_response(s->ng, st->id, nv, n, has_body ? &provider : NULL) != 0)
        nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_INTERNAL_ERROR);
    h2_stream_move(st, H2_SENDING);
    h2_timer_within(s, s->limits->stall_ns);
    conn_wake(s->conn);
}

static void answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    struct h2_stream *st = h2_stream_of(x);
    assert(st->state == H2_AT_WORK || st->state == H2_RECEIVING);
    st->e.is_answered = true;
    if (can_have_body(st, status) && !set_rest(st, body)) {
        h2_drop_rest(st);
        h2_stream_move(st, H2_SENDING);
        nghttp2_submit_rst_stream(st->session->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_ENHANCE_YOUR_CALM);
        conn_wake(st->session->conn);
    } else {
        submit(st, status, headers, (int64_t)body.n);
    }
    exchange_answered(&st->e);
}

static void stream(struct http_exchange *x, int status, struct http_headers headers, struct http_source source)
{
    struct h2_stream *st = h2_stream_of(x);
    assert(st->state == H2_AT_WORK);
    st->e.is_answered = st->e.is_streaming = true;
    st->source = source;
    st->fill = can_have_body(st, status) ? HTTP_MORE : HTTP_END;
    submit(st, status, headers, -1);
}

static bool resume(struct http_exchange *x)
{
    struct h2_stream *st = h2_stream_of(x);
    st->was_resumed = true;
    if (st->fill != HTTP_WAIT)
        return false;
    st->fill = HTTP_MORE;
    if (st->state == H2_WAITING) {
        h2_stream_move(st, H2_SENDING);
        h2_timer_within(st->session, st->session->limits->stall_ns);
    }
    /* Answers an error when nghttp2 has not noticed yet that there was nothing; then it will ask again anyway. */
    nghttp2_session_resume_data(st->session->ng, st->id);
    return conn_wake(st->session->conn);
}

static bool postpone(struct http_exchange *x)
{
    struct h2_stream *st = h2_stream_of(x);
    if (account_may_begin(st->session->account))
        return false;
    h2_stream_move(st, H2_READY);
    return true;
}

const struct http_carrier h2_carrier = {answer, stream, resume, exchange_forget, postpone};

void h2_refuse(struct h2_stream *st, int status, str text)
{
    struct http_header headers[] = {{S("content-type"), S("text/plain; charset=utf-8")}, {S("retry-after"), S("1")}};
    st->arrival = NULL;
    answer(&st->e.x, status, (struct http_headers){headers, status == 429 ? 2 : 1}, text);
}
