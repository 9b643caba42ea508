/* SPDX-License-Identifier: Apache-2.0 */
/* Events on a fake server and a fake clock: what is written, what is counted up, what is combined, and what is dropped. */
#include "control/recorder.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "control/correlator.h"
#include "lib/fake.h"
#include "object/object.h"

#define SECOND INT64_C(1000000000)

struct world {
    struct clock_fake time;
    struct random_seeded seed;
    struct arena arena;
    struct loop *loop;
    struct fake *server;
    struct client *client;
    struct recorder *r;
    struct json pod, node;
};

static struct json tree(struct arena *a, const char *text)
{
    struct json v;
    assert_int_equal(json_decode(a, str_of(text), NULL, NULL, &v, NULL), 0);
    return v;
}

static void setup(struct world *w)
{
    *w = (struct world){.time = {.wall = 1500000000 * SECOND + 7, .mono = SECOND}, .seed = {1}};
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->server = fake_new(&(struct fake_options){.loop = w->loop, .clock = clock});
    w->client = client_new(&(struct client_options){
        .loop = w->loop, .transport = fake_transport(w->server), .random = random_of_seed(&w->seed)});
    w->r = recorder_new(
        &(struct recorder_options){.loop = w->loop, .client = w->client, .clock = clock, .component = S("reeve-test")});
    w->pod = tree(&w->arena,
                  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-0\",\"namespace\":\"shop\","
                  "\"uid\":\"u1\",\"resourceVersion\":\"42\"}}");
    w->node =
        tree(&w->arena, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"uid\":\"u2\"}}");
}

static void teardown(struct world *w)
{
    recorder_free(w->r);
    client_free(w->client);
    fake_free(w->server);
    loop_free(w->loop);
    arena_done(&w->arena);
}

static void settle(struct world *w)
{
    struct recorder_stats was = {.written = UINT64_MAX}, now = recorder_stats(w->r);
    for (int idle = 0; idle < 8; idle++) { /* nothing for some turns */
        loop_turn(w->loop, 0);
        was = now;
        now = recorder_stats(w->r);
        if (now.written != was.written || now.dropped != was.dropped || now.spared != was.spared)
            idle = 0;
    }
}

static void say(struct world *w, const struct json *object, const char *reason, const char *message)
{
    recorder_event(w->r, object, RECORDER_NORMAL, str_of(reason), str_of(message));
    settle(w);
    clock_fake_advance(&w->time, 1000);
}

static void assert_stats(struct world *w, uint64_t written, uint64_t dropped, uint64_t spared)
{
    struct recorder_stats s = recorder_stats(w->r);
    assert_int_equal(s.written, written);
    assert_int_equal(s.dropped, dropped);
    assert_int_equal(s.spared, spared);
}

static struct json last_body(struct world *w, const char *method)
{
    size_t n;
    const struct fake_request *log = fake_log(w->server, &n);
    assert_true(n > 0);
    assert_true(str_eq(log[n - 1].method, str_of(method)));
    return tree(&w->arena, str_cstr(&w->arena, log[n - 1].body));
}

static int64_t count_of(struct world *w, const char *path)
{
    struct json event;
    int64_t n = 0;
    if (!fake_get(w->server, &w->arena, path, &event))
        return 0;
    assert_true(json_to_int(json_get(&event, S("count")), &n));
    return n;
}

static void an_event_is_as_client_go_writes_it(void **state)
{
    struct world w;
    setup(&w);
    recorder_event(w.r, &w.pod, RECORDER_WARNING, S("Broken"), S("it broke"));
    settle(&w);
    struct json have = last_body(&w, "POST");
    struct json want =
        tree(&w.arena, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"web-0.14d1120d7b160007\","
                       "\"namespace\":\"shop\"},\"involvedObject\":{\"kind\":\"Pod\",\"namespace\":\"shop\","
                       "\"name\":\"web-0\",\"uid\":\"u1\",\"apiVersion\":\"v1\",\"resourceVersion\":\"42\"},"
                       "\"reason\":\"Broken\",\"message\":\"it broke\",\"source\":{\"component\":\"reeve-test\"},"
                       "\"firstTimestamp\":\"2017-07-14T02:40:00Z\",\"lastTimestamp\":\"2017-07-14T02:40:00Z\","
                       "\"count\":1,\"type\":\"Warning\",\"reportingComponent\":\"reeve-test\","
                       "\"reportingInstance\":\"\"}");
    struct buf text = {.arena = &w.arena};
    json_encode(&text, &have, 0);
    if (!json_equal(&have, &want))
        fail_msg("%.*s", STR(buf_str(&text)));
    assert_stats(&w, 1, 0, 0);
    teardown(&w);
}

