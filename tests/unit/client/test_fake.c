/* SPDX-License-Identifier: Apache-2.0 */
/* The fake API server itself: what it answers is what tests of everything above build on. */
#include "lib/fake.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "object/object.h"
#include "world.h"

#define MAPS "/api/v1/namespaces/x/configmaps"
#define MAP(name, more) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"x\"" more "}}"

static struct json get(struct world *w, const char *path)
{
    struct json v = {0};
    assert_true(fake_get(w->fake, &w->arena, path, &v));
    return v;
}

static void objects_are_created_changed_and_deleted(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    assert_int_equal(ear_ask(&e, w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\"}}"), 201);
    struct json a = get(w, MAPS "/a");
    assert_text(object_kind(&a), "ConfigMap");
    assert_text(object_namespace(&a), "x");
    assert_int_equal(object_uid(&a).n, 36);
    assert_int_equal(ear_ask(&e, w, "POST", MAPS, "{\"metadata\":{\"name\":\"a\"}}"), 409);
    assert_has(buf_str(&e.body), "configmaps \\\"a\\\" already exists");
    assert_int_equal(ear_ask(&e, w, "PATCH", MAPS "/a", "{\"data\":{\"k\":\"2\",\"l\":\"3\"}}"), 200);
    assert_int_equal(ear_ask(&e, w, "APPLY", MAPS "/a?fieldManager=m", "{\"data\":{\"m\":\"4\"}}"), 200);
    assert_int_equal(ear_ask(&e, w, "APPLY", MAPS "/new?fieldManager=m", "{\"data\":{\"m\":\"4\"}}"), 201);
    assert_int_equal(ear_ask(&e, w, "APPLY", MAPS "/a", "{\"data\":{\"m\":\"4\"}}"), 422);
    a = get(w, MAPS "/a");
    assert_text(json_text(json_dig(&a, "data.k")), "2");
    assert_text(json_text(json_dig(&a, "data.m")), "4");
    assert_int_equal(ear_ask(&e, w, "DELETE", MAPS "/a", ""), 200);
    assert_int_equal(ear_ask(&e, w, "GET", MAPS "/a", ""), 404);
    assert_int_equal(ear_ask(&e, w, "GET", "/apis/none/v1/things", ""), 404);
    assert_int_equal(ear_ask(&e, w, "POST", MAPS "/a", "{}"), 405);
}

static void a_write_that_changes_nothing_has_no_revision(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    uint64_t rev = fake_put(w->fake, MAP("a", ""));
    assert_int_equal(ear_ask(&e, w, "PATCH", MAPS "/a", "{\"metadata\":{\"labels\":null}}"), 200);
    assert_int_equal(fake_revision(w->fake), rev);
    assert_int_equal(ear_ask(&e, w, "PATCH", MAPS "/a?dryRun=All", "{\"data\":{\"k\":\"2\"}}"), 200);
    assert_has(buf_str(&e.body), "\"k\":\"2\"");
    assert_int_equal(fake_revision(w->fake), rev);
}

static void stale_updates_conflict(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    fake_put(w->fake, MAP("a", ""));
    struct json a = get(w, MAPS "/a");
    struct buf text = {.arena = &w->arena};
    json_encode(&text, &a, 0);
    buf_add_char(&text, 0);
    fake_put(w->fake, MAP("a", ",\"labels\":{\"l\":\"m\"}"));
    assert_int_equal(ear_ask(&e, w, "PUT", MAPS "/a", text.p), 409);
    assert_has(buf_str(&e.body), "Operation cannot be fulfilled on configmaps \\\"a\\\": the object has been modified");
}

