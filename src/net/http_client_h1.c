/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_client_internal.h"

#include "net/h1_parse.h"

#include <stdlib.h>

enum { HEADERS = 1000 };

/* The answer to the one call at work. */
struct h1_answer {
    struct http_call *call; /* NULL: none is at work */
    struct h1_finder finder;
    struct h1_chunked chunked;
    enum { IN_HEAD, IN_LENGTH, IN_CHUNKS, UNTIL_END } part;
    uint64_t left; /* IN_LENGTH */
    bool is_kept_alive;
};

static void fail(struct http_client *c, const char *why)
{
    if (c->conn)
        conn_drop(c->conn, ERR_IO, why);
}

/* ---- Requests. ---- */

static void send_request(struct http_client *c, struct http_call *call)
{
    const struct http_request *r = &call->request;
    struct buf b = {.arena = &call->arena};
    buf_fmt(&b, "%.*s %.*s HTTP/1.1\r\nHost: %.*s\r\n", STR(r->method), STR(r->target), STR(c->authority));
    for (size_t i = 0; i < r->headers.n; i++)
        buf_fmt(&b, "%.*s: %.*s\r\n", STR(r->headers.p[i].name), STR(r->headers.p[i].value));
    bool may_lack_length = str_eq(r->method, S("GET")) || str_eq(r->method, S("HEAD"));
    if (r->body.n || !may_lack_length)
        buf_fmt(&b, "Content-Length: %zu\r\n", r->body.n);
    buf_add_str(&b, S("\r\n"));
    conn_send(c->conn, buf_str(&b));
    conn_send(c->conn, r->body);
    call->is_sent = call->is_all_sent = true; /* as far as the call is concerned: they are the connection's now */
}

static void start(struct http_client *c)
{
    struct h1_answer *a = c->answer;
    struct http_call *call = c->waiting.first;
    if (a->call || call == NULL || c->state != CLIENT_OPEN)
        return;
    *a = (struct h1_answer){.call = call};
    call->is_started = true;
    client_list_move(call, &c->at_work);
    send_request(c, call);
    conn_hold_input(c->conn, call->is_paused);
}

static size_t room(const struct http_client *c)
{
    return c->answer->call == NULL;
}

/* ---- Answers. ---- */

static void answered(struct http_client *c)
{
    struct http_call *call = c->answer->call;
    c->answer->call = NULL;
    if (!c->answer->is_kept_alive) {
        struct err why;
        err_set(&why, ERR_UNAVAILABLE, "%.*s takes no more requests on this connection", STR(c->authority));
        client_closing(c, &why);
        conn_finish(c->conn);
    }
    client_call_end(call, NULL, false);
    if (!c->is_freed && c->conn) {
        conn_hold_input(c->conn, false);
        start(c);
    }
}

static void begin_body(struct http_client *c, const struct h1_response *r)
{
    struct h1_answer *a = c->answer;
    struct http_call *call = a->call;
    bool has_none = str_eq(call->request.method, S("HEAD")) || r->status == 204 || r->status == 304;
    a->is_kept_alive = r->m.is_kept_alive;
    a->part = UNTIL_END;
    if (has_none || (r->m.has_length && !r->m.is_chunked)) {
        a->part = IN_LENGTH;
        a->left = has_none ? 0 : r->m.length;
    } else if (r->m.is_chunked) {
        a->part = IN_CHUNKS;
    } else {
        a->is_kept_alive = false;
    }
    client_call_head(call);
    if (a->call && a->part == IN_LENGTH && a->left == 0 && !c->is_freed)
        answered(c);
}

