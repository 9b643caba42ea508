/* SPDX-License-Identifier: Apache-2.0 */
/* What is tried again, how often and when; and what happens to those who wait when the client is stopped. */
#include "client/client.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "client/client_internal.h"

#include "world.h"

#define MAPS "/api/v1/namespaces/x/configmaps"
#define MAP(name) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"x\"}}"

struct errand {
    bool is_write;
    int64_t total_ns;
    struct err err;
    int code;
};

/* A GET of "a", or a POST of "b". */
static void go(struct world *w, void *ctx)
{
    struct errand *e = ctx;
    struct arena a ARENA_SCOPE = {0};
    struct client_request request = {.method = e->is_write ? S("POST") : S("GET"),
                                     .target = e->is_write ? S(MAPS) : S(MAPS "/a"),
                                     .body = e->is_write ? S("{\"metadata\":{\"name\":\"b\"}}") : (str){0},
                                     .total_ns = e->total_ns};
    struct json ret;
    e->code = client_raw(w->client, &a, &request, &ret, &e->err);
    if (e->code == 0)
        e->err = (struct err){0};
}

static int run(struct world *w, struct errand *e)
{
    fake_log_clear(w->fake);
    world_run(w, go, e);
    assert_int_equal(e->code, e->err.code);
    return e->code;
}

static size_t attempts(const struct world *w)
{
    return fake_count(w->fake, "", "");
}

/* Time between attempts number i and i + 1, counted from 0. World_run moves the clock by a tenth of a second. */
static int64_t gap(const struct world *w, size_t i)
{
    size_t n;
    const struct fake_request *log = fake_log(w->fake, &n);
    assert_in_range(i, 0, n - 2);
    return log[i + 1].at - log[i].at;
}

static void assert_gap(const struct world *w, size_t i, int64_t least, int64_t most)
{
    assert_in_range(gap(w, i), least, most + SECOND_NS / 5);
}

static void refuse(struct world *w, int status, unsigned times, int retry_after)
{
    fake_heal(w->fake);
    fake_fault(w->fake,
               &(struct fake_fault){.type = FAKE_ANSWER, .status = status, .times = times, .retry_after = retry_after});
}

/* ---- Trying again. ---- */

static void servers_say_when_to_come_back(void **state)
{
    struct world *w = *state;
    struct errand read = {0}, write = {.is_write = true};
    fake_put(w->fake, MAP("a"));
    refuse(w, 429, 2, 3);
    assert_int_equal(run(w, &read), 0);
    assert_int_equal(attempts(w), 3);
    assert_gap(w, 0, 3 * SECOND_NS, 3 * SECOND_NS);
    assert_gap(w, 1, 3 * SECOND_NS, 3 * SECOND_NS);
    refuse(w, 503, 1, 1);
    assert_int_equal(run(w, &write), 0);
    assert_int_equal(attempts(w), 2);
    assert_gap(w, 0, SECOND_NS, SECOND_NS);
}

static void servers_do_not_send_to_sleep(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    refuse(w, 429, 0, 1000000);
    assert_int_equal(run(w, &e), ERR_TOO_MANY_REQUESTS);
    assert_string_equal(e.err.msg, "as the test has it");
    assert_int_equal(attempts(w), 3); /* the fourth would come after more than a minute */
    assert_gap(w, 0, 30 * SECOND_NS, 30 * SECOND_NS);
}

static void pauses_grow_and_end(void **state)
{
    struct world *w = *state;
    struct errand e = {.is_write = true};
    refuse(w, 429, 0, 0);
    assert_int_equal(run(w, &e), ERR_TOO_MANY_REQUESTS);
    assert_int_equal(attempts(w), 10);
    int64_t most = SECOND_NS / 10;
    for (size_t i = 0; i < 9; i++, most *= 2) {
        if (most > 10 * SECOND_NS)
            most = 10 * SECOND_NS;
        assert_gap(w, i, most / 2, most);
    }
}

static void other_refusals_are_for_the_caller(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    static const int codes[] = {400, 401, 403, 404, 409, 500, 502, 503, 504};
    for (size_t i = 0; i < COUNT(codes); i++) {
        refuse(w, codes[i], 0, codes[i] == 503 ? 0 : 1);
        assert_true(run(w, &e) < 0);
        assert_int_equal(attempts(w), 1);
    }
}

static void lose(struct world *w, bool can_retry, unsigned times)
{
    fake_heal(w->fake);
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_LOST, .can_retry = can_retry, .times = times});
}

