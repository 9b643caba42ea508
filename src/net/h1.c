/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 on one connection: one request after the other.
 *
 *     HEAD ──► BODY ──► WORK ──► (answer)           ──► HEAD, or the connection is finished
 *       │                 └────► STREAM ──► (its end) ──┘      also for long answers, which are sent piece by piece
 *       └────► (answered by its head) ──► SKIP ─────────┘
 *
 * While a request is at WORK or in its STREAM, what the peer sends ahead waits: a little of it in the connection's buffer,
 * then in the kernel. The answer to a request goes out before the next is looked at.
 */
#include "net/exchange.h"
#include "net/h1_parse.h"

#include <assert.h>
#include <stdlib.h>

enum state { HEAD, BODY, WORK, STREAM, SKIP, OVER };
/* Of the body of a request that was answered by its head. A longer one ends the connection, as with net/http of Go. */
enum { SKIP_MAX = 256 << 10 };
enum { HELD_MIN = 16 << 10 }; /* answers that leave at once are not counted as held */

struct h1 {
    struct http_server *server;
    struct account *account;
    struct conn *conn;
    enum state state;
    bool is_last;           /* the connection is finished after this answer */
    bool is_waiting;        /* STREAM: nothing to fill until resumed */
    bool is_out_of_room;    /* HEAD: input is held until what is pending has gone */
    bool is_timed;          /* HEAD: the time for it is running */
    bool is_head_only;      /* answer without a body: HEAD */
    bool is_chunked_answer; /* STREAM */
    bool is_1_0, is_chunked;
    uint64_t left;  /* BODY and SKIP, not chunked */
    size_t skipped; /* SKIP, chunked */
    size_t held;    /* of answers: charged to the account until they are taken */
    struct h1_finder finder;
    struct h1_chunked chunked;
    struct h1_exchange *e; /* from BODY to STREAM */
    struct http_source source;
    struct shared_text *text; /* STREAM: of a long answer */
    size_t text_at;
};

struct h1_exchange {
    struct exchange base;
    struct h1 *h;
};

static struct h1 *h1_of(struct http_exchange *x)
{
    return ((struct h1_exchange *)exchange_of(x))->h;
}

/* ---- Heads of answers. ---- */

/* Whatever a handler puts into a header cannot end the line. */
static void add_value(struct buf *b, str s)
{
    size_t start = b->n;
    buf_add_str(b, s);
    for (size_t i = start; i < b->n; i++)
        if ((unsigned char)b->p[i] < ' ' && b->p[i] != '\t')
            b->p[i] = ' ';
}

static void add_header(struct buf *b, str name, str value)
{
    add_value(b, name);
    buf_add_str(b, S(": "));
    add_value(b, value);
    buf_add_str(b, S("\r\n"));
}

static void add_number(struct buf *b, uint64_t n)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    buf_add(b, digits + at, sizeof digits - at);
}

static void add_head(struct h1 *h, struct buf *b, int status, struct http_headers headers)
{
    buf_add_str(b, S("HTTP/1.1 "));
    add_number(b, (uint64_t)status);
    buf_add_char(b, ' ');
    buf_add_str(b, http_reason(status));
    buf_add_str(b, S("\r\n"));
    for (size_t i = 0; i < headers.n; i++)
        add_header(b, headers.p[i].name, headers.p[i].value);
    add_header(b, S("Date"), exchange_date(h->server));
    if (h->is_last)
        buf_add_str(b, S("Connection: close\r\n"));
    else if (h->is_1_0)
        buf_add_str(b, S("Connection: keep-alive\r\n"));
}

static bool has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

/* ---- From one request to the next. ---- */

/* The answer is out as far as the connection is concerned. */
static void next_request(struct h1 *h)
{
    struct h1_exchange *e = h->e;
    h->e = NULL;
    shared_text_unref(h->text);
    h->text = NULL;
    h->source = (struct http_source){0};
    if (h->is_last || exchange_is_draining(h->server)) {
        h->state = OVER;
        conn_finish(h->conn);
    } else {
        h->state = HEAD;
        h->finder = (struct h1_finder){0};
        conn_set_idle(h->conn, true);
        conn_hold_input(h->conn, false);
    }
    exchange_end(&e->base);
}

