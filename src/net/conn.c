/* SPDX-License-Identifier: Apache-2.0 */
/*
 *               handshake done           conn_finish             all sent
 *     SHAKING ─────────────────► OPEN ─────────────────► ENDING ──────────► LINGERING
 *        │                        │                        │                   │ the peer ended too, or LINGER_NS
 *        └────────────────────────┴── failure, conn_drop ──┴───────────────────┴──────► DEAD ► closed(), freed
 *
 * A connection is served when the loop has events for it, and at the end of a turn when it is on the dirty list: all that
 * conn_* functions do is to change what there is to do, and put it there. DEAD ones are on that list too: they are freed
 * where no callback of theirs is on the stack.
 */
#include "net/conn.h"

#include "net/tls_link.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BUFFER = 16 << 10,       /* the size of new buffers: a TLS record */
    BUFFER_KEPT = 64 << 10,  /* larger ones are not kept in the pool */
    OUTPUT_STEP = 64 << 10,  /* asked of the user at a time */
    READ_BUDGET = 256 << 10, /* then it is the others' turn */
};
#define LINGER_NS (2 * INT64_C(1000000000))

enum state { SHAKING, OPEN, ENDING, LINGERING, DEAD };
enum timing { NOTHING, SHAKE, STALL, IDLE, LINGER }; /* what the timer means when it fires */
enum which { IN_ALL, IN_IDLE, IN_DIRTY, N_LISTS };

struct conn {
    struct conn_host *host;
    struct {
        struct conn *prev, *next;
    } links[N_LISTS];
    const struct conn_user *user;
    void *ctx;
    struct tls_link *tls;
    struct loop_fd fd;
    struct loop_timer timer, user_timer;
    struct buf in, out;
    size_t in_at, out_at; /* what is before has been taken */
    enum state state;
    enum timing timing;
    bool is_idle, is_dirty;
    bool is_held;       /* by the user: input is neither read nor shown */
    bool is_unshown;    /* input was released: show what is there */
    bool is_wanted;     /* the user may have output */
    bool is_blocked;    /* the socket took no more */
    bool is_dry;        /* without TLS: nothing to read until the next event */
    bool is_hung_up;    /* the loop said so */
    bool is_ended;      /* the end was read, or concluded */
    bool is_user_timed; /* the user's timer means something */
    struct err *why;
    char remote[64];
};

/* ---- Lists. ---- */

static void list_add(struct conn_list *list, struct conn *c, enum which w)
{
    c->links[w].prev = list->last;
    c->links[w].next = NULL;
    if (list->last)
        list->last->links[w].next = c;
    else
        list->first = c;
    list->last = c;
    list->n++;
}

static void list_remove(struct conn_list *list, struct conn *c, enum which w)
{
    struct conn *prev = c->links[w].prev, *next = c->links[w].next;
    if (prev)
        prev->links[w].next = next;
    else
        list->first = next;
    if (next)
        next->links[w].prev = prev;
    else
        list->last = prev;
    list->n--;
}

/* The first, taken off. */
static struct conn *list_take(struct conn_list *list, enum which w)
{
    struct conn *c = list->first;
    list->first = c->links[w].next;
    if (list->first)
        list->first->links[w].prev = NULL;
    else
        list->last = NULL;
    list->n--;
    return c;
}

static void mark_dirty(struct conn *c)
{
    struct conn_host *h = c->host;
    if (c->is_dirty)
        return;
    c->is_dirty = true;
    list_add(&h->dirty, c, IN_DIRTY);
    if (!h->is_work_queued)
        loop_defer(h->loop, &h->work);
    h->is_work_queued = true;
}

static void unmark_dirty(struct conn *c)
{
    if (c->is_dirty)
        list_remove(&c->host->dirty, c, IN_DIRTY);
    c->is_dirty = false;
}

/* ---- Buffers. ---- */

static void lend(struct conn_host *h, struct buf *b)
{
    if (b->cap)
        return;
    if (h->n_pool)
        *b = h->pool[--h->n_pool];
    else
        buf_grow(b, BUFFER);
}

static void give_back(struct conn_host *h, struct buf *b)
{
    if (b->cap == 0)
        return;
    if (b->cap < BUFFER || b->cap > BUFFER_KEPT || h->n_pool == CONN_POOL) {
        buf_done(b);
        return;
    }
    h->pool[h->n_pool] = *b;
    h->pool[h->n_pool++].n = 0;
    *b = (struct buf){0};
}

