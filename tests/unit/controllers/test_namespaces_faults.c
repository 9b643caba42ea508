/* SPDX-License-Identifier: Apache-2.0 */
/* The deletion of a namespace on a server that has not all verbs, answers oddly, fails, or is changed by others meanwhile. Nothing
 * may be finalized while something is left or unknown, and all must go when the trouble is over. */
#include "controllers/namespaces/namespaces.h"
#include "controllers/root_ca.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../client/world.h"
#include "object/conditions.h"
#include "object/object.h"

#define NAMESPACE "/api/v1/namespaces/x"
#define MAPS NAMESPACE "/configmaps"
#define OBJECT(kind, name) \
    "{\"apiVersion\":\"v1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"x\"}}"

struct scene {
    struct world *w;
    struct control *control;
    struct log log;
    struct root_ca *root_ca;
    bool is_stopped;
};

/* ---- The controller at work. ---- */

static void discard(void *ctx, str line)
{
    (void)ctx;
    if (getenv("CASES_LOG"))
        print_message("%.*s", STR(line));
}

static int set_up(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    void *world;
    assert_non_null(s);
    assert_int_equal(world_set_up(&world), 0);
    s->w = world;
    s->log = (struct log){.level = LOG_DEBUG, .clock = clock_of_fake(&s->w->time), .write = discard};
    fake_put(
        s->w->fake,
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\",\"deletionTimestamp\":"
        "\"2026-01-02T03:04:05Z\"},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Terminating\"}}");
    fake_put(s->w->fake, OBJECT("ConfigMap", "a"));
    fake_put(s->w->fake, OBJECT("ConfigMap", "b"));
    fake_put(s->w->fake, OBJECT("Secret", "s"));
    s->root_ca = root_ca_new(S("PEM"));
    *state = s;
    return 0;
}

static void start_row(struct scene *s, const struct controller_row *row)
{
    struct err err;
    struct control_options options = {.loop = s->w->loop,
                                      .clock = clock_of_fake(&s->w->time),
                                      .random = random_of_seed(&s->w->chance),
                                      .log = &s->log};
    s->control = control_new(&options);
    struct controller_env env = {.control = s->control,
                                 .client = s->w->client,
                                 .reader = s->w->client,
                                 .is_embedded = true,
                                 .root_ca = s->root_ca};
    assert_int_equal(row->add(&env, &err), 0);
    fake_log_clear(s->w->fake);
    control_start(s->control);
}

static void start(struct scene *s)
{
    start_row(s, &namespaces_deletion_row);
}

static void stopped(void *ctx)
{
    struct scene *s = ctx;
    s->is_stopped = true;
}

static int tear_down(void **state)
{
    struct scene *s = *state;
    void *world = s->w;
    if (s->control) {
        control_stop(s->control, stopped, s);
        client_stop(s->w->client);
        while (!s->is_stopped)
            loop_turn(s->w->loop, 1000000);
        control_free(s->control);
    }
    root_ca_free(s->root_ca);
    world_tear_down(&world);
    free(s);
    return 0;
}

/* ---- Waiting: as long as it is not so, time goes by. ---- */

typedef bool question(struct scene *s);

static void until_at(struct scene *s, question *is_so, const char *file, int line)
{
    enum { TURNS = 20000 };
    for (int i = 0; i < TURNS; i++) {
        if (is_so(s))
            return;
        loop_turn(s->w->loop, 1000000);
        clock_fake_advance(&s->w->time, SECOND_NS / 100);
    }
    print_error("that never happens\n");
    _fail(file, line);
}
#define until(s, is_so) until_at((s), (is_so), __FILE__, __LINE__)

static struct json namespace_of(struct scene *s)
{
    struct json namespace = {0};
    (void)fake_get(s->w->fake, &s->w->arena, NAMESPACE, &namespace);
    return namespace;
}

static bool is_gone(struct scene *s)
{
    return json_is_null(object_meta(&(struct json[]){namespace_of(s)}[0]));
}

static const struct json *condition_of(struct scene *s, struct json *namespace, const char *type)
{
    *namespace = namespace_of(s);
    return condition_find(json_dig(namespace, "status.conditions"), str_of(type));
}

static bool has_failure(struct scene *s)
{
    struct json namespace;
    return str_eq(json_get_text(condition_of(s, &namespace, "NamespaceDeletionContentFailure"), S("status")),
                  S("True"));
}

