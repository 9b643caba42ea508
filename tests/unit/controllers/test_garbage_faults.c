/* SPDX-License-Identifier: Apache-2.0 */
/* The garbage collector on a server that fails, is slow, or changes its mind; time moves when the test says so. What it does when
 * all is well is in tests/cases/garbage. */
#include "controllers/garbage/garbage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "controllers/garbage/garbage_absent.h"
#include "controllers/garbage/garbage_patch.h"
#include "object/object.h"
#include "world.h"

enum { QUIET = 10 };

static int set_up(void **state)
{
    return world_set_up(state, &garbage_row);
}

/* ---- Time. ---- */

static int64_t sum_of(struct world *w, str metric)
{
    struct buf text = {0};
    int64_t sum = 0, n;
    str rest, line, value;
    control_metrics_write(w->control, &text);
    for (rest = buf_str(&text); rest.n;) {
        str_cut(rest, '\n', &line, &rest);
        if (str_has_prefix(line, metric) && str_cut(line, '}', &line, &value) && str_to_int64(str_trim(value), &n))
            sum += n;
    }
    buf_done(&text);
    return sum;
}

/* Until nobody has anything to do now, but for who waits for an answer that is held. */
static void settle(struct world *w)
{
    int quiet = 0;
    for (int i = 0; i < TURNS && quiet < QUIET; i++) {
        loop_turn(w->loop, TURN_NS);
        int64_t held = (int64_t)fake_held(w->fake); /* each by a worker, whose key may have been added again */
        bool is_busy =
            sum_of(w, S("workqueue_depth{")) > held || sum_of(w, S("controller_runtime_active_workers{")) > held;
        quiet = is_busy ? 0 : quiet + 1;
    }
    assert_int_equal(quiet, QUIET);
}

/* In at least five steps, so that what is tried again and again is. */
static void pass(struct world *w, int seconds)
{
    int step = seconds > 5 ? seconds / 5 : 1;
    for (; seconds > 0; seconds -= step) {
        clock_fake_advance(&w->time, step * SECOND);
        settle(w);
    }
}

static void start(struct world *w)
{
    control_start(w->control);
    settle(w);
}

/* ---- Objects: ConfigMaps of namespace x. ---- */

static const char *path_of(struct world *w, const char *name)
{
    return str_cstr(&w->arena, str_fmt(&w->arena, "/api/v1/namespaces/x/configmaps/%s", name));
}

static void put(struct world *w, const char *name, const char *metadata)
{
    fake_put(w->fake,
             str_cstr(&w->arena, str_fmt(&w->arena,
                                         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
                                         "\"namespace\":\"x\",\"uid\":\"u-%s\"%s%s}}",
                                         name, name, *metadata ? "," : "", metadata)));
}

#define REF(name) "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"" name "\",\"uid\":\"u-" name "\"}"
#define BLOCKING(name)                                                                      \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"" name "\",\"uid\":\"u-" name \
    "\",\"blockOwnerDeletion\":true}"
#define OWNERS(list) "\"ownerReferences\":[" list "]"

static bool is_there(struct world *w, const char *name)
{
    struct json o;
    return fake_get(w->fake, &w->arena, path_of(w, name), &o);
}

static size_t n_owners(struct world *w, const char *name)
{
    struct json o;
    assert_true(fake_get(w->fake, &w->arena, path_of(w, name), &o));
    return json_len(object_owners(&o));
}

static void fail_get(struct world *w, const char *name, int status, const char *body)
{
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER,
                                             .method = S("GET"),
                                             .prefix = str_of(path_of(w, name)),
                                             .status = status,
                                             .body = str_of(body)});
}

/* The last request with this method; its body. */
static struct json body_of_last(struct world *w, const char *method)
{
    size_t n;
    const struct fake_request *log = fake_log(w->fake, &n);
    struct json body;
    while (n-- > 0) {
        if (!str_eq(log[n].method, str_of(method)))
            continue;
        assert_int_equal(json_decode(&w->arena, log[n].body, NULL, NULL, &body, NULL), 0);
        return body;
    }
    fail_msg("nobody has asked for %s", method);
    return json_null();
}

static void hold_deletes(struct world *w)
{
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD, .method = S("DELETE"), .times = 1});
}