static void what_did_no_harm_is_tried_again(void **state)
{
    struct world *w = *state;
    struct errand read = {0}, write = {.is_write = true};
    fake_put(w->fake, MAP("a"));
    lose(w, true, 3);
    assert_int_equal(run(w, &write), 0);
    assert_int_equal(attempts(w), 4);
    lose(w, false, 3);
    assert_int_equal(run(w, &read), 0);
    assert_int_equal(attempts(w), 4);
    lose(w, false, 1); /* it may have been done: only the caller knows whether to repeat it */
    assert_int_equal(run(w, &write), ERR_IO);
    assert_string_equal(write.err.msg, "the connection was lost");
    assert_int_equal(attempts(w), 1);
    lose(w, true, 0);
    assert_int_equal(run(w, &write), ERR_UNAVAILABLE);
    assert_int_equal(attempts(w), 10);
}

static void half_an_answer_is_none(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    fake_put(w->fake, MAP("a"));
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_CUT, .times = 2});
    assert_int_equal(run(w, &e), 0); /* what came before is not part of the third */
    assert_int_equal(attempts(w), 3);
    world_reset(w, &(struct fake_options){.piece = 3});
    fake_put(w->fake, MAP("a"));
    assert_int_equal(run(w, &e), 0);
}

static void answers_have_a_minute(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD});
    int64_t began = w->time.mono;
    assert_int_equal(run(w, &e), ERR_TIMEOUT);
    assert_string_equal(e.err.msg, "the server took too long to answer");
    assert_int_equal(attempts(w), 1);
    assert_in_range(w->time.mono - began, 60 * SECOND_NS, 70 * SECOND_NS);
    assert_int_equal(fake_held(w->fake), 0); /* the server was told */
    e.total_ns = 5 * SECOND_NS;
    began = w->time.mono;
    assert_int_equal(run(w, &e), ERR_TIMEOUT);
    assert_in_range(w->time.mono - began, 5 * SECOND_NS, 15 * SECOND_NS);
}

/* A transport that looks at what is asked of another one. */
struct spy {
    struct transport base; /* first */
    struct transport *inner;
    unsigned whole, pieces; /* calls that want their answer so */
};

static struct transport_call *spy_start(struct transport *t, const struct client_request *request,
                                        const struct client_listener *listener, void *ctx)
{
    struct spy *spy = (struct spy *)t;
    ++*(listener->data ? &spy->pieces : &spy->whole);
    return spy->inner->ops->start(spy->inner, request, listener, ctx);
}

static void spy_cancel(struct transport *t, struct transport_call *call)
{
    struct spy *spy = (struct spy *)t;
    spy->inner->ops->cancel(spy->inner, call);
}

static void spy_free(struct transport *t)
{
    struct spy *spy = (struct spy *)t;
    spy->inner->ops->free(spy->inner);
}

/* Transports keep connections of their own for answers in pieces, which never end: verbs must not take those. */
static void verbs_want_the_whole(void **state)
{
    struct world *w = *state;
    static const struct transport_ops ops = {spy_start, spy_cancel, spy_free};
    struct spy spy = {.base = {&ops}, .inner = fake_transport(w->fake)};
    struct errand e = {0};
    struct ear ear EAR_SCOPE = {0};
    client_free(w->client);
    w->client = client_new(
        &(struct client_options){.loop = w->loop, .transport = &spy.base, .random = random_of_seed(&w->chance)});
    fake_put(w->fake, MAP("a"));
    assert_int_equal(run(w, &e), 0);
    assert_int_equal(spy.pieces, 0);
    ear_start(&ear, w, "GET", MAPS "?watch=true", "");
    assert_int_equal(spy.whole, 1);
    assert_int_equal(spy.pieces, 1);
    client_free(w->client); /* the spy is on this stack */
    ear.call = NULL;
    w->client = NULL;
}

/* ---- Stopping. ---- */

static void stop_when_held(struct world *w)
{
    if (fake_held(w->fake))
        client_stop(w->client);
}

static void stop_when_paused(struct world *w)
{
    if (fake_count(w->fake, "", "") == 2)
        client_stop(w->client);
}

static void assert_stopped(struct world *w, void (*when)(struct world *w))
{
    struct errand e = {0};
    w->during = when;
    assert_int_equal(run(w, &e), ERR_UNAVAILABLE);
    assert_string_equal(e.err.msg, "the client was stopped");
    w->during = NULL;
}

static void who_waits_for_an_answer_is_woken(void **state)
{
    struct world *w = *state;
    struct errand e = {0};
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD});
    assert_stopped(w, stop_when_held);
    assert_int_equal(fake_held(w->fake), 0);
    assert_int_equal(run(w, &e), ERR_UNAVAILABLE); /* and whoever comes later is refused */
    assert_int_equal(attempts(w), 0);
}

