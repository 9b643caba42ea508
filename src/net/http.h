/* SPDX-License-Identifier: Apache-2.0 */
/* What: one request and its answer, however they travel (HTTP/1.1, HTTP/2, or within the process); and the server.
 * Owns: the server owns listeners, connections and exchanges; an exchange owns its arena and everything in it.
 * Threads: one loop thread.
 * Errors: ERR_IO and ERR_CONFLICT (port taken) from http_server_new; bad requests are answered or cut off, never reported.
 *
 *   head(ctx, x)     is called once, when the head of the request is complete and before any of its body is kept. It may answer
 *                    at once with http_answer: then the body is not read and handle is not called. Otherwise it sets x->is_known.
 *   handle(ctx, x)   is called when the request is there as a whole, its body included. It answers now or later:
 *
 *     http_answer(x, …)            head and body in one                                        x is gone soon after
 *     http_stream(x, …, source)    head now; then source->fill is called whenever there is room:
 *                                     HTTP_MORE  call again   HTTP_WAIT  until http_resume(x)   HTTP_END  that was all
 *
 * Until the handler has answered, the exchange stays, even when the peer went away: the answer then goes nowhere. While it
 * streams, a peer that goes away ends it at once, and fill is not called any more.
 *
 *   x->gone(x)       is the last word, exactly once, whatever happened: after the answer was handed over, after HTTP_END,
 *                    or when the peer went away while streaming. What belongs to the exchange is released there. It is called
 *                    from the loop, never from within http_answer or fill: these may be followed by looks at x. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "net/loop.h"
#include "net/tls.h"

struct http_header {
    str name; /* as given; compared without case */
    str value;
};

struct http_headers {
    const struct http_header *p;
    size_t n;
};

struct http_exchange;

enum http_fill { HTTP_MORE, HTTP_WAIT, HTTP_END, HTTP_ABORT /* cut the stream off so that the peer notices */ };

/* Makes the next piece of a body: appends to out about `room` bytes, or less. HTTP_MORE without a byte is a mistake. */
struct http_source {
    enum http_fill (*fill)(void *ctx, struct http_exchange *x, struct buf *out, size_t room);
    void *ctx;
};

/* How an exchange reaches its peer. */
struct http_carrier {
    void (*answer)(struct http_exchange *x, int status, struct http_headers headers, str body);
    void (*stream)(struct http_exchange *x, int status, struct http_headers headers, struct http_source source);
    bool (*resume)(struct http_exchange *x);
    void (*forget)(struct http_exchange *x);
    bool (*postpone)(struct http_exchange *x); /* NULL: never */
};

struct http_exchange {
    struct arena arena; /* of the exchange; handlers may use it freely */
    const struct http_carrier *carrier;
    str method, path, query; /* path and query as sent: still percent-encoded; query without the question mark */
    struct http_headers headers;
    str body;
    bool is_too_large; /* the body went past the limit and was thrown away: answer 413 */
    bool is_known;     /* set by head: the request is authenticated, so that the limits of known peers hold for it */
    bool is_abandoned; /* the peer went away before the answer, which goes nowhere */
    const struct tls_peer *peer;
    str remote;                            /* "127.0.0.1:51234" */
    void *user;                            /* the handler's */
    void (*gone)(struct http_exchange *x); /* the handler's; may be NULL */
};

/* The first header of this name, or empty with p NULL. */
str http_header(const struct http_exchange *x, str name);
/* Names of headers, and tokens in them: equal but for the case of ASCII letters. */
bool http_name_eq(str a, str b);
/* Without the blanks and tabs around it. */
str http_trim(str s);
/* Among the comma-separated tokens of a header's value. */
bool http_list_has(str value, str token);
/* "Not Found"; "Unknown" when there is no such code. */
str http_reason(int status);

/* Body and headers are copied or sent before this returns. */
static inline void http_answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    x->carrier->answer(x, status, headers, body);
}
static inline void http_stream(struct http_exchange *x, int status, struct http_headers headers,
                               struct http_source source)
{
    x->carrier->stream(x, status, headers, source);
}
/* Before work is begun for a request that had to wait: true if its connection holds as many answers as it may. Then nothing may
 * be answered now; handle is called again when the peer has taken enough of them. */
