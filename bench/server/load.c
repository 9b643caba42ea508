/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include "net/http_client.h"

#include <stdio.h>
#include <stdlib.h>

struct slot; /* a place for one request after the other */

struct links {
    struct server *server;
    struct http_client **clients;
    size_t n;
    const struct load *load; /* at work */
    size_t next, left, bytes;
    size_t events; /* of watches: that have come */
    size_t begun;  /* watches that have shown one */
    struct slot *watches;
};

struct slot {
    struct links *links;
    struct http_client *client;
    struct arena arena;
    struct buf body; /* kept for questions, and of answers that were not expected */
    int status;
    bool keeps_body, is_watch, has_begun, is_done;
};

/* ---- One call. ---- */

static void on_head(void *ctx, struct http_call *call, int status, struct http_headers headers)
{
    struct slot *s = ctx;
    (void)call;
    (void)headers;
    s->status = status;
    s->body.n = 0;
}

static bool is_good(int status)
{
    return status >= 200 && status < 300;
}

static size_t count(str bytes, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes.n; i++)
        n += bytes.p[i] == c;
    return n;
}

static void on_data(void *ctx, struct http_call *call, str bytes)
{
    struct slot *s = ctx;
    (void)call;
    s->links->bytes += bytes.n;
    if (s->keeps_body || !is_good(s->status))
        buf_add_str(&s->body, bytes);
    if (!s->is_watch)
        return;
    size_t events = count(bytes, '\n');
    s->links->events += events;
    s->links->begun += events && !s->has_begun;
    s->has_begun |= events > 0;
}

static void begin(struct slot *s);

static void on_end(void *ctx, struct http_call *call, const struct err *err, bool can_retry)
{
    struct slot *s = ctx;
    struct links *l = s->links;
    (void)call;
    (void)can_retry;
    if (err || !is_good(s->status) || s->is_watch) {
        (void)fprintf(stderr, "bench: answer %d: %s %.*s\n", s->status, err ? err->msg : "", STR(buf_str(&s->body)));
        exit(1);
    }
    s->is_done = true;
    if (l->load == NULL)
        return;
    l->left--;
    if (l->next < l->load->first + l->load->n)
        begin(s);
}

static const struct http_listener listener = {on_head, on_data, on_end};

static void call(struct slot *s, const struct question *q)
{
    struct http_header headers[] = {
        {S_INIT("User-Agent"), S_INIT("kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd")},
        {S_INIT("Accept"), q->accept.n ? q->accept : S("application/json")},
        {S_INIT("Accept-Encoding"), q->takes_gzip ? S("gzip") : S("identity")},
        {S_INIT("Content-Type"), q->content_type.n ? q->content_type : S("application/json")},
        {S_INIT("Impersonate-User"), q->user},
    };
    size_t n = q->user.n ? 5 : q->body.n ? 4 : 3;
    struct http_request request = {
        .method = q->method.n ? q->method : S("GET"),
        .target = q->target,
        .headers = {headers, n},
        .body = q->body,
    };
    s->is_done = false;
    s->status = 0;
    http_call_new(s->client, &request, &listener, s);
}

static void begin(struct slot *s)
{
    struct question q = {0};
    arena_reset(&s->arena);
    s->links->load->make(s->links->load->ctx, s->links->next++, &s->arena, &q);
    call(s, &q);
}

/* ---- Connections. ---- */

static void ask_version(void *ctx, size_t i, struct arena *a, struct question *ret)
{
    (void)ctx;
    (void)i;
    (void)a;
    ret->target = S("/version");
}

static void lost(void *ctx, const struct err *why)
{
    (void)ctx;
    bench_die(why ? why->msg : "the server closed a connection");
}

/* In groups: a handshake that waits too long in the queue is given up. */
struct links *links_open(struct server *s, size_t n, bool is_h2)
{
    enum { GROUP = 64 };
    struct links *l = calloc(1, sizeof *l);
    bench_must(l != NULL, "memory");
    l->server = s;
    l->clients = calloc(n, sizeof(struct http_client *));
    bench_must(l->clients != NULL, "memory");
    struct http_client_options options = {
        .host = S("127.0.0.1"), .port = s->port, .tls = is_h2 ? s->h2 : s->h1, .gone = lost};
    while (l->n < n) {
        size_t group = n - l->n < GROUP ? n - l->n : GROUP;
        struct links part = {.server = s, .clients = l->clients + l->n, .n = group};
        struct err err = {0};
        for (size_t i = 0; i < group; i++)
            bench_must(http_client_new(s->loop, &options, &part.clients[i], &err) == 0, err.msg);
        links_load(&part, &(struct load){ask_version, NULL, 0, group, 1});
        for (size_t i = 0; i < group; i++)
            bench_must(http_client_is_h2(part.clients[i]) == is_h2, "agree on the protocol");
        l->n += group;
    }
    return l;
}

void links_close(struct links *l)
{
    for (size_t i = 0; i < l->n; i++)
        http_client_free(l->clients[i]);
    free(l->watches);
    free(l->clients);
    free(l);
}

str links_ask(struct links *l, struct arena *a, const struct question *q)
{
    struct slot s = {.links = l, .client = l->clients[0], .keeps_body = true, .body = {.arena = a}};
    call(&s, q);
    while (!s.is_done)
        loop_turn(l->server->loop, -1);
    arena_done(&s.arena);
    return buf_str(&s.body);
}

struct cost links_load(struct links *l, const struct load *load)
{
    size_t n_slots = l->n * load->at_a_time;
    struct slot *slots = calloc(n_slots, sizeof *slots);
    bench_must(slots != NULL, "memory");
    l->load = load;
    l->next = load->first;
    l->left = load->n;
    l->bytes = 0;
    double start = bench_now(), cpu = server_cpu(l->server);
    for (size_t i = 0; i < n_slots && i < load->n; i++) {
        slots[i].links = l;
        slots[i].client = l->clients[i % l->n];
        begin(&slots[i]);
    }
    while (l->left)
        loop_turn(l->server->loop, -1);
    struct cost cost = {bench_now() - start, server_cpu(l->server) - cpu, l->bytes};
    for (size_t i = 0; i < n_slots; i++) {
        arena_done(&slots[i].arena);
        buf_done(&slots[i].body);
    }
    free(slots);
    l->load = NULL;
    return cost;
}

/* ---- Watches. ---- */

static void wait_events(struct links *l, size_t n)
{
    while (l->events < n)
        loop_turn(l->server->loop, -1);
}

void links_watch(struct links *l, str target, size_t n)
{
    enum { GROUP = 256 };
    l->watches = calloc(n, sizeof *l->watches);
    bench_must(l->watches != NULL, "memory");
    l->load = NULL;
    l->events = l->begun = 0;
    for (size_t i = 0; i < n; i++) {
        l->watches[i] = (struct slot){.links = l, .client = l->clients[i % l->n], .is_watch = true};
        call(&l->watches[i], &(struct question){.target = target});
        while ((i % GROUP == GROUP - 1 || i == n - 1) && l->begun <= i)
            loop_turn(l->server->loop, -1);
    }
    l->events -= n; /* what came with the first counts as more */
    l->left = n;
}

void links_watch_more(struct links *l, size_t events)
{
    wait_events(l, l->left * events);
    l->events -= l->left * events;
}