static void who_waits_for_another_attempt_is_woken(void **state)
{
    struct world *w = *state;
    refuse(w, 429, 0, 20);
    assert_stopped(w, stop_when_paused);
    world_advance(w, 30 * SECOND_NS);
    assert_int_equal(attempts(w), 2);
}

/* ---- …before the loop has seen them. ---- */

struct thread {
    struct world *world;
    struct errand errand;
};

static void *go_alone(void *arg)
{
    struct thread *t = arg;
    go(t->world, &t->errand);
    return NULL;
}

static bool has_come(struct client *c)
{
    pthread_mutex_lock(&c->lock);
    bool has = c->inbox != NULL;
    pthread_mutex_unlock(&c->lock);
    return has;
}

static void who_has_just_come_is_woken(void **state)
{
    struct world *w = *state;
    struct thread t = {.world = w};
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, go_alone, &t), 0);
    while (!has_come(w->client))
        sched_yield();
    client_stop(w->client);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(t.errand.code, ERR_UNAVAILABLE);
    assert_int_equal(run(w, &t.errand), ERR_UNAVAILABLE); /* the loop finds nobody in the inbox */
    assert_int_equal(attempts(w), 0);
}

static void a_client_may_go_before_the_loop_has_seen_who_came(void **state)
{
    struct world *w = *state;
    struct thread t = {.world = w};
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, go_alone, &t), 0);
    while (!has_come(w->client))
        sched_yield();
    client_stop(w->client);
    assert_int_equal(pthread_join(id, NULL), 0);
    client_free(w->client);
    w->client = NULL;
    world_turn(w, 3); /* nothing rings any more */
}

/* ---- On the loop. ---- */

static void calls_fall_silent(void **state)
{
    struct world *w = *state;
    struct ear held EAR_SCOPE = {0}, watch EAR_SCOPE = {0}, late EAR_SCOPE = {0}, left EAR_SCOPE = {0};
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD, .times = 1});
    ear_start(&held, w, "GET", MAPS, "");
    ear_start(&watch, w, "GET", MAPS "?watch=true", "");
    ear_start(&left, w, "GET", MAPS "?watch=true", "");
    world_turn(w, 2);
    assert_int_equal(fake_watches(w->fake), 2);
    client_stop(w->client);
    assert_int_equal(fake_watches(w->fake) + fake_held(w->fake), 0);
    ear_start(&late, w, "GET", MAPS, "");
    fake_put(w->fake, MAP("a"));
    world_turn(w, 5);
    assert_int_equal(held.ends + watch.ends + late.ends + left.ends, 0);
    assert_int_equal(watch.data.n, 0);
    client_cancel(held.call); /* their owners need not know that the client was stopped */
    client_cancel(late.call);
    held.call = late.call = NULL;
    client_stop(w->client);
    client_free(w->client);
    w->client = NULL;
    watch.call = left.call = NULL; /* gone with it */
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    struct ear *e = ctx;
    e->ends++;
    e->err = *answer->err;
}

static void calls_have_their_time(void **state)
{
    struct world *w = *state;
    static const struct client_listener listener = {.end = on_end};
    struct ear e = {0};
    struct client_request request = {.method = S("GET"), .target = S(MAPS), .total_ns = 2 * SECOND_NS};
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD});
    client_start(w->client, &request, &listener, &e);
    world_advance(w, SECOND_NS);
    assert_int_equal(e.ends, 0);
    world_advance(w, SECOND_NS);
    assert_int_equal(e.ends, 1);
    assert_int_equal(e.err.code, ERR_TIMEOUT);
    assert_int_equal(fake_release(w->fake), 0);
}

static void one_attempt_is_one_attempt(void **state)
{
    struct world *w = *state;
    struct ear e EAR_SCOPE = {0};
    refuse(w, 429, 0, 1);
    assert_int_equal(ear_ask(&e, w, "GET", MAPS, ""), 429);
    assert_int_equal(e.retry_after_ns, SECOND_NS);
    world_advance(w, 10 * SECOND_NS);
    assert_int_equal(attempts(w), 1);
    client_cancel(NULL);
    client_free(NULL);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(servers_say_when_to_come_back),
        TEST(servers_do_not_send_to_sleep),
        TEST(pauses_grow_and_end),
        TEST(other_refusals_are_for_the_caller),
        TEST(what_did_no_harm_is_tried_again),
        TEST(half_an_answer_is_none),
        TEST(answers_have_a_minute),
        TEST(verbs_want_the_whole),
        TEST(who_waits_for_an_answer_is_woken),
        TEST(who_waits_for_another_attempt_is_woken),
        TEST(who_has_just_come_is_woken),
        TEST(a_client_may_go_before_the_loop_has_seen_who_came),
        TEST(calls_fall_silent),
        TEST(calls_have_their_time),
        TEST(one_attempt_is_one_attempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