static void events_of_cluster_objects_are_in_default(void **state)
{
    struct world w;
    setup(&w);
    say(&w, &w.node, "Ready", "well");
    assert_int_equal(fake_count(w.server, "POST", "/api/v1/namespaces/default/events"), 1);
    struct json have = last_body(&w, "POST");
    assert_true(str_eq(object_namespace(&have), S("default")));
    assert_null(json_dig(&have, "involvedObject.namespace"));
    teardown(&w);
}

static void the_same_again_is_counted(void **state)
{
    struct world w;
    const char *path = "/api/v1/namespaces/shop/events/web-0.14d1120d7b160007";
    setup(&w);
    say(&w, &w.pod, "Pulled", "image there");
    clock_fake_advance(&w.time, 5 * SECOND);
    say(&w, &w.pod, "Pulled", "image there");
    struct json patch = last_body(&w, "PATCH");
    struct json want =
        tree(&w.arena, "{\"count\":2,\"lastTimestamp\":\"2017-07-14T02:40:05Z\",\"message\":\"image there\"}");
    assert_true(json_equal(&patch, &want));
    assert_int_equal(fake_count(w.server, "PATCH", path), 1);
    assert_int_equal(count_of(&w, path), 2);
    say(&w, &w.pod, "Pulled", "another image"); /* another message, another Event */
    say(&w, &w.pod, "Pulling", "image there");  /* another reason */
    say(&w, &w.node, "Pulled", "image there");  /* another object */
    recorder_event(w.r, &w.pod, RECORDER_WARNING, S("Pulled"), S("image there"));
    settle(&w);
    assert_int_equal(fake_count(w.server, "POST", ""), 5);
    assert_int_equal(count_of(&w, path), 2);
    teardown(&w);
}

/* Servers forget Events after an hour. */
static void one_that_is_gone_is_made_again(void **state)
{
    struct world w;
    const char *path = "/api/v1/namespaces/shop/events/web-0.14d1120d7b160007";
    setup(&w);
    say(&w, &w.pod, "Pulled", "image there");
    assert_true(fake_remove(w.server, path));
    clock_fake_advance(&w.time, 7200 * SECOND);
    say(&w, &w.pod, "Pulled", "image there");
    assert_int_equal(fake_count(w.server, "PATCH", ""), 1);
    struct json event = last_body(&w, "POST");
    assert_true(str_eq(json_get_text(&event, S("firstTimestamp")), S("2017-07-14T02:40:00Z")));
    assert_int_equal(count_of(&w, path), 2);
    assert_stats(&w, 2, 0, 0);
    teardown(&w);
}

static void many_messages_become_one(void **state)
{
    struct world w;
    char message[32];
    setup(&w);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(message, sizeof message, "try %d", i);
        say(&w, &w.pod, "Failed", message);
    }
    assert_int_equal(fake_count(w.server, "POST", ""), 9);
    say(&w, &w.pod, "Failed", "try 9"); /* the tenth */
    struct json event = last_body(&w, "POST");
    assert_true(str_eq(json_get_text(&event, S("message")), S("(combined from similar events): try 9")));
    say(&w, &w.pod, "Failed", "try 10");
    struct json patch = last_body(&w, "PATCH");
    assert_true(str_eq(json_get_text(&patch, S("message")), S("(combined from similar events): try 10")));
    int64_t n;
    assert_true(json_to_int(json_get(&patch, S("count")), &n) && n == 2);
    say(&w, &w.pod, "Failed", "try 3"); /* has an Event of its own */
    patch = last_body(&w, "PATCH");
    assert_true(str_eq(json_get_text(&patch, S("message")), S("try 3")));
    say(&w, &w.pod, "Other", "try 11"); /* another reason is not similar */
    event = last_body(&w, "POST");
    assert_true(str_eq(json_get_text(&event, S("message")), S("try 11")));
    clock_fake_advance(&w.time, 600 * SECOND); /* exactly ten minutes and some: too old */
    say(&w, &w.pod, "Failed", "try 12");
    event = last_body(&w, "POST");
    assert_true(str_eq(json_get_text(&event, S("message")), S("try 12")));
    teardown(&w);
}

