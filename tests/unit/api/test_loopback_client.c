/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the server they live in: a whole server, a thread that asks, and watches on the loop. */
#include "api/loopback_client.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/server.h"
#include "lib/server.h"
#include "object/object.h"

struct site {
    struct server server;
    struct client *client;
};

static struct client *admin_of(struct server *s)
{
    struct loopback_client_options options = {.who = server_admin, .user_agent = S("reeve-test/1")};
    return server_client(s, loopback_client_new(s->api, &options));
}

static int set_up(void **state)
{
    struct site *s = calloc(1, sizeof *s);
    assert_non_null(s);
    server_open(&s->server, 7, 0);
    s->client = admin_of(&s->server);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct site *s = *state;
    client_free(s->client);
    server_close(&s->server);
    free(s);
    return 0;
}

/* ---- A thread that asks while the loop runs. ---- */

struct errand {
    struct site *site;
    struct client *client;
    void (*fn)(struct errand *e);
    struct arena arena;
    struct json ret;
    struct err err;
    int codes[8];
    str text;
};

static void *go(void *arg)
{
    struct errand *e = arg;
    e->fn(e);
    loop_stop(e->site->server.loop);
    return NULL;
}

static void run(struct site *s, struct errand *e, void (*fn)(struct errand *e))
{
    pthread_t thread;
    e->site = s;
    e->fn = fn;
    if (e->client == NULL)
        e->client = s->client;
    assert_int_equal(pthread_create(&thread, NULL, go, e), 0);
    loop_run(s->server.loop);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);
static const struct client_ref thing = {.resource = &configmaps, .namespace = S_INIT("default"), .name = S_INIT("a")};
static const struct client_ref things = {.resource = &configmaps, .namespace = S_INIT("default")};

static struct json object_of(struct arena *a, const char *text)
{
    struct json v;
    struct err err;
    if (json_decode(a, str_of(text), NULL, NULL, &v, &err) < 0)
        fail_msg("%s", err.msg);
    return v;
}

static void write_things(struct errand *e)
{
    struct json object = object_of(&e->arena, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"y\"}}}");
    struct json patch = object_of(&e->arena, "{\"data\":{\"k\":\"v\"}}");
    struct json apply = object_of(&e->arena, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"l\":\"w\"}}");
    struct client_write_options options = {.field_manager = S("tester")};
    e->codes[0] = client_create(e->client, &e->arena, &things, &object, NULL, &e->ret, &e->err);
    e->text = json_text(json_dig(&json_get(object_meta(&e->ret), S("managedFields"))->items[0], "manager"));
    e->codes[1] = client_patch(e->client, &e->arena, &thing, &(struct client_patch_args){.patch = &patch}, NULL, NULL);
    e->codes[2] = client_apply(e->client, &e->arena, &thing, &apply, &options, NULL, &e->err);
    e->codes[3] = client_get(e->client, &e->arena, &thing, &e->ret, &e->err);
}

static void verbs_reach_the_server(void **state)
{
    struct errand e = {0};
    run(*state, &e, write_things);
    for (int i = 0; i < 4; i++)
        assert_int_equal(e.codes[i], 0);
    assert_true(str_eq(e.text, S("reeve-test"))); /* the user agent manages what names no manager */
    assert_true(str_eq(json_text(json_dig(&e.ret, "data.k")), S("v")));
    assert_true(str_eq(json_text(json_dig(&e.ret, "data.l")), S("w")));
    arena_done(&e.arena);
}

static void list_things(struct errand *e)
{
    char text[64];
    for (int i = 0; i < 5; i++) {
        (void)snprintf(text, sizeof text, "{\"metadata\":{\"name\":\"page-%d\"}}", i);
        struct json object = object_of(&e->arena, text);
        e->codes[0] |= client_create(e->client, &e->arena, &things, &object, NULL, NULL, &e->err);
    }
    struct client_list_options options = {.limit = 2, .field_selector = S("metadata.name!=kube-root-ca.crt")};
    e->codes[1] = client_list(e->client, &e->arena, &things, &options, &e->ret, &e->text, &e->err);
    options.metadata_only = true;
    struct json partial = {0};
    e->codes[2] = client_list(e->client, &e->arena, &things, &options, &partial, NULL, &e->err);
    e->codes[3] = str_eq(object_kind(&partial.items[0]), S("PartialObjectMetadata"));
    struct client_delete_options all = {.is_collection = true};
    e->codes[4] = client_delete(e->client, &e->arena, &things, &all, NULL, &e->err);
    e->codes[5] = client_get(e->client, &e->arena, &thing, NULL, &e->err);
}