static void finalizers_hold_objects_back(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    fake_put(w->fake, MAP("a", ",\"finalizers\":[\"example.com/f\"]"));
    assert_int_equal(ear_ask(&e, w, "DELETE", MAPS "/a", ""), 200);
    struct json a = get(w, MAPS "/a");
    assert_true(object_is_deleting(&a));
    assert_int_equal(ear_ask(&e, w, "PATCH", MAPS "/a", "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_false(fake_get(w->fake, &w->arena, MAPS "/a", &a));
}

static void subresources_are_apart(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    assert_int_equal(ear_ask(&e, w, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"n\"}}"), 201);
    assert_int_equal(ear_ask(&e, w, "PATCH", "/api/v1/namespaces/n/status",
                             "{\"status\":{\"conditions\":[{\"type\":\"T\"}]},\"spec\":{\"finalizers\":null}}"),
                     200);
    struct json n = get(w, "/api/v1/namespaces/n");
    assert_int_equal(json_len(json_dig(&n, "status.conditions")), 1);
    assert_int_equal(json_len(json_dig(&n, "spec.finalizers")), 1);
    assert_int_equal(ear_ask(&e, w, "DELETE", "/api/v1/namespaces/n", ""), 200);
    n = get(w, "/api/v1/namespaces/n");
    assert_text(json_text(json_dig(&n, "status.phase")), "Terminating");
    json_set(&w->arena, json_get_mut(&n, S("spec")), S("finalizers"), json_arr());
    struct buf text = {.arena = &w->arena};
    json_encode(&text, &n, 0);
    buf_add_char(&text, 0);
    assert_int_equal(ear_ask(&e, w, "PUT", "/api/v1/namespaces/n/finalize", text.p), 200);
    assert_false(fake_get(w->fake, &w->arena, "/api/v1/namespaces/n", &n));
}

static void lists_come_in_pages_of_one_revision(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    fake_put(w->fake, MAP("a", ",\"labels\":{\"l\":\"1\"}"));
    fake_put(w->fake, MAP("b", ""));
    fake_put(w->fake, MAP("c", ",\"labels\":{\"l\":\"1\"}"));
    assert_int_equal(ear_ask(&e, w, "GET", MAPS "?labelSelector=l%3D1&limit=1", ""), 200);
    struct json page = world_json(w, "{}");
    assert_int_equal(json_decode(&w->arena, buf_str(&e.body), NULL, NULL, &page, NULL), 0);
    assert_int_equal(json_len(json_get(&page, S("items"))), 1);
    assert_true(object_kind(&json_get(&page, S("items"))->items[0]).n == 0);
    str token = json_text(json_dig(&page, "metadata.continue"));
    assert_true(token.n > 0);
    fake_remove(w->fake, MAPS "/c");
    struct buf target = {.arena = &w->arena};
    buf_add_str(&target, S(MAPS "?labelSelector=l%3D1&limit=1&continue="));
    buf_add_str(&target, token);
    buf_add_char(&target, 0);
    assert_int_equal(ear_ask(&e, w, "GET", target.p, ""), 200);
    assert_has(buf_str(&e.body), "\"name\":\"c\""); /* as it was */
    assert_true(str_find(buf_str(&e.body), S("\"continue\"")) < 0);
    fake_expire(w->fake);
    assert_int_equal(ear_ask(&e, w, "GET", target.p, ""), 410);
    assert_has(buf_str(&e.body), "\"reason\":\"Expired\"");
    assert_int_equal(ear_ask(&e, w, "DELETE", MAPS "?labelSelector=l%3D1", ""), 200);
    assert_int_equal(ear_ask(&e, w, "GET", "/api/v1/configmaps", ""), 200);
    assert_has(buf_str(&e.body), "\"name\":\"b\"");
    assert_true(str_find(buf_str(&e.body), S("\"name\":\"a\"")) < 0);
}

static void watches_tell_what_comes_and_goes(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    fake_put(w->fake, MAP("a", ""));
    ear_start(&e, w, "GET", MAPS "?watch=true&labelSelector=l&resourceVersion=1&allowWatchBookmarks=true", "");
    world_turn(w, 3);
    assert_int_equal(e.data.n, 0);
    fake_put(w->fake, MAP("a", ",\"labels\":{\"l\":\"1\"}"));
    fake_put(w->fake, MAP("a", ",\"labels\":{\"l\":\"2\"}"));
    fake_put(w->fake, MAP("a", ""));
    fake_put(
        w->fake,
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"y\",\"labels\":{\"l\":\"1\"}}}");
    world_turn(w, 2);
    const char *types[] = {"ADDED", "MODIFIED", "DELETED"};
    str rest = buf_str(&e.data), line, object;
    for (int i = 0; i < 3; i++) {
        assert_true(str_cut(rest, '\n', &line, &rest));
        str_cut(line, ',', &line, &object);
        assert_text(str_from(line, 9), (const char *)str_fmt(&w->arena, "%s\"%c", types[i], 0).p);
    }
    assert_int_equal(rest.n, 0);
    e.data.n = 0;
    fake_bookmark(w->fake);
    assert_text(
        buf_str(&e.data),
        "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"6\"},\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}}\n");
    assert_int_equal(fake_watches(w->fake), 1);
    assert_int_equal(fake_cut_watches(w->fake, FAKE_CUT_CLEAN), 1);
    assert_int_equal(e.status, 200);
    assert_int_equal(fake_watches(w->fake), 0);
}

static void watches_begin_with_a_list_if_asked(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    fake_put(w->fake, MAP("a", ""));
    fake_put(w->fake, MAP("b", ""));
    ear_start(&e, w, "GET",
              MAPS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5", "");
    world_turn(w, 3);
    assert_has(buf_str(&e.data), "\"name\":\"b\"");
    assert_has(buf_str(&e.data), "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    assert_int_equal(e.ends, 0);
    world_advance(w, 6 * SECOND_NS);
    assert_int_equal(e.ends, 1);
    world_reset(w, &(struct fake_options){.no_watch_list = true});
    assert_int_equal(ear_ask(&e, w, "GET", MAPS "?watch=true&sendInitialEvents=true", ""), 422);
}

static void the_past_can_be_forgotten(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    uint64_t rev = fake_put(w->fake, MAP("a", ""));
    fake_put(w->fake, MAP("b", ""));
    fake_expire(w->fake);
    assert_int_equal(rev, 2);
    ear_start(&e, w, "GET", MAPS "?watch=true&resourceVersion=2", "");
    world_turn(w, 3);
    assert_int_equal(e.status, 200);
    assert_has(buf_str(&e.data), "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\"");
    assert_has(buf_str(&e.data), "\"code\":410");
    ear_start(&e, w, "GET", MAPS "?watch=true&resourceVersion=3", "");
    world_turn(w, 3);
    assert_int_equal(e.ends, 0);
    fake_cut_watches(w->fake, FAKE_CUT_GONE);
    assert_has(buf_str(&e.data), "\"code\":410");
}

static void faults_come_first(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    fake_put(w->fake, MAP("a", ""));
    fake_fault(
        w->fake,
        &(struct fake_fault){
            .type = FAKE_ANSWER, .method = S("GET"), .prefix = S(MAPS), .times = 2, .status = 429, .retry_after = 3});
    assert_int_equal(ear_ask(&e, w, "GET", MAPS "/a", ""), 429);
    assert_int_equal(e.retry_after_ns, 3 * SECOND_NS);
    assert_has(buf_str(&e.body), "TooManyRequests");
    assert_int_equal(ear_ask(&e, w, "GET", "/api/v1/namespaces", ""), 200);
    assert_int_equal(ear_ask(&e, w, "GET", MAPS, ""), 429);
    assert_int_equal(ear_ask(&e, w, "GET", MAPS, ""), 200);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_LOST, .can_retry = true, .times = 1});
    assert_int_equal(ear_ask(&e, w, "DELETE", MAPS "/a", ""), 0);
    assert_true(e.can_retry);
    assert_int_equal(ear_ask(&e, w, "GET", MAPS "/a", ""), 200);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_LOST, .is_done = true, .times = 1});
    assert_int_equal(ear_ask(&e, w, "DELETE", MAPS "/a", ""), 0);
    assert_false(e.can_retry);
    assert_int_equal(ear_ask(&e, w, "GET", MAPS "/a", ""), 404);
    assert_int_equal(fake_count(w->fake, "DELETE", MAPS), 2);
    assert_int_equal(fake_writes(w->fake), 2);
}

