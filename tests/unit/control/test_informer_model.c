/* SPDX-License-Identifier: Apache-2.0 */
/* A server whose objects change at random while everything goes wrong at random: answers are lost, cut, refused and delayed,
 * watches end, expire and babble, old events come again. What holds all the while: the changes told, replayed, are what the cache
 * holds; no object is told twice, none goes that was not there. What holds when the faults end: the cache is what the server has.
 * And the server was never asked faster than it may be. */
#include "control/informer.h"
#include "lib/fake.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

enum { SEEDS = 100, STEPS = 400, NAMES = 12, NAMESPACES = 2 };

struct replayed {
    bool is_there;
    char uid[64], version[32];
};

struct model {
    struct clock_fake time;
    struct clock clock;
    struct random_seeded seed;
    struct random random;
    struct loop *loop;
    struct fake *server;
    struct client *client;
    struct informer *informer;
    struct informer_options options;
    struct replayed objects[NAMESPACES][NAMES];
    size_t n_objects;
    struct buf old, old_path; /* the event of an object as it was long ago */
    uint64_t counter;
    size_t n_synced;
};

static uint32_t below(struct model *m, uint32_t n)
{
    return random_below(&m->random, n);
}

/* ---- What handlers are told. ---- */

static void copy(char *to, size_t size, str from)
{
    assert_true(from.n < size);
    memcpy(to, from.p, from.n);
    to[from.n] = 0;
}

static struct replayed *find(struct model *m, const struct item *item)
{
    int64_t namespace, name;
    assert_true(str_to_int64(str_from(item_namespace(item), 2), &namespace));
    assert_true(str_to_int64(str_from(item_name(item), 1), &name));
    return &m->objects[namespace][name];
}

static void assert_known(const struct replayed *r, const struct item *was)
{
    assert_true(r->is_there && str_eq(item_uid(was), str_of(r->uid)));
    assert_true(str_eq(item_version(was), str_of(r->version)));
}

static void on_changed(void *ctx, const struct informer_change *change)
{
    struct model *m = ctx;
    struct replayed *r = find(m, change->now ? change->now : change->was);
    assert_int_equal(r->is_there, change->was != NULL);
    if (change->was)
        assert_known(r, change->was);
    m->n_objects += (change->now != NULL) - (change->was != NULL);
    r->is_there = change->now != NULL;
    if (change->now == NULL)
        return;
    if (change->was) {
        assert_true(str_eq(item_uid(change->was), item_uid(change->now)));
        assert_false(str_eq(item_version(change->was), item_version(change->now)));
    }
    copy(r->uid, sizeof r->uid, item_uid(change->now));
    copy(r->version, sizeof r->version, item_version(change->now));
    assert_true(str_eq(object_rv(change->tree), item_version(change->now)));
    assert_true(str_eq(object_kind(change->tree), S("ConfigMap")));
}

static void on_settled(void *ctx)
{
    struct model *m = ctx;
    struct items all ITEMS_SCOPE = informer_list(m->informer, (str){0});
    assert_int_equal(all.n, m->n_objects);
    for (size_t i = 0; i < all.n; i++)
        assert_known(find(m, all.p[i]), all.p[i]);
}

static void on_synced(void *ctx)
{
    ((struct model *)ctx)->n_synced++;
}

/* ---- What happens to the objects. ---- */

static str path_of(struct arena *a, uint32_t namespace, uint32_t name)
{
    return str_fmt(a, "/api/v1/namespaces/ns%u/configmaps/n%u", namespace, name);
}

static void put(struct model *m, uint32_t namespace, uint32_t name)
{
    struct arena a ARENA_SCOPE = {0};
    str object =
        str_fmt(&a,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"n%u\",\"namespace\":\"ns%u\"},"
                "\"data\":{\"count\":\"%llu\",\"tricky\":\"}{\\\"\\\\<\"}}",
                name, namespace, (unsigned long long)m->counter++);
    fake_put(m->server, str_cstr(&a, object));
}