/* The peer has yet to take what is pending: known when output is asked for again. */
static void count_held(struct h1 *h)
{
    size_t pending = conn_pending(h->conn) + (h->text ? h->text->n - h->text_at : 0);
    if (pending < HELD_MIN)
        return;
    account_give_answer(h->account, h->held);
    h->held = pending;
    (void)account_take_answer(h->account, h->held);
}

static enum http_fill fill_text(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct h1 *h = ctx;
    (void)x;
    str piece = str_upto((str){h->text->p + h->text_at, h->text->n - h->text_at}, room);
    buf_add_str(out, piece);
    h->text_at += piece.n;
    return h->text_at < h->text->n ? HTTP_MORE : HTTP_END;
}

/* A long body goes out as the peer takes it. The request is answered, and its memory is freed, as with short ones. */
static void begin_text(struct h1 *h, str body)
{
    h->text = shared_text_ref(h->server, body);
    h->text_at = 0;
    h->state = STREAM;
    h->source = (struct http_source){fill_text, h};
    h->is_chunked_answer = h->is_waiting = false;
    count_held(h);
    conn_wake(h->conn);
    exchange_answered(&h->e->base);
}

static void answer(struct http_exchange *x, int status, struct http_headers headers, str body)
{
    struct h1 *h = h1_of(x);
    assert(h->state == WORK);
    exchange_of(x)->is_answered = true;
    h->is_last = h->is_last || exchange_is_draining(h->server);
    struct buf *out = conn_out(h->conn);
    add_head(h, out, status, headers);
    if (has_body(status)) {
        buf_add_str(out, S("Content-Length: "));
        add_number(out, body.n);
        buf_add_str(out, S("\r\n"));
    }
    buf_add_str(out, S("\r\n"));
    bool is_sent = has_body(status) && !h->is_head_only;
    if (is_sent && body.n >= SHARED_LEAST) {
        begin_text(h, body);
        return;
    }
    if (is_sent)
        buf_add_str(out, body);
    count_held(h);
    if (h->held)
        conn_wake(h->conn); /* output is asked for when it has been taken */
    next_request(h);
}

static void stream(struct http_exchange *x, int status, struct http_headers headers, struct http_source source)
{
    struct h1 *h = h1_of(x);
    assert(h->state == WORK);
    /* Where the end cannot be told otherwise, the end of the connection tells it. */
    h->is_last = h->is_last || h->is_1_0 || exchange_is_draining(h->server);
    h->is_chunked_answer = !h->is_1_0;
    struct buf *out = conn_out(h->conn);
    add_head(h, out, status, headers);
    if (has_body(status) && h->is_chunked_answer)
        buf_add_str(out, S("Transfer-Encoding: chunked\r\n"));
    buf_add_str(out, S("\r\n"));
    h->e->base.is_answered = h->e->base.is_streaming = true;
    h->state = STREAM;
    h->source = source;
    h->is_waiting = false;
    conn_wake(h->conn);
}

static bool resume(struct http_exchange *x)
{
    struct h1 *h = h1_of(x);
    if (h->state != STREAM)
        return false;
    h->is_waiting = false;
    return conn_wake(h->conn);
}

static const struct http_carrier carrier = {
    .answer = answer, .stream = stream, .resume = resume, .forget = exchange_forget};

/* ---- Streams. ---- */

enum { CHUNK_HEAD = 10 }; /* eight digits, zeros in front, CR LF: the chunk need not be moved once its size is known */

/* Fills the gap of CHUNK_HEAD bytes in front of a chunk. */
static void frame_chunk(struct buf *out, size_t start)
{
    size_t n = out->n - start - CHUNK_HEAD;
    assert(n <= UINT32_MAX);
    char *head = out->p + start;
    for (size_t at = CHUNK_HEAD - 2; at-- > 0; n /= 16)
        head[at] = "0123456789abcdef"[n % 16];
    head[CHUNK_HEAD - 2] = '\r';
    head[CHUNK_HEAD - 1] = '\n';
    buf_add_str(out, S("\r\n"));
}

