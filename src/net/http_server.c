/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const struct http_limits defaults = {
    .head_bytes = 64 << 10,
    .headers = 200,
    .body_bytes = 3 << 20,
    .path_bytes = 8 << 10,
    .bodies_bytes = 256 << 20,
    .connections = 20000,
    .streams = 100,
    .pending_bytes = 256 << 10,
    .handshake_ns = 10 * NS_PER_S,
    .head_ns = 10 * NS_PER_S,
    .body_ns = 30 * NS_PER_S,
    .body_all_ns = 60 * NS_PER_S,
    .body_grace_ns = 5 * NS_PER_S,
    .body_rate = 1024,
    .idle_ns = 180 * NS_PER_S,
    .stall_ns = 60 * NS_PER_S,
    .answers_bytes = 4 << 20,
    .answers_all_bytes = 256 << 20,
    .unknown_connections = 4096,
    .unknown_bytes = 256 << 10,
    .unknown_address_bytes = 4 << 20,
    .unknown_all_bytes = 16 << 20,
};

static struct http_limits with_defaults(struct http_limits l)
{
#define FILL(name) l.name = l.name ? l.name : defaults.name
    FILL(head_bytes);
    FILL(headers);
    FILL(body_bytes);
    FILL(path_bytes);
    FILL(bodies_bytes);
    FILL(connections);
    FILL(streams);
    FILL(pending_bytes);
    FILL(handshake_ns);
    FILL(head_ns);
    FILL(body_ns);
    FILL(body_all_ns);
    FILL(body_grace_ns);
    FILL(body_rate);
    FILL(idle_ns);
    FILL(stall_ns);
    FILL(answers_bytes);
    FILL(answers_all_bytes);
    FILL(unknown_connections);
    FILL(unknown_bytes);
    FILL(unknown_address_bytes);
    FILL(unknown_all_bytes);
#undef FILL
    if (l.unknown_connections > (l.connections + 1) / 2)
        l.unknown_connections = (l.connections + 1) / 2;
    if (l.unknown_of_address == 0)
        l.unknown_of_address = l.unknown_connections - l.unknown_connections / 4;
    return l;
}

/* ---- Connections. ---- */

/* Without TLS, or with a peer that offers no protocols: who speaks HTTP/2 begins with a line that is no request of
 * HTTP/1.1. */
static size_t on_first_bytes(void *ctx, struct conn *c, str bytes)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n";
    size_t n = bytes.n < sizeof preface - 1 ? bytes.n : sizeof preface - 1;
    if (memcmp(bytes.p, preface, n) != 0)
        h1_session_start(ctx, c);
    else if (n == sizeof preface - 1)
        h2_session_start(ctx, c);
    return 0;
}

static void on_open(void *ctx, struct conn *c)
{
    struct account *a = ctx;
    if (a->server->head == NULL || conn_peer(c)->state == TLS_PEER_GOOD)
        account_set_known(a);
    if (str_eq(conn_protocol(c), S("h2")))
        h2_session_start(ctx, c);
    else if (conn_protocol(c).n)
        h1_session_start(ctx, c);
    else
        conn_set_idle(c, true); /* whoever says nothing may be sent away */
}

static void on_closed(void *ctx, struct conn *c)
{
    (void)c;
    account_close(ctx);
}

/* Until the protocol is known. The context is the account of the connection. */
static const struct conn_user newcomer = {.open = on_open, .input = on_first_bytes, .closed = on_closed};

static bool make_place(struct http_server *s)
{
    s->stats.refused++;
    if (account_drop_unknown(s))
        return true;
    if (s->conns.idle.first == NULL)
        return false;
    conn_drop(s->conns.idle.first, ERR_NONE, NULL);
    return true;
}

void server_welcome(struct http_server *s, int fd, str remote, const struct account_address *from)
{
    if (s->conns.all.n >= s->limits.connections && !make_place(s)) {
        (void)close(fd);
        return;
    }
    struct account *a = account_open(s, from);
    struct conn_options o = {.fd = fd, .tls = s->tls, .user = &newcomer, .ctx = a, .remote = remote};
    a->conn = conn_new(&s->conns, &o, NULL);
    if (a->conn == NULL) {
        s->stats.refused++;
        account_close(a);
        return;
    }
    s->stats.accepted++;
    if (s->head == NULL && s->tls == NULL)
        account_set_known(a);
}

static void on_connection_gone(void *ctx)
{
    server_settle(ctx);
}

/* ---- Draining. ---- */

