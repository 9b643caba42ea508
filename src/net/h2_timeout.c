/* SPDX-License-Identifier: Apache-2.0 */
#include "net/h2_server.h"

/* The connection itself is watched by conn: a peer that does not shake hands, takes nothing at all, or has nothing at work.
 * Here it is about single streams, and about heads that never end. */

void h2_timer_within(struct h2_session *s, int64_t delay_ns)
{
    int64_t at = loop_now(conn_loop(s->conn)) + delay_ns;
    if (s->timer_at && s->timer_at <= at)
        return;
    s->timer_at = at;
    conn_timer_set(s->conn, delay_ns);
}

/* A body that does not get on, or too slowly. */
static void refuse_slow(struct h2_session *s, int64_t now)
{
    for (struct h2_stream *st = s->lists[H2_RECEIVING].first, *next; st; st = next) {
        next = st->next;
        if (now >= st->due)
            h2_refuse(st, 408, S("the body of the request did not arrive in time"));
    }
}

static int64_t next_due(const struct h2_session *s)
{
    int64_t due = INT64_MAX;
    for (const struct h2_stream *st = s->lists[H2_RECEIVING].first; st; st = st->next)
        if (st->due < due)
            due = st->due;
    return due;
}

/* Whether it is the peer's doing that nothing goes out: it gives no window, for this stream or for all. */
static bool is_held_by_peer(struct h2_session *s, const struct h2_stream *st)
{
    return nghttp2_session_get_remote_window_size(s->ng) <= 0 ||
           nghttp2_session_get_stream_remote_window_size(s->ng, st->id) <= 0;
}

static void reset_stalled(struct h2_session *s, int64_t now)
{
    for (struct h2_stream *st; (st = s->lists[H2_SENDING].first) && now - st->since >= s->limits->stall_ns;) {
        if (is_held_by_peer(s, st))
            nghttp2_submit_rst_stream(s->ng, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_CANCEL);
        h2_stream_move(st, H2_SENDING); /* to the end of the list: another time */
        conn_wake(s->conn);
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void h2_on_timeout(void *ctx, struct conn *c)
{
    struct h2_session *s = ctx;
    const struct http_limits *l = s->limits;
    int64_t now = loop_now(conn_loop(c));
    s->timer_at = 0;
    if (s->head_since && now - s->head_since >= l->head_ns)
        h2_end(s, NGHTTP2_ENHANCE_YOUR_CALM);
    if (s->is_ended)
        return;
    refuse_slow(s, now);
    reset_stalled(s, now);
    if (s->goodbye_at && now >= s->goodbye_at)
        h2_goodbye(s);
    int64_t next = INT64_MAX;
    if (s->head_since)
        next = earlier(next, s->head_since + l->head_ns);
    next = earlier(next, next_due(s));
    if (s->lists[H2_SENDING].first)
        next = earlier(next, s->lists[H2_SENDING].first->since + l->stall_ns);
    if (s->goodbye_at)
        next = earlier(next, s->goodbye_at);
    if (next != INT64_MAX)
        h2_timer_within(s, next - now);
}