/* Asks for pieces until there is enough, or no more for now. */
static enum http_fill fill(struct h1 *h, struct buf *out, size_t room)
{
    size_t start = out->n, end = start + room;
    enum http_fill r = HTTP_MORE;
    while (r == HTTP_MORE && out->n < end) {
        size_t before = out->n;
        h->is_waiting = true; /* unless it is resumed from within */
        r = h->source.fill(h->source.ctx, &h->e->base.x, out, end - before);
        assert(r != HTTP_MORE || out->n > before);
    }
    return r;
}

static void fill_stream(struct h1 *h, struct buf *out, size_t room)
{
    static const char gap[CHUNK_HEAD];
    size_t start = out->n;
    enum http_fill r = HTTP_END;
    if (!h->is_head_only) {
        if (h->is_chunked_answer)
            buf_add(out, gap, CHUNK_HEAD);
        size_t first = out->n;
        r = fill(h, out, room);
        if (out->n == first)
            out->n = start;
        else if (h->is_chunked_answer)
            frame_chunk(out, start);
        if (r == HTTP_END && h->is_chunked_answer)
            buf_add_str(out, S("0\r\n\r\n"));
    }
    if (r != HTTP_WAIT)
        h->is_waiting = false;
    if (r == HTTP_ABORT)
        conn_drop(h->conn, ERR_IO, "the answer was broken off");
    else if (r == HTTP_END)
        next_request(h);
}

static void on_output(void *ctx, struct conn *c, struct buf *out, size_t room)
{
    struct h1 *h = ctx;
    account_give_answer(h->account, h->held);
    h->held = 0;
    if (h->is_out_of_room) {
        h->is_out_of_room = false;
        conn_hold_input(c, false);
    }
    if (h->state == STREAM && !h->is_waiting) {
        fill_stream(h, out, room);
        count_held(h);
    }
}

/* ---- Requests. ---- */

/* Answers in the server's own name, and ends the connection. */
static void refuse(struct h1 *h, int status, const char *why)
{
    struct buf *out = conn_out(h->conn);
    h->is_last = true;
    add_head(h, out, status, (struct http_headers){0});
    if (status == 429)
        buf_add_str(out, S("Retry-After: 1\r\n"));
    buf_fmt(out,
            "Content-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %zu\r\n\r\n",
            strlen(why) + 1);
    if (!h->is_head_only)
        buf_fmt(out, "%s\n", why);
    h->state = OVER;
    conn_finish(h->conn);
    if (h->e)
        exchange_end(&h->e->base);
    h->e = NULL;
}

static void refuse_for_now(struct h1 *h)
{
    refuse(h, 429, "Too many requests, please try again later.");
}

static void hand_over(struct h1 *h)
{
    h->state = WORK;
    conn_timer_set(h->conn, 0);
    exchange_handle(&h->e->base);
}

/* The body is longer than it may be: the handler says so, and the rest is not read. */
static void hand_over_too_large(struct h1 *h)
{
    h->e->base.x.is_too_large = true;
    h->is_last = true;
    hand_over(h);
}

static void time_body(struct h1 *h)
{
    int64_t now = loop_now(conn_loop(h->conn)), delay = exchange_body_deadline(&h->e->base, now) - now;
    if (delay > 0)
        conn_timer_set(h->conn, delay);
    else /* not by the timer, which the next byte would move */
        conn_drop(h->conn, ERR_TIMEOUT, "the body of the request came too slowly");
}

/* The head decides whether the body is read. A peer that waits for its go-ahead may or may not send the body after the answer,
 * and a long one is not worth waiting for: in both cases the connection ends with the answer. */
static bool accept_head(struct h1 *h, const struct h1_request *r, bool is_waiting)
{
    bool was_last = h->is_last;
    h->state = WORK;
    h->is_last = was_last || is_waiting || r->m.length > SKIP_MAX;
    if (exchange_head(&h->e->base)) {
        h->is_last = was_last;
        return true;
    }
    if (h->state == HEAD) {
        h->state = SKIP;
        h->skipped = 0;
        conn_set_idle(h->conn, false);
        conn_timer_set(h->conn, exchange_limits(h->server)->body_ns); /* for all of what is skipped */
    }
    return false;
}