static void too_many_about_one_object_are_not_told(void **state)
{
    struct world w;
    setup(&w);
    for (int i = 0; i < 40; i++)
        say(&w, &w.pod, "Failed", "again");
    assert_stats(&w, 25, 0, 15);
    say(&w, &w.node, "Failed", "again");                                        /* others are not concerned */
    recorder_event(w.r, &w.pod, RECORDER_WARNING, S("Failed"), S("a warning")); /* nor is the other type */
    settle(&w);
    assert_stats(&w, 27, 0, 15);
    clock_fake_advance(&w.time, 299 * SECOND);
    say(&w, &w.pod, "Failed", "again");
    assert_stats(&w, 27, 0, 16);
    clock_fake_advance(&w.time, SECOND);
    say(&w, &w.pod, "Failed", "again");
    assert_stats(&w, 28, 0, 16);
    struct json patch = last_body(&w, "PATCH");
    int64_t n;
    assert_true(json_to_int(json_get(&patch, S("count")), &n) && n == 42); /* those not told were counted */
    clock_fake_advance(&w.time, 100000 * SECOND);                          /* never more than the burst */
    for (int i = 0; i < 30; i++)
        say(&w, &w.pod, "Failed", "again");
    assert_stats(&w, 28 + 25, 0, 16 + 5);
    teardown(&w);
}

static void what_cannot_be_written_is_dropped(void **state)
{
    struct world w;
    setup(&w);
    fake_fault(w.server, &(struct fake_fault){.type = FAKE_LOST, .times = 1});
    say(&w, &w.pod, "A", "1");
    assert_stats(&w, 0, 1, 0);
    fake_fault(w.server, &(struct fake_fault){.type = FAKE_ANSWER, .status = 403, .times = 1});
    say(&w, &w.pod, "B", "1");
    assert_stats(&w, 0, 2, 0);
    say(&w, &w.pod, "A", "1"); /* never made: counted up, and made then */
    assert_stats(&w, 1, 2, 0);
    assert_int_equal(fake_count(w.server, "POST", ""), 3);
    assert_int_equal(fake_count(w.server, "PATCH", ""), 1);
    fake_fault(w.server, &(struct fake_fault){.type = FAKE_HELD, .times = 1});
    say(&w, &w.pod, "C", "1");
    say(&w, &w.pod, "D", "1"); /* waits behind it */
    assert_stats(&w, 1, 2, 0);
    clock_fake_advance(&w.time, 10 * SECOND);
    settle(&w);
    assert_stats(&w, 2, 3, 0);
    teardown(&w);
}

/* Nobody waits for a server that does not answer, and nobody keeps everything. */
static void the_backlog_is_bounded(void **state)
{
    struct world w;
    char name[32];
    setup(&w);
    fake_fault(w.server, &(struct fake_fault){.type = FAKE_HELD});
    for (int i = 0; i < 1500; i++) {
        struct arena a ARENA_SCOPE = {0};
        (void)snprintf(name, sizeof name, "p%d", i);
        struct json object = json_dup(&a, &w.pod);
        json_set(&a, json_get_mut(&object, S("metadata")), S("name"), json_str(str_of(name)));
        recorder_event(w.r, &object, RECORDER_NORMAL, S("R"), S("m"));
        if (i == 0)
            loop_turn(w.loop, 0); /* one is under way */
    }
    assert_stats(&w, 0, 499, 0);
    fake_heal(w.server);
    fake_release(w.server);
    settle(&w);
    assert_stats(&w, 1001, 499, 0);
    teardown(&w);
}

