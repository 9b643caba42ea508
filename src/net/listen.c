/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BURST = 64,   /* accepted in one go */
    WAITING = 64, /* handshakes that wait for their turn: past it connections stay with the kernel */
};
#define LATER_NS INT64_C(100000000) /* after the kernel refused */
#define PLACE_NS INT64_C(20000000)  /* until there is place among the unknown */

/* "127.0.0.1:51234", "[::1]:51234"; empty for anything else. */
static str address_text(const struct sockaddr_storage *sa, char *p, size_t n)
{
    char host[INET6_ADDRSTRLEN];
    int written = 0;
    if (sa->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof in);
        if (inet_ntop(AF_INET, &in.sin_addr, host, sizeof host))
            written = snprintf(p, n, "%s:%u", host, ntohs(in.sin_port));
    } else if (sa->ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof in6);
        if (inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof host))
            written = snprintf(p, n, "[%s]:%u", host, ntohs(in6.sin6_port));
    }
    return (str){p, written > 0 && (size_t)written < n ? (size_t)written : 0};
}

/* An IPv4 address written as IPv6 is the same peer. */
static struct account_address address_of(const struct sockaddr_storage *sa)
{
    struct account_address a = {0};
    if (sa->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof in);
        a.n = sizeof in.sin_addr;
        memcpy(a.bytes, &in.sin_addr, a.n);
    } else if (sa->ss_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof in6);
        bool is_mapped = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
        a.n = is_mapped ? 4 : sizeof a.bytes;
        memcpy(a.bytes, in6.sin6_addr.s6_addr + (is_mapped ? 12 : 0), a.n);
    }
    return a;
}

/* A peer whose machine is gone says nothing, and neither does a watch without events: the kernel has to ask. The first time is
 * that of kube-apiserver. */
static void ask_if_alive(int fd)
{
    static const int on = 1, idle_seconds = 180, interval_seconds = 30, probes = 6;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* Turns the next in the queue away with the spare descriptor, so that it does not wait for what will not come. */
static bool turn_away(struct listener *l)
{
    if (l->spare < 0)
        return false;
    (void)close(l->spare);
    int fd = accept4(l->fd.fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        (void)close(fd);
    l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* One from the queue; false when it is empty, or the kernel refuses. */
static bool accept_one(struct http_server *s)
{
    struct listener *l = &s->listener;
    struct sockaddr_storage sa = {0};
    socklen_t n = sizeof sa;
    char text[INET6_ADDRSTRLEN + 16];
    int fd = accept4(l->fd.fd, (struct sockaddr *)&sa, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        ask_if_alive(fd);
        struct account_address from = address_of(&sa);
        server_welcome(s, fd, address_text(&sa, text, sizeof text), &from);
        return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return false;
    if (errno == ECONNABORTED || errno == EINTR || errno == EPROTO)
        return true;
    s->stats.refused++;
    if ((errno == EMFILE || errno == ENFILE) && turn_away(l))
        return true;
    loop_timer_set(s->loop, &l->later, LATER_NS);
    return false;
}

static void accept_some(struct http_server *s)
{
    for (int i = 0; i < BURST && s->conns.shakes_waiting < WAITING; i++) {
        if (!accounts_have_place(s)) {
            loop_timer_set(s->loop, &s->listener.later, PLACE_NS);
            return;
        }
        if (!accept_one(s))
            return;
    }
    if (!s->listener.is_again)
        loop_defer(s->loop, &s->listener.again);
    s->listener.is_again = true;
}

static void on_event(void *ctx, unsigned events)
{
    (void)events;
    accept_some(ctx);
}

static void on_later(void *ctx)
{
    accept_some(ctx);
}

static void on_again(struct loop_work *w)
{
    struct http_server *s = (struct http_server *)((char *)w - offsetof(struct http_server, listener.again));
    s->listener.is_again = false;
    accept_some(s);
}

/* A socket that listens, or -1 with errno. */
static int listen_at(const struct addrinfo *a)
{
    static const int on = 1;
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return fd;
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return -1;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_in6 sa = {0}; /* the port is where that of IPv4 is */
    socklen_t n = sizeof sa;
    return getsockname(fd, (struct sockaddr *)&sa, &n) < 0 ? 0 : ntohs(sa.sin6_port);
}

/* The first address of host that can be listened at. */
static int listen_on(str host, uint16_t port, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct addrinfo *all = NULL;
    /* "localhost" is looked up nowhere: it is the loopback, whatever a resolver might say. */
    const char *node = str_eq(host, S("localhost")) ? "127.0.0.1" : str_cstr(&scratch, host);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    int rc = getaddrinfo(node, str_cstr(&scratch, str_fmt(&scratch, "%u", port)), &hints, &all);
    if (rc != 0)
        return err_set(err, ERR_INVALID, "listen at %.*s: %s", STR(host), gai_strerror(rc));
    int fd = -1, saved = 0;
    for (const struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = listen_at(a);
        saved = errno;
    }
    freeaddrinfo(all);
    errno = saved;
    if (fd < 0)
        return err_set(err, saved == EADDRINUSE ? ERR_CONFLICT : ERR_IO, "listen at %.*s port %u: %m", STR(host), port);
    return fd;
}

int listener_open(struct http_server *s, str host, uint16_t port, struct err *err)
{
    struct listener *l = &s->listener;
    *l = (struct listener){
        .fd = {.fd = -1, .fn = on_event, .ctx = s}, .again = {.fn = on_again}, .later = {.fn = on_later, .ctx = s}};
    l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd = listen_on(host, port, err);
    if (fd < 0)
        return fd;
    l->fd.fd = fd;
    l->port = port_of(fd);
    return loop_fd_add(s->loop, &l->fd, LOOP_READ, err);
}

void listener_close(struct http_server *s)
{
    struct listener *l = &s->listener;
    loop_fd_remove(s->loop, &l->fd);
    loop_timer_cancel(s->loop, &l->later);
    if (l->is_again)
        loop_defer_cancel(s->loop, &l->again);
    l->is_again = false;
    if (l->fd.fd >= 0)
        (void)close(l->fd.fd);
    if (l->spare >= 0)
        (void)close(l->spare);
    l->fd.fd = l->spare = -1;
}