static bool has_rest(struct scene *s)
{
    struct json namespace;
    return str_eq(json_get_text(condition_of(s, &namespace, "NamespaceContentRemaining"), S("status")), S("True"));
}

static bool is_undiscovered(struct scene *s)
{
    struct json namespace;
    return str_eq(json_get_text(condition_of(s, &namespace, "NamespaceDeletionDiscoveryFailure"), S("status")),
                  S("True"));
}

static str message_of(struct scene *s, const char *type)
{
    struct json namespace;
    return json_get_text(condition_of(s, &namespace, type), S("message"));
}

static size_t finalized(struct scene *s)
{
    return fake_count(s->w->fake, "PUT", NAMESPACE "/finalize");
}

static bool has_looked(struct scene *s)
{
    return fake_count(s->w->fake, "GET", MAPS "?") > 0;
}

static void fault(struct scene *s, const char *method, const char *prefix, int status, unsigned times)
{
    struct fake_fault f = {
        .type = FAKE_ANSWER, .method = str_of(method), .prefix = str_of(prefix), .status = status, .times = times};
    fake_fault(s->w->fake, &f);
}

static void answer(struct scene *s, const char *method, const char *prefix, const char *body, unsigned times)
{
    struct fake_fault f = {.type = FAKE_ANSWER,
                           .method = str_of(method),
                           .prefix = str_of(prefix),
                           .status = 200,
                           .body = str_of(body),
                           .times = times};
    fake_fault(s->w->fake, &f);
}

/* So much time goes by, and whoever has something to do does it. */
static void pass_time(struct scene *s, int seconds)
{
    for (int i = 0; i < seconds * 20; i++) {
        clock_fake_advance(&s->w->time, SECOND_NS / 20);
        loop_turn(s->w->loop, 1000000);
    }
}

static size_t deletions(struct scene *s)
{
    return fake_count(s->w->fake, "DELETE", "");
}

static bool is_held(struct scene *s)
{
    return fake_held(s->w->fake) == 1;
}

/* ---- The tests. ---- */

static void without_trouble_each_resource_is_asked_for_twice_and_what_was_there_once_more(void **state)
{
    struct scene *s = *state;
    start(s);
    until(s, is_gone);
    assert_int_equal(finalized(s), 1);
    assert_int_equal(fake_count(s->w->fake, "PUT", NAMESPACE "/status"), 1);
    assert_int_equal(fake_count(s->w->fake, "DELETE", MAPS "?"), 2);
    assert_int_equal(fake_count(s->w->fake, "GET", MAPS "?"), 1);
    assert_int_equal(fake_count(s->w->fake, "DELETE", NAMESPACE "/endpoints?"), 2);
    assert_int_equal(fake_count(s->w->fake, "GET", NAMESPACE "/endpoints"), 0);
    assert_int_equal(fake_count(s->w->fake, "DELETE", "/apis/apps/v1/namespaces/x/deployments?"), 2);
    assert_int_equal(fake_count(s->w->fake, "DELETE", "/api/v1/nodes"), 0);
}

static void deletions_are_in_the_background_and_of_metadata(void **state)
{
    struct scene *s = *state;
    size_t n, seen = 0;
    start(s);
    until(s, is_gone);
    const struct fake_request *log = fake_log(s->w->fake, &n);
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(log[i].method, S("DELETE")))
            continue;
        bool is_pods = str_has_prefix(log[i].target, S(NAMESPACE "/pods?"));
        assert_text(log[i].body, "{\"propagationPolicy\":\"Background\"}");
        assert_int_equal(str_has_prefix(log[i].accept, S("application/json;as=PartialObjectMetadataList")), !is_pods);
        assert_true(seen > 0 || is_pods); /* these come first */
        seen++;
    }
    assert_true(seen > 50);
}

static void what_cannot_be_deleted_as_a_collection_goes_one_by_one(void **state)
{
    struct scene *s = *state;
    fault(s, "DELETE", MAPS "?", 405, 0);
    fault(s, "DELETE", NAMESPACE "/secrets?", 404, 0);
    start(s);
    until(s, is_gone);
    assert_int_equal(fake_count(s->w->fake, "DELETE", MAPS "/a"), 1);
    assert_int_equal(fake_count(s->w->fake, "DELETE", MAPS "/b"), 1);
    assert_int_equal(fake_count(s->w->fake, "DELETE", NAMESPACE "/secrets/s"), 1);
    assert_int_equal(finalized(s), 1);
}

