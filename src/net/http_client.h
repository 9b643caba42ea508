/* SPDX-License-Identifier: Apache-2.0 */
/* What: an HTTP client: one connection to one server, and requests (calls) on it.
 * Owns: the client owns its connection and its calls; what a listener is shown lives until it returns.
 * Threads: the loop thread.
 * Errors: a call ends with what went wrong, in words; ERR_UNAVAILABLE when the server cannot be reached or has gone, ERR_TIMEOUT,
 *         ERR_IO for an answer that was cut off or makes no sense, ERR_TOO_LARGE for one whose head is.
 *
 *   http_client_new ──► connecting ──► open ─────────────► closing ──────────────► gone
 *                       calls wait     HTTP/2: all calls   the server said         whatever is left ends;
 *                                      at once; HTTP/1.1:  goodbye: no new calls   http_client_free remains
 *                                      one by one          (http_client_can_call)
 *
 * Nothing calls back from within the functions here. A listener may call all of them, http_client_free included. */
#pragma once

#include "base/err.h"
#include "net/http.h"

struct http_client;
struct http_call;

struct http_client_options {
    str host; /* a name or an address */
    uint16_t port;
    struct tls_context *tls; /* NULL: plain text */
    bool is_h2;              /* plain text only: speak HTTP/2 without asking; with TLS both sides agree on it */
    /* Zero: the default. */
    int64_t connect_ns; /* until the server is connected and has greeted: 10 s */
    int64_t ping_ns;    /* HTTP/2: the server said nothing for so long while calls are at work, so it is asked: 30 s */
    int64_t ping_wait_ns; /* …and given so long for a sign of life: 15 s */
    size_t head_bytes;    /* of an answer: 64 KiB */
    size_t window_bytes;  /* of an answer, on its way while its listener is paused: 256 KiB */
    /* May be NULL. The server has greeted: which protocol it speaks is known, and how many calls it takes. Again when that
     * number changes. */
    void (*ready)(void *ctx);
    /* May be NULL. The connection is gone, and no call waits for it any more; why is NULL when that was in order. */
    void (*gone)(void *ctx, const struct err *why);
    void *ctx;
};

/* Begins to connect. */
int http_client_new(struct loop *l, const struct http_client_options *options, struct http_client **ret,
                    struct err *err);
/* Ends all calls without a word to their listeners. Takes NULL. */
void http_client_free(struct http_client *c);
/* Whether new calls have a chance; if not, make a new client. */
bool http_client_can_call(const struct http_client *c);
bool http_client_is_h2(const struct http_client *c);
/* How many more calls would go out at once; those past it wait. 0 while connecting. */
size_t http_client_room(const struct http_client *c);

struct http_listener {
    /* Once. Not for interim answers (1xx). */
    void (*head)(void *ctx, struct http_call *call, int status, struct http_headers headers);
    void (*data)(void *ctx, struct http_call *call, str bytes);
    /* The last word; the call is gone after it. err NULL: the answer was complete. can_retry: the server surely has not acted on
     * the request. */
    void (*end)(void *ctx, struct http_call *call, const struct err *err, bool can_retry);
};

/* Copied by http_call_new. */
struct http_request {
    str method;
    str target;                  /* path and query, encoded */
    struct http_headers headers; /* names as one likes; Host and Content-Length are added */
    str body;
    int64_t head_ns;  /* until the head of the answer is there; 0: no limit */
    int64_t total_ns; /* until its end; 0: no limit */
};

struct http_call *http_call_new(struct http_client *c, const struct http_request *request,
                                const struct http_listener *listener, void *ctx);
/* While paused, data is not called, and end only when something went wrong; the server has to wait once its window is full. */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);
/* Not a word more to the listener. Takes NULL. */
void http_call_cancel(struct http_call *call);
