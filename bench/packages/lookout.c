/* SPDX-License-Identifier: Apache-2.0 */
#include "lookout.h"

#include "base/map.h"
#include "net/http_client.h"
#include "object/conditions.h"
#include "object/object.h"

#include <stdlib.h>

struct lookout {
    struct server *server;
    struct http_client *client;
    struct arena names;
    struct map there; /* "namespace/name" → is_ready or is_not */
    size_t ready;
    struct buf line; /* not yet whole */
    bool is_open;
};

static char is_ready, is_not;

static void take(struct lookout *l, str line)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json event;
    struct err err = {0};
    bench_must(json_decode(&scratch, line, NULL, NULL, &event, &err) == 0, err.msg);
    const struct json *object = json_get(&event, S("object"));
    str type = json_get_text(&event, S("type"));
    if (str_eq(type, S("BOOKMARK")))
        return;
    bench_must(!str_eq(type, S("ERROR")), "the watch failed");
    str key = str_fmt(&scratch, "%.*s/%.*s", STR(object_namespace(object)), STR(object_name(object)));
    bool is_there = map_get(&l->there, key) != NULL;
    if (str_eq(type, S("DELETED"))) {
        l->ready -= map_del(&l->there, key) == &is_ready;
        return;
    }
    bool is_now = condition_is(object, S("Ready"), S("True"));
    const void *before = map_set(&l->there, is_there ? key : str_dup(&l->names, key), is_now ? &is_ready : &is_not);
    l->ready += (size_t)is_now - (before == &is_ready);
}

static void on_head(void *ctx, struct http_call *call, int status, struct http_headers headers)
{
    struct lookout *l = ctx;
    (void)call;
    (void)headers;
    bench_must(status == 200, "watch");
    l->is_open = true;
}

static void on_data(void *ctx, struct http_call *call, str bytes)
{
    struct lookout *l = ctx;
    str line, rest;
    (void)call;
    buf_add_str(&l->line, bytes);
    str text = buf_str(&l->line);
    while (str_cut(text, '\n', &line, &rest)) {
        take(l, line);
        text = rest;
    }
    memmove(l->line.p, text.p, text.n);
    l->line.n = text.n;
}

static void on_end(void *ctx, struct http_call *call, const struct err *err, bool can_retry)
{
    (void)ctx;
    (void)call;
    (void)can_retry;
    bench_die(err ? err->msg : "the watch ended");
}

static const struct http_listener listener = {on_head, on_data, on_end};

static void lost(void *ctx, const struct err *why)
{
    (void)ctx;
    bench_die(why ? why->msg : "the server closed a connection");
}

struct lookout *lookout_open(struct server *s, str target)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    struct lookout *l = calloc(1, sizeof *l);
    bench_must(l != NULL, "memory");
    l->server = s;
    struct http_client_options options = {.host = S("127.0.0.1"), .port = s->port, .tls = s->h2, .gone = lost};
    bench_must(http_client_new(s->loop, &options, &l->client, &err) == 0, err.msg);
    struct http_header headers[] = {{S_INIT("Accept"), S_INIT("application/json")}};
    struct http_request request = {
        .method = S("GET"), .target = str_fmt(&scratch, "%.*s?watch=true", STR(target)), .headers = {headers, 1}};
    http_call_new(l->client, &request, &listener, l);
    while (!l->is_open)
        loop_turn(s->loop, -1);
    return l;
}

void lookout_close(struct lookout *l)
{
    http_client_free(l->client);
    map_done(&l->there);
    arena_done(&l->names);
    buf_done(&l->line);
    free(l);
}

void lookout_wait_ready(struct lookout *l, size_t n)
{
    while (l->ready != n)
        loop_turn(l->server->loop, -1);
}

void lookout_wait_left(struct lookout *l, size_t n)
{
    while (l->there.n != n)
        loop_turn(l->server->loop, -1);
}