static inline bool http_postpone(struct http_exchange *x)
{
    return x->carrier->postpone && x->carrier->postpone(x);
}
/* There is something to fill again. Cheap, and harmless when it was not waiting. Never calls fill itself. False: it costs no
 * system call, since its connection is about to send something anyway. */
static inline bool http_resume(struct http_exchange *x)
{
    return x->carrier->resume(x);
}
/* For exchanges that stay for long, watches above all; after http_stream. Lets go of the request (method, path, query, headers
 * and body are empty from then on) and of all there is in the arena, whose first block alone is larger than what an idle
 * watch may cost. What fill and gone still need lives elsewhere, and user must not point into the arena any more. */
static inline void http_forget(struct http_exchange *x)
{
    x->carrier->forget(x);
}

/* ---- The server. ---- */

/* Zero: the default. */
struct http_limits {
    size_t head_bytes;     /* of a request's head, headers included: 64 KiB */
    size_t headers;        /* in one request: 200 */
    size_t body_bytes;     /* 3 MiB */
    size_t path_bytes;     /* of a path, without its query: 8 KiB; past it: 414 */
    size_t bodies_bytes;   /* heads and bodies of all requests at work, together: 256 MiB; past it: 429 */
    size_t connections;    /* 20,000; past it the oldest unknown or idle one is dropped, or the new one */
    size_t streams;        /* HTTP/2 streams of one connection: 100 */
    size_t pending_bytes;  /* written and not yet taken by the peer, per connection: 256 KiB; then nothing is filled */
    int64_t handshake_ns;  /* 10 s */
    int64_t head_ns;       /* from its first byte to the end of a head: 10 s */
    int64_t body_ns;       /* without any progress of a body: 30 s */
    int64_t body_all_ns;   /* from the head to the end of a body: 60 s */
    int64_t body_grace_ns; /* after this time a body must have arrived at body_rate on average: 5 s */
    size_t body_rate;      /* bytes per second: 1,024 */
    int64_t idle_ns;       /* between requests: 180 s */
    int64_t stall_ns;      /* a peer that takes nothing while there is something to take: 60 s */
    /* Answers that were made and are not taken. */
    size_t answers_bytes;     /* of one connection: 4 MiB; past it its other requests wait */
    size_t answers_all_bytes; /* 256 MiB; past it the connection that holds most is dropped */
    /* Peers that are not authenticated; see account.h. The oldest of their connections make place for others. */
    size_t unknown_connections;   /* 4,096, at most half of all connections */
    size_t unknown_of_address;    /* …with the same address: three quarters of that */
    size_t unknown_bytes;         /* requests and answers of one connection: 256 KiB; of one body: half of that */
    size_t unknown_address_bytes; /* …of all with the same address: 4 MiB */
    size_t unknown_all_bytes;     /* …of all: 16 MiB */
};

struct http_server_options {
    str host;                /* "127.0.0.1", "::1", "localhost", "0.0.0.0" */
    uint16_t port;           /* 0: any */
    struct tls_context *tls; /* NULL: plain text */
    struct http_limits limits;
    void (*head)(void *ctx, struct http_exchange *x); /* NULL: not asked, and all peers are known */
    void (*handle)(void *ctx, struct http_exchange *x);
    void *ctx;
};

struct http_server;

int http_server_new(struct loop *l, const struct http_server_options *options, struct http_server **ret,
                    struct err *err);
uint16_t http_server_port(const struct http_server *s);
/* For new connections from now on. */
void http_server_set_tls(struct http_server *s, struct tls_context *tls);
/* Stops listening, says goodbye on idle connections (GOAWAY, Connection: close), lets requests at work end, and calls done
 * when the last connection is gone, or after within_ns when what is left is cut off. */
void http_server_drain(struct http_server *s, int64_t within_ns, void (*done)(void *ctx), void *ctx);
void http_server_free(struct http_server *s);

struct http_server_stats {
    uint64_t accepted, refused, requests;
    uint64_t evicted; /* connections dropped to make place */
    uint64_t trims;   /* how often memory was returned to the system */
    size_t connections, exchanges;
    size_t body_bytes, head_bytes; /* of requests at work */
    size_t answer_bytes;           /* of answers that are not taken, of all peers that are known */
    size_t shared_bytes;           /* of long ones, each counted once */
    size_t unknown_connections;    /* of peers that are not authenticated */
    size_t unknown_bytes;          /* requests and answers of those */
};

struct http_server_stats http_server_stats(const struct http_server *s);
