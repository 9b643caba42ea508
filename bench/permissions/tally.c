/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#include "base/map.h"
#include "client/https.h"
#include "control/reflect.h"
#include "object/object.h"

#include <stdlib.h>
#include <unistd.h>

struct seen {
    int64_t generation;
    bool is_good;
};

struct tally {
    struct server *server;
    struct arena arena;
    struct client_config config;
    struct client *client;
    struct reflector *reflector;
    bool (*is_good)(const struct json *object);
    struct map seen; /* "namespace/name" → struct seen; those that are gone are not in it */
    size_t good;
    uint64_t events;
    bool is_complete;
};

static str key_of(struct arena *a, str namespace, str name)
{
    return str_fmt(a, "%.*s/%.*s", STR(namespace), STR(name));
}

static void on_begin(void *ctx)
{
    struct tally *t = ctx;
    t->is_complete = false;
}

static void on_event(void *ctx, struct arena *scratch, const struct frame *frame)
{
    struct tally *t = ctx;
    const struct json *object = &frame->object;
    str key = key_of(scratch, object_namespace(object), object_name(object));
    struct seen *seen = map_get(&t->seen, key);
    t->events++;
    if (frame->type == FRAME_DELETED) {
        if (seen)
            t->good -= seen->is_good;
        map_del(&t->seen, key);
        return;
    }
    if (!seen) {
        seen = arena_zalloc(&t->arena, sizeof *seen);
        map_set(&t->seen, str_dup(&t->arena, key), seen);
    }
    bool is_good = !t->is_good || t->is_good(object);
    t->good += (size_t)is_good - seen->is_good;
    *seen = (struct seen){object_generation(object), is_good};
}

static void on_complete(void *ctx)
{
    struct tally *t = ctx;
    t->is_complete = true;
}

static void on_settled(void *ctx)
{
    (void)ctx;
}

static const struct reflect_sink sink = {on_begin, on_event, on_complete, on_settled};

static void connect(struct tally *t)
{
    struct err err = {0};
    struct transport *transport;
    struct client_config_args args = {.kubeconfig = str_fmt(&t->arena, "%s/kubeconfig", t->server->dir),
                                      .env = (const char *const *)environ};
    struct https_options options = {
        .credentials = {.clock = clock_system, .env = args.env}, .random = random_system, .version = S("bench")};
    bench_must(client_config_load(&t->arena, &args, &t->config, &err) == 0, err.msg);
    bench_must(https_new(t->server->loop, &t->config, &options, &transport, &err) == 0, err.msg);
    t->client =
        client_new(&(struct client_options){.loop = t->server->loop, .transport = transport, .random = random_system});
}

struct tally *tally_open(struct server *s, const struct client_resource *resource, str field_selector,
                         bool (*is_good)(const struct json *object))
{
    struct tally *t = calloc(1, sizeof *t);
    bench_must(t != NULL, "memory");
    t->server = s;
    t->is_good = is_good;
    connect(t);
    t->reflector = reflect_new(&(struct reflect_options){.loop = s->loop,
                                                         .client = t->client,
                                                         .resource = *resource,
                                                         .field_selector = field_selector,
                                                         .random = random_system,
                                                         .sink = &sink,
                                                         .ctx = t});
    reflect_start(t->reflector);
    while (!t->is_complete)
        loop_turn(s->loop, -1);
    return t;
}

void tally_close(struct tally *t)
{
    reflect_free(t->reflector);
    client_free(t->client);
    map_done(&t->seen);
    arena_done(&t->arena);
    free(t);
}

void tally_wait(struct tally *t, size_t n)
{
    while (t->good != n)
        loop_turn(t->server->loop, -1);
}

void tally_wait_for(struct tally *t, str namespace, str name, int64_t generation)
{
    struct arena scratch ARENA_SCOPE = {0};
    str key = key_of(&scratch, namespace, name);
    for (;;) {
        const struct seen *seen = map_get(&t->seen, key);
        if (seen && seen->is_good && seen->generation >= generation)
            return;
        loop_turn(t->server->loop, -1);
    }
}

uint64_t tally_events(const struct tally *t)
{
    return t->events;
}