#define assert_text(s, text) assert_string_equal(str_cstr(&w->arena, (s)), (text))

/* ---- Who is not gone. ---- */

static void owner_that_may_not_be_read_is_not_gone(void **state)
{
    struct world *w = *state;
    fail_get(w, "secret", 403, "");
    put(w, "child", OWNERS(REF("secret")));
    start(w);
    pass(w, 5);
    assert_true(fake_count(w->fake, "GET", path_of(w, "secret")) > 1);
    assert_true(is_there(w, "child"));
    fake_heal(w->fake);
    pass(w, 60);
    assert_false(is_there(w, "child"));
}

static void server_that_fails_does_not_say_that_owners_are_gone(void **state)
{
    struct world *w = *state;
    fail_get(w, "owner", 500, "");
    put(w, "child", OWNERS(REF("owner")));
    start(w);
    pass(w, 5);
    assert_true(is_there(w, "child"));
    assert_int_equal(fake_writes(w->fake), 0);
}

/* As when a version is no longer served: Kubernetes answers 404 there too. */
static void path_that_leads_nowhere_does_not_say_that_owners_are_gone(void **state)
{
    struct world *w = *state;
    fail_get(w, "owner", 404, "404 page not found");
    put(w, "child", OWNERS(REF("owner")));
    start(w);
    pass(w, 5);
    assert_true(is_there(w, "child"));
    fake_heal(w->fake);
    fail_get(w, "owner", 404,
             "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404,"
             "\"message\":\"the server could not find the requested resource\"}");
    pass(w, 30);
    assert_true(is_there(w, "child"));
    fake_heal(w->fake);
    pass(w, 60);
    assert_false(is_there(w, "child"));
}

/* A proxy, or a cache in front of the server: whatever it is, it does not say that another object has the name now. */
static void answer_about_nothing_does_not_say_that_owners_are_gone(void **state)
{
    struct world *w = *state;
    static const char *const bodies[] = {
        "{}",
        "{\"metadata\":{\"name\":\"owner\",\"namespace\":\"x\"}}",
        "{\"metadata\":{\"name\":\"another\",\"namespace\":\"x\",\"uid\":\"u-another\"}}",
        "{\"metadata\":{\"name\":\"owner\",\"namespace\":\"y\",\"uid\":\"u-another\"}}",
    };
    put(w, "child", OWNERS(REF("owner")));
    for (size_t i = 0; i < COUNT(bodies); i++) {
        fake_heal(w->fake);
        fail_get(w, "owner", 200, bodies[i]);
        if (i == 0)
            start(w);
        pass(w, 30);
        assert_true(is_there(w, "child"));
    }
    fake_heal(w->fake);
    pass(w, 60);
    assert_false(is_there(w, "child"));
}

/* ---- Nothing goes that is not what was judged. ---- */

static void deletion_names_what_it_means(void **state)
{
    struct world *w = *state;
    struct json o;
    put(w, "child", OWNERS(REF("owner")));
    assert_true(fake_get(w->fake, &w->arena, path_of(w, "child"), &o));
    str version = object_rv(&o);
    start(w);
    assert_false(is_there(w, "child"));
    struct json body = body_of_last(w, "DELETE");
    assert_text(json_text(json_dig(&body, "preconditions.uid")), "u-child");
    assert_text(json_text(json_dig(&body, "preconditions.resourceVersion")), str_cstr(&w->arena, version));
    assert_text(json_get_text(&body, S("propagationPolicy")), "Background");
}

/* A 404 of the path, not of the object: it is still there, and tried again. */
static void deletion_that_leads_nowhere_is_tried_again(void **state)
{
    struct world *w = *state;
    fake_fault(w->fake,
               &(struct fake_fault){
                   .type = FAKE_ANSWER, .method = S("DELETE"), .status = 404, .body = S("404 page not found")});
    put(w, "child", OWNERS(REF("owner")));
    start(w);
    assert_true(is_there(w, "child"));
    fake_heal(w->fake);
    pass(w, 5);
    assert_false(is_there(w, "child"));
}