static void a_resource_that_fails_is_told_and_stops_no_other(void **state)
{
    struct scene *s = *state;
    fault(s, "DELETE", MAPS "?", 500, 0);
    start(s);
    until(s, has_failure);
    assert_has(message_of(s, "NamespaceDeletionContentFailure"), "Failed to delete all resource types, 1 remaining: ");
    struct json secret;
    assert_false(fake_get(s->w->fake, &s->w->arena, NAMESPACE "/secrets/s", &secret));
    assert_int_equal(finalized(s), 0);
    fake_heal(s->w->fake);
    until(s, is_gone);
}

static void what_fails_for_long_is_tried_every_minute(void **state)
{
    struct scene *s = *state;
    fault(s, "DELETE", MAPS "?", 500, 0);
    start(s);
    until(s, has_failure);
    for (int seconds = 0; seconds < 1200; seconds += 5) {
        if (seconds == 300)
            fake_log_clear(s->w->fake);
        clock_fake_advance(&s->w->time, 5 * SECOND_NS);
        for (int i = 0; i < 10; i++)
            loop_turn(s->w->loop, 1000000);
    }
    assert_in_range(fake_count(s->w->fake, "DELETE", MAPS "?"), 6, 20); /* in fifteen minutes */
}

static void what_cannot_be_looked_for_holds_the_namespace(void **state)
{
    struct scene *s = *state;
    fault(s, "GET", MAPS "?", 503, 0);
    start(s);
    until(s, has_failure);
    assert_int_equal(finalized(s), 0);
    fake_heal(s->w->fake);
    until(s, is_gone);
}

static void an_answer_that_does_not_say_what_was_there_is_not_believed(void **state)
{
    struct scene *s = *state;
    answer(s, "DELETE", MAPS "?", "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Success\"}", 1);
    start(s);
    until(s, has_failure); /* nothing was deleted, and nothing holds it */
    assert_text(
        message_of(s, "NamespaceDeletionContentFailure"),
        "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: x for gvr: "
        "/v1, Resource=configmaps");
    assert_text(message_of(s, "NamespaceContentRemaining"),
                "Some resources are remaining: configmaps. has 2 resource instances");
    assert_int_equal(finalized(s), 0);
    until(s, is_gone);
}

/* Neither where it was deleted nor where it was looked for: that is no sign that nothing is there. */
static void an_answer_that_says_nothing_holds_the_namespace(void **state)
{
    struct scene *s = *state;
    answer(s, "DELETE", MAPS "?", "{\"items\":\"none\"}", 0);
    answer(s, "GET", MAPS "?", "{}", 0);
    start(s);
    until(s, has_failure);
    assert_text(message_of(s, "NamespaceDeletionContentFailure"),
                "Failed to delete all resource types, 1 remaining: the answer of the server is not a list");
    assert_int_equal(finalized(s), 0);
    fake_heal(s->w->fake);
    fault(s, "DELETE", MAPS "?", 405, 0); /* one by one, of such a list */
    answer(s, "GET", MAPS "?", "{}", 0);
    for (int i = 0; i < 3; i++) {
        fake_log_clear(s->w->fake);
        until(s, has_looked);
    }
    assert_int_equal(finalized(s), 0);
    fake_heal(s->w->fake);
    until(s, is_gone);
}

static void pods_may_take_their_time_and_then_fail(void **state)
{
    struct scene *s = *state;
    static const char list[] =
        "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"p\"},\"spec\":"
        "{\"terminationGracePeriodSeconds\":7},\"status\":{\"phase\":\"Running\"}}]}";
    fake_put(s->w->fake, OBJECT("Pod", "p"));
    answer(s, "DELETE", NAMESPACE "/pods?", list, 0);
    start(s);
    until(s, has_rest);
    assert_text(message_of(s, "NamespaceContentRemaining"),
                "Some resources are remaining: pods. has 1 resource instances");
    assert_false(has_failure(s));
    struct json map;
    assert_false(fake_get(s->w->fake, &s->w->arena, MAPS "/a", &map));
    until(s, has_failure);
    assert_true(s->w->time.wall >= (INT64_C(1767323045) + 7) * SECOND_NS);
    assert_true(s->w->time.wall < (INT64_C(1767323045) + 11) * SECOND_NS);
    assert_text(
        message_of(s, "NamespaceDeletionContentFailure"),
        "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: x for gvr: "
        "/v1, Resource=pods");
    fake_heal(s->w->fake);
    until(s, is_gone);
}

