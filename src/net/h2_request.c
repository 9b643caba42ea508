/* SPDX-License-Identifier: Apache-2.0 */
#include "net/h2_server.h"

static struct h2_stream *stream_of(nghttp2_session *ng, int32_t id)
{
    return nghttp2_session_get_stream_user_data(ng, id);
}

int h2_on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx)
{
    struct h2_session *s = ctx;
    int64_t now = loop_now(conn_loop(s->conn));
    s->head_since = now;
    s->head_id = frame->hd.stream_id;
    h2_timer_within(s, s->limits->head_ns);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST || s->is_ended)
        return 0;
    struct h2_stream *st = (struct h2_stream *)exchange_new(s->account, s->conn, &h2_carrier, sizeof *st);
    st->session = s;
    st->id = frame->hd.stream_id;
    st->fill = HTTP_END;
    st->arrival = ARENA_NEW(&st->e.x.arena, struct h2_arrival);
    st->state = H2_STATES;
    st->due = INT64_MAX;
    h2_stream_move(st, H2_RECEIVING);
    if (s->streams++ == 0)
        conn_set_idle(s->conn, false);
    nghttp2_session_set_stream_user_data(ng, st->id, st);
    /* All streams take turns, whatever the peer says of their priority: a long list must not hold up a watch. */
    nghttp2_extpri equal = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    nghttp2_session_change_extpri_stream_priority(ng, st->id, &equal, 1);
    return 0;
}

/* nghttp2 has checked that each comes once, before all others, and is well-formed. */
static void take_pseudo(struct h2_stream *st, str name, str value)
{
    struct http_exchange *x = &st->e.x;
    if (str_eq(name, S(":method"))) {
        x->method = str_dup(&x->arena, value);
        st->is_head = str_eq(value, S("HEAD"));
    } else if (str_eq(name, S(":path"))) {
        str whole = str_dup(&x->arena, value);
        str_cut(whole, '?', &x->path, &x->query);
    } else if (str_eq(name, S(":authority"))) {
        *vec_push(&x->arena, &st->arrival->headers) = (struct http_header){S("host"), str_dup(&x->arena, value)};
    }
}

/* Two names for the host asked for must agree, or somebody else may have decided by the other one. */
static bool take_host(struct h2_stream *st, str value)
{
    vec_each(&st->arrival->headers, h) if (str_eq(h->name, S("host")))
    {
        st->arrival->is_malformed |= !str_eq(h->value, value);
        return true;
    }
    return false;
}

int h2_on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name_p, size_t name_n,
                 const uint8_t *value_p, size_t value_n, uint8_t flags, void *ctx)
{
    (void)flags;
    struct h2_session *s = ctx;
    struct h2_stream *st = stream_of(ng, frame->hd.stream_id);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST || st == NULL || st->arrival == NULL)
        return 0; /* trailers: of no use to anyone here */
    struct h2_arrival *a = st->arrival;
    str name = {(const char *)name_p, name_n}, value = {(const char *)value_p, value_n};
    a->head_bytes += name.n + value.n + 32; /* as SETTINGS_MAX_HEADER_LIST_SIZE counts */
    if (a->head_bytes > s->limits->head_bytes || a->headers.n >= s->limits->headers)
        a->is_too_large = true;
    else if (!exchange_head_add(&st->e, name.n + value.n + 32))
        a->is_without_room = true;
    if (a->is_too_large || a->is_without_room)
        return 0;
    struct arena *arena = &st->e.x.arena;
    if (name.n && name.p[0] == ':')
        take_pseudo(st, name, value);
    else if (!str_eq(name, S("host")) || !take_host(st, value))
        *vec_push(arena, &a->headers) = (struct http_header){str_dup(arena, name), str_dup(arena, value)};
    return 0;
}

/* The request goes to the handler, as far as it is there. */
static void hand_over(struct h2_stream *st)
{
    st->arrival = NULL;
    h2_stream_move(st, H2_READY);
}

static void say_continue(struct h2_stream *st)
{
    static const char name[] = ":status", value[] = "100";
    nghttp2_nv nv = {(uint8_t *)name, (uint8_t *)value, sizeof name - 1, sizeof value - 1, NGHTTP2_NV_FLAG_NONE};
    nghttp2_submit_headers(st->session->ng, NGHTTP2_FLAG_NONE, st->id, NULL, &nv, 1, NULL);
}

static void time_body(struct h2_stream *st)
{
    int64_t now = loop_now(conn_loop(st->session->conn));
    st->due = exchange_body_deadline(&st->e, now);
    h2_timer_within(st->session, st->due > now ? st->due - now : 1);
}

static void head_arrived(struct h2_stream *st, bool has_body)
{
    struct http_exchange *x = &st->e.x;
    struct h2_arrival *a = st->arrival;
    x->headers = (struct http_headers){a->headers.p, a->headers.n};
    if (a->is_too_large) {
        h2_refuse(st, 431, S("the head of the request is too large"));
        return;
    }
    if (a->is_without_room) {
        h2_refuse(st, 429, S("too many requests at once, please try again later"));
        return;
    }
    if (a->is_malformed || x->path.n == 0) {
        h2_refuse(st, 400, S("malformed request"));
        return;
    }
    if (x->path.n > st->session->limits->path_bytes) {
        h2_refuse(st, 414, S("the path of the request is too long"));
        return;
    }
    if (!has_body && st->session->account->is_known)
        return; /* head and handler follow each other, when nghttp2 is done */
    st->arrival = NULL;
    if (!exchange_head(&st->e) || !has_body)
        return;
    uint64_t length;
    if (str_to_uint64(http_header(x, S("content-length")), &length) && length > exchange_body_limit(&st->e)) {
        x->is_too_large = true;
        hand_over(st);
    } else if (str_eq(http_header(x, S("expect")), S("100-continue"))) {
        say_continue(st);
    }
    time_body(st);
}

void h2_request_frame(struct h2_session *s, const nghttp2_frame *frame)
{
    bool is_last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    struct h2_stream *st = stream_of(s->ng, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS)
        s->head_since = 0;
    if (st == NULL)
        return;
    st->is_received |= is_last;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        head_arrived(st, !is_last);
    if (is_last && st->state == H2_RECEIVING)
        hand_over(st);
}

int h2_on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *ctx)
{
    (void)flags, (void)ctx;
    struct h2_stream *st = stream_of(ng, id);
    if (st == NULL || st->state != H2_RECEIVING)
        return 0; /* answered already; the peer is about to hear that */
    switch (exchange_body_add(&st->e, (str){(const char *)data, n})) {
    case BODY_OK:
        time_body(st); /* progress */
        break;
    case BODY_TOO_LARGE:
        hand_over(st);
        break;
    case BODY_NO_ROOM:
        h2_refuse(st, 429, S("too many request bodies at once, please try again later"));
        break;
    }
    return 0;
}