/* Moves what is left to the start, once what was taken is the greater part: each byte moves a bounded number of times. */
static void close_up(struct buf *b, size_t *at)
{
    if (*at == 0 || *at < b->n - *at)
        return;
    memmove(b->p, b->p + *at, b->n - *at);
    b->n -= *at;
    *at = 0;
}

size_t conn_pending(const struct conn *c)
{
    return c->out.n - c->out_at;
}

/* ---- Time. ---- */

/* A timer that means nothing any more is left to fire: cancelling costs more. */
static void set_timing(struct conn *c, enum timing timing, int64_t delay_ns)
{
    c->timing = timing;
    if (timing != NOTHING)
        loop_timer_set(c->host->loop, &c->timer, delay_ns);
}

static void time_idle(struct conn *c)
{
    set_timing(c, c->is_idle ? IDLE : NOTHING, c->host->idle_ns);
}

static void drain(struct conn *c)
{
    if (c->state == SHAKING || (c->state == OPEN && c->user->drain == NULL))
        conn_drop(c, ERR_NONE, NULL);
    else if (c->state == OPEN)
        c->user->drain(c->ctx, c);
}

static void on_timer(void *ctx)
{
    struct conn *c = ctx;
    enum timing timing = c->timing;
    c->timing = NOTHING;
    if (timing == SHAKE)
        conn_drop(c, ERR_TIMEOUT, "the handshake took too long");
    else if (timing == STALL)
        conn_drop(c, ERR_TIMEOUT, "the peer takes nothing");
    else if (timing == IDLE)
        drain(c);
    else if (timing == LINGER)
        conn_drop(c, ERR_NONE, NULL);
}

static void on_user_timer(void *ctx)
{
    struct conn *c = ctx;
    if (!c->is_user_timed || c->state != OPEN)
        return;
    c->is_user_timed = false;
    c->user->timeout(c->ctx, c);
}

/* ---- Death. ---- */

