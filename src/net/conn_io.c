/* SPDX-License-Identifier: Apache-2.0 */
#include "net/conn_internal.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

enum {
    OUTPUT_STEP = 64 << 10,  /* asked of the user at a time */
    READ_BUDGET = 256 << 10, /* then it is the others' turn */
    SHAKES_MAX = 4,          /* steps of handshakes in one turn of the loop */
};
#define LINGER_NS (2 * NS_PER_S)

/* ---- In. ---- */

static ssize_t read_plain(struct conn *c, void *p, size_t n, struct err *err)
{
    if (c->is_dry)
        return TLS_AGAIN;
    ssize_t got;
    do
        got = recv(c->fd.fd, p, n, 0);
    while (got < 0 && errno == EINTR);
    c->is_dry = got != 0 && got < (ssize_t)n && !c->is_hung_up;
    if (got >= 0)
        return got;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return TLS_AGAIN;
    err_set(err, ERR_IO, "read: %m");
    return TLS_FAILED;
}

/* Reads once into the input buffer. False when there is nothing for now, or for ever. */
static bool read_some(struct conn *c, size_t *budget)
{
    struct err err;
    struct buf *in = &c->in;
    conn_lend(c->host, in);
    conn_close_up(in, &c->in_at);
    if (in->cap - in->n < CONN_BUFFER / 2)
        buf_grow(in, CONN_BUFFER);
    size_t room = in->cap - in->n;
    ssize_t n = c->tls ? tls_link_read(c->tls, in->p + in->n, room, &err) : read_plain(c, in->p + in->n, room, &err);
    if (n == TLS_FAILED)
        conn_die(c, &err);
    c->is_ended = n == 0;
    if (n <= 0)
        return false;
    in->n += (size_t)n;
    *budget -= (size_t)n < *budget ? (size_t)n : *budget;
    return true;
}

static void show_input(struct conn *c)
{
    c->is_unshown = false;
    size_t n = c->in.n - c->in_at;
    if (n == 0)
        return;
    size_t taken = c->user->input(c->ctx, c, (str){c->in.p + c->in_at, n});
    assert(taken <= n);
    c->in_at += taken;
    c->is_wanted = true;
}

/* A connection that is only woken to send, as those of watches are, is not asked for input. */
static bool can_read(const struct conn *c)
{
    return c->tls ? tls_link_can_read(c->tls) : !c->is_dry;
}

static void serve_input(struct conn *c)
{
    size_t budget = READ_BUDGET;
    if (c->is_unshown && !c->is_held)
        show_input(c);
    while (c->state == CONN_OPEN && !c->is_held && !c->is_ended && can_read(c) &&
           c->in.n - c->in_at < c->host->input_bytes) {
        if (budget == 0) {
            conn_mark_dirty(c);
            break;
        }
        if (!read_some(c, &budget))
            break;
        show_input(c);
    }
    if (c->is_held && c->is_hung_up) /* who holds input back does not read, so the loop's word has to do */
        c->is_ended = true;
    if (c->state == CONN_OPEN && c->is_ended) {
        if (c->user->end)
            c->user->end(c->ctx, c);
        else
            conn_drop(c, ERR_NONE, NULL);
    }
    if (c->in_at == c->in.n) {
        c->in_at = c->in.n = 0;
        conn_give_back(c->host, &c->in);
    }
}

/* Whatever still comes is thrown away, until the end. */
static void serve_lingering(struct conn *c)
{
    size_t budget = READ_BUDGET;
    while (c->state == CONN_LINGERING && read_some(c, &budget)) {
        c->in.n = c->in_at = 0;
        if (budget == 0) {
            conn_mark_dirty(c);
            break;
        }
    }
    c->in.n = c->in_at = 0;
    conn_give_back(c->host, &c->in);
    if (c->is_ended)
        conn_drop(c, ERR_NONE, NULL);
}

/* ---- Out. ---- */

static ssize_t write_plain(struct conn *c, const void *p, size_t n, struct err *err)
{
    ssize_t put;
    do
        put = send(c->fd.fd, p, n, MSG_NOSIGNAL);
    while (put < 0 && errno == EINTR);
    if (put >= 0)
        return put;
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return TLS_AGAIN;
    err_set(err, ERR_IO, "write: %m");
    return TLS_FAILED;
}

