/* SPDX-License-Identifier: Apache-2.0 */
/* All parts together: a server that fails in every way, an informer, a queue and workers that fail as well. Whatever happened, in
 * the end the controller has acted on what there is. The thread sanitizer watches this program too (tools/test). */
#include "control/control.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/fake.h"

#define MS INT64_C(1000000)

enum { OBJECTS = 20, STEPS = 400, SEEDS = 20 };

static const struct client_resource maps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);

struct world {
    struct clock_fake time;
    struct random_seeded seed;
    struct random random;
    struct loop *loop;
    struct log log;
    struct fake *server;
    struct client *client;
    struct control *c;
    struct controller *k;
    struct informer *informer;
    bool is_stopped;
    unsigned changes;
    pthread_mutex_t lock;    /* of what follows */
    char acted[OBJECTS][24]; /* the version acted on last; empty: it is gone */
    bool is_at_work[OBJECTS];
    unsigned visits, overlaps, unsynced;
};

static int number_of(str name)
{
    int64_t n;
    assert_true(str_to_int64(str_from(name, 1), &n) && n < OBJECTS);
    return (int)n;
}

/* Acts on what the cache has, and asks the server too, which may fail. */
static int act(struct world *w, struct reconcile *r, int n, struct err *err)
{
    const struct item *item = informer_get(w->informer, r->namespace, r->name);
    char version[24] = "";
    if (item)
        (void)snprintf(version, sizeof version, "%.*s", STR(item_version(item)));
    item_unref(item);
    struct client_ref ref = {.resource = &maps, .namespace = r->namespace, .name = r->name};
    struct json live;
    int code = n % 4 == 0 ? client_get(r->client, r->arena, &ref, &live, err) : 0;
    if (code < 0 && code != ERR_NOT_FOUND)
        return code;
    pthread_mutex_lock(&w->lock);
    memcpy(w->acted[n], version, sizeof version);
    bool fails = w->visits % 7 == 0;
    pthread_mutex_unlock(&w->lock);
    return fails ? err_set(err, ERR_CONFLICT, "on purpose") : 0;
}

static int reconcile(void *ctx, struct reconcile *r, struct err *err)
{
    struct world *w = ctx;
    int n = number_of(r->name);
    pthread_mutex_lock(&w->lock);
    w->visits++;
    w->unsynced += !informer_is_synced(w->informer);
    w->overlaps += w->is_at_work[n];
    w->is_at_work[n] = true;
    pthread_mutex_unlock(&w->lock);
    int code = act(w, r, n, err);
    pthread_mutex_lock(&w->lock);
    w->is_at_work[n] = false;
    pthread_mutex_unlock(&w->lock);
    return code;
}

static void on_change(void *ctx, const struct informer_change *change)
{
    struct world *w = ctx;
    const struct item *item = change->now ? change->now : change->was;
    w->changes++;
    control_enqueue(w->k, item_namespace(item), item_name(item));
}

static void drop_line(void *ctx, str line)
{
}

/* ---- A controller that is started and stopped. ---- */

static void start(struct world *w)
{
    struct clock clock = clock_of_fake(&w->time);
    w->client = client_new(
        &(struct client_options){.loop = w->loop, .transport = fake_transport(w->server), .random = w->random});
    w->c = control_new(&(struct control_options){.loop = w->loop, .clock = clock, .random = w->random, .log = &w->log});
    w->informer = control_informer(w->c, &(struct informer_options){.client = w->client, .resource = maps});
    informer_add_handler(w->informer, &(struct informer_handler){.changed = on_change, .ctx = w});
    w->k = control_add(w->c, &(struct controller_options){.name = "test",
                                                          .client = w->client,
                                                          .workers = 3,
                                                          .reconcile = reconcile,
                                                          .ctx = w,
                                                          .needs = &w->informer,
                                                          .n_needs = 1});
    control_start(w->c);
}

static void on_stopped(void *ctx)
{
    struct world *w = ctx;
    w->is_stopped = true;
}

static void stop(struct world *w)
{
    w->is_stopped = false;
    control_stop(w->c, on_stopped, w);
    client_stop(w->client);
    while (!w->is_stopped)
        loop_turn(w->loop, -1);
    control_free(w->c);
    client_free(w->client);
}