static void what_cannot_be_discovered_holds_the_namespace(void **state)
{
    struct scene *s = *state;
    fault(s, "GET", "/apis", 500, 0);
    start(s);
    until(s, is_undiscovered);
    assert_int_equal(finalized(s), 0);
    fake_heal(s->w->fake);
    until(s, is_gone);
}

static void writes_that_meet_a_newer_version_are_made_again(void **state)
{
    struct scene *s = *state;
    fault(s, "PUT", NAMESPACE "/status", 409, 2);
    fault(s, "PUT", NAMESPACE "/finalize", 409, 2);
    start(s);
    until(s, is_gone);
    assert_int_equal(finalized(s), 3);
    assert_int_equal(fake_count(s->w->fake, "PUT", NAMESPACE "/status"), 3);
    assert_int_equal(fake_count(s->w->fake, "GET", NAMESPACE), fake_count(s->w->fake, "GET", NAMESPACE "/") + 6);
}

static void conditions_that_cannot_be_told_hold_nobody(void **state)
{
    struct scene *s = *state;
    fault(s, "PUT", NAMESPACE "/status", 403, 0);
    start(s);
    until(s, is_gone);
    assert_int_equal(finalized(s), 1);
}

static void what_comes_late_is_found_by_the_next_pass(void **state)
{
    struct scene *s = *state;
    /* Deleted and listed as empty, and yet there is one: another process of the server took it meanwhile. */
    answer(s, "DELETE", MAPS "?", "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"items\":[]}", 1);
    start(s);
    until(s, is_gone);
    struct json map;
    assert_false(fake_get(s->w->fake, &s->w->arena, MAPS "/a", &map));
}

static void a_namespace_that_stays_is_left_alone(void **state)
{
    struct scene *s = *state;
    fake_put(s->w->fake, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"y\"},\"spec\":"
                         "{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
    start(s);
    until(s, is_gone);
    assert_int_equal(fake_count(s->w->fake, "", "/api/v1/namespaces/y"), 0);
}

static void a_phase_that_is_missing_is_set_first(void **state)
{
    struct scene *s = *state;
    size_t n;
    fake_put(s->w->fake,
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\",\"deletionTimestamp\":"
             "\"2026-01-02T03:04:05Z\"},\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
    start(s);
    until(s, is_gone);
    const struct fake_request *log = fake_log(s->w->fake, &n);
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(log[i].method, S("PUT")) && !str_eq(log[i].method, S("DELETE")))
            continue;
        assert_text(log[i].method, "PUT");
        assert_has(log[i].body, "\"phase\":\"Terminating\"");
        break;
    }
    assert_int_equal(fake_count(s->w->fake, "PUT", NAMESPACE "/status"), 2);
}

static void nothing_else_goes_before_pods_have_been_asked_to(void **state)
{
    struct scene *s = *state;
    struct fake_fault hold = {.type = FAKE_HELD, .method = S("DELETE"), .prefix = S(NAMESPACE "/pods?"), .times = 1};
    fake_fault(s->w->fake, &hold);
    start(s);
    until(s, is_held);
    pass_time(s, 1);
    assert_int_equal(deletions(s), 1);
    assert_int_equal(fake_release(s->w->fake), 1);
    until(s, is_gone);
}

static void as_long_as_each_pass_finds_something_nothing_is_finalized(void **state)
{
    struct scene *s = *state;
    answer(s, "DELETE", MAPS "?",
           "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"new\"}}]}", 0);
    assert_true(fake_remove(s->w->fake, MAPS "/a"));
    assert_true(fake_remove(s->w->fake, MAPS "/b"));
    start(s);
    pass_time(s, 10);
    assert_int_equal(finalized(s), 0);
    assert_true(fake_count(s->w->fake, "DELETE", MAPS "?") > 6); /* it goes on */
    fake_heal(s->w->fake);
    until(s, is_gone);
}