/* Writes what is pending. False when the socket takes no more, or never will. */
static bool flush(struct conn *c)
{
    struct err err;
    bool has_moved = false;
    for (size_t before; (before = conn_pending(c)) > 0;) {
        const char *p = c->out.p + c->out_at;
        size_t left = c->out.n - c->out_at;
        ssize_t n = c->tls ? tls_link_write(c->tls, p, left, &err) : write_plain(c, p, left, &err);
        if (n == TLS_FAILED) {
            conn_die(c, &err);
            return false;
        }
        if (n < 0) {
            c->is_blocked = true;
            if (has_moved || conn_pending(c) < before || c->timing != TIME_STALL)
                conn_set_timing(c, TIME_STALL, c->host->stall_ns);
            return false;
        }
        has_moved = true;
        c->out_at += (size_t)n;
    }
    c->out.n = c->out_at = 0;
    conn_list_idle(c);
    if (c->timing == TIME_STALL)
        conn_time_idle(c);
    return true;
}

static void ask_output(struct conn *c)
{
    size_t limit = c->host->pending_bytes, before = conn_pending(c);
    if (before >= limit)
        return;
    c->is_wanted = false;
    if (c->user->output == NULL)
        return;
    conn_lend(c->host, &c->out);
    c->user->output(c->ctx, c, &c->out, limit - before < OUTPUT_STEP ? limit - before : OUTPUT_STEP);
    if (conn_pending(c) > before)
        c->is_wanted = true; /* perhaps there is more */
}

/* Asks only when next to nothing is pending: what a peer does not take stays in the user's hands as far as possible. */
static void serve_output(struct conn *c)
{
    for (size_t rounds = 0; !c->is_blocked && (c->state == CONN_OPEN || c->state == CONN_ENDING); rounds++) {
        if (c->state == CONN_OPEN && c->is_wanted && conn_pending(c) < CONN_BUFFER)
            ask_output(c);
        if (c->state == CONN_DEAD || conn_pending(c) == 0 || !flush(c))
            break;
        if (rounds == READ_BUDGET / OUTPUT_STEP && c->is_wanted) {
            conn_mark_dirty(c);
            break;
        }
    }
    if (c->out_at == c->out.n) {
        c->out.n = c->out_at = 0;
        conn_give_back(c->host, &c->out);
    }
}

static void say_goodbye(struct conn *c)
{
    if (c->is_ended) {
        conn_drop(c, ERR_NONE, NULL);
        return;
    }
    if (c->tls)
        tls_link_goodbye(c->tls);
    (void)shutdown(c->fd.fd, SHUT_WR);
    c->state = CONN_LINGERING;
    conn_set_timing(c, TIME_LINGER, LINGER_NS);
}

/* ---- Service. ---- */

/* Somebody who typed http:// for https:// should be told so, as long as that can be done in one go. */
static void answer_plain_http(struct conn *c)
{
    static const char text[] = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    (void)!send(c->fd.fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    tls_link_free(c->tls);
    c->tls = NULL;
    c->is_dry = false;
    say_goodbye(c);
}

void conn_wait_handshake(struct conn *c, bool is_waiting)
{
    if (c->is_waiting == is_waiting)
        return;
    c->is_waiting = is_waiting;
    if (is_waiting)
        c->host->shakes_waiting++;
    else
        c->host->shakes_waiting--;
}

/* Signatures take a third of a millisecond each: a crowd of newcomers waits in line, and requests are served between them. */
static void serve_handshake(struct conn *c)
{
    struct err err;
    if (c->tls && c->host->shakes >= SHAKES_MAX) {
        conn_wait_handshake(c, true);
        conn_mark_dirty(c);
        return;
    }
    conn_wait_handshake(c, false);
    int rc = c->tls ? tls_link_handshake(c->tls, &err) : 0;
    if (c->tls && tls_link_has_read(c->tls))
        c->host->shakes++;
    if (rc == TLS_AGAIN)
        return;
    if (rc < 0) {
        if (tls_link_is_plain_http(c->tls))
            answer_plain_http(c);
        else
            conn_die(c, &err);
        return;
    }
    c->state = CONN_OPEN;
    c->is_wanted = true;
    c->is_unshown = true;
    conn_set_timing(c, TIME_NOTHING, 0);
    c->user->open(c->ctx, c);
}

void conn_serve(struct conn *c)
{
    if (c->state == CONN_SHAKING)
        serve_handshake(c);
    if (c->state == CONN_OPEN)
        serve_input(c);
    if (c->state == CONN_OPEN || c->state == CONN_ENDING)
        serve_output(c);
    if (c->state == CONN_ENDING && conn_pending(c) == 0)
        say_goodbye(c);
    if (c->state == CONN_LINGERING)
        serve_lingering(c);
}

void conn_on_event(void *ctx, unsigned events)
{
    struct conn *c = ctx;
    if (events & LOOP_HANGUP)
        c->is_hung_up = true;
    if (events & LOOP_READ) {
        c->is_dry = false;
        if (c->tls)
            tls_link_readable(c->tls, c->is_hung_up);
    }
    if (events & LOOP_WRITE)
        c->is_blocked = false;
    conn_unmark_dirty(c);
    conn_serve(c);
}
