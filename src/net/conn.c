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
#include "base/arena.h"

#include "net/conn_internal.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Lists. ---- */

static void list_add(struct conn_list *list, struct conn *c, enum conn_which w)
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

static void list_remove(struct conn_list *list, struct conn *c, enum conn_which w)
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
static struct conn *list_take(struct conn_list *list, enum conn_which w)
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

void conn_mark_dirty(struct conn *c)
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

void conn_unmark_dirty(struct conn *c)
{
    if (c->is_dirty)
        list_remove(&c->host->dirty, c, IN_DIRTY);
    c->is_dirty = false;
}

/* ---- Buffers. ---- */

void conn_lend(struct conn_host *h, struct buf *b)
{
    if (b->cap)
        return;
    if (h->n_pool)
        *b = h->pool[--h->n_pool];
    else
        buf_grow(b, CONN_BUFFER);
}

void conn_give_back(struct conn_host *h, struct buf *b)
{
    if (b->cap == 0)
        return;
    if (b->cap < CONN_BUFFER || b->cap > CONN_BUFFER_KEPT || h->n_pool == CONN_POOL) {
        buf_done(b);
        return;
    }
    h->pool[h->n_pool] = *b;
    h->pool[h->n_pool++].n = 0;
    *b = (struct buf){0};
}

void conn_close_up(struct buf *b, size_t *at)
{
    if (*at == 0 || *at < b->n - *at)
        return;
    memmove(b->p, b->p + *at, b->n - *at);
    b->n -= *at;
    *at = 0;
}

size_t conn_pending(const struct conn *c)
{
    return c->out.n - c->out_at + (c->tls ? tls_link_unsent(c->tls) : 0);
}

/* ---- Time. ---- */

void conn_set_timing(struct conn *c, enum conn_timing timing, int64_t delay_ns)
{
    c->timing = timing;
    if (timing != TIME_NOTHING)
        loop_timer_set(c->host->loop, &c->timer, delay_ns);
}

void conn_time_idle(struct conn *c)
{
    conn_set_timing(c, c->is_idle ? TIME_IDLE : TIME_NOTHING, c->host->idle_ns);
}

void conn_list_idle(struct conn *c)
{
    bool is_listed = c->is_idle && conn_pending(c) == 0;
    if (c->is_listed == is_listed)
        return;
    c->is_listed = is_listed;
    if (is_listed)
        list_add(&c->host->idle, c, IN_IDLE);
    else
        list_remove(&c->host->idle, c, IN_IDLE);
}

static void drain(struct conn *c)
{
    if (c->state == CONN_SHAKING || (c->state == CONN_OPEN && c->user->drain == NULL))
        conn_drop(c, ERR_NONE, NULL);
    else if (c->state == CONN_OPEN)
        c->user->drain(c->ctx, c);
}

static void on_timer(void *ctx)
{
    struct conn *c = ctx;
    enum conn_timing timing = c->timing;
    c->timing = TIME_NOTHING;
    if (timing == TIME_SHAKE)
        conn_drop(c, ERR_TIMEOUT, "the handshake took too long");
    else if (timing == TIME_STALL)
        conn_drop(c, ERR_TIMEOUT, "the peer takes nothing");
    else if (timing == TIME_IDLE)
        drain(c);
    else if (timing == TIME_LINGER)
        conn_drop(c, ERR_NONE, NULL);
}