/* Takes a head from the start of *bytes. False: it is not there yet, or makes no sense. */
static bool take_head(struct http_client *c, str *bytes)
{
    struct h1_answer *a = c->answer;
    struct h1_limits limits = {c->options.head_bytes, HEADERS};
    struct h1_problem problem;
    size_t n;
    enum h1_step step = h1_find_end(&a->finder, *bytes, &limits, &n, &problem);
    if (step == H1_MORE)
        return false;
    struct h1_response r;
    struct arena *arena = &a->call->head;
    if (step == H1_BAD || h1_parse_response(arena, str_dup(arena, str_upto(*bytes, n)), &r, &problem) < 0) {
        fail(c, problem.why);
        return false;
    }
    *bytes = str_from(*bytes, n);
    a->finder = (struct h1_finder){0};
    a->call->head_bytes += n;
    if (r.status < 200 && a->call->head_bytes > c->options.head_bytes) {
        fail(c, "too many interim answers");
        return false;
    }
    if (r.status < 200)
        return true;
    a->call->status = r.status;
    for (size_t i = 0; i < r.m.headers.n; i++)
        *vec_push(arena, &a->call->headers) = r.m.headers.p[i];
    begin_body(c, &r);
    return true;
}

/* Takes a piece of the body. False: more is needed. */
static bool take_body(struct http_client *c, str *bytes)
{
    struct h1_answer *a = c->answer;
    str piece = *bytes;
    enum h1_step step = H1_DATA;
    if (a->part == IN_CHUNKS) {
        step = h1_chunked_next(&a->chunked, bytes, &piece);
    } else {
        piece = a->part == IN_LENGTH && a->left < bytes->n ? str_upto(*bytes, (size_t)a->left) : *bytes;
        *bytes = str_from(*bytes, piece.n);
    }
    if (step == H1_BAD)
        fail(c, "the answer is not chunked as it should be");
    if (step == H1_DONE)
        answered(c);
    if (step != H1_DATA)
        return step == H1_DONE;
    if (a->part == IN_LENGTH)
        a->left -= piece.n;
    bool is_last = a->part == IN_LENGTH && a->left == 0;
    if (piece.n)
        client_call_data(a->call, piece);
    if (is_last && !c->is_freed && a->call)
        answered(c);
    return true;
}

static size_t input(void *ctx, struct conn *conn, str bytes)
{
    (void)conn;
    struct http_client *c = ctx;
    struct h1_answer *a = c->answer;
    size_t n = bytes.n;
    client_enter(c);
    if (a->call == NULL)
        fail(c, "the server speaks without being asked");
    bool goes_on = true;
    while (goes_on && bytes.n && !c->is_freed && a->call && !a->call->is_paused)
        goes_on = a->part == IN_HEAD ? take_head(c, &bytes) : take_body(c, &bytes);
    client_leave(c);
    return n - bytes.n;
}

/* ---- On the connection. ---- */

static void end(void *ctx, struct conn *conn)
{
    struct http_client *c = ctx;
    client_enter(c);
    if (c->answer->call && c->answer->part == UNTIL_END && !c->is_freed)
        answered(c);
    else
        conn_finish(conn);
    client_leave(c);
}

static void closed(void *ctx, struct conn *conn)
{
    struct http_client *c = ctx;
    c->conn = NULL;
    c->answer->call = NULL;
    const struct err *why = conn_why(conn);
    if (why)
        err_set(&c->why, ERR_UNAVAILABLE, "%.*s: %s", STR(c->authority), why->msg);
    client_enter(c);
    client_gone(c);
    client_leave(c);
}

static void forget(struct http_call *call)
{
    struct http_client *c = call->client;
    if (c->answer->call == call)
        c->answer->call = NULL;
    struct err why;
    err_set(&why, ERR_UNAVAILABLE, "a request on this connection was cancelled");
    client_closing(c, &why);
    if (c->conn) /* there is no other way to stop the answer */
        conn_drop(c->conn, ERR_NONE, NULL);
}

static void taken(struct http_call *call, size_t n)
{
    (void)call, (void)n;
}

static void pause_call(struct http_call *call, bool is_paused)
{
    if (call->client->conn)
        conn_hold_input(call->client->conn, is_paused);
}

static void begin(struct http_client *c)
{
    c->answer = xcalloc(1, sizeof *c->answer);
}

static void done(struct http_client *c)
{
    free(c->answer);
    c->answer = NULL;
}

static const struct conn_user h1_user = {
    .input = input,
    .end = end,
    .closed = closed,
};

const struct client_protocol client_h1 = {
    .user = &h1_user,
    .begin = begin,
    .start = start,
    .room = room,
    .forget = forget,
    .taken = taken,
    .pause = pause_call,
    .done = done,
};