static void answers_can_be_cut_and_held(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0}, f EAR_SCOPE = {0};
    fake_put(w->fake, MAP("a", ""));
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_CUT, .times = 1});
    ear_start(&e, w, "GET", MAPS "/a", "");
    world_turn(w, 2);
    assert_int_equal(e.ends, 1);
    assert_int_equal(e.status, 0);
    assert_true(e.data.n > 10 && str_find(buf_str(&e.data), S("}}")) < 0);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD});
    ear_start(&e, w, "GET", MAPS "/a", "");
    ear_start(&f, w, "GET", MAPS "/a", "");
    world_turn(w, 3);
    assert_int_equal(fake_held(w->fake), 2);
    client_cancel(f.call);
    f.call = NULL;
    assert_int_equal(fake_release(w->fake), 1);
    assert_int_equal(e.ends, 0);
    world_turn(w, 1);
    assert_int_equal(e.status, 200);
    fake_heal(w->fake);
    assert_int_equal(ear_ask(&f, w, "GET", MAPS "/a", ""), 200);
}

static void events_come_in_pieces(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0}, quitter EAR_SCOPE = {.cancels = true};
    world_reset(w, &(struct fake_options){.piece = 7});
    ear_start(&e, w, "GET", MAPS "?watch=true", "");
    ear_start(&quitter, w, "GET", MAPS "?watch=true", "");
    fake_put(w->fake, MAP("a", ""));
    world_turn(w, 3);
    assert_true(str_has_suffix(buf_str(&e.data), S("}}\n")));
    assert_int_equal(quitter.data.n, 7);
    assert_int_equal(fake_watches(w->fake), 1);
    e.data.n = 0;
    fake_babble(w->fake, S("nonsense"));
    assert_text(buf_str(&e.data), "nonsense");
    fake_cut_watches(w->fake, FAKE_CUT_EVENT);
    assert_int_equal(e.status, 0);
    assert_int_equal(e.ends, 1);
}