static void lists_come_in_pages(void **state)
{
    struct errand e = {0};
    run(*state, &e, list_things);
    assert_int_equal(e.codes[0], 0);
    assert_int_equal(e.codes[1], 0);
    assert_int_equal(json_len(&e.ret), 5);
    assert_true(str_eq(object_kind(&e.ret.items[4]), S("ConfigMap")));
    assert_true(str_eq(object_api_version(&e.ret.items[4]), S("v1")));
    assert_true(e.text.n > 0);
    assert_int_equal(e.codes[2], 0);
    assert_true(e.codes[3]);
    assert_int_equal(e.codes[4], 0);
    assert_int_equal(e.codes[5], ERR_NOT_FOUND);
    assert_string_equal(e.err.msg, "configmaps \"a\" not found");
    arena_done(&e.arena);
}

static void get_thing(struct errand *e)
{
    e->codes[0] = client_get(e->client, &e->arena, &thing, &e->ret, &e->err);
}

static void accounts_are_who_they_are(void **state)
{
    struct site *s = *state;
    struct errand e = {
        .client = server_client(&s->server, loopback_client_new_account(s->server.api, S("kube-system"), S("snoop")))};
    run(s, &e, get_thing);
    assert_int_equal(e.codes[0], ERR_FORBIDDEN);
    assert_string_equal(e.err.msg, "configmaps \"a\" is forbidden: User \"system:serviceaccount:kube-system:snoop\" "
                                   "cannot get resource \"configmaps\" in API group \"\" in the namespace \"default\"");
    client_free(e.client);
    arena_done(&e.arena);
}

static void accounts_have_their_groups(struct errand *e)
{
    struct json review =
        object_of(&e->arena, "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"authentication.k8s.io/v1\"}");
    struct buf body = {.arena = &e->arena};
    json_encode(&body, &review, 0);
    struct client_request request = {
        .method = S("POST"), .target = S("/apis/authentication.k8s.io/v1/selfsubjectreviews"), .body = buf_str(&body)};
    e->codes[0] = client_raw(e->client, &e->arena, &request, &e->ret, &e->err);
}

static void accounts_are_in_the_groups_of_their_tokens(void **state)
{
    struct site *s = *state;
    struct errand e = {
        .client = server_client(&s->server, loopback_client_new_account(s->server.api, S("kube-system"), S("snoop")))};
    struct buf text = {.arena = &e.arena};
    run(s, &e, accounts_have_their_groups);
    assert_int_equal(e.codes[0], 0);
    json_encode(&text, json_dig(&e.ret, "status.userInfo"), 0);
    assert_true(str_eq(buf_str(&text), S("{\"username\":\"system:serviceaccount:kube-system:snoop\",\"groups\":["
                                         "\"system:serviceaccounts\",\"system:serviceaccounts:kube-system\","
                                         "\"system:authenticated\"]}")));
    client_free(e.client);
    arena_done(&e.arena);
}

/* A right like any other, asked for with the identity of the client. */
static void get_as_others(struct errand *e)
{
    struct client_request request = {.method = S("GET"), .target = S("/api/v1/namespaces/default/configmaps/a")};
    request.as = S("system:serviceaccount:app:deployer");
    e->codes[0] = client_raw(e->client, &e->arena, &request, &e->ret, &e->err);
}

