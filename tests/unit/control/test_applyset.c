/* SPDX-License-Identifier: Apache-2.0 */
/* Plans carried out: what is asked of the server, in which order, and what happens when it refuses. The plans themselves are in
 * tests/cases/applyset. */
#include "control/applyset.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "../client/world.h"
#include "object/object.h"

#define MAPS "/api/v1/namespaces/x/configmaps"
#define MAP(name, more) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"x\"" more "}}"
#define OURS ",\"labels\":{\"example.com/set\":\"one\"}"

static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);
static const struct applyset set = {
    .label_key = S_INIT("example.com/set"),
    .label_value = S_INIT("one"),
    .hash_key = S_INIT("example.com/hash"),
    .field_manager = S_INIT("tester"),
};

enum { MOST = 4 };

/* Wants and what is there, and what came of it. */
struct errand {
    struct json wants[MOST];
    size_t n_wants;
    struct applyset_plan plan;
    struct arena arena;
    struct err err;
    size_t done;
    int code;
};

static void want(struct world *w, struct errand *e, const char *text)
{
    e->wants[e->n_wants++] = world_json(w, text);
}

/* Plans against what the server has of these names. */
static void plan(struct world *w, struct errand *e, const char *const *names)
{
    struct applyset_object wants[MOST], have[MOST];
    size_t n = 0;
    for (size_t i = 0; i < e->n_wants; i++)
        wants[i] = (struct applyset_object){configmaps, &e->wants[i]};
    for (; names[n]; n++) {
        struct json *object = ARENA_NEW(&w->arena, struct json);
        assert_true(
            fake_get(w->fake, &w->arena, str_cstr(&w->arena, str_fmt(&w->arena, MAPS "/%s", names[n])), object));
        have[n] = (struct applyset_object){configmaps, object};
    }
    e->plan = applyset_plan(&w->arena, &set, wants, e->n_wants, have, n);
    fake_log_clear(w->fake);
}

static void go(struct world *w, void *ctx)
{
    struct errand *e = ctx;
    e->code = applyset_run(w->client, &e->arena, &set, &e->plan, &e->done, &e->err);
}

static void run(struct world *w, struct errand *e)
{
    world_run(w, go, e);
    arena_done(&e->arena);
}

static const struct fake_request *only(struct world *w)
{
    size_t n;
    const struct fake_request *log = fake_log(w->fake, &n);
    assert_int_equal(n, 1);
    return log;
}

static struct json body_of(struct world *w, const struct fake_request *r)
{
    return world_json(w, str_cstr(&w->arena, r->body));
}

/* ---- The tests. ---- */

static void what_is_absent_is_applied_without_force(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    want(w, &e, MAP("a", ""));
    plan(w, &e, (const char *[]){NULL});
    run(w, &e);
    assert_int_equal(e.code, 0);
    assert_int_equal(e.done, 1);
    const struct fake_request *r = only(w);
    assert_text(r->method, "PATCH");
    assert_text(r->target, MAPS "/a?fieldManager=tester");
    assert_text(r->content_type, "application/apply-patch+yaml");
    struct json body = body_of(w, r), stored;
    assert_true(json_equal(&body, &e.plan.p[0].object));
    assert_text(object_uid(&body), "");
    assert_true(fake_get(w->fake, &w->arena, MAPS "/a", &stored));
    assert_text(object_label(&stored, S("example.com/set")), "one");
}

static void what_differs_is_applied_to_the_very_object_that_was_seen(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    fake_put(w->fake, MAP("a", OURS ",\"uid\":\"u-1\""));
    want(w, &e, MAP("a", ""));
    plan(w, &e, (const char *[]){"a", NULL});
    run(w, &e);
    assert_int_equal(e.code, 0);
    const struct fake_request *r = only(w);
    assert_text(r->target, MAPS "/a?fieldManager=tester&force=true");
    struct json body = body_of(w, r);
    assert_text(object_uid(&body), "u-1");
}