static void on_user_timer(void *ctx)
{
    struct conn *c = ctx;
    if (!c->is_user_timed || c->state != CONN_OPEN)
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

void conn_die(struct conn *c, const struct err *why)
{
    if (c->state == CONN_DEAD)
        return;
    if (why && why->code != ERR_NONE) {
        c->why = xmalloc(sizeof *c->why);
        *c->why = *why;
    }
    conn_set_idle(c, false);
    conn_wait_handshake(c, false);
    /* What is pending will not come: a reset says so. But an alert of a failed handshake should get through. */
    close_socket(c, conn_pending(c) > 0 || (why && c->state != CONN_SHAKING));
    c->state = CONN_DEAD;
    conn_mark_dirty(c);
}

void conn_drop(struct conn *c, enum err_code code, const char *why)
{
    struct err err;
    if (code != ERR_NONE)
        err_set(&err, code, "%s", why ? why : "dropped");
    conn_die(c, code != ERR_NONE ? &err : NULL);
}

/* Dead, and on no list but perhaps the dirty one. */
static void bury(struct conn *c)
{
    struct conn_host *h = c->host;
    loop_timer_cancel(h->loop, &c->timer);
    loop_timer_cancel(h->loop, &c->user_timer);
    c->user->closed(c->ctx, c);
    conn_unmark_dirty(c); /* not before: closed may have called conn_wake and the like */
    conn_give_back(h, &c->in);
    conn_give_back(h, &c->out);
    tls_link_free(c->tls);
    free(c->why);
    free(c);
    if (h->on_closed)
        h->on_closed(h->ctx);
}

/* ---- Service. ---- */

/* Those that are dirty now; what they make dirty waits for the next turn. */
static void on_work(struct loop_work *w)
{
    struct conn_host *h = (struct conn_host *)((char *)w - offsetof(struct conn_host, work));
    h->is_work_queued = false;
    h->shakes = 0;
    for (size_t n = h->dirty.n; n > 0 && h->dirty.first; n--) {
        struct conn *c = list_take(&h->dirty, IN_DIRTY);
        c->is_dirty = false;
        if (c->state == CONN_DEAD) {
            list_remove(&h->all, c, IN_ALL);
            bury(c);
        } else {
            conn_serve(c);
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
    struct conn *c = xcalloc(1, sizeof *c);
    c->host = h;
    c->user = o->user;
    c->ctx = o->ctx;
    c->fd = (struct loop_fd){.fd = o->fd, .fn = conn_on_event, .ctx = c};
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
    conn_set_timing(c, TIME_SHAKE, h->handshake_ns);
    conn_mark_dirty(c);
    return c;
}

void conn_set_user(struct conn *c, const struct conn_user *user, void *ctx)
{
    c->user = user;
    c->ctx = ctx;
    c->is_unshown = true; /* what has come already */
    conn_mark_dirty(c);
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

bool conn_wake(struct conn *c)
{
    bool was_wanted = c->is_wanted;
    c->is_wanted = true;
    conn_mark_dirty(c);
    return !was_wanted;
}

struct buf *conn_out(struct conn *c)
{
    conn_lend(c->host, &c->out);
    conn_close_up(&c->out, &c->out_at);
    conn_mark_dirty(c);
    return &c->out;
}

void conn_send(struct conn *c, str bytes)
{
    if (c->state != CONN_DEAD)
        buf_add_str(conn_out(c), bytes);
}

void conn_hold_input(struct conn *c, bool is_held)
{
    if (c->is_held && !is_held) {
        c->is_unshown = true;
        conn_mark_dirty(c);
    }
    c->is_held = is_held;
}

void conn_set_idle(struct conn *c, bool is_idle)
{
    if (c->is_idle == is_idle || c->state == CONN_DEAD)
        return;
    c->is_idle = is_idle;
    conn_list_idle(c);
    if (c->timing == TIME_NOTHING || c->timing == TIME_IDLE)
        conn_time_idle(c);
}

void conn_timer_set(struct conn *c, int64_t delay_ns)
{
    c->is_user_timed = delay_ns > 0;
    if (delay_ns > 0 && c->state != CONN_DEAD)
        loop_timer_set(c->host->loop, &c->user_timer, delay_ns);
}

void conn_finish(struct conn *c)
{
    if (c->state == CONN_SHAKING)
        conn_drop(c, ERR_NONE, NULL);
    if (c->state != CONN_OPEN)
        return;
    conn_set_idle(c, false);
    c->state = CONN_ENDING;
    conn_mark_dirty(c);
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
        conn_die(c, NULL);
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