static void what_only_others_hold_is_not_looked_at(void **state)
{
    struct scene *s = *state;
    fake_put(
        s->w->fake,
        "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\",\"deletionTimestamp\":"
        "\"2026-01-02T03:04:05Z\",\"finalizers\":[\"a.b/c\"]},\"spec\":{},\"status\":{\"phase\":\"Terminating\"}}");
    start(s);
    pass_time(s, 2);
    assert_int_equal(fake_count(s->w->fake, "GET", NAMESPACE), 1);
    assert_int_equal(fake_writes(s->w->fake), 0);
}

static void a_new_namespace_of_the_same_name_is_left_alone(void **state)
{
    struct scene *s = *state;
    answer(s, "GET", NAMESPACE,
           "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\",\"uid\":\"new\"},\"spec\":"
           "{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
           0);
    start(s);
    pass_time(s, 2);
    assert_int_equal(fake_count(s->w->fake, "GET", NAMESPACE), 1);
    assert_int_equal(fake_writes(s->w->fake), 0);
}

/* A 404 of a proxy, not of the namespace. */
static void a_path_that_leads_nowhere_does_not_say_that_it_is_gone(void **state)
{
    struct scene *s = *state;
    struct fake_fault nowhere = {.type = FAKE_ANSWER,
                                 .method = S("GET"),
                                 .prefix = S(NAMESPACE),
                                 .times = 1,
                                 .status = 404,
                                 .body = S("404 page not found")};
    fake_fault(s->w->fake, &nowhere);
    start(s);
    until(s, is_gone);
}

/* A 404 of a proxy, where the server would tell of its contents. */
static void contents_that_a_proxy_does_not_find_are_not_gone(void **state)
{
    struct scene *s = *state;
    struct fake_fault nowhere = {
        .type = FAKE_ANSWER, .prefix = S(MAPS "?"), .status = 404, .body = S("<html>404 Not Found</html>")};
    struct json map;
    fake_fault(s->w->fake, &nowhere);
    start(s);
    until(s, has_failure);
    pass_time(s, 120);
    assert_true(fake_get(s->w->fake, &s->w->arena, MAPS "/a", &map));
    assert_int_equal(finalized(s), 0);
    fake_heal(s->w->fake);
    until(s, is_gone);
}

/* Another controller let it go while the first pass was still at work, and somebody made one of the same name. */
static void the_content_of_a_new_namespace_is_left_alone(void **state)
{
    struct scene *s = *state;
    struct fake_fault late = {.type = FAKE_HELD,
                              .method = S("GET"),
                              .prefix = S(NAMESPACE "/secrets?"),
                              .times = 1}; /* what is left of them */
    struct json map;
    fake_fault(s->w->fake, &late);
    start(s);
    until(s, is_held);
    assert_true(fake_remove(s->w->fake, NAMESPACE));
    fake_put(s->w->fake, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\",\"uid\":\"new\"},"
                         "\"spec\":{\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}");
    fake_put(s->w->fake, OBJECT("ConfigMap", "new"));
    assert_int_equal(fake_release(s->w->fake), 1);
    pass_time(s, 3);
    assert_true(fake_get(s->w->fake, &s->w->arena, MAPS "/new", &map));
    assert_int_equal(finalized(s), 0);
}

static void one_that_took_the_place_of_another_is_left_alone(void **state)
{
    struct scene *s = *state;
    fake_remove(s->w->fake, MAPS "/a");
    fake_remove(s->w->fake, MAPS "/b");
    fake_remove(s->w->fake, NAMESPACE "/secrets/s");
    fault(s, "PUT", NAMESPACE "/finalize", 409, 1);
    /* The first reading is the one before the passes. */
    struct fake_fault first = {.type = FAKE_HELD, .method = S("GET"), .prefix = S(NAMESPACE), .times = 1};
    fake_fault(s->w->fake, &first);
    start(s);
    until(s, is_held); /* it is the reading that is held */
    answer(s, "GET", NAMESPACE,
           "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"x\",\"uid\":\"new\"},\"spec\":{"
           "\"finalizers\":[\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
           0);
    assert_int_equal(fake_release(s->w->fake), 1);
    pass_time(s, 3);
    assert_int_equal(finalized(s), 1);
}

/* ---- The objects that each namespace has. ---- */

static bool has_account(struct scene *s)
{
    struct json account;
    return fake_get(s->w->fake, &s->w->arena, "/api/v1/namespaces/y/serviceaccounts/default", &account);
}

static bool has_map(struct scene *s)
{
    struct json map;
    return fake_get(s->w->fake, &s->w->arena, "/api/v1/namespaces/y/configmaps/kube-root-ca.crt", &map);
}

