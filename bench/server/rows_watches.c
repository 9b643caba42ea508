/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: what an event costs when many see it, and what they cost while there is none. */
#include "rows.h"

#include "load.h"

#include "net/loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WATCHERS = 1000,
    STREAMS = 100,
    EVENTS = 20,
    ROUNDS = 5,
    IDLE = 5000,
    EVENT_BYTES = 700,
    SENDS = EVENTS * ROUNDS
};

static const char path[] = "/api/v1/namespaces/watched/configmaps";
static const char watch[] = "/api/v1/namespaces/watched/configmaps?watch=1";
/* One object, so that each begins with one event: the namespace has ConfigMaps of the server's too, and a watcher that is counted
 * as having seen an event too many would let the next write overlap with the delivery of this one. */
static const char watch_one[] =
    "/api/v1/namespaces/watched/configmaps?watch=1&fieldSelector=metadata.name%3Dsettings-000000";

static void begin(struct server *s, const char *binary)
{
    struct arena scratch ARENA_SCOPE = {0};
    server_init(s, binary);
    server_start(s);
    struct links *l = links_open(s, 1, true);
    links_ask(l, &scratch,
              &(struct question){
                  .method = S("POST"),
                  .target = S("/api/v1/namespaces"),
                  .body = S("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"watched\"}}")});
    links_ask(l, &scratch,
              &(struct question){.method = S("POST"), .target = str_of(path), .body = sample_config_map(&scratch, 0)});
    links_close(l);
}

/* The same object without a resourceVersion, and a counter in it. */
static void change(struct links *l, size_t i)
{
    struct arena scratch ARENA_SCOPE = {0};
    str body =
        str_fmt(&scratch,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"settings-000000\"},\"data\":"
                "{\"mode\":\"production\",\"counter\":\"%zu\"}}",
                i);
    links_ask(
        l, &scratch,
        &(struct question){.method = S("PUT"), .target = str_fmt(&scratch, "%s/settings-000000", path), .body = body});
}

static void events(const char *binary)
{
    double cpu[ROUNDS];
    struct server s;
    begin(&s, binary);
    struct links *watchers = links_open(&s, WATCHERS / STREAMS, true), *writer = links_open(&s, 1, true);
    links_watch(watchers, str_of(watch_one), WATCHERS);
    for (size_t i = 0; i < ROUNDS; i++) {
        double start = server_cpu(&s);
        for (size_t j = 0; j < EVENTS; j++) {
            change(writer, i * EVENTS + j);
            links_watch_more(watchers, 1);
        }
        cpu[i] = (server_cpu(&s) - start) / EVENTS / WATCHERS * 1e6;
    }
    links_close(writer);
    links_close(watchers);
    server_done(&s);
    row_print("one event to 1,000 watchers, 100 on a connection, server CPU of each", bench_median(cpu, ROUNDS), "us",
              "(< 3)");
}

/* ---- Watchers on connections of their own, in a process of their own: the writer's times are not theirs. ---- */

struct crowd {
    pid_t pid;
    int fd; /* a byte when all are there, and another whenever all have seen one more event */
};

static void crowd_wait(const struct crowd *c)
{
    char byte;
    bench_must(read(c->fd, &byte, 1) == 1, "hear from the watchers");
}

static struct crowd crowd_start(const struct server *s)
{
    int ends[2];
    bench_must(pipe(ends) == 0, "make a pipe");
    struct crowd c = {.pid = fork(), .fd = ends[0]};
    bench_must(c.pid >= 0, "fork");
    if (c.pid > 0) {
        (void)close(ends[1]);
        crowd_wait(&c);
        return c;
    }
    struct server mine = *s; /* a descriptor of epoll must not be shared */
    struct err err;
    bench_must(loop_new(&mine.loop, &err) == 0, "make a loop");
    struct links *l = links_open(&mine, WATCHERS, false);
    links_watch(l, str_of(watch_one), WATCHERS);
    while (write(ends[1], "", 1) == 1)
        links_watch_more(l, 1);
    _exit(0);
}

static void crowd_end(struct crowd *c)
{
    (void)kill(c->pid, SIGKILL);
    (void)waitpid(c->pid, NULL, 0);
    (void)close(c->fd);
}