/* Keeps an event that will be old. */
static void remember(struct model *m, uint32_t namespace, uint32_t name)
{
    static const char *const types[] = {"ADDED", "MODIFIED", "DELETED"};
    struct arena a ARENA_SCOPE = {0};
    struct json object;
    if (!fake_get(m->server, &a, str_cstr(&a, path_of(&a, namespace, name)), &object))
        return;
    m->old.n = m->old_path.n = 0;
    buf_add_str(&m->old_path, path_of(&a, namespace, name));
    buf_fmt(&m->old, "{\"type\":\"%s\",\"object\":", types[below(m, 3)]);
    json_encode(&m->old, &object, 0);
    buf_add_str(&m->old, S("}\n"));
}

static void change(struct model *m)
{
    struct arena a ARENA_SCOPE = {0};
    uint32_t namespace = below(m, NAMESPACES), name = below(m, NAMES);
    char *path = str_cstr(&a, path_of(&a, namespace, name));
    switch (below(m, 8)) {
    case 0:
    case 1:
        fake_remove(m->server, path);
        break;
    case 2: /* another one of the same name */
        fake_remove(m->server, path);
        put(m, namespace, name);
        break;
    case 3:
        remember(m, namespace, name);
        put(m, namespace, name); /* so that it is old when it comes */
        break;
    default:
        put(m, namespace, name);
    }
}

/* ---- What goes wrong. ---- */

static void add_fault(struct model *m)
{
    static const int codes[] = {500, 503, 429, 403, 401, 410, 400, 422, 504, 404, 502};
    struct fake_fault fault = {.times = 1 + below(m, 2)};
    switch (below(m, 6)) {
    case 0:
        fault.type = FAKE_LOST;
        fault.can_retry = below(m, 2);
        break;
    case 1:
        fault.type = FAKE_CUT;
        break;
    case 2:
        fault.type = FAKE_ANSWER; /* which makes no sense at all */
        fault.status = 200;
        fault.body = below(m, 2) ? S("<html>") : S("{\"items\":[{}]}");
        break;
    default:
        fault.type = FAKE_ANSWER;
        fault.status = codes[below(m, COUNT(codes))];
        fault.retry_after = (int)below(m, 3);
    }
    fake_fault(m->server, &fault);
}

/* Of an object that is still there: that an event of one that is gone is old, nobody could see. */
static void repeat_old(struct model *m)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object;
    if (m->old.n && fake_get(m->server, &a, str_cstr(&a, buf_str(&m->old_path)), &object))
        fake_babble(m->server, buf_str(&m->old));
}

static void go_wrong(struct model *m)
{
    switch (below(m, 8)) {
    case 0:
        fake_cut_watches(m->server, FAKE_CUT_CLEAN);
        break;
    case 1:
        fake_cut_watches(m->server, FAKE_CUT_EVENT);
        break;
    case 2:
        fake_expire(m->server);
        fake_cut_watches(m->server, below(m, 2) ? FAKE_CUT_GONE : FAKE_CUT_CLEAN);
        break;
    case 3:
        fake_babble(m->server, below(m, 2) ? S("{\"type\":\"NEWS\"}\n") : S("500 Internal Server Error"));
        break;
    case 4:
        repeat_old(m);
        break;
    case 5:
        informer_relist(m->informer);
        break;
    default:
        add_fault(m);
    }
}

/* ---- Time. ---- */

static void pass(struct model *m, int64_t ns)
{
    clock_fake_advance(&m->time, ns);
    for (int i = 0; i < 4; i++)
        loop_turn(m->loop, 0);
}

static void step(struct model *m)
{
    uint32_t kind = below(m, 100);
    if (kind < 50)
        change(m);
    else if (kind < 60)
        go_wrong(m);
    else if (kind < 65)
        fake_bookmark(m->server);
    else if (kind < 95)
        pass(m, below(m, 1000) * MS);
    else
        pass(m, below(m, 60) * SECOND);
}

/* ---- What must hold in the end. ---- */