static void kinds_of_definitions_are_served(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    static const char crd[] =
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":"
        "\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{\"plural\":"
        "\"widgets\",\"singular\":\"widget\",\"kind\":\"Widget\",\"listKind\":\"WidgetList\"},\"versions\":[{\"name\":"
        "\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}}]},\"status\":{"
        "\"acceptedNames\":{\"plural\":\"widgets\",\"singular\":\"widget\",\"kind\":\"Widget\",\"listKind\":"
        "\"WidgetList\"},\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}}";
    assert_int_equal(ear_ask(&e, w, "GET", "/apis/example.com/v1/widgets", ""), 404);
    fake_put(w->fake, crd);
    assert_int_equal(
        ear_ask(&e, w, "POST", "/apis/example.com/v1/namespaces/x/widgets", "{\"metadata\":{\"generateName\":\"w-\"}}"),
        201);
    assert_int_equal(ear_ask(&e, w, "GET", "/apis/example.com/v1", ""), 200);
    assert_has(buf_str(&e.body), "\"name\":\"widgets\"");
    fake_remove(w->fake, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com");
    assert_int_equal(ear_ask(&e, w, "GET", "/apis/example.com/v1/widgets", ""), 404);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(objects_are_created_changed_and_deleted),
        TEST(a_write_that_changes_nothing_has_no_revision),
        TEST(stale_updates_conflict),
        TEST(finalizers_hold_objects_back),
        TEST(subresources_are_apart),
        TEST(lists_come_in_pages_of_one_revision),
        TEST(watches_tell_what_comes_and_goes),
        TEST(watches_begin_with_a_list_if_asked),
        TEST(the_past_can_be_forgotten),
        TEST(faults_come_first),
        TEST(answers_can_be_cut_and_held),
        TEST(events_come_in_pieces),
        TEST(kinds_of_definitions_are_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
