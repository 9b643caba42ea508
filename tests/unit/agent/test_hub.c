/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the hub: found when the join kubeconfig is there, told about when it is closed, and kept open by new tokens. */
#include "agent/agent_hub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../client/world.h"
#include "join.h"
#include "json/base64.h"

#define NOW INT64_C(1767323045) /* of the world's clock, in seconds */
#define SERVER S("https://hub.example.com:6443")
#define WORKS "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks"
#define TOKENS "/api/v1/namespaces/c1/serviceaccounts/reeve-agent/token"

/* One fake is both servers: what differs is the paths. */
struct scene {
    struct world *w;
    struct control *control;
    struct log log;
    struct hub *hub;
    bool has_works, is_stopped;
    unsigned found, changed;
    struct buf renewed; /* the last token */
    unsigned renewals;
    unsigned errors; /* lines */
};

static void hear(void *ctx, str line)
{
    struct scene *s = ctx;
    s->errors += str_find(line, S("level=error")) >= 0;
    if (getenv("CASES_LOG"))
        print_message("%.*s", STR(line));
}

static void on_found(void *ctx, const struct client_config *config)
{
    struct scene *s = ctx;
    assert_true(str_eq(config->server, SERVER));
    s->found++;
    hub_use(s->hub, s->w->client);
}

static void on_changed(void *ctx)
{
    struct scene *s = ctx;
    s->changed++;
}

static void on_renewed(void *ctx, str token)
{
    struct scene *s = ctx;
    s->renewed.n = 0;
    buf_add_str(&s->renewed, token);
    s->renewals++;
}

static int set_up(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    void *world;
    assert_non_null(s);
    assert_int_equal(world_set_up(&world), 0);
    s->w = world;
    s->w->time.wall = NOW * SECOND_NS;
    s->log = (struct log){.clock = clock_of_fake(&s->w->time), .write = hear, .ctx = s};
    *state = s;
    return 0;
}

static void start(struct scene *s)
{
    s->control = control_new(
        &(struct control_options){s->w->loop, clock_of_fake(&s->w->time), random_of_seed(&s->w->chance), &s->log});
    s->hub = hub_add(&(struct hub_options){
        .control = s->control,
        .loop = s->w->loop,
        .clock = clock_of_fake(&s->w->time),
        .log = &s->log,
        .managed = s->w->client,
        .source = {.namespace = S("n"), .name = S("s"), .managed = s->w->client},
        .cluster = S("c1"),
        .has_works = s->has_works,
        .found = on_found,
        .changed = on_changed,
        .renewed = on_renewed,
        .ctx = s,
    });
    control_start(s->control);
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
    control_stop(s->control, stopped, s);
    client_stop(s->w->client);
    while (!s->is_stopped)
        loop_turn(s->w->loop, 1000000);
    control_free(s->control);
    world_tear_down(&world);
    buf_done(&s->renewed);
    free(s);
    return 0;
}

/* ---- Waiting: as long as it is not so, time goes by. ---- */

#define UNTIL(s, condition)                                     \
    do {                                                        \
        int turns = 0;                                          \
        while (!(condition) && turns++ < 20000) {               \
            loop_turn((s)->w->loop, 1000000);                   \
            clock_fake_advance(&(s)->w->time, SECOND_NS / 100); \
        }                                                       \
        assert_true(condition);                                 \
    } while (0)

/* That much time, in steps small enough for whatever wants to happen meanwhile. */
static void live(struct scene *s, int64_t seconds)
{
    enum { STEPS = 100 };
    for (int i = 0; i < STEPS; i++) {
        loop_turn(s->w->loop, 1000000);
        clock_fake_advance(&s->w->time, seconds * SECOND_NS / STEPS);
    }
}

static bool is_well(struct scene *s)
{
    str why;
    return hub_is_well(s->hub, &why);
}

static bool is_trouble(struct scene *s, const char *text)
{
    str why = {0};
    return !hub_is_well(s->hub, &why) && str_find(why, str_of(text)) >= 0;
}

static void put_join(struct scene *s, str server, str token)
{
    struct arena *a = &s->w->arena;
    str text = str_fmt(a,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},"
                       "\"data\":{\"kubeconfig\":\"%.*s\"}}",
                       STR(base64_encode(a, join_kubeconfig(a, server, token))));
    fake_put(s->w->fake, str_cstr(a, text));
}

static void answer(struct scene *s, const char *method, const char *target, int status, str body)
{
    fake_fault(
        s->w->fake,
        &(struct fake_fault){
            .type = FAKE_ANSWER, .method = str_of(method), .prefix = str_of(target), .status = status, .body = body});
}

static void let_in(struct scene *s)
{
    answer(s, "GET", WORKS, 200, S("{\"kind\":\"ManifestWorkList\",\"items\":[]}"));
}

static str kept_token(struct scene *s)
{
    struct json secret;
    str text, token;
    size_t at;
    assert_true(fake_get(s->w->fake, &s->w->arena, "/api/v1/namespaces/n/secrets/s", &secret));
    assert_int_equal(base64_decode(&s->w->arena, json_text(json_dig(&secret, "data.kubeconfig")), &text, &at), 0);
    ptrdiff_t place = str_find(text, S("name: reeve-agent\n  user:\n    token: "));
    if (place < 0)
        return (str){0};
    (void)str_cut(str_from(text, (size_t)place + sizeof "name: reeve-agent\n  user:\n    token: " - 1), '\n', &token,
                  &text);
    return token;
}

/* ---- What happens. ---- */