static void owner_that_comes_at_the_last_moment_saves(void **state)
{
    struct world *w = *state;
    put(w, "child", OWNERS(REF("owner")));
    hold_deletes(w);
    start(w);
    assert_int_equal(fake_held(w->fake), 1);
    put(w, "saviour", "");
    put(w, "child", OWNERS(REF("owner") "," REF("saviour")));
    assert_int_equal(fake_release(w->fake), 1);
    settle(w);
    pass(w, 5);
    assert_true(is_there(w, "child"));
    assert_int_equal(n_owners(w, "child"), 1);
}

static void object_that_was_made_again_stays(void **state)
{
    struct world *w = *state;
    put(w, "child", OWNERS(REF("owner")));
    hold_deletes(w);
    start(w);
    assert_int_equal(fake_held(w->fake), 1);
    fake_remove(w->fake, path_of(w, "child"));
    fake_put(w->fake,
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"child\",\"namespace\":\"x\","
             "\"uid\":\"another\"}}");
    assert_int_equal(fake_release(w->fake), 1);
    settle(w);
    pass(w, 5);
    assert_true(is_there(w, "child"));
}

/* The finalizer of an owner that was made again meanwhile is somebody else's. */
static void finalizer_of_another_stays(void **state)
{
    struct world *w = *state;
    put(w, "owner", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"foregroundDeletion\"]");
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD, .method = S("PATCH"), .times = 1});
    start(w);
    assert_int_equal(fake_held(w->fake), 1);
    fake_remove(w->fake, path_of(w, "owner"));
    fake_put(w->fake,
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"owner\",\"namespace\":\"x\","
             "\"uid\":\"another\",\"finalizers\":[\"foregroundDeletion\",\"mine\"]}}");
    fake_release(w->fake);
    settle(w);
    pass(w, 5);
    struct json o;
    assert_true(fake_get(w->fake, &w->arena, path_of(w, "owner"), &o));
    assert_int_equal(json_len(object_finalizers(&o)), 2);
}

/* ---- Kinds. ---- */

static void kind_that_cannot_be_listed_holds_nobody_up_for_long(void **state)
{
    struct world *w = *state;
    fake_fault(w->fake, &(struct fake_fault){
                            .type = FAKE_ANSWER, .method = S("GET"), .prefix = S("/api/v1/secrets"), .status = 403});
    put(w, "child", OWNERS(REF("owner")));
    start(w);
    pass(w, 25);
    assert_true(is_there(w, "child")); /* secrets may come any moment */
    pass(w, 10);
    assert_false(is_there(w, "child"));
}

/* Dependents that nobody has listed yet are not forgotten. */
static void orphaning_waits_for_kinds_that_are_not_known(void **state)
{
    struct world *w = *state;
    fake_fault(w->fake, &(struct fake_fault){
                            .type = FAKE_ANSWER, .method = S("GET"), .prefix = S("/api/v1/secrets"), .status = 403});
    fake_put(w->fake, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"child\",\"namespace\":\"x\","
                      "\"uid\":\"u-child\"," OWNERS(REF("owner")) "}}");
    put(w, "owner", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"orphan\"]");
    start(w);
    pass(w, 5);
    assert_true(is_there(w, "owner"));
    fake_heal(w->fake);
    pass(w, 60);
    assert_false(is_there(w, "owner"));
    struct json o;
    assert_true(fake_get(w->fake, &w->arena, "/api/v1/namespaces/x/secrets/child", &o));
    assert_int_equal(json_len(object_owners(&o)), 0);
}

static void server_that_cannot_say_what_it_has_is_asked_again(void **state)
{
    struct world *w = *state;
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER, .prefix = S("/api"), .status = 500});
    put(w, "child", OWNERS(REF("owner")));
    start(w);
    pass(w, 3);
    assert_int_equal(fake_watches(w->fake), 0);
    assert_true(is_there(w, "child"));
    fake_heal(w->fake);
    pass(w, 10);
    assert_false(is_there(w, "child"));
}

#define GEAR_VERSION(name, storage)                               \
    "{\"name\":\"" name "\",\"served\":true,\"storage\":" storage \
    ",\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","      \
    "\"x-kubernetes-preserve-unknown-fields\":true}}}"