static void begin_body(struct h1 *h, const struct h1_request *r, bool has_come)
{
    bool is_waiting = r->expects_continue && !has_come;
    if (!r->m.is_chunked && r->m.length == 0) {
        hand_over(h);
        return;
    }
    h->left = r->m.length;
    h->is_chunked = r->m.is_chunked;
    h->chunked = (struct h1_chunked){0};
    if (!accept_head(h, r, is_waiting))
        return;
    if (r->m.length > exchange_body_limit(&h->e->base)) {
        hand_over_too_large(h);
        return;
    }
    h->state = BODY;
    time_body(h);
    if (is_waiting)
        conn_send(h->conn, S("HTTP/1.1 100 Continue\r\n\r\n"));
}

static void begin_request(struct h1 *h, str head, bool has_more)
{
    struct h1_request r;
    struct h1_problem problem;
    struct exchange *e = exchange_new(h->account, h->conn, &carrier, sizeof(struct h1_exchange));
    struct http_exchange *x = &e->x;
    h->e = (struct h1_exchange *)e;
    h->e->h = h;
    h->is_timed = false;
    conn_timer_set(h->conn, 0);
    conn_set_idle(h->conn, false);
    h->is_head_only = false;
    if (!account_set_pending(h->account, 0) || !exchange_head_add(e, head.n)) {
        refuse_for_now(h);
        return;
    }
    int rc = h1_parse_request(&x->arena, str_dup(&x->arena, head), &r, &problem);
    h->is_head_only = str_eq(r.method, S("HEAD"));
    h->is_1_0 = r.m.is_1_0;
    if (rc < 0) {
        refuse(h, problem.status, problem.why);
        return;
    }
    if (r.path.n > exchange_limits(h->server)->path_bytes) {
        refuse(h, 414, "the path of the request is too long");
        return;
    }
    h->is_last = !r.m.is_kept_alive;
    x->method = r.method;
    x->path = r.path;
    x->query = r.query;
    x->headers = r.m.headers;
    begin_body(h, &r, has_more);
}

/* How much of bytes was taken. */
static size_t take_head(struct h1 *h, str bytes)
{
    const struct http_limits *limits = exchange_limits(h->server);
    struct h1_problem problem;
    size_t n = 0;
    size_t enough = h->account->is_known ? limits->pending_bytes : HELD_MIN;
    if (conn_pending(h->conn) >= enough ||
        !account_may_begin(h->account)) { /* who does not read answers gets no more of them */
        h->is_out_of_room = true;
        conn_hold_input(h->conn, true);
        conn_wake(h->conn);
        return 0;
    }
    struct h1_limits head_limits = {limits->head_bytes, limits->headers};
    switch (h1_find_end(&h->finder, bytes, &head_limits, &n, &problem)) {
    case H1_DONE:
        begin_request(h, str_upto(bytes, n), bytes.n > n);
        return n;
    case H1_MORE:
        conn_set_idle(h->conn, false);
        if (!h->is_timed)
            conn_timer_set(h->conn, limits->head_ns);
        h->is_timed = true;
        if (!account_set_pending(h->account, bytes.n))
            refuse_for_now(h);
        return 0;
    default:
        h->is_head_only = false;
        refuse(h, problem.status, problem.why);
        return bytes.n;
    }
}

static bool add_to_body(struct h1 *h, str piece)
{
    switch (exchange_body_add(&h->e->base, piece)) {
    case BODY_OK:
        return true;
    case BODY_TOO_LARGE:
        hand_over_too_large(h);
        return false;
    default:
        refuse_for_now(h);
        return false;
    }
}

static size_t take_chunked(struct h1 *h, str bytes)
{
    str rest = bytes, piece;
    for (;;) {
        switch (h1_chunked_next(&h->chunked, &rest, &piece)) {
        case H1_DATA:
            if (!add_to_body(h, piece))
                return bytes.n - rest.n;
            break;
        case H1_DONE:
            hand_over(h);
            return bytes.n - rest.n;
        case H1_MORE:
            return bytes.n;
        default:
            refuse(h, 400, "malformed chunked body");
            return bytes.n;
        }
    }
}