static void it_waits_for_the_join_kubeconfig(void **state)
{
    struct scene *s = *state;
    start(s);
    UNTIL(s, is_trouble(s, "read the join kubeconfig from the Secret n/s: secrets \"s\" not found"));
    live(s, 60);
    assert_int_equal(s->errors, 1); /* said once */
    assert_int_equal(s->found, 0);
    let_in(s);
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW, NOW + 3600));
    UNTIL(s, is_well(s));
    assert_int_equal(s->found, 1);
    assert_int_equal(s->renewals, 0);
}

static void refusals_are_told_and_get_over(void **state)
{
    struct scene *s = *state;
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW - 7200, NOW - 3600));
    answer(s, "GET", WORKS, 401, (str){0});
    start(s);
    UNTIL(s, is_trouble(s, "does not accept the token of the Secret n/s, which expired at 2026-01-02T02:04:05Z: get "
                           "another join kubeconfig with \"reeve clusters add c1\" on the hub"));
    fake_heal(s->w->fake);
    answer(s, "GET", WORKS, 403, (str){0});
    UNTIL(s, is_trouble(s, "does not let the agent of cluster \"c1\" in: has it accepted the cluster?"));
    fake_heal(s->w->fake);
    let_in(s);
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW, NOW + 1000000)); /* a fresh join */
    UNTIL(s, is_well(s));
    assert_int_equal(s->renewals, 1);
    assert_int_equal(s->changed, 0);
    assert_true(str_eq(buf_str(&s->renewed), join_token(&s->w->arena, S("c1"), NOW, NOW + 1000000)));
}

static void tokens_are_renewed_at_four_fifths(void **state)
{
    struct scene *s = *state;
    str next = join_token(&s->w->arena, S("c1"), NOW + 2880, NOW + 6480);
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW, NOW + 3600));
    let_in(s);
    answer(s, "POST", TOKENS, 201,
           str_fmt(&s->w->arena,
                   "{\"kind\":\"TokenRequest\",\"spec\":{\"expirationSeconds\":3600},\"status\":{\"token\":\"%.*s\"}}",
                   STR(next)));
    start(s);
    UNTIL(s, is_well(s));
    live(s, 2800);
    assert_int_equal(s->renewals, 0);
    UNTIL(s, s->renewals == 1);
    int64_t age = s->w->time.wall / SECOND_NS - NOW;
    assert_true(age >= 2880 && age < 2890);
    assert_true(str_eq(buf_str(&s->renewed), next));
    UNTIL(s, str_eq(kept_token(s), next));
    assert_true(is_well(s));
    live(s, 600); /* the next one is due by our own clock, not at once */
    assert_int_equal(s->renewals, 1);
}

static void a_token_that_cannot_be_kept_is_used(void **state)
{
    struct scene *s = *state;
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW - 3000, NOW + 600));
    let_in(s);
    answer(s, "POST", TOKENS, 201, S("{\"spec\":{\"expirationSeconds\":3600},\"status\":{\"token\":\"next\"}}"));
    answer(s, "PATCH", "/api/v1/namespaces/n/secrets/s", 403, (str){0});
    start(s);
    UNTIL(s, s->renewals == 1);
    assert_true(str_eq(buf_str(&s->renewed), S("next")));
    UNTIL(s, is_well(s));
    live(s, 600);
    assert_int_equal(s->renewals, 1); /* and not asked for again before its time */
}

static void another_hub_is_a_new_beginning(void **state)
{
    struct scene *s = *state;
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW, NOW + 360000));
    let_in(s);
    start(s);
    UNTIL(s, is_well(s));
    put_join(s, S("https://other.example.com"), join_token(&s->w->arena, S("c1"), NOW, NOW + 360000));
    UNTIL(s, s->changed > 0);
    assert_int_equal(s->found, 1);
}

#define KIND "appliedmanifestworks.work.open-cluster-management.io"
#define KIND_PATH "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" KIND

static bool has_kind(struct scene *s)
{
    struct json crd;
    return fake_get(s->w->fake, &s->w->arena, KIND_PATH, &crd);
}

/* Nothing else happens before it is served. */
static void the_kind_is_made_where_it_is_missing(void **state)
{
    struct scene *s = *state;
    struct json crd, status = world_json(s->w, "{\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}");
    struct buf text = {.arena = &s->w->arena};
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW, NOW + 360000));
    let_in(s);
    s->has_works = true;
    start(s);
    UNTIL(s, has_kind(s));
    live(s, 10);
    assert_int_equal(s->found, 0);
    assert_true(fake_get(s->w->fake, &s->w->arena, KIND_PATH, &crd));
    json_set(&s->w->arena, &crd, S("status"), status);
    json_encode(&text, &crd, 0);
    fake_put(s->w->fake, str_cstr(&s->w->arena, buf_str(&text)));
    UNTIL(s, is_well(s));
    assert_int_equal(s->found, 1);
}

static void the_kind_is_made_for_works_alone(void **state)
{
    struct scene *s = *state;
    put_join(s, SERVER, join_token(&s->w->arena, S("c1"), NOW, NOW + 360000));
    let_in(s);
    start(s);
    UNTIL(s, is_well(s));
    assert_false(has_kind(s));
}

int main(void)
{
#define IN_SCENE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_SCENE(it_waits_for_the_join_kubeconfig),  IN_SCENE(refusals_are_told_and_get_over),
        IN_SCENE(tokens_are_renewed_at_four_fifths), IN_SCENE(a_token_that_cannot_be_kept_is_used),
        IN_SCENE(another_hub_is_a_new_beginning),    IN_SCENE(the_kind_is_made_where_it_is_missing),
        IN_SCENE(the_kind_is_made_for_works_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