static void assert_same_object(struct model *m, uint32_t namespace, uint32_t name)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object, cached;
    str path = path_of(&a, namespace, name);
    bool is_there = fake_get(m->server, &a, str_cstr(&a, path), &object);
    str ns = str_fmt(&a, "ns%u", namespace), n = str_fmt(&a, "n%u", name);
    const struct item *item = informer_get(m->informer, ns, n);
    assert_int_equal(item != NULL, is_there);
    if (is_there) {
        assert_true(str_eq(item_version(item), object_rv(&object)));
        assert_true(str_eq(item_uid(item), object_uid(&object)));
        assert_known(&m->objects[namespace][name], item);
        bool is_text = informer_read(m->informer, &a, ns, n, &cached);
        assert_int_equal(is_text, !m->options.keys_only);
        json_remove(json_get_mut(&object, S("metadata")), S("managedFields"));
        if (m->options.metadata_only)
            json_remove(&object, S("data"));
        assert_true(!is_text || json_equal(&object, &cached));
    }
    item_unref(item);
}

static void assert_converged(struct model *m)
{
    fake_heal(m->server);
    for (int i = 0; i < 400; i++)
        pass(m, SECOND);
    for (int i = 0; i < 100 && fake_watches(m->server) == 0; i++)
        pass(m, MS); /* the time of a watch was just over */
    assert_true(informer_is_synced(m->informer));
    assert_int_equal(m->n_synced, 1);
    assert_int_equal(fake_watches(m->server), 1);
    for (uint32_t namespace = 0; namespace < NAMESPACES; namespace ++) {
        for (uint32_t name = 0; name < NAMES; name++)
            assert_same_object(m, namespace, name);
    }
    on_settled(m);
    put(m, 0, 0); /* and it goes on */
    pass(m, MS);
    assert_same_object(m, 0, 0);
}

/* Of any two seconds: a list of a few pages, a watch, and ends that are followed at once; but never more. */
static void assert_bounded_rate(struct model *m)
{
    size_t n;
    const struct fake_request *log = fake_log(m->server, &n);
    enum { MOST = 40 };
    for (size_t i = MOST; i < n; i++)
        assert_true(log[i].at - log[i - MOST].at > 2 * SECOND);
}

static void open(struct model *m, uint64_t seed)
{
    struct err err;
    static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);
    *m = (struct model){.seed = {seed}};
    m->clock = clock_of_fake(&m->time);
    m->random = random_of_seed(&m->seed);
    clock_fake_advance(&m->time, 1000 * SECOND);
    m->time.wall = INT64_C(1700000000) * SECOND;
    assert_int_equal(loop_new_on(&m->clock, &m->loop, &err), 0);
    m->server = fake_new(&(struct fake_options){
        .loop = m->loop, .clock = m->clock, .no_watch_list = seed % 3 == 0, .piece = seed % 4 ? 0 : 1 + seed % 50});
    m->client = client_new(
        &(struct client_options){.loop = m->loop, .transport = fake_transport(m->server), .random = m->random});
    m->options = (struct informer_options){.loop = m->loop,
                                           .client = m->client,
                                           .resource = configmaps,
                                           .metadata_only = seed % 5 == 1,
                                           .keys_only = seed % 7 == 2,
                                           .random = m->random};
    m->informer = informer_new(&m->options);
    informer_add_handler(m->informer, &(struct informer_handler){on_changed, on_settled, on_synced, m});
    informer_start(m->informer);
}

static void close(struct model *m)
{
    informer_free(m->informer);
    client_stop(m->client);
    client_free(m->client);
    fake_free(m->server);
    loop_free(m->loop);
    buf_done(&m->old);
    buf_done(&m->old_path);
}

static void nothing_is_missed_whatever_happens(void **state)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct model m;
        print_message("# seed %llu\n", (unsigned long long)seed);
        open(&m, seed);
        for (int i = 0; i < STEPS; i++)
            step(&m);
        assert_converged(&m);
        assert_bounded_rate(&m);
        close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_missed_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