/* A new process knows nothing of what is gone by then. */
static void restart(struct world *w)
{
    stop(w);
    memset(w->acted, 0, sizeof w->acted);
    start(w);
}

/* ---- What happens. ---- */

static void write_object(struct world *w, unsigned n)
{
    char object[128];
    (void)snprintf(object, sizeof object,
                   "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m%u\",\"namespace\":\"n\"}}",
                   n);
    fake_put(w->server, object);
}

static const char *path_of(char *room, size_t size, unsigned n)
{
    (void)snprintf(room, size, "/api/v1/namespaces/n/configmaps/m%u", n);
    return room;
}

static void fail_somehow(struct world *w)
{
    static const int statuses[] = {429, 500, 503, 410, 401, 504};
    struct fake_fault fault = {.type = FAKE_ANSWER, .times = 1 + random_below(&w->random, 3)};
    switch (random_below(&w->random, 7)) {
    case 0:
        (void)fake_cut_watches(w->server, FAKE_CUT_CLEAN);
        return;
    case 1:
        (void)fake_cut_watches(w->server, FAKE_CUT_EVENT);
        return;
    case 2:
        (void)fake_cut_watches(w->server, FAKE_CUT_GONE);
        return;
    case 3:
        fake_expire(w->server);
        (void)fake_cut_watches(w->server, FAKE_CUT_CLEAN);
        return;
    case 4:
        fault.type = FAKE_LOST;
        fault.can_retry = random_below(&w->random, 2);
        break;
    case 5:
        fault.type = FAKE_CUT;
        break;
    default:
        fault.status = statuses[random_below(&w->random, 6)];
    }
    fake_fault(w->server, &fault);
}

static void step(struct world *w)
{
    char path[64];
    unsigned n = random_below(&w->random, OBJECTS), what = random_below(&w->random, 100);
    if (what < 60)
        write_object(w, n);
    else if (what < 75)
        (void)fake_remove(w->server, path_of(path, sizeof path, n));
    else if (what < 83)
        fail_somehow(w);
    else if (what < 98)
        fake_heal(w->server);
    else
        restart(w);
}

static bool has_converged(struct world *w)
{
    struct arena a ARENA_SCOPE = {0};
    bool is_same = true;
    pthread_mutex_lock(&w->lock);
    for (unsigned n = 0; n < OBJECTS; n++) {
        char path[64];
        struct json object;
        str version = {0};
        if (fake_get(w->server, &a, path_of(path, sizeof path, n), &object))
            version = json_text(json_dig(&object, "metadata.resourceVersion"));
        is_same &= str_eq(version, str_of(w->acted[n]));
    }
    pthread_mutex_unlock(&w->lock);
    return is_same;
}

static void turn(struct world *w, int64_t ns)
{
    clock_fake_advance(&w->time, ns);
    loop_turn(w->loop, 0);
    (void)sched_yield(); /* let the workers have their turn */
}

static void run(uint64_t seed)
{
    struct world w = {.time = {.wall = 1000000 * MS, .mono = 1}, .seed = {seed}};
    struct clock clock = clock_of_fake(&w.time);
    w.random = random_of_seed(&w.seed);
    w.log = (struct log){.level = LOG_ERROR, .clock = clock, .write = drop_line};
    pthread_mutex_init(&w.lock, NULL);
    assert_int_equal(loop_new_on(&clock, &w.loop, NULL), 0);
    w.server = fake_new(&(struct fake_options){.loop = w.loop, .clock = clock, .no_watch_list = seed % 2});
    start(&w);
    for (int i = 0; i < STEPS; i++) {
        step(&w);
        for (unsigned k = random_below(&w.random, 6); k > 0; k--)
            turn(&w, random_below(&w.random, 400) * MS);
    }
    fake_heal(w.server);
    while (!has_converged(&w))
        turn(&w, 100 * MS);
    stop(&w);
    assert_true(has_converged(&w)); /* and stays so */
    assert_int_equal(w.overlaps, 0);
    assert_int_equal(w.unsynced, 0);
    assert_true(w.changes > STEPS / 4); /* the server was there often enough */
    assert_true(w.visits > 0);
    fake_free(w.server);
    loop_free(w.loop);
    pthread_mutex_destroy(&w.lock);
}

static void acts_on_what_there_is_whatever_happened(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acts_on_what_there_is_whatever_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