#define GEAR_NAMES "{\"plural\":\"gears\",\"singular\":\"gear\",\"kind\":\"Gear\",\"listKind\":\"GearList\"}"
#define GEARS(versions)                                                                                         \
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":" \
    "\"gears.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":" GEAR_NAMES \
    ",\"versions\":[" versions "]},\"status\":{\"acceptedNames\":" GEAR_NAMES ",\"storedVersions\":[\"v1\"],"   \
    "\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":\"True\"},{\"type\":\"Established\",\"status\":\"True\"}]}}"

static const char gears[] = GEARS(GEAR_VERSION("v1", "true"));

#define GEAR_REF(name) \
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gear\",\"name\":\"" name "\",\"uid\":\"u-" name "\"}"

static void put_gear(struct world *w, const char *name, const char *metadata)
{
    fake_put(w->fake,
             str_cstr(&w->arena, str_fmt(&w->arena,
                                         "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Gear\",\"metadata\":{\"name\":"
                                         "\"%s\",\"namespace\":\"x\",\"uid\":\"u-%s\"%s%s}}",
                                         name, name, *metadata ? "," : "", metadata)));
}

static void kinds_come_and_go(void **state)
{
    struct world *w = *state;
    start(w);
    size_t before = fake_watches(w->fake);
    assert_true(before > 30);
    fake_put(w->fake, gears);
    settle(w);
    pass(w, 3);
    assert_int_equal(fake_watches(w->fake), before + 1);
    assert_int_equal(fake_count(w->fake, "GET", "/apis/example.com/v1/gears"), 1);
    fake_remove(w->fake, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.example.com");
    settle(w);
    pass(w, 3);
    assert_int_equal(fake_watches(w->fake), before);
}

/* Events are written all the time, and own nothing. */
static void events_are_not_watched(void **state)
{
    struct world *w = *state;
    start(w);
    assert_int_equal(fake_count(w->fake, "GET", "/api/v1/configmaps"), 1);
    assert_int_equal(fake_count(w->fake, "GET", "/api/v1/events"), 0);
    assert_int_equal(fake_count(w->fake, "GET", "/apis/events.k8s.io/v1/events"), 0);
}

/* The kind is gone, perhaps only for now: nobody says that the owner is. */
static void owner_of_a_kind_that_went_is_not_gone(void **state)
{
    struct world *w = *state;
    fake_put(w->fake, gears);
    put_gear(w, "owner", "");
    put(w, "child", OWNERS(GEAR_REF("owner")));
    start(w);
    fake_remove(w->fake, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gears.example.com");
    settle(w);
    pass(w, 40);
    assert_true(is_there(w, "child"));
}

/* What /apis says next time: gears in these versions. */
static void tell_versions(struct world *w, const char *versions)
{
    str body = str_fmt(&w->arena,
                       "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{\"name\":\"example.com\"},"
                       "\"versions\":[%s]}]}",
                       versions);
    fake_fault(
        w->fake,
        &(struct fake_fault){
            .type = FAKE_ANSWER, .method = S("GET"), .prefix = S("/apis"), .times = 1, .status = 200, .body = body});
    clock_fake_advance(&w->time, 30 * SECOND);
    settle(w);
}

#define VERSION(version, freshness)                                                                        \
    "{\"version\":\"" version "\",\"freshness\":\"" freshness "\",\"resources\":[{\"resource\":\"gears\"," \
    "\"responseKind\":{\"kind\":\"Gear\"},\"scope\":\"Namespaced\",\"verbs\":[\"delete\",\"list\",\"watch\"]}]}"

/* The server can tell about one version of a group only: the kind is watched in that one, and not in both. */
static void kind_is_watched_once_while_the_server_is_unsure(void **state)
{
    struct world *w = *state;
    fake_put(w->fake, gears);
    start(w);
    tell_versions(w, VERSION("v1", "Current"));
    size_t before = fake_watches(w->fake);
    tell_versions(w, VERSION("v1", "Stale"));
    assert_int_equal(fake_watches(w->fake), before);
    tell_versions(w, VERSION("v1", "Stale") "," VERSION("v2", "Current"));
    assert_true(fake_count(w->fake, "GET", "/apis/example.com/v2/gears?") > 0);
    assert_int_equal(fake_watches(w->fake), before - 1); /* of v2 there is none: this server has only v1 */
}

/* The server prefers another version from now on: the objects are the same. */
static void kind_may_change_its_version(void **state)
{
    struct world *w = *state;
    fake_put(w->fake, gears);
    put_gear(w, "owner", "");
    put(w, "child", OWNERS(GEAR_REF("owner")));
    put_gear(w, "part", OWNERS(BLOCKING("holder")));
    put(w, "holder", "");
    start(w);
    fake_put(w->fake, GEARS(GEAR_VERSION("v1", "true") "," GEAR_VERSION("v2", "false")));
    settle(w);
    pass(w, 5);
    assert_int_equal(fake_count(w->fake, "GET", "/apis/example.com/v2/gears"), 1);
    assert_int_equal(fake_writes(w->fake), 0);
    assert_true(fake_remove(w->fake, "/apis/example.com/v1/namespaces/x/gears/owner"));
    settle(w);
    pass(w, 5);
    assert_false(is_there(w, "child"));
    put(w, "holder", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"foregroundDeletion\"]");
    settle(w);
    pass(w, 5);
    assert_false(is_there(w, "holder")); /* when its part was gone */
}

/* A kind is defined, a blocking dependent of it is made, and its owner deleted, all before discovery has told of the kind. */
static void foreground_waits_for_definitions_that_nobody_has_told_of(void **state)
{
    struct world *w = *state;
    put(w, "holder", "");
    start(w);
    fake_fault(w->fake,
               &(struct fake_fault){.type = FAKE_ANSWER, .method = S("GET"), .prefix = S("/apis"), .status = 500});
    fake_put(w->fake, gears);
    put_gear(w, "part", OWNERS(BLOCKING("holder")));
    settle(w);
    put(w, "holder", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"foregroundDeletion\"]");
    settle(w);
    pass(w, 1);
    assert_true(is_there(w, "holder"));
    fake_heal(w->fake);
    pass(w, 60);
    assert_false(is_there(w, "holder"));
    struct json o;
    assert_false(fake_get(w->fake, &w->arena, "/apis/example.com/v1/namespaces/x/gears/part", &o));
}

static void orphaning_waits_for_kinds_that_are_new(void **state)
{
    struct world *w = *state;
    start(w);
    fake_fault(w->fake,
               &(struct fake_fault){
                   .type = FAKE_ANSWER, .method = S("GET"), .prefix = S("/apis/example.com/v1/gears"), .status = 403});
    fake_put(w->fake, gears);
    settle(w);
    pass(w, 1); /* discovery is asked a moment after a definition has changed */
    put_gear(w, "child", OWNERS(REF("owner")));
    put(w, "owner", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"orphan\"]");
    settle(w);
    assert_true(is_there(w, "owner"));
    fake_heal(w->fake);
    pass(w, 60);
    assert_false(is_there(w, "owner"));
    struct json o;
    assert_true(fake_get(w->fake, &w->arena, "/apis/example.com/v1/namespaces/x/gears/child", &o));
    assert_int_equal(json_len(object_owners(&o)), 0);
}

static void owner_stays_while_a_dependent_cannot_be_freed(void **state)
{
    struct world *w = *state;
    fake_fault(w->fake,
               &(struct fake_fault){
                   .type = FAKE_ANSWER, .method = S("PATCH"), .prefix = str_of(path_of(w, "child")), .status = 403});
    put(w, "child", OWNERS(REF("owner")));
    put(w, "owner", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"orphan\"]");
    start(w);
    pass(w, 5);
    assert_true(is_there(w, "owner"));
    fake_heal(w->fake);
    pass(w, 60);
    assert_false(is_there(w, "owner"));
    assert_int_equal(n_owners(w, "child"), 0);
}

/* The owner could not be asked for, and then it was seen. */
static void what_was_seen_meanwhile_is_not_asked_for(void **state)
{
    struct world *w = *state;
    start(w);
    fail_get(w, "late", 500, "");
    put(w, "child", OWNERS(REF("late")));
    settle(w);
    assert_true(fake_count(w->fake, "GET", path_of(w, "late")) > 0);
    put(w, "late", "");
    settle(w);
    fake_log_clear(w->fake);
    pass(w, 10);
    assert_int_equal(fake_count(w->fake, "GET", "/api/v1/namespaces/"), 0);
    assert_true(is_there(w, "child"));
}

static void strategic_patches_are_not_tried_twice(void **state)
{
    struct world *w = *state;
    fake_put(w->fake, gears);
    put_gear(w, "a", OWNERS(REF("owner") "," REF("other")));
    put_gear(w, "b", OWNERS(REF("owner") "," REF("other")));
    put(w, "other", "");
    put(w, "owner", "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"finalizers\":[\"orphan\"]");
    start(w);
    pass(w, 3);
    assert_false(is_there(w, "owner"));
    size_t n, strategic = 0, merges = 0;
    const struct fake_request *log = fake_log(w->fake, &n);
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(log[i].method, S("PATCH")) || !str_has_prefix(log[i].target, S("/apis/example.com")))
            continue;
        strategic += str_eq(log[i].content_type, S("application/strategic-merge-patch+json"));
        merges += str_eq(log[i].content_type, S("application/merge-patch+json"));
    }
    assert_int_equal(strategic, 1);
    assert_int_equal(merges, 2);
}