static void clients_act_for_others_where_they_may(void **state)
{
    struct site *s = *state;
    struct errand e = {0},
                  f = {.client =
                           server_client(&s->server, loopback_client_new_account(s->server.api, S("x"), S("snoop")))};
    run(s, &e, get_as_others);
    assert_int_equal(e.codes[0], ERR_FORBIDDEN);
    assert_string_equal(e.err.msg, "configmaps \"a\" is forbidden: User \"system:serviceaccount:app:deployer\" "
                                   "cannot get resource \"configmaps\" in API group \"\" in the namespace \"default\"");
    run(s, &f, get_as_others);
    assert_int_equal(f.codes[0], ERR_FORBIDDEN);
    assert_string_equal(f.err.msg, "serviceaccounts \"deployer\" is forbidden: User \"system:serviceaccount:x:snoop\" "
                                   "cannot impersonate resource \"serviceaccounts\" in API group \"\" in the namespace "
                                   "\"app\"");
    client_free(f.client);
    arena_done(&e.arena);
    arena_done(&f.arena);
}

/* ---- On the loop. ---- */

struct ear {
    struct client_call *call;
    struct buf data;
    int status;
    int ends;
    int64_t retry_after_ns;
    bool cancels; /* at the first bytes */
};

static void hear_data(void *ctx, str bytes)
{
    struct ear *e = ctx;
    buf_add_str(&e->data, bytes);
    if (e->cancels)
        client_cancel(e->call);
}

static void hear_end(void *ctx, const struct client_answer *answer)
{
    struct ear *e = ctx;
    e->status = answer->status;
    e->retry_after_ns = answer->retry_after_ns;
    e->ends++;
    assert_true(answer->status != 200 || answer->body.n == 0);
    if (answer->body.n)
        buf_fmt(&e->data, "refused: %.*s", STR(answer->body));
    assert_true((answer->status == 0) == (answer->err != NULL));
}

static void ask(struct client *c, struct ear *e, struct client_request request)
{
    static const struct client_listener listener = {hear_data, hear_end};
    e->ends = 0;
    e->data.n = 0;
    e->call = client_start(c, &request, &listener, e);
    assert_int_equal(e->ends + (int)e->data.n, 0);
}

static void listen(struct client *c, struct ear *e, const char *target)
{
    ask(c, e, (struct client_request){.method = S("GET"), .target = str_of(target)});
}

#define WATCH \
    "/api/v1/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

static void watches_bring_events(void **state)
{
    struct site *s = *state;
    struct ear e = {0};
    struct errand errand = {0};
    listen(s->client, &e, WATCH);
    run(s, &errand, write_things);
    while (str_find(buf_str(&e.data), S("\"k\":\"v\"")) < 0)
        loop_turn(s->server.loop, -1);
    assert_true(str_find(buf_str(&e.data), S("k8s.io/initial-events-end")) >= 0);
    assert_int_equal(e.ends, 0);
    api_drain(s->server.api);
    while (!e.ends)
        loop_turn(s->server.loop, -1);
    assert_int_equal(e.status, 200); /* a watch that is over is a whole answer */
    arena_done(&errand.arena);
    buf_done(&e.data);
}

static void listeners_may_cancel(void **state)
{
    struct site *s = *state;
    struct ear watch = {.cancels = true}, get = {.cancels = true}, early = {0};
    listen(s->client, &watch, WATCH);
    listen(s->client, &get, "/api/v1/namespaces/default");
    listen(s->client, &early, "/api/v1/namespaces/default");
    client_cancel(early.call);
    while (!watch.data.n || !get.data.n)
        loop_turn(s->server.loop, -1);
    for (int i = 0; i < 5; i++)
        loop_turn(s->server.loop, 0);
    assert_int_equal(watch.ends + get.ends + early.ends, 0);
    assert_int_equal(early.data.n, 0);
    buf_done(&watch.data);
    buf_done(&get.data);
}

