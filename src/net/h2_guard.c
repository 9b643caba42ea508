/* SPDX-License-Identifier: Apache-2.0 */
#include "net/h2_server.h"

/* Frames that are cheap to send and make us work for nothing take tokens, which come back with time: no honest client gets
 * near the end, one that floods does within a second. nghttp2 has limits of its own for some of these, in newer
 * versions; these hold with all of them.
 *
 * A client that closes a thousand watches at once sends a thousand resets, so that must be possible; a stream that is
 * given up while its request is at work costs more, as the work goes on (rapid reset). */
enum {
    GUARD_BURST = 10000,
    GUARD_PER_SECOND = 1000,
    GUARD_CONTINUATIONS = 16, /* for one request: 256 KiB, more than any head may have */
};

void h2_guard_init(struct h2_session *s)
{
    s->guard.at = loop_now(conn_loop(s->conn));
    s->guard.tokens = GUARD_BURST;
}

void h2_guard_charge(struct h2_session *s, int64_t tokens)
{
    int64_t now = loop_now(conn_loop(s->conn));
    int64_t step = NS_PER_S / GUARD_PER_SECOND;
    int64_t back = (now - s->guard.at) / step;
    s->guard.at += back * step;
    s->guard.tokens = back >= GUARD_BURST - s->guard.tokens ? GUARD_BURST : s->guard.tokens + back;
    s->guard.tokens -= tokens;
    if (s->guard.tokens < 0)
        h2_end(s, NGHTTP2_ENHANCE_YOUR_CALM);
}

static bool is_idle_talk(const nghttp2_frame_hd *hd)
{
    switch (hd->type) {
    case NGHTTP2_DATA:
        return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION:
    case NGHTTP2_WINDOW_UPDATE:
    case NGHTTP2_RST_STREAM: /* counted when it closes something */
        return false;
    default: /* PING, SETTINGS, PRIORITY and the like; nghttp2 passes over kinds it does not know */
        return true;
    }
}

int h2_on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *ctx)
{
    (void)ng;
    struct h2_session *s = ctx;
    if (hd->type == NGHTTP2_CONTINUATION) {
        if (++s->continuations > GUARD_CONTINUATIONS)
            h2_end(s, NGHTTP2_ENHANCE_YOUR_CALM);
    } else {
        s->continuations = 0;
        if (is_idle_talk(hd))
            h2_guard_charge(s, 1);
    }
    return 0;
}