/* ---- Quiet. ---- */

static void what_has_its_owners_is_not_asked_for(void **state)
{
    struct world *w = *state;
    put(w, "owner", "");
    for (int i = 0; i < 20; i++)
        put(w, str_cstr(&w->arena, str_fmt(&w->arena, "child-%d", i)), OWNERS(BLOCKING("owner")));
    start(w);
    pass(w, 5);
    assert_int_equal(fake_count(w->fake, "GET", "/api/v1/namespaces/"), 0);
    assert_int_equal(fake_writes(w->fake), 0);
}

static void nothing_is_written_when_all_is_done(void **state)
{
    struct world *w = *state;
    put(w, "owner", "");
    put(w, "child", OWNERS(REF("owner") "," REF("nobody")));
    start(w);
    pass(w, 5);
    assert_int_equal(n_owners(w, "child"), 1);
    fake_log_clear(w->fake);
    pass(w, 60);
    assert_int_equal(fake_writes(w->fake), 0);
    assert_int_equal(fake_count(w->fake, "GET", "/api/v1/namespaces/"), 0);
}

/* Nobody knows the kind of the owner: asked for again, but ever less often. */
static void unknown_kinds_are_asked_for_ever_less_often(void **state)
{
    struct world *w = *state;
    put(w, "child", OWNERS(GEAR_REF("owner")));
    start(w);
    for (int i = 0; i < 12; i++)
        pass(w, 5);
    fake_log_clear(w->fake);
    for (int i = 0; i < 12; i++)
        pass(w, 5);
    assert_true(fake_count(w->fake, "GET", path_of(w, "child")) <= 1);
    fake_put(w->fake, gears);
    settle(w);
    pass(w, 3);
    assert_false(is_there(w, "child")); /* now it is known that there is no such owner */
}

