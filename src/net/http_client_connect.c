/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_client_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ADDRESSES = 16 }; /* of one name; the rest is not tried */

/* ---- Names. The system's resolver blocks, so it gets a thread; the loop never waits for it. ----
 *
 * A client that goes away leaves its lookup behind: the thread frees it if it has not handed it over yet. */
struct client_lookup {
    struct loop_work work; /* first */
    struct loop *loop;
    struct http_client *client; /* the loop's */
    char *host;
    int code; /* getaddrinfo's */
    struct addrinfo *found;
    pthread_mutex_t mutex; /* for the two below */
    bool is_left, is_posted;
};

static void attempt(struct http_client *c);

static void lookup_free(struct client_lookup *k)
{
    if (k->found)
        freeaddrinfo(k->found);
    (void)pthread_mutex_destroy(&k->mutex);
    free(k->host);
    free(k);
}

static void add_address(struct http_client *c, const struct sockaddr *a, size_t n)
{
    if (c->addresses.n == ADDRESSES || n > sizeof(struct sockaddr_storage))
        return;
    struct sockaddr_storage *to = vec_push(&c->arena, &c->addresses);
    *to = (struct sockaddr_storage){0};
    memcpy(to, a, n);
    if (a->sa_family == AF_INET)
        ((struct sockaddr_in *)to)->sin_port = htons(c->options.port);
    else
        ((struct sockaddr_in6 *)to)->sin6_port = htons(c->options.port);
}

static void on_lookup(struct loop_work *w)
{
    struct client_lookup *k = (struct client_lookup *)w;
    struct http_client *c = k->client;
    if (c == NULL) {
        lookup_free(k);
        return;
    }
    c->lookup = NULL;
    for (const struct addrinfo *a = k->found; a; a = a->ai_next)
        if (a->ai_family == AF_INET || a->ai_family == AF_INET6)
            add_address(c, a->ai_addr, a->ai_addrlen);
    if (k->code != 0)
        err_set(&c->why, ERR_UNAVAILABLE, "look up %.*s: %s", STR(c->options.host), gai_strerror(k->code));
    lookup_free(k);
    client_enter(c);
    attempt(c);
    client_leave(c);
}

static void *look_up(void *ctx)
{
    struct client_lookup *k = ctx;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    k->code = getaddrinfo(k->host, NULL, &hints, &k->found);
    pthread_mutex_lock(&k->mutex);
    bool is_left = k->is_left;
    k->is_posted = true;
    if (!is_left)
        loop_post(k->loop, &k->work); /* under the lock: the loop lives as long as the client does */
    pthread_mutex_unlock(&k->mutex);
    if (is_left)
        lookup_free(k);
    return NULL;
}

static void leave_lookup(struct client_lookup *k)
{
    k->client = NULL;
    pthread_mutex_lock(&k->mutex);
    k->is_left = !k->is_posted;
    pthread_mutex_unlock(&k->mutex);
}

static void begin_lookup(struct http_client *c)
{
    struct client_lookup *k = calloc(1, sizeof *k);
    if (k == NULL || (k->host = strdup(c->options.host.p)) == NULL)
        abort();
    k->work.fn = on_lookup;
    k->loop = c->loop;
    k->client = c;
    (void)pthread_mutex_init(&k->mutex, NULL);
    c->lookup = k;
    pthread_t thread;
    if (pthread_create(&thread, NULL, look_up, k) == 0) {
        pthread_detach(thread);
        return;
    }
    k->code = EAI_AGAIN;
    k->is_posted = true;
    loop_post(c->loop, &k->work);
}

/* ---- Sockets. ---- */

static str format_address(struct arena *a, const struct sockaddr_storage *to)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (to->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
        return str_fmt(a, "%s:%u", inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text), ntohs(v4->sin_port));
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
    return str_fmt(a, "[%s]:%u", inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text), ntohs(v6->sin6_port));
}

static void failed(struct http_client *c, const struct sockaddr_storage *to, int code)
{
    errno = code;
    err_set(&c->why, ERR_UNAVAILABLE, "connect to %.*s: %m", STR(format_address(&c->arena, to)));
}

/* Who waits for the connection to open; then the protocol takes over. */
static void on_open(void *ctx, struct conn *conn)
{
    struct http_client *c = ctx;
    if (c->is_freed || c->state != CLIENT_CONNECTING)
        return;
    c->protocol =
        str_eq(conn_protocol(conn), S("h2")) || (c->options.tls == NULL && c->options.is_h2) ? &client_h2 : &client_h1;
    c->state = CLIENT_OPEN;
    client_enter(c);
    c->protocol->begin(c);
    conn_set_user(conn, c->protocol->user, c);
    c->protocol->start(c);
    if (c->protocol == &client_h1) /* the other one waits for the server's greeting */
        client_ready(c);
    client_leave(c);
}

static size_t on_early_input(void *ctx, struct conn *conn, str bytes)
{
    (void)ctx, (void)conn, (void)bytes;
    return 0;
}

static void on_closed_early(void *ctx, struct conn *conn)
{
    struct http_client *c = ctx;
    c->conn = NULL;
    if (c->is_freed || c->state == CLIENT_GONE)
        return;
    const struct err *why = conn_why(conn);
    if (why == NULL)
        err_set(&c->why, ERR_UNAVAILABLE, "connect to %.*s: the server closed the connection", STR(c->authority));
    else
        err_set(&c->why, ERR_UNAVAILABLE, "connect to %.*s: %s", STR(c->authority), why->msg);
    client_enter(c);
    client_gone(c);
    client_leave(c);
}