void server_settle(struct http_server *s)
{
    if (!s->is_draining || s->drained == NULL || s->is_drain_work_queued || s->conns.all.n || s->stats.exchanges)
        return;
    s->is_drain_work_queued = true; /* not from within whoever noticed it */
    loop_defer(s->loop, &s->drain_work);
}

static void on_drained(struct loop_work *w)
{
    struct http_server *s = (struct http_server *)((char *)w - offsetof(struct http_server, drain_work));
    void (*drained)(void *ctx) = s->drained;
    s->is_drain_work_queued = false;
    s->drained = NULL;
    loop_timer_cancel(s->loop, &s->drain_timer);
    drained(s->drained_ctx); /* which may free the server */
}

static void on_drain_timer(void *ctx)
{
    struct http_server *s = ctx;
    conn_host_done(&s->conns);
    if (s->drained && !s->is_drain_work_queued) {
        s->is_drain_work_queued = true;
        loop_defer(s->loop, &s->drain_work);
    }
}

void http_server_drain(struct http_server *s, int64_t within_ns, void (*done)(void *ctx), void *ctx)
{
    s->is_draining = true;
    s->drained = done;
    s->drained_ctx = ctx;
    listener_close(s);
    loop_timer_set(s->loop, &s->drain_timer, within_ns);
    conn_host_drain(&s->conns);
    server_settle(s);
}

/* ---- Life. ---- */

int http_server_new(struct loop *l, const struct http_server_options *o, struct http_server **ret, struct err *err)
{
    struct http_server *s = xcalloc(1, sizeof *s);
    s->loop = l;
    s->limits = with_defaults(o->limits);
    s->head = o->head;
    s->handle = o->handle;
    s->ctx = o->ctx;
    s->tls = tls_ref(o->tls);
    s->date_second = -1;
    s->drain_timer = (struct loop_timer){.fn = on_drain_timer, .ctx = s};
    s->drain_work.fn = on_drained;
    s->conns = (struct conn_host){
        .loop = l,
        .pending_bytes = s->limits.pending_bytes,
        .input_bytes = s->limits.head_bytes + 1, /* one past the limit shows that it is passed */
        .handshake_ns = s->limits.handshake_ns,
        .idle_ns = s->limits.idle_ns,
        .stall_ns = s->limits.stall_ns,
        .on_closed = on_connection_gone,
        .ctx = s,
    };
    conn_host_init(&s->conns);
    accounts_init(s);
    int rc = listener_open(s, o->host, o->port, err);
    if (rc < 0) {
        http_server_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void http_server_free(struct http_server *s)
{
    if (s == NULL)
        return;
    s->drained = NULL;
    listener_close(s);
    conn_host_done(&s->conns);
    if (s->is_drain_work_queued)
        loop_defer_cancel(s->loop, &s->drain_work);
    loop_timer_cancel(s->loop, &s->drain_timer);
    for (struct exchange *e = s->exchanges, *next; e; e = next) {
        next = e->next;
        e->server = NULL; /* those that are yet to be answered end with their answer */
        e->account = NULL;
        if (e->is_ended) {
            loop_defer_cancel(s->loop, &e->finish);
            exchange_finish(e);
        }
    }
    accounts_done(s);
    assert(s->texts.n == 0); /* they went with the connections */
    map_done(&s->texts);
    tls_unref(s->tls);
    free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
    return s->listener.port;
}

void http_server_set_tls(struct http_server *s, struct tls_context *tls)
{
    tls_ref(tls);
    tls_unref(s->tls);
    s->tls = tls;
}

struct http_server_stats http_server_stats(const struct http_server *s)
{
    struct http_server_stats stats = s->stats;
    stats.connections = s->conns.all.n;
    stats.answer_bytes = s->accounts.known_answers;
    stats.unknown_connections = s->accounts.unknown.n;
    stats.unknown_bytes = s->accounts.unknown_bytes;
    return stats;
}

/* ---- For sessions. ---- */

const struct http_limits *exchange_limits(const struct http_server *s)
{
    return &s->limits;
}

bool exchange_is_draining(const struct http_server *s)
{
    return s->is_draining;
}

str exchange_date(struct http_server *s)
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t second = (time_t)(clock_seconds(&clock_system));
    struct tm tm;
    if (second != s->date_second && gmtime_r(&second, &tm)) {
        s->date_second = second;
        (void)snprintf(s->date, sizeof s->date, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday], tm.tm_mday,
                       months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    }
    return str_of(s->date);
}