static void long_texts_are_cut_between_characters(void **state)
{
    struct world w;
    char message[3001] = "", reason[301];
    setup(&w);
    for (int i = 0; i < 1000; i++)
        memcpy(message + (size_t)i * 3, "\xe2\x82\xac", 3);
    memset(reason, 'R', 300);
    reason[300] = '\0';
    say(&w, &w.pod, reason, message);
    struct json event = last_body(&w, "POST");
    assert_int_equal(json_get_text(&event, S("message")).n, 1023);
    assert_int_equal(json_get_text(&event, S("reason")).n, 128);
    teardown(&w);
}

static void can_be_freed_with_work_left(void **state)
{
    struct world w;
    setup(&w);
    recorder_event(w.r, &w.pod, RECORDER_NORMAL, S("A"), S("1"));
    loop_turn(w.loop, 0);
    recorder_event(w.r, &w.pod, RECORDER_NORMAL, S("B"), S("1"));
    recorder_event(w.r, &w.pod, RECORDER_NORMAL, S("C"), S("1"));
    recorder_free(w.r);
    w.r = NULL;
    for (int i = 0; i < 5; i++)
        loop_turn(w.loop, 0);
    recorder_free(NULL);
    teardown(&w);
}

/* However many objects there are, what is remembered of them is bounded, and the newest is what is kept. */
static void memory_is_bounded(void **state)
{
    struct correlator *c = correlator_new();
    struct correlator_event e = {.component = S("x"), .kind = S("Pod"), .type = S("Normal"), .reason = S("R")};
    char name[16];
    for (int i = 0; i < 20000; i++) {
        struct arena a ARENA_SCOPE = {0};
        (void)snprintf(name, sizeof name, "p%d", i);
        e.name = str_of(name);
        e.wall = e.mono = i;
        assert_int_equal(correlator_take(c, &a, &e).action, CORRELATOR_CREATE);
        e.name = S("busy"); /* asked for all the time: never forgotten */
        if (i % 1000 == 0)
            assert_int_equal(correlator_take(c, &a, &e).action, i ? CORRELATOR_PATCH : CORRELATOR_CREATE);
    }
    assert_int_equal(correlator_size(c), 3 * CORRELATOR_ENTRIES);
    struct arena a ARENA_SCOPE = {0};
    e.name = S("p19999");
    assert_int_equal(correlator_take(c, &a, &e).action, CORRELATOR_PATCH);
    e.name = S("p0");
    assert_int_equal(correlator_take(c, &a, &e).action, CORRELATOR_CREATE);
    correlator_free(c);
    correlator_free(NULL);
}

/* Names differ though the clock does not move. */
static void names_are_unique(void **state)
{
    struct correlator *c = correlator_new();
    struct arena a ARENA_SCOPE = {0};
    struct correlator_event e = {
        .name = S("web"), .type = S("Normal"), .reason = S("R"), .message = S("1"), .wall = 255};
    struct correlator_result one = correlator_take(c, &a, &e);
    e.message = S("2");
    struct correlator_result two = correlator_take(c, &a, &e);
    assert_true(str_eq(one.name, S("web.ff")));
    assert_true(str_eq(two.name, S("web.100")));
    correlator_free(c);
}

static void *speak(void *arg)
{
    struct world *w = arg;
    for (int i = 0; i < 100; i++)
        recorder_event(w->r, &w->pod, RECORDER_NORMAL, S("R"), S("m"));
    return NULL;
}

static void threads_may_speak(void **state)
{
    struct world w;
    pthread_t threads[4];
    setup(&w);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, speak, &w), 0);
    while (recorder_stats(w.r).written + recorder_stats(w.r).spared < 400)
        loop_turn(w.loop, SECOND);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_stats(&w, 25, 0, 375);
    teardown(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_as_client_go_writes_it),
        cmocka_unit_test(events_of_cluster_objects_are_in_default),
        cmocka_unit_test(the_same_again_is_counted),
        cmocka_unit_test(one_that_is_gone_is_made_again),
        cmocka_unit_test(many_messages_become_one),
        cmocka_unit_test(too_many_about_one_object_are_not_told),
        cmocka_unit_test(what_cannot_be_written_is_dropped),
        cmocka_unit_test(the_backlog_is_bounded),
        cmocka_unit_test(long_texts_are_cut_between_characters),
        cmocka_unit_test(can_be_freed_with_work_left),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(threads_may_speak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