static void close_socket(struct conn *c, bool is_reset)
{
    static const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (is_reset)
        (void)setsockopt(c->fd.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    loop_fd_remove(c->host->loop, &c->fd);
    (void)close(c->fd.fd);
    c->fd.fd = -1;
}

static void die(struct conn *c, const struct err *why)
{
    if (c->state == DEAD)
        return;
    if (why && why->code != ERR_NONE) {
        c->why = malloc(sizeof *c->why);
        if (c->why == NULL)
            abort();
        *c->why = *why;
    }
    conn_set_idle(c, false);
    close_socket(c, why != NULL || conn_pending(c) > 0);
    c->state = DEAD;
    mark_dirty(c);
}

void conn_drop(struct conn *c, enum err_code code, const char *why)
{
    struct err err;
    if (code != ERR_NONE)
        err_set(&err, code, "%s", why ? why : "dropped");
    die(c, code != ERR_NONE ? &err : NULL);
}

/* Dead, and on no list but perhaps the dirty one. */
static void bury(struct conn *c)
{
    struct conn_host *h = c->host;
    loop_timer_cancel(h->loop, &c->timer);
    loop_timer_cancel(h->loop, &c->user_timer);
    c->user->closed(c->ctx, c);
    unmark_dirty(c); /* not before: closed may have called conn_wake and the like */
    give_back(h, &c->in);
    give_back(h, &c->out);
    tls_link_free(c->tls);
    free(c->why);
    free(c);
    if (h->on_closed)
        h->on_closed(h->ctx);
}

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
    lend(c->host, in);
    close_up(in, &c->in_at);
    if (in->cap - in->n < BUFFER / 2)
        buf_grow(in, BUFFER);
    size_t room = in->cap - in->n;
    ssize_t n = c->tls ? tls_link_read(c->tls, in->p + in->n, room, &err) : read_plain(c, in->p + in->n, room, &err);
    if (n == TLS_FAILED)
        die(c, &err);
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

static void serve_input(struct conn *c)
{
    size_t budget = READ_BUDGET;
    if (c->is_unshown && !c->is_held)
        show_input(c);
    while (c->state == OPEN && !c->is_held && !c->is_ended && c->in.n - c->in_at < c->host->input_bytes) {
        if (budget == 0) {
            mark_dirty(c);
            break;
        }
        if (!read_some(c, &budget))
            break;
        show_input(c);
    }
    if (c->is_held && c->is_hung_up) /* who holds input back does not read, so the loop's word has to do */
        c->is_ended = true;
    if (c->state == OPEN && c->is_ended) {
        if (c->user->end)
            c->user->end(c->ctx, c);
        else
            conn_drop(c, ERR_NONE, NULL);
    }
    if (c->in_at == c->in.n) {
        c->in_at = c->in.n = 0;
        give_back(c->host, &c->in);
    }
}

/* Whatever still comes is thrown away, until the end. */
static void serve_lingering(struct conn *c)
{
    size_t budget = READ_BUDGET;
    while (c->state == LINGERING && read_some(c, &budget)) {
        c->in.n = c->in_at = 0;
        if (budget == 0) {
            mark_dirty(c);
            break;
        }
    }
    c->in.n = c->in_at = 0;
    give_back(c->host, &c->in);
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
    while (conn_pending(c) > 0) {
        const char *p = c->out.p + c->out_at;
        ssize_t n =
            c->tls ? tls_link_write(c->tls, p, conn_pending(c), &err) : write_plain(c, p, conn_pending(c), &err);
        if (n == TLS_FAILED) {
            die(c, &err);
            return false;
        }
        if (n < 0) {
            c->is_blocked = true;
            if (has_moved || c->timing != STALL)
                set_timing(c, STALL, c->host->stall_ns);
            return false;
        }
        has_moved = true;
        c->out_at += (size_t)n;
    }
    c->out.n = c->out_at = 0;
    if (c->timing == STALL)
        time_idle(c);
    return true;
}

static void ask_output(struct conn *c)
{
    size_t limit = c->host->pending_bytes, before = conn_pending(c);
    c->is_wanted = false;
    if (c->user->output == NULL || before >= limit)
        return;
    lend(c->host, &c->out);
    c->user->output(c->ctx, c, &c->out, limit - before < OUTPUT_STEP ? limit - before : OUTPUT_STEP);
    if (conn_pending(c) > before)
        c->is_wanted = true; /* perhaps there is more */
}

/* Asks only when next to nothing is pending: what a peer does not take stays in the user's hands as far as possible. */
static void serve_output(struct conn *c)
{
    for (size_t rounds = 0; !c->is_blocked && (c->state == OPEN || c->state == ENDING); rounds++) {
        if (c->state == OPEN && c->is_wanted && conn_pending(c) < BUFFER)
            ask_output(c);
        if (c->state == DEAD || conn_pending(c) == 0 || !flush(c))
            break;
        if (rounds == READ_BUDGET / OUTPUT_STEP && c->is_wanted) {
            mark_dirty(c);
            break;
        }
    }
    if (conn_pending(c) == 0) {
        c->out.n = c->out_at = 0;
        give_back(c->host, &c->out);
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
    c->state = LINGERING;
    set_timing(c, LINGER, LINGER_NS);
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

static void serve_handshake(struct conn *c)
{
    struct err err;
    int rc = c->tls ? tls_link_handshake(c->tls, &err) : 0;
    if (rc == TLS_AGAIN)
        return;
    if (rc < 0) {
        if (tls_link_is_plain_http(c->tls))
            answer_plain_http(c);
        else
            die(c, &err);
        return;
    }
    c->state = OPEN;
    c->is_wanted = true;
    c->is_unshown = true;
    set_timing(c, NOTHING, 0);
    c->user->open(c->ctx, c);
}

static void serve(struct conn *c)
{
    if (c->state == SHAKING)
        serve_handshake(c);
    if (c->state == OPEN)
        serve_input(c);
    if (c->state == OPEN || c->state == ENDING)
        serve_output(c);
    if (c->state == ENDING && conn_pending(c) == 0)
        say_goodbye(c);
    if (c->state == LINGERING)
        serve_lingering(c);
}

static void on_event(void *ctx, unsigned events)
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
    unmark_dirty(c);
    serve(c);
}

/* Those that are dirty now; what they make dirty waits for the next turn. */
static void on_work(struct loop_work *w)
{
    struct conn_host *h = (struct conn_host *)((char *)w - offsetof(struct conn_host, work));
    h->is_work_queued = false;
    for (size_t n = h->dirty.n; n > 0 && h->dirty.first; n--) {
        struct conn *c = list_take(&h->dirty, IN_DIRTY);
        c->is_dirty = false;
        if (c->state == DEAD) {
            list_remove(&h->all, c, IN_ALL);
            bury(c);
        } else {
            serve(c);
        }
    }
    if (h->dirty.first && !h->is_work_queued) {
        h->is_work_queued = true;
        loop_defer(h->loop, &h->work);
    }
}

/* ---- What users call. ---- */

struct conn *conn_new(struct conn_host *h, const struct conn_options *o, struct err *err)
{
    static const int on = 1;
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        abort();
    c->host = h;
    c->user = o->user;
    c->ctx = o->ctx;
    c->fd = (struct loop_fd){.fd = o->fd, .fn = on_event, .ctx = c};
    c->timer = (struct loop_timer){.fn = on_timer, .ctx = c};
    c->user_timer = (struct loop_timer){.fn = on_user_timer, .ctx = c};
    str remote = str_upto(o->remote, sizeof c->remote - 1);
    if (remote.n)
        memcpy(c->remote, remote.p, remote.n);
    (void)setsockopt(o->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* no TCP, as in tests: no matter */
    if ((o->tls && (c->tls = tls_link_new(o->tls, o->fd, err)) == NULL) ||
        loop_fd_add(h->loop, &c->fd, LOOP_READ | LOOP_WRITE, err) < 0) {
        (void)close(o->fd);
        tls_link_free(c->tls);
        free(c);
        return NULL;
    }
    list_add(&h->all, c, IN_ALL);
    set_timing(c, SHAKE, h->handshake_ns);
    mark_dirty(c);
    return c;
}

void conn_set_user(struct conn *c, const struct conn_user *user, void *ctx)
{
    c->user = user;
    c->ctx = ctx;
    c->is_unshown = true; /* what has come already */
    mark_dirty(c);
}

str conn_protocol(const struct conn *c)
{
    return c->tls ? tls_link_protocol(c->tls) : (str){0};
}

const struct tls_peer *conn_peer(const struct conn *c)
{
    static const struct tls_peer nobody = {.state = TLS_PEER_NONE};
    return c->tls ? tls_link_peer(c->tls) : &nobody;
}

str conn_remote(const struct conn *c)
{
    return str_of(c->remote);
}

const struct err *conn_why(const struct conn *c)
{
    return c->why;
}

struct loop *conn_loop(const struct conn *c)
{
    return c->host->loop;
}

void conn_wake(struct conn *c)
{
    c->is_wanted = true;
    mark_dirty(c);
}

struct buf *conn_out(struct conn *c)
{
    lend(c->host, &c->out);
    close_up(&c->out, &c->out_at);
    mark_dirty(c);
    return &c->out;
}

void conn_send(struct conn *c, str bytes)
{
    if (c->state != DEAD)
        buf_add_str(conn_out(c), bytes);
}

void conn_hold_input(struct conn *c, bool is_held)
{
    if (c->is_held && !is_held) {
        c->is_unshown = true;
        mark_dirty(c);
    }
    c->is_held = is_held;
}

void conn_set_idle(struct conn *c, bool is_idle)
{
    if (c->is_idle == is_idle || c->state == DEAD)
        return;
    c->is_idle = is_idle;
    if (is_idle)
        list_add(&c->host->idle, c, IN_IDLE);
    else
        list_remove(&c->host->idle, c, IN_IDLE);
    if (c->timing == NOTHING || c->timing == IDLE)
        time_idle(c);
}

void conn_timer_set(struct conn *c, int64_t delay_ns)
{
    c->is_user_timed = delay_ns > 0;
    if (delay_ns > 0 && c->state != DEAD)
        loop_timer_set(c->host->loop, &c->user_timer, delay_ns);
}

void conn_finish(struct conn *c)
{
    if (c->state == SHAKING)
        conn_drop(c, ERR_NONE, NULL);
    if (c->state != OPEN)
        return;
    conn_set_idle(c, false);
    c->state = ENDING;
    mark_dirty(c);
}

/* ---- Hosts. ---- */

void conn_host_init(struct conn_host *h)
{
    h->work.fn = on_work;
}

void conn_host_done(struct conn_host *h)
{
    while (h->all.first) {
        struct conn *c = list_take(&h->all, IN_ALL);
        die(c, NULL);
        bury(c);
    }
    if (h->is_work_queued)
        loop_defer_cancel(h->loop, &h->work);
    h->is_work_queued = false;
    while (h->n_pool)
        buf_done(&h->pool[--h->n_pool]);
}

void conn_host_drain(struct conn_host *h)
{
    for (struct conn *c = h->all.first, *next; c; c = next) {
        next = c->links[IN_ALL].next; /* nobody is freed within a callback */
        drain(c);
    }
}