/* A watch that waits for its revision is left; when that comes, it does not begin to watch for nobody. */
static void what_was_left_before_it_began_does_not_begin(void **state)
{
    struct site *s = *state;
    struct ear ears[2] = {0};
    struct errand errand = {0};
    char target[256];
    (void)snprintf(target, sizeof target, WATCH "&resourceVersion=%llu",
                   (unsigned long long)store_revision(s->server.api->store) + 1);
    for (int i = 0; i < 2; i++)
        listen(s->client, &ears[i], target);
    client_cancel(ears[0].call);
    run(s, &errand, write_things);
    while (!ears[1].data.n)
        loop_turn(s->server.loop, -1);
    client_cancel(ears[1].call);
    assert_null(s->server.api->loopbacks);
    assert_int_equal(ears[0].data.n + (size_t)(ears[0].ends + ears[1].ends), 0);
    arena_done(&errand.arena);
    buf_done(&ears[1].data);
}

static void refusals_are_collected(void **state)
{
    struct site *s = *state;
    struct ear e = {0};
    listen(s->client, &e, "/api/v1/namespaces/none");
    while (!e.ends)
        loop_turn(s->server.loop, -1);
    assert_int_equal(e.status, 404);
    assert_true(str_has_prefix(buf_str(&e.data), S("refused: {\"kind\":\"Status\"")));
    buf_done(&e.data);
}

static void close_server(struct site *s)
{
    api_close(s->server.api);
    s->server.api = NULL;
}

/* Whatever is at work when the server closes: a watch, one that has just been given work, one that its client has just left, a
 * read that waits for a revision that will not come, and a write on its way to the disk. */
enum { EARS = 6 };

static void start_all(struct site *s, struct ear *ears)
{
    listen(s->client, &ears[0], WATCH);
    while (!ears[0].data.n)
        loop_turn(s->server.loop, -1);
    listen(s->client, &ears[1], WATCH);
    listen(s->client, &ears[2], WATCH);
    client_cancel(ears[2].call);
    listen(s->client, &ears[3], "/api/v1/namespaces/default?resourceVersion=1000000");
    loop_turn(s->server.loop, 0);
    listen(s->client, &ears[4], WATCH);
    ask(s->client, &ears[5],
        (struct client_request){.method = S("POST"),
                                .target = S("/api/v1/namespaces/default/configmaps"),
                                .body = S("{\"metadata\":{\"name\":\"last\"}}")});
}

static void a_server_may_close_before_its_clients(void **state)
{
    struct site *s = *state;
    struct ear ears[EARS] = {0}, late = {0};
    start_all(s, ears);
    close_server(s);
    for (int i = 0; i < 3; i++)
        loop_turn(s->server.loop, 0);
    assert_int_equal(ears[0].ends, 1);
    assert_int_equal(ears[0].status, 0);
    assert_int_equal(ears[1].ends, 1);
    assert_int_equal(ears[2].ends, 0);
    assert_int_equal(ears[3].ends, 1);
    assert_int_equal(ears[3].status, 504);
    assert_int_equal(ears[3].retry_after_ns, 1000000000);
    assert_int_equal(ears[4].ends, 1);
    assert_int_equal(ears[5].status, 201); /* what was accepted is done */
    listen(s->client, &late, WATCH);
    loop_turn(s->server.loop, 0);
    assert_int_equal(late.ends, 1);
    assert_int_equal(late.status, 0);
    listen(s->client, &late, WATCH); /* tear_down frees the client with it */
    for (int i = 0; i < EARS; i++)
        buf_done(&ears[i].data);
}

static void a_client_may_go_right_before_its_server(void **state)
{
    struct site *s = *state;
    struct ear ears[EARS] = {0};
    start_all(s, ears);
    client_stop(s->client);
    close_server(s);
    for (int i = 0; i < 3; i++)
        loop_turn(s->server.loop, 0);
    for (int i = 0; i < EARS; i++) {
        assert_int_equal(ears[i].ends, 0);
        buf_done(&ears[i].data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verbs_reach_the_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_come_in_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(accounts_are_who_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(accounts_are_in_the_groups_of_their_tokens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clients_act_for_others_where_they_may, set_up, tear_down),
        cmocka_unit_test_setup_teardown(watches_bring_events, set_up, tear_down),
        cmocka_unit_test_setup_teardown(listeners_may_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_left_before_it_began_does_not_begin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals_are_collected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_may_close_before_its_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_may_go_right_before_its_server, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