static bool has_new_map(struct scene *s)
{
    struct json map;
    return fake_get(s->w->fake, &s->w->arena, "/api/v1/namespaces/y/configmaps/kube-root-ca.crt", &map) &&
           str_eq(json_get_text(json_get(&map, S("data")), S("ca.crt")), S("NEW"));
}

static str map_version(struct scene *s)
{
    struct json map;
    assert_true(fake_get(s->w->fake, &s->w->arena, "/api/v1/namespaces/y/configmaps/kube-root-ca.crt", &map));
    return json_get_text(json_get(&map, S("metadata")), S("resourceVersion"));
}

/* The server itself would refuse to create something there; that it is not even asked is politeness. */
static void nothing_is_made_where_all_goes(void **state)
{
    struct scene *s = *state;
    fake_put(s->w->fake, OBJECT("ServiceAccount", "default"));
    fake_put(s->w->fake,
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"y\"},\"spec\":{},\"status\":{}}");
    start_row(s, &namespaces_accounts_row);
    until(s, has_account);
    assert_true(fake_remove(s->w->fake, NAMESPACE "/serviceaccounts/default"));
    pass_time(s, 1);
    assert_int_equal(fake_count(s->w->fake, "POST", NAMESPACE "/"), 0);
}

static void nothing_is_published_where_all_goes(void **state)
{
    struct scene *s = *state;
    fake_put(s->w->fake, OBJECT("ConfigMap", "kube-root-ca.crt"));
    fake_put(s->w->fake,
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"y\"},\"spec\":{},\"status\":{}}");
    start_row(s, &namespaces_root_ca_row);
    until(s, has_map);
    root_ca_set(s->root_ca, S("NEW"));
    until(s, has_new_map);
    str version = map_version(s);
    pass_time(s, 1); /* one write did it: a second, by a cache that is behind, is refused, and none follows */
    assert_true(str_eq(map_version(s), version));
    assert_true(fake_remove(s->w->fake, NAMESPACE "/configmaps/kube-root-ca.crt"));
    pass_time(s, 1);
    assert_int_equal(fake_count(s->w->fake, "POST", NAMESPACE "/"), 0);
    assert_int_equal(fake_count(s->w->fake, "PUT", NAMESPACE "/"), 0);
}

static void nothing_is_published_that_nobody_knows(void **state)
{
    struct scene *s = *state;
    struct err err;
    struct controller_env env = {.client = s->w->client, .reader = s->w->client};
    assert_int_equal(namespaces_root_ca_row.add(&env, &err), ERR_INVALID);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_trouble_each_resource_is_asked_for_twice_and_what_was_there_once_more),
        TEST(deletions_are_in_the_background_and_of_metadata),
        TEST(what_cannot_be_deleted_as_a_collection_goes_one_by_one),
        TEST(a_resource_that_fails_is_told_and_stops_no_other),
        TEST(what_fails_for_long_is_tried_every_minute),
        TEST(what_cannot_be_looked_for_holds_the_namespace),
        TEST(an_answer_that_does_not_say_what_was_there_is_not_believed),
        TEST(an_answer_that_says_nothing_holds_the_namespace),
        TEST(pods_may_take_their_time_and_then_fail),
        TEST(what_cannot_be_discovered_holds_the_namespace),
        TEST(writes_that_meet_a_newer_version_are_made_again),
        TEST(conditions_that_cannot_be_told_hold_nobody),
        TEST(what_comes_late_is_found_by_the_next_pass),
        TEST(a_namespace_that_stays_is_left_alone),
        TEST(a_phase_that_is_missing_is_set_first),
        TEST(nothing_else_goes_before_pods_have_been_asked_to),
        TEST(as_long_as_each_pass_finds_something_nothing_is_finalized),
        TEST(what_only_others_hold_is_not_looked_at),
        TEST(a_new_namespace_of_the_same_name_is_left_alone),
        TEST(a_path_that_leads_nowhere_does_not_say_that_it_is_gone),
        TEST(contents_that_a_proxy_does_not_find_are_not_gone),
        TEST(the_content_of_a_new_namespace_is_left_alone),
        TEST(one_that_took_the_place_of_another_is_left_alone),
        TEST(nothing_is_made_where_all_goes),
        TEST(nothing_is_published_where_all_goes),
        TEST(nothing_is_published_that_nobody_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