static void what_is_equal_or_anothers_costs_no_request(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    fake_put(w->fake, MAP("theirs", ",\"labels\":{\"example.com/set\":\"two\"}"));
    want(w, &e, MAP("mine", ""));
    want(w, &e, MAP("theirs", ""));
    plan(w, &e, (const char *[]){"theirs", NULL});
    run(w, &e);
    assert_int_equal(e.plan.conflicts, 1);
    plan(w, &e, (const char *[]){"mine", "theirs", NULL});
    assert_int_equal(e.plan.changes, 0);
    run(w, &e);
    assert_int_equal(e.code, 0);
    assert_int_equal(e.done, 2);
    assert_int_equal(fake_count(w->fake, "", ""), 0);
}

static void what_is_left_over_is_deleted_as_it_was_seen(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    fake_put(w->fake, MAP("old", OURS ",\"uid\":\"u-2\""));
    plan(w, &e, (const char *[]){"old", NULL});
    run(w, &e);
    assert_int_equal(e.code, 0);
    const struct fake_request *r = only(w);
    assert_text(r->method, "DELETE");
    assert_text(r->target, MAPS "/old");
    struct json body = body_of(w, r);
    assert_text(json_text(json_dig(&body, "preconditions.uid")), "u-2");
    assert_text(json_text(json_dig(&body, "preconditions.resourceVersion")), str_cstr(&w->arena, e.plan.p[0].version));
    assert_text(json_text(json_dig(&body, "propagationPolicy")), "Background");
}

static void what_changed_since_is_not_deleted(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    struct json there;
    fake_put(w->fake, MAP("old", OURS));
    plan(w, &e, (const char *[]){"old", NULL});
    fake_put(w->fake, MAP("old", ""));
    run(w, &e);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_has(str_of(e.err.msg), "delete ConfigMap \"old\": ");
    assert_true(fake_get(w->fake, &w->arena, MAPS "/old", &there));
}

static void what_is_gone_already_is_deleted(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    fake_put(w->fake, MAP("old", OURS));
    plan(w, &e, (const char *[]){"old", NULL});
    assert_true(fake_remove(w->fake, MAPS "/old"));
    run(w, &e);
    assert_int_equal(e.code, 0);
    assert_int_equal(e.done, 1);
}

/* The way to it is, maybe for a moment; it may well be there. */
static void what_cannot_be_found_is_not_deleted(void **state)
{
    static const char *const answers[] = {
        "404 page not found\n",
        "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"NotFound\",\"code\":404,\"message\":"
        "\"the server could not find the requested resource\"}",
    };
    struct world *w = *state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct errand e = {0};
        fake_put(w->fake, MAP("old", OURS));
        plan(w, &e, (const char *[]){"old", NULL});
        fake_fault(
            w->fake,
            &(struct fake_fault){
                .type = FAKE_ANSWER, .method = S("DELETE"), .times = 1, .status = 404, .body = str_of(answers[i])});
        run(w, &e);
        assert_int_equal(e.code, ERR_NOT_FOUND);
        assert_int_equal(e.done, 0);
    }
}

static void the_first_error_stops_it(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    want(w, &e, MAP("a", ""));
    want(w, &e, MAP("b", ""));
    want(w, &e, MAP("c", ""));
    plan(w, &e, (const char *[]){NULL});
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER, .prefix = S(MAPS "/b"), .status = 403});
    run(w, &e);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    assert_has(str_of(e.err.msg), "apply ConfigMap \"b\": ");
    assert_int_equal(e.done, 1);
    assert_int_equal(fake_count(w->fake, "PATCH", MAPS "/c"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_absent_is_applied_without_force),
        TEST(what_differs_is_applied_to_the_very_object_that_was_seen),
        TEST(what_is_equal_or_anothers_costs_no_request),
        TEST(what_is_left_over_is_deleted_as_it_was_seen),
        TEST(what_changed_since_is_not_deleted),
        TEST(what_is_gone_already_is_deleted),
        TEST(what_cannot_be_found_is_not_deleted),
        TEST(the_first_error_stops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
