/* SPDX-License-Identifier: Apache-2.0 */
#include "agents.h"

#include "fleet.h"
#include "report.h"

#include "base/map.h"
#include "client/https.h"
#include "control/reflect.h"
#include "object/fleet.h"
#include "object/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS = 2, GROUP = 64, HEARTBEAT_SECONDS = FLEET_LEASE_SECONDS, JITTER = 4 };

static const struct client_resource works = CLIENT_RESOURCE(FLEET_WORKS);
static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);

struct work {
    bool is_held;       /* the finalizer was asked for */
    int64_t generation; /* that was reported */
};

/* A request that waits, or is under way; its texts follow in its own memory. */
struct ask {
    struct agent *agent;
    struct ask *next;
    struct arena arena;
    struct client_request request;
    uint64_t *count;                           /* one more when it is done; may be NULL */
    void (*then)(struct agent *g, str answer); /* may be NULL */
    struct loop_timer again;
};

struct agent {
    struct agents *all;
    struct arena arena;
    str namespace;
    struct client_config config;
    struct client *client;
    struct reflector *reflector;
    struct map works; /* name → struct work */
    struct ask *first, **last;
    size_t at_work;
    struct loop_timer beat;
    bool is_complete, has_beaten;
    struct client_ref lease;
    double noticed, reported;
};

struct agents {
    struct server *server;
    size_t n, complete;
    struct agent *list;
    struct agents_stats stats;
};

/* ---- Requests. ---- */

static void send(struct ask *q);

static void next(struct agent *g)
{
    while (g->first && g->at_work < WORKERS) {
        struct ask *q = g->first;
        g->first = q->next;
        if (!g->first)
            g->last = &g->first;
        g->at_work++;
        send(q);
    }
}

static void on_again(void *ctx)
{
    send(ctx);
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
    struct ask *q = ctx;
    struct agent *g = q->agent;
    if (answer->status == 429 || (answer->status == 0 && answer->can_retry)) {
        g->all->stats.retries++;
        q->again = (struct loop_timer){.fn = on_again, .ctx = q};
        loop_timer_set(g->all->server->loop, &q->again,
                       answer->retry_after_ns ? answer->retry_after_ns : INT64_C(1000000000));
        return;
    }
    if (answer->status < 200 || answer->status > 299) {
        (void)fprintf(stderr, "bench: %.*s %.*s: %d %s %.*s\n", STR(q->request.method), STR(q->request.target),
                      answer->status, answer->err ? answer->err->msg : "", STR(answer->body));
        exit(1);
    }
    if (q->count)
        ++*q->count;
    if (q->count == &g->all->stats.reports)
        g->reported = bench_now();
    g->at_work--;
    if (q->then)
        q->then(g, answer->body);
    arena_done(&q->arena);
    free(q);
    next(g);
}

static void send(struct ask *q)
{
    static const struct client_listener listener = {.end = on_answer};
    client_start(q->agent->client, &q->request, &listener, q);
}

static struct ask *ask_new(struct agent *g, str method, const struct client_ref *ref)
{
    struct ask *q = calloc(1, sizeof *q);
    bench_must(q != NULL, "memory");
    struct buf target = {.arena = &q->arena};
    client_path(&target, ref);
    *q = (struct ask){.agent = g,
                      .arena = q->arena,
                      .request = {.method = method,
                                  .target = buf_str(&target),
                                  .content_type = str_eq(method, S("PATCH")) ? S("application/merge-patch+json")
                                                                             : S("application/json")}};
    return q;
}

static void ask_go(struct ask *q)
{
    struct agent *g = q->agent;
    *g->last = q;
    g->last = &q->next;
    next(g);
}

/* ---- Works. ---- */

static struct work *work_of(struct agent *g, str name)
{
    struct work *w = map_get(&g->works, name);
    if (!w) {
        w = arena_zalloc(&g->arena, sizeof *w);
        map_set(&g->works, str_dup(&g->arena, name), w);
    }
    return w;
}

static void hold(struct agent *g, const struct json *object, bool is_held)
{
    struct client_ref ref = {.resource = &works, .namespace = g->namespace, .name = object_name(object)};
    struct ask *q = ask_new(g, S("PATCH"), &ref);
    q->count = &g->all->stats.finalizers;
    q->request.body =
        str_fmt(&q->arena, "{\"metadata\":{\"uid\":\"%.*s\",\"resourceVersion\":\"%.*s\",\"finalizers\":[%s]}}",
                STR(object_uid(object)), STR(object_rv(object)), is_held ? "\"" FLEET_FINALIZER_WORK "\"" : "");
    ask_go(q);
}

static void report(struct agent *g, const struct json *object)
{
    struct client_ref ref = {
        .resource = &works, .namespace = g->namespace, .name = object_name(object), .subresource = S("status")};
    struct ask *q = ask_new(g, S("PATCH"), &ref);
    q->count = &g->all->stats.reports;
    q->request.body = report_of(&q->arena, object);
    ask_go(q);
}

static void on_event(void *ctx, struct arena *scratch, const struct frame *frame)
{
    struct agent *g = ctx;
    const struct json *object = &frame->object;
    struct work *w = work_of(g, object_name(object));
    (void)scratch;
    g->all->stats.events++;
    if (frame->type == FRAME_DELETED) {
        *w = (struct work){0};
        return;
    }
    bool has_finalizer = object_has_finalizer(object, S(FLEET_FINALIZER_WORK)), is_going = object_is_deleting(object);
    if (is_going ? has_finalizer && w->is_held : !has_finalizer && !w->is_held) {
        w->is_held = !is_going;
        hold(g, object, w->is_held);
    } else if (!is_going && has_finalizer && object_generation(object) != w->generation) {
        w->is_held = true;
        w->generation = object_generation(object);
        g->noticed = bench_now();
        report(g, object);
    }
}