static size_t take_plain(struct h1 *h, str bytes)
{
    str piece = str_upto(bytes, h->left < bytes.n ? (size_t)h->left : bytes.n);
    h->left -= piece.n;
    if (add_to_body(h, piece) && h->left == 0)
        hand_over(h);
    return piece.n;
}

static size_t take_body(struct h1 *h, str bytes)
{
    size_t n = h->is_chunked ? take_chunked(h, bytes) : take_plain(h, bytes);
    if (h->state == BODY)
        time_body(h);
    return n;
}

static void end_skip(struct h1 *h)
{
    h->state = HEAD;
    conn_timer_set(h->conn, 0);
    conn_set_idle(h->conn, true);
}

/* Too long or malformed: there is no next request to be found. */
static void give_up_skip(struct h1 *h)
{
    h->state = OVER;
    conn_finish(h->conn);
}

static size_t skip_chunked(struct h1 *h, str bytes)
{
    str rest = bytes, piece;
    for (;;) {
        switch (h1_chunked_next(&h->chunked, &rest, &piece)) {
        case H1_DATA:
            h->skipped += piece.n;
            if (h->skipped <= SKIP_MAX)
                break;
            give_up_skip(h);
            return bytes.n;
        case H1_DONE:
            end_skip(h);
            return bytes.n - rest.n;
        case H1_MORE:
            return bytes.n;
        default:
            give_up_skip(h);
            return bytes.n;
        }
    }
}

static size_t skip_body(struct h1 *h, str bytes)
{
    if (h->is_chunked)
        return skip_chunked(h, bytes);
    size_t n = h->left < bytes.n ? (size_t)h->left : bytes.n;
    h->left -= n;
    if (h->left == 0)
        end_skip(h);
    return n;
}

static size_t take_some(struct h1 *h, str bytes)
{
    return h->state == HEAD ? take_head(h, bytes) : h->state == BODY ? take_body(h, bytes) : skip_body(h, bytes);
}

static size_t on_input(void *ctx, struct conn *c, str bytes)
{
    struct h1 *h = ctx;
    size_t taken = 0;
    while (taken < bytes.n && (h->state == HEAD || h->state == BODY || h->state == SKIP)) {
        size_t n = take_some(h, str_from(bytes, taken));
        taken += n;
        if (n == 0)
            break;
    }
    if (h->state == OVER)
        return bytes.n;
    if (taken < bytes.n && h->state != HEAD)
        conn_hold_input(c, true); /* requests sent ahead: their turn comes */
    return taken;
}

/* ---- The connection. ---- */

/* Who sends no more may still wait for its answers. But a stream may never end, and half a request never does. */
static void on_end(void *ctx, struct conn *c)
{
    struct h1 *h = ctx;
    if ((h->state == HEAD && !h->is_out_of_room) || h->state == SKIP)
        conn_finish(c);
    else if (h->state == BODY || (h->state == STREAM && h->text == NULL))
        conn_drop(c, ERR_NONE, NULL);
}

static void on_timeout(void *ctx, struct conn *c)
{
    (void)ctx;
    conn_drop(c, ERR_TIMEOUT, "the request took too long");
}

static void on_drain(void *ctx, struct conn *c)
{
    struct h1 *h = ctx;
    if (h->state == HEAD || h->state == SKIP)
        conn_finish(c);
    else
        h->is_last = true;
}

static void on_closed(void *ctx, struct conn *c)
{
    (void)c;
    struct h1 *h = ctx;
    shared_text_unref(h->text);
    if (h->e && h->text == NULL && (h->state == WORK || h->state == STREAM))
        exchange_abandon(&h->e->base);
    else if (h->e)
        exchange_end(&h->e->base); /* it is answered, or the handler has not heard of it */
    account_give_answer(h->account, h->held);
    account_close(h->account);
    free(h);
}

void h1_session_start(struct account *a, struct conn *c)
{
    static const struct conn_user user = {
        .input = on_input,
        .end = on_end,
        .output = on_output,
        .timeout = on_timeout,
        .drain = on_drain,
        .closed = on_closed,
    };
    struct h1 *h = xcalloc(1, sizeof *h);
    h->server = a->server;
    h->account = a;
    h->conn = c;
    conn_set_user(c, &user, h);
    conn_set_idle(c, true);
}