static const struct conn_user opening = {.open = on_open, .input = on_early_input, .closed = on_closed_early};

static void connected(struct http_client *c, const struct sockaddr_storage *to)
{
    int fd = c->attempt.fd;
    loop_timer_cancel(c->loop, &c->attempt_timer);
    loop_fd_remove(c->loop, &c->attempt);
    c->attempt.fd = -1;
    struct conn_options options = {
        .fd = fd,
        .tls = c->options.tls,
        .user = &opening,
        .ctx = c,
        .remote = format_address(&c->arena, to),
    };
    c->conn = conn_new(&c->host, &options, &c->why);
    if (c->conn == NULL)
        client_gone(c);
}

/* This address is given up, for the next. */
static void give_up(struct http_client *c, int code)
{
    failed(c, &c->addresses.p[c->next_address - 1], code);
    loop_timer_cancel(c->loop, &c->attempt_timer);
    loop_fd_remove(c->loop, &c->attempt);
    (void)close(c->attempt.fd);
    c->attempt.fd = -1;
    attempt(c);
}

static void on_attempt_timer(void *ctx)
{
    struct http_client *c = ctx;
    client_enter(c);
    give_up(c, ETIMEDOUT);
    client_leave(c);
}

static void on_attempt(void *ctx, unsigned events)
{
    (void)events;
    struct http_client *c = ctx;
    int code = 0;
    socklen_t n = sizeof code;
    (void)getsockopt(c->attempt.fd, SOL_SOCKET, SO_ERROR, &code, &n);
    struct sockaddr_storage peer;
    socklen_t peer_n = sizeof peer;
    if (code == 0 && getpeername(c->attempt.fd, (struct sockaddr *)&peer, &peer_n) < 0)
        return; /* not yet */
    client_enter(c);
    if (code == 0)
        connected(c, &c->addresses.p[c->next_address - 1]);
    else
        give_up(c, code);
    client_leave(c);
}

/* HTTP/1.1 has no PING: the kernel has to notice that the other side is gone without a word, about as fast. */
static void keep_alive(int fd)
{
    static const int on = 1, idle = 30, interval = 5, count = 3; /* seconds */
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/* An address that swallows everything (IPv6 on many a network) leaves time for those behind it; the last one has all of it. */
static void share_time(struct http_client *c)
{
    size_t others = c->addresses.n - c->next_address;
    int64_t left = c->connect_at - loop_now(c->loop);
    c->attempt_timer = (struct loop_timer){.fn = on_attempt_timer, .ctx = c};
    if (others && left > 0)
        loop_timer_set(c->loop, &c->attempt_timer, left / (int64_t)(others + 1));
}

/* False: not even begun; c->why says why. */
static bool begin_attempt(struct http_client *c, const struct sockaddr_storage *to)
{
    socklen_t n = to->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    int fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (connect(fd, (const struct sockaddr *)to, n) < 0 && errno != EINPROGRESS)) {
        failed(c, to, errno);
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    keep_alive(fd);
    c->attempt = (struct loop_fd){.fd = fd, .fn = on_attempt, .ctx = c};
    if (loop_fd_add(c->loop, &c->attempt, LOOP_WRITE, &c->why) == 0) {
        share_time(c);
        return true;
    }
    (void)close(fd);
    c->attempt.fd = -1;
    return false;
}

/* The next address, or the end. */
static void attempt(struct http_client *c)
{
    while (c->next_address < c->addresses.n)
        if (begin_attempt(c, &c->addresses.p[c->next_address++]))
            return;
    if (c->why.code == ERR_NONE)
        err_set(&c->why, ERR_UNAVAILABLE, "connect to %.*s: it has no address", STR(c->authority));
    client_gone(c);
}

static void on_begin(struct loop_work *w)
{
    struct http_client *c = (struct http_client *)((char *)w - offsetof(struct http_client, begin));
    client_enter(c);
    attempt(c);
    client_leave(c);
}

void client_connect(struct http_client *c)
{
    c->attempt.fd = -1;
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, c->options.host.p, &v4.sin_addr) == 1)
        add_address(c, (const struct sockaddr *)&v4, sizeof v4);
    else if (inet_pton(AF_INET6, c->options.host.p, &v6.sin6_addr) == 1)
        add_address(c, (const struct sockaddr *)&v6, sizeof v6);
    if (c->addresses.n == 0) {
        begin_lookup(c);
        return;
    }
    /* Not from within http_client_new: nothing calls back from there. */
    c->begin.fn = on_begin;
    loop_defer(c->loop, &c->begin);
}

void client_connect_done(struct http_client *c)
{
    loop_timer_cancel(c->loop, &c->timer);
    loop_timer_cancel(c->loop, &c->attempt_timer);
    loop_defer_cancel(c->loop, &c->begin);
    if (c->lookup)
        leave_lookup(c->lookup);
    c->lookup = NULL;
    if (c->attempt.fd >= 0) {
        loop_fd_remove(c->loop, &c->attempt);
        (void)close(c->attempt.fd);
        c->attempt.fd = -1;
    }
}
