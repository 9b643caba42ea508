/* SPDX-License-Identifier: Apache-2.0 */
/* What HTTP/2 over TLS costs the server: CPU time per request and per event, memory per watch that waits. The server is a
 * process of its own and tells its CPU time and its heap when asked (/cpu, /heap), so the client is not in the figures. */
#include "net/http_client.h"

#include "lib/keys.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OBJECT = 1500, EVENT = 400, STREAMS = 1000, CONNECTIONS = 5, EVENTS = 200, GETS = 100000, AT_ONCE = 100 };

static void must(int rc, const struct err *err)
{
    if (rc < 0) {
        (void)fprintf(stderr, "bench: %s\n", err->msg);
        exit(1);
    }
}

/* ---- The server. ---- */

struct watch {
    struct http_exchange *x;
    bool has_event;
};

struct server {
    struct watch watches[STREAMS * CONNECTIONS];
    size_t n;
    char object[OBJECT], event[EVENT];
};

static enum http_fill fill(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    (void)room;
    struct watch *w = ctx;
    const struct server *s = x->user;
    if (w->has_event)
        buf_add(out, s->event, EVENT);
    w->has_event = false;
    return HTTP_WAIT;
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void handle(void *ctx, struct http_exchange *x)
{
    static const struct http_header header[] = {{S_INIT("Content-Type"), S_INIT("application/json")},
                                                {S_INIT("Cache-Control"), S_INIT("no-cache, private")}};
    struct http_headers headers = {header, 2};
    struct server *s = ctx;
    if (str_eq(x->path, S("/watch")) && s->n < COUNT(s->watches)) {
        struct watch *w = &s->watches[s->n++];
        w->x = x;
        x->user = s;
        http_stream(x, 200, headers, (struct http_source){fill, w});
        http_forget(x);
    } else if (str_eq(x->path, S("/event"))) {
        for (size_t i = 0; i < s->n; i++) {
            s->watches[i].has_event = true;
            http_resume(s->watches[i].x);
        }
        http_answer(x, 200, headers, (str){0});
    } else if (str_eq(x->path, S("/cpu"))) {
        http_answer(x, 200, headers, str_fmt(&x->arena, "%lld", (long long)cpu_ns()));
    } else if (str_eq(x->path, S("/heap"))) {
        struct mallinfo2 m = mallinfo2();
        http_answer(x, 200, headers, str_fmt(&x->arena, "%zu", m.uordblks + m.hblkhd));
    } else {
        http_answer(x, 200, headers, (str){s->object, OBJECT});
    }
}

/* In the child: serves until it is killed. */
static void serve(const struct keys *keys, int port_to)
{
    struct err err;
    struct loop *loop;
    struct http_server *server;
    struct server *s = xcalloc(1, sizeof *s);
    memset(s->object, 'o', OBJECT);
    memset(s->event, 'e', EVENT);
    struct tls_server_options tls = {.certificate_pem = keys->certificate, .key_pem = keys->key};
    struct http_server_options options = {.host = S("127.0.0.1"), .handle = handle, .ctx = s};
    must(tls_server_new(&tls, &options.tls, &err), &err);
    must(loop_new(&loop, &err), &err);
    must(http_server_new(loop, &options, &server, &err), &err);
    uint16_t port = http_server_port(server);
    if (write(port_to, &port, sizeof port) != sizeof port)
        abort();
    loop_run(loop);
}

/* ---- The client. ---- */

struct heard {
    size_t heads, bytes, ended;
    char text[32];
};

static void on_head(void *ctx, struct http_call *call, int status, struct http_headers headers)
{
    (void)call, (void)status, (void)headers;
    ((struct heard *)ctx)->heads++;
}

static void on_data(void *ctx, struct http_call *call, str bytes)
{
    (void)call;
    struct heard *h = ctx;
    h->bytes += bytes.n;
    (void)snprintf(h->text, sizeof h->text, "%.*s", bytes.n < 31 ? (int)bytes.n : 31, bytes.p);
}

static void on_end(void *ctx, struct http_call *call, const struct err *err, bool can_retry)
{
    (void)call, (void)can_retry;
    if (err)
        must(err->code, err);
    ((struct heard *)ctx)->ended++;
}

static const struct http_listener listener = {on_head, on_data, on_end};

static void ask(struct http_client *c, str target, struct heard *h)
{
    struct http_request r = {.method = S("GET"), .target = target};
    (void)http_call_new(c, &r, &listener, h);
}

static double ask_number(struct loop *l, struct http_client *c, str target)
{
    struct heard h = {0};
    ask(c, target, &h);
    while (h.ended == 0)
        loop_turn(l, -1);
    return strtod(h.text, NULL);
}

static double measure_gets(struct loop *l, struct http_client *c)
{
    struct heard h = {0};
    double before = ask_number(l, c, S("/cpu"));
    for (size_t asked = 0; h.ended < GETS;) {
        while (asked < GETS && asked - h.ended < AT_ONCE) {
            ask(c, S("/api/v1/namespaces/default/configmaps/one"), &h);
            asked++;
        }
        loop_turn(l, -1);
    }
    return (ask_number(l, c, S("/cpu")) - before) / 1000 / GETS;
}

static void open_watches(struct loop *l, struct http_client *c, struct heard *h, size_t n)
{
    size_t want = h->heads + n;
    for (size_t i = 0; i < n; i++)
        ask(c, S("/watch"), h);
    while (h->heads < want)
        loop_turn(l, -1);
}

static double measure_events(struct loop *l, struct http_client *c, struct heard *h, size_t watches)
{
    struct heard asked = {0};
    double before = ask_number(l, c, S("/cpu"));
    for (size_t i = 0; i < EVENTS; i++) {
        size_t want = h->bytes + watches * EVENT;
        ask(c, S("/event"), &asked);
        while (h->bytes < want)
            loop_turn(l, -1);
    }
    return (ask_number(l, c, S("/cpu")) - before) / 1000 / EVENTS / (double)watches;
}

static void run(const struct keys *keys, uint16_t port)
{
    struct err err;
    struct loop *l;
    struct tls_client_options tls = {.ca_pem = keys->certificate, .server_name = S("localhost")};
    struct http_client_options options = {.host = S("127.0.0.1"), .port = port};
    struct http_client *asks, *watches[CONNECTIONS];
    struct heard h = {0};
    must(tls_client_new(&tls, &options.tls, &err), &err);
    must(loop_new(&l, &err), &err);
    must(http_client_new(l, &options, &asks, &err), &err);
    (void)measure_gets(l, asks);
    (void)printf("h2 GET of %d bytes, %d at once: %.2f us CPU\n", OBJECT, AT_ONCE, measure_gets(l, asks));
    double before = ask_number(l, asks, S("/heap"));
    for (size_t i = 0; i < CONNECTIONS; i++) {
        must(http_client_new(l, &options, &watches[i], &err), &err);
        open_watches(l, watches[i], &h, STREAMS - 1);
        if (i == 0)
            (void)printf("h2 event of %d bytes to %d watches on one connection: %.2f us CPU each\n", EVENT, STREAMS - 1,
                         measure_events(l, asks, &h, STREAMS - 1));
    }
    double heap = ask_number(l, asks, S("/heap")) - before;
    (void)printf("h2 watch that waits, %d on each of %d connections: %.0f bytes each\n", STREAMS - 1, CONNECTIONS,
                 heap / (STREAMS - 1) / CONNECTIONS);
    for (size_t i = 0; i < CONNECTIONS; i++)
        http_client_free(watches[i]);
    http_client_free(asks);
    tls_unref(options.tls);
    loop_free(l);
}

int main(void)
{
    struct arena arena ARENA_SCOPE = {0};
    struct keys keys = keys_make(&arena, &(struct keys_options){.name = "localhost", .ends_in = 3600});
    int fds[2];
    uint16_t port;
    if (pipe(fds) < 0)
        abort();
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        serve(&keys, fds[1]);
        return 0;
    }
    if (read(fds[0], &port, sizeof port) != sizeof port)
        abort();
    run(&keys, port);
    (void)kill(child, SIGTERM);
    (void)waitpid(child, NULL, 0);
    return 0;
}
