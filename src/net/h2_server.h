/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of the server's side of an HTTP/2 connection, for h2_*.c only.
 * Owns: a session owns its streams; a stream is in exactly one list, that of its state.
 * Threads: the loop thread.
 * Errors: a peer that breaks the rules is told so (RST_STREAM, GOAWAY) and cut off.
 *
 *   conn ── input ─► nghttp2 ─► RECEIVING ──► READY ◄─► AT_WORK ──► SENDING ◄──► WAITING (for http_resume)
 *                                   │           │          │           │            │
 *   conn ◄─ output ─ nghttp2 ◄──────┼───────────┼──────────┼───────────┘            │
 *                                   └───────────┴──► CLOSED ◄──────────┴────────────┘
 *
 * What nghttp2 reports is only noted while it is at work, as a move from one list to another; handlers are called and
 * streams freed after it has returned. The exceptions are a source's fill, which is called when a frame has room for it, and
 * the head of a request with a body, which must be judged before the frames of the body are read.
 *
 * A peer that does not take its answers gets no others: streams stay READY while the session holds as much as it may. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/vec.h"
#include "net/exchange.h"

enum h2_state { H2_RECEIVING, H2_READY, H2_AT_WORK, H2_SENDING, H2_WAITING, H2_CLOSED, H2_STATES };

/* A request on its way in; in the arena of its exchange, of no use once the request is there. */
struct h2_arrival {
    VEC(struct http_header) headers;
    size_t head_bytes;
    bool is_too_large;
    bool is_without_room; /* all requests together hold as much as they may */
    bool is_malformed;
};

struct h2_stream {
    struct exchange e; /* first */
    struct h2_session *session;
    struct h2_stream *prev, *next;
    int64_t since; /* of its last progress, while H2_SENDING: that list is in this order */
    int32_t id;
    uint8_t state;
    uint8_t fill;      /* what the source said last; HTTP_END also when there is no source */
    bool is_head;      /* a HEAD request: no body goes out */
    bool is_received;  /* the peer has said all */
    bool is_sent;      /* and so have we */
    bool was_resumed;  /* during fill */
    bool is_held_back; /* not asked for more while the session holds as much as it may */
    struct h2_arrival *arrival;
    struct http_source source;
    struct buf rest;            /* made, and not yet in a frame; charged to the account */
    struct shared_text *shared; /* the same of a long answer; rest is empty then */
    size_t rest_at;
    int64_t due; /* H2_RECEIVING, a body: when more of it must have come */
};

struct h2_list {
    struct h2_stream *first, *last;
};

struct h2_session {
    struct http_server *server;
    struct account *account;
    struct conn *conn;
    const struct http_limits *limits;
    nghttp2_session *ng;
    void *room; /* h2_memory.c */
    size_t room_bytes;
    struct h2_list lists[H2_STATES];
    size_t streams;
    struct {
        int64_t at, tokens;
    } guard;
    struct buf *out;       /* during output */
    size_t framed, enough; /* of out: whole frames end here; stop when there is that much */
    int64_t timer_at;      /* 0: not set */
    int64_t head_since;    /* a block of headers is coming in since then; 0: none is */
    int32_t head_id;       /* …for this stream */
    int64_t goodbye_at;    /* draining: when the last GOAWAY goes out, PING answered or not; 0: it went out */
    unsigned continuations;
    bool holds_back; /* a stream is_held_back */
    bool is_draining;
    bool is_ended; /* by us: what still comes in is of no interest */
};

static inline struct h2_stream *h2_stream_of(struct http_exchange *x)
{
    return (struct h2_stream *)x;
}

/* ---- h2_server.c ---- */

void h2_stream_move(struct h2_stream *st, enum h2_state state);
/* Says GOAWAY with this code, and nothing more. */
void h2_end(struct h2_session *s, uint32_t code);
/* The last GOAWAY of a drain: what was not begun until now is to be asked elsewhere. */
void h2_goodbye(struct h2_session *s);

/* ---- h2_memory.c ---- */

nghttp2_mem h2_memory(struct h2_session *s);

/* ---- h2_timeout.c: slow peers. ---- */

/* The timer goes off in delay_ns, or earlier. */
void h2_timer_within(struct h2_session *s, int64_t delay_ns);
void h2_on_timeout(void *ctx, struct conn *c);

/* ---- h2_guard.c: peers that keep us busy with nothing. ---- */

void h2_guard_init(struct h2_session *s);
void h2_guard_charge(struct h2_session *s, int64_t tokens);
int h2_on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *ctx);

/* ---- h2_request.c: requests on their way in. ---- */

int h2_on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *ctx);
int h2_on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                 const uint8_t *value, size_t value_n, uint8_t flags, void *ctx);
int h2_on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *ctx);
/* A HEADERS or DATA frame is there as a whole. */
void h2_request_frame(struct h2_session *s, const nghttp2_frame *frame);

/* ---- h2_answer.c: answers on their way out. ---- */

extern const struct http_carrier h2_carrier;
/* Lets go of what was made and not sent. */
void h2_drop_rest(struct h2_stream *st);
/* Asks streams for more again, once the peer has taken enough. */
void h2_release_streams(struct h2_session *s);
/* Answers in place of the handler, to whom the request is never shown. */
void h2_refuse(struct h2_stream *st, int status, str text);
int h2_on_send_data(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head, size_t n,
                    nghttp2_data_source *source, void *ctx);