/* ---- Parts. ---- */

static void absent_owners_are_remembered_within_bounds(void **state)
{
    struct absent a = {0};
    char name[16];
    struct graph_id id = {S("v1"), S("Pod"), S("x"), {0}, S("u")};
    for (int i = 0; i < ABSENT_MAX; i++) {
        (void)snprintf(name, sizeof name, "p%d", i);
        id.name = str_of(name);
        absent_add(&a, &id);
    }
    id.name = S("p0");
    assert_true(absent_has(&a, &id)); /* and is the latest now */
    id.name = S("one more");
    absent_add(&a, &id);
    absent_add(&a, &id);
    assert_int_equal(a.by_text.n, ABSENT_MAX);
    id.name = S("p0");
    assert_true(absent_has(&a, &id));
    id.name = S("p1");
    assert_false(absent_has(&a, &id));
    id.name = S("p2");
    assert_true(absent_has(&a, &id));
    id.namespace = S("y");
    assert_false(absent_has(&a, &id));
    absent_done(&a);
}

static void patches_say_what_those_of_kubernetes_say(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json live, patch;
    struct buf b = {.arena = &a};
    assert_int_equal(
        json_decode(&a,
                    S("{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\",\"finalizers\":[\"a\",\"orphan\",\"b\"],"
                      "\"ownerReferences\":[{\"uid\":\"o1\",\"name\":\"n1\",\"blockOwnerDeletion\":true},"
                      "{\"uid\":\"o2\",\"name\":\"n2\"}]}}"),
                    NULL, NULL, &live, NULL),
        0);
    const str going[] = {S_INIT("o1"), S_INIT("o3")};
    patch = patch_owners_strategic(&a, S("u"), (struct uids){going, 2});
    json_encode(&b, &patch, 0);
    buf_add_char(&b, '\n');
    patch = patch_owners_merge(&a, &live, (struct uids){going, 2});
    json_encode(&b, &patch, 0);
    buf_add_char(&b, '\n');
    patch = patch_owners_merge(&a, &live, (struct uids){(const str[]){S_INIT("o1"), S_INIT("o2")}, 2});
    json_encode(&b, &patch, 0);
    buf_add_char(&b, '\n');
    assert_true(patch_unblock_strategic(&a, &live, &patch));
    json_encode(&b, &patch, 0);
    buf_add_char(&b, '\n');
    assert_true(patch_unblock_merge(&a, &live, &patch));
    json_encode(&b, &patch, 0);
    buf_add_char(&b, '\n');
    assert_true(patch_finalizer(&a, &live, S("orphan"), &patch));
    json_encode(&b, &patch, 0);
    assert_string_equal(
        str_cstr(&a, buf_str(&b)),
        "{\"metadata\":{\"uid\":\"u\",\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"o1\"},"
        "{\"$patch\":\"delete\",\"uid\":\"o3\"}]}}\n"
        "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\",\"ownerReferences\":[{\"uid\":\"o2\",\"name\":\"n2\"}]}}\n"
        "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\",\"ownerReferences\":null}}\n"
        "{\"metadata\":{\"uid\":\"u\",\"ownerReferences\":[{\"uid\":\"o1\",\"name\":\"n1\",\"blockOwnerDeletion\":false}]}}\n"
        "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\",\"ownerReferences\":[{\"uid\":\"o1\",\"name\":\"n1\","
        "\"blockOwnerDeletion\":false},{\"uid\":\"o2\",\"name\":\"n2\"}]}}\n"
        "{\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\",\"finalizers\":[\"a\",\"b\"]}}");
    assert_false(patch_finalizer(&a, &live, S("foregroundDeletion"), &patch));
}