static void on_begin(void *ctx)
{
    (void)ctx;
}

static void on_complete(void *ctx)
{
    struct agent *g = ctx;
    if (!g->is_complete)
        g->all->complete++;
    g->is_complete = true;
}

static const struct reflect_sink sink = {on_begin, on_event, on_complete, on_begin};

/* ---- The heartbeat. ---- */

static str now_text(struct arena *a)
{
    struct buf b = {.arena = a};
    int64_t now = clock_wall_ns(&clock_system);
    time_format(&b, now / 1000000000, (uint32_t)(now % 1000000000), 6);
    return buf_str(&b);
}

/* The second one at any time within the interval: agents do not beat together, though they began together. */
static void set_beat(struct agent *g, str answer)
{
    const uint32_t ms = HEARTBEAT_SECONDS * 1000;
    uint32_t wait = g->has_beaten ? ms + random_below(&random_system, ms / JITTER) : random_below(&random_system, ms);
    (void)answer;
    g->has_beaten = true;
    loop_timer_set(g->all->server->loop, &g->beat, (int64_t)wait * 1000000);
}

static void renew(struct agent *g, str text)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    struct json lease, *meta = NULL, *spec = NULL;
    bench_must(json_decode(&scratch, text, NULL, NULL, &lease, &err) == 0, err.msg);
    struct ask *q = ask_new(g, S("PUT"), &g->lease);
    struct buf body = {.arena = &q->arena};
    struct json notes = json_obj();
    json_add(&scratch, &notes, S(FLEET_ANNOTATION_AGENT), json_str(S("0.1.0")));
    json_add(&scratch, &notes, S(FLEET_ANNOTATION_KUBERNETES), json_str(S("v1.32.4")));
    bench_must((meta = json_get_mut(&lease, S("metadata"))) && (spec = json_get_mut(&lease, S("spec"))), "a Lease");
    json_set(&scratch, meta, S("annotations"), notes);
    json_set(&scratch, spec, S("holderIdentity"), json_str(g->namespace));
    json_set(&scratch, spec, S("renewTime"), json_str(now_text(&scratch)));
    json_encode(&body, &lease, 0);
    q->request.body = buf_str(&body);
    q->count = &g->all->stats.beats;
    q->then = set_beat;
    ask_go(q);
}

static void beat(void *ctx)
{
    struct agent *g = ctx;
    struct ask *q = ask_new(g, S("GET"), &g->lease);
    q->then = renew;
    ask_go(q);
}

/* ---- All of them. ---- */

static void agent_init(struct agents *all, struct links *l, size_t i, const struct client_config *admin)
{
    struct agent *g = &all->list[i];
    struct err err = {0};
    struct transport *transport;
    *g = (struct agent){.all = all, .config = *admin, .last = &g->first, .beat = {.fn = beat, .ctx = g}};
    g->namespace = fleet_cluster(&g->arena, i);
    g->lease = (struct client_ref){.resource = &leases, .namespace = g->namespace, .name = S(FLEET_LEASE)};
    g->config.certificate_pem = g->config.key_pem = (str){0};
    g->config.token = fleet_token(l, &g->arena, i);
    struct https_options options = {.credentials = {.clock = clock_system, .env = (const char *const *)environ},
                                    .random = random_system,
                                    .version = S("bench")};
    bench_must(https_new(all->server->loop, &g->config, &options, &transport, &err) == 0, err.msg);
    g->client = client_new(
        &(struct client_options){.loop = all->server->loop, .transport = transport, .random = random_system});
    g->reflector = reflect_new(&(struct reflect_options){.loop = all->server->loop,
                                                         .client = g->client,
                                                         .resource = works,
                                                         .namespace = g->namespace,
                                                         .random = random_system,
                                                         .sink = &sink,
                                                         .ctx = g});
    reflect_start(g->reflector);
    beat(g);
}

/* In groups: handshakes that wait too long are given up. */
struct agents *agents_start(struct server *s, struct links *l, size_t n)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    struct client_config admin;
    struct client_config_args args = {.kubeconfig = str_fmt(&scratch, "%s/kubeconfig", s->dir),
                                      .env = (const char *const *)environ};
    struct agents *all = calloc(1, sizeof *all);
    bench_must(all && (all->list = calloc(n, sizeof *all->list)), "memory");
    all->server = s;
    all->n = n;
    /* Its texts live as long as the server. */
    bench_must(client_config_load(&s->arena, &args, &admin, &err) == 0, err.msg);
    for (size_t i = 0; i < n; i++) {
        agent_init(all, l, i, &admin);
        while (i + 1 == n ? all->complete < n || all->stats.beats < n : all->complete + GROUP < i)
            loop_turn(s->loop, -1);
    }
    return all;
}

void agents_stop(struct agents *a)
{
    for (size_t i = 0; i < a->n; i++) {
        struct agent *g = &a->list[i];
        loop_timer_cancel(a->server->loop, &g->beat);
        reflect_free(g->reflector);
        client_free(g->client);
        map_done(&g->works);
        arena_done(&g->arena);
    }
    free(a->list);
    free(a);
}

struct agents_stats agents_stats(const struct agents *a)
{
    return a->stats;
}

double agents_reported(const struct agents *a, size_t cluster)
{
    return a->list[cluster].reported;
}

double agents_noticed(const struct agents *a, size_t cluster)
{
    return a->list[cluster].noticed;
}