static bool is_delivered(const struct crowd *c)
{
    struct timeval now = {0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(c->fd, &set);
    return select(c->fd + 1, &set, NULL, NULL, &now) == 1;
}

/* The slowest answer to somebody else from the acknowledgement to the end of the delivery, in seconds. */
static double ask_during_delivery(struct links *l, const struct crowd *c)
{
    double most = 0;
    do {
        struct arena scratch ARENA_SCOPE = {0};
        double start = bench_now();
        links_ask(l, &scratch, &(struct question){.target = S("/api/v1/namespaces/watched")});
        double took = bench_now() - start;
        most = took > most ? took : most;
    } while (!is_delivered(c));
    crowd_wait(c);
    return most;
}

/* ---- What the kernel takes for it: the same bytes, sent to as many sockets that somebody reads. ---- */

/* A byte to done for every round that has come as a whole. */
static _Noreturn void receive_rounds(struct sockaddr_in to, int done)
{
    size_t got = 0;
    static char bytes[64 << 10];
    struct epoll_event events[64], e = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    for (size_t i = 0; i < WATCHERS; i++) {
        e.data.fd = socket(AF_INET, SOCK_STREAM, 0);
        bench_must(connect(e.data.fd, (struct sockaddr *)&to, sizeof to) == 0, "connect");
        bench_must(epoll_ctl(epoll, EPOLL_CTL_ADD, e.data.fd, &e) == 0, "watch a socket");
    }
    for (;;) {
        int n = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < n; i++) {
            ssize_t more = recv(events[i].data.fd, bytes, sizeof bytes, 0);
            if (more <= 0)
                _exit(0);
            got += (size_t)more;
        }
        if (got < (size_t)WATCHERS * EVENT_BYTES)
            continue;
        got = 0;
        bench_must(write(done, "", 1) == 1, "report a round");
    }
}

static double own_cpu(void)
{
    struct rusage r;
    bench_must(getrusage(RUSAGE_SELF, &r) == 0, "read the CPU time");
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* Microseconds of CPU time for one send. */
static double bare_send(void)
{
    static const char bytes[EVENT_BYTES];
    static const int on = 1;
    static int fds[WATCHERS];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof address;
    bench_must(bind(listener, (struct sockaddr *)&address, n) == 0 && listen(listener, WATCHERS) == 0 &&
                   getsockname(listener, (struct sockaddr *)&address, &n) == 0,
               "listen");
    int ends[2];
    bench_must(pipe(ends) == 0, "make a pipe");
    struct crowd receiver = {.pid = fork(), .fd = ends[0]};
    bench_must(receiver.pid >= 0, "fork");
    if (receiver.pid == 0)
        receive_rounds(address, ends[1]);
    (void)close(ends[1]);
    for (size_t i = 0; i < WATCHERS; i++) {
        fds[i] = accept(listener, NULL, NULL);
        (void)setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    double start = own_cpu();
    for (size_t k = 0; k < SENDS; k++) {
        for (size_t i = 0; i < WATCHERS; i++)
            bench_must(send(fds[i], bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes, "send");
        crowd_wait(&receiver);
    }
    double cpu = own_cpu() - start;
    for (size_t i = 0; i < WATCHERS; i++)
        (void)close(fds[i]);
    (void)close(listener);
    crowd_end(&receiver);
    return cpu / SENDS / WATCHERS * 1e6;
}

static void fan_out(const char *binary)
{
    double cpu[ROUNDS], acknowledged[SENDS], delivered[SENDS], bystander[SENDS];
    struct server s;
    begin(&s, binary);
    struct crowd crowd = crowd_start(&s);
    struct links *writer = links_open(&s, 1, true);
    for (size_t i = 0; i < ROUNDS; i++) {
        double start = server_cpu(&s);
        for (size_t k = i * EVENTS; k < (i + 1) * EVENTS; k++) {
            double begun = bench_now();
            change(writer, k);
            acknowledged[k] = (bench_now() - begun) * 1e3;
            crowd_wait(&crowd);
            delivered[k] = (bench_now() - begun) * 1e3;
        }
        cpu[i] = (server_cpu(&s) - start) / EVENTS / WATCHERS * 1e6;
    }
    for (size_t k = 0; k < SENDS; k++) {
        change(writer, SENDS + k);
        bystander[k] = ask_during_delivery(writer, &crowd) * 1e3;
    }
    links_close(writer);
    crowd_end(&crowd);
    server_done(&s);
    row_print("one event to 1,000 watchers on their own connections, CPU of each", bench_median(cpu, ROUNDS), "us",
              "(< 5)");
    row_print("  the kernel alone, sending those bytes", bare_send(), "us", "");
    row_print("  until all have it", bench_median(delivered, SENDS), "ms", "(< 10)");
    row_print("  until the write is acknowledged", bench_median(acknowledged, SENDS), "ms", "(< 2)");
    row_print("  slowest GET of a bystander during the delivery", bench_median(bystander, SENDS), "ms", "(< 2)");
}

static void idle(const char *binary, size_t connections, bool is_h2, const char *what, const char *target)
{
    struct server s;
    begin(&s, binary);
    struct server_memory before = server_memory(&s);
    struct links *l = links_open(&s, connections, is_h2);
    links_watch(l, str_of(watch), IDLE);
    struct server_memory after = server_memory(&s);
    links_close(l);
    server_done(&s);
    row_print(what, (after.anon + after.file - before.anon - before.file) / IDLE / 1e3, "KB", target);
}

void rows_watches(const char *binary)
{
    events(binary);
    fan_out(binary);
    idle(binary, IDLE, false, "idle watch on its own HTTP/1.1 connection, resident", "(< 45)");
    idle(binary, IDLE, true, "idle watch on its own HTTP/2 connection, resident", "(< 45)");
    idle(binary, IDLE / STREAMS, true, "idle watch, 100 on one HTTP/2 connection, resident", "(< 2)");
}