#define ON_FAKE(test) cmocka_unit_test_setup_teardown(test, set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FAKE(owner_that_may_not_be_read_is_not_gone),
        ON_FAKE(server_that_fails_does_not_say_that_owners_are_gone),
        ON_FAKE(path_that_leads_nowhere_does_not_say_that_owners_are_gone),
        ON_FAKE(answer_about_nothing_does_not_say_that_owners_are_gone),
        ON_FAKE(deletion_names_what_it_means),
        ON_FAKE(deletion_that_leads_nowhere_is_tried_again),
        ON_FAKE(owner_that_comes_at_the_last_moment_saves),
        ON_FAKE(object_that_was_made_again_stays),
        ON_FAKE(finalizer_of_another_stays),
        ON_FAKE(kind_that_cannot_be_listed_holds_nobody_up_for_long),
        ON_FAKE(orphaning_waits_for_kinds_that_are_not_known),
        ON_FAKE(server_that_cannot_say_what_it_has_is_asked_again),
        ON_FAKE(kinds_come_and_go),
        ON_FAKE(events_are_not_watched),
        ON_FAKE(owner_of_a_kind_that_went_is_not_gone),
        ON_FAKE(kind_is_watched_once_while_the_server_is_unsure),
        ON_FAKE(kind_may_change_its_version),
        ON_FAKE(foreground_waits_for_definitions_that_nobody_has_told_of),
        ON_FAKE(orphaning_waits_for_kinds_that_are_new),
        ON_FAKE(owner_stays_while_a_dependent_cannot_be_freed),
        ON_FAKE(what_was_seen_meanwhile_is_not_asked_for),
        ON_FAKE(strategic_patches_are_not_tried_twice),
        ON_FAKE(what_has_its_owners_is_not_asked_for),
        ON_FAKE(nothing_is_written_when_all_is_done),
        ON_FAKE(unknown_kinds_are_asked_for_ever_less_often),
        cmocka_unit_test(absent_owners_are_remembered_within_bounds),
        cmocka_unit_test(patches_say_what_those_of_kubernetes_say),
    };
    return cmocka_run_group_tests_name("garbage", tests, NULL, NULL);
}
