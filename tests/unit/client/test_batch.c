/* SPDX-License-Identifier: Apache-2.0 */
/* Several requests at once: each has its own outcome, and the thread goes on when all are over. */
#include "client/client.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "object/object.h"
#include "world.h"

#define MAPS "/api/v1/namespaces/x/configmaps/"
#define MAP(name) \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name "\",\"namespace\":\"x\"}}"

enum { N = 4 };

struct batch {
    struct client_question list[N];
    struct arena arena;
    size_t n;
};

static void ask(struct world *w, void *ctx)
{
    struct batch *b = ctx;
    client_raw_all(w->client, &b->arena, b->list, b->n);
}

static void fill(struct batch *b)
{
    static const char *const names[N] = {MAPS "a", MAPS "b", MAPS "c", MAPS "d"};
    *b = (struct batch){.n = N};
    for (size_t i = 0; i < N; i++)
        b->list[i].request = (struct client_request){.method = S("GET"), .target = str_of(names[i])};
}

static void each_has_its_own_outcome(void **state)
{
    struct world *w = *state;
    struct batch b;
    fake_put(w->fake, MAP("a"));
    fake_put(w->fake, MAP("c"));
    fake_put(w->fake, MAP("d"));
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_ANSWER, .prefix = S(MAPS "c"), .status = 500});
    fake_fault(w->fake, &(struct fake_fault){
                            .type = FAKE_ANSWER, .prefix = S(MAPS "d"), .times = 1, .status = 429, .retry_after = 2});
    fill(&b);
    world_run(w, ask, &b);
    assert_int_equal(b.list[0].code, 0);
    assert_text(object_name(&b.list[0].ret), "a");
    assert_int_equal(b.list[1].code, ERR_NOT_FOUND);
    assert_has(str_of(b.list[1].err.msg), "\"b\" not found");
    assert_int_equal(b.list[2].code, ERR_INTERNAL);
    assert_int_equal(b.list[3].code, 0);
    assert_text(object_name(&b.list[3].ret), "d");
    assert_int_equal(fake_count(w->fake, "GET", MAPS "d"), 2);
    arena_done(&b.arena);
}

static void stop(struct world *w)
{
    if (fake_held(w->fake) == N) { /* all of them, before one was answered */
        w->during = NULL;
        client_stop(w->client);
    }
}

static void a_client_that_is_stopped_answers_all(void **state)
{
    struct world *w = *state;
    struct batch b;
    fake_fault(w->fake, &(struct fake_fault){.type = FAKE_HELD});
    fill(&b);
    w->during = stop;
    world_run(w, ask, &b);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(b.list[i].code, ERR_UNAVAILABLE);
        assert_text(str_of(b.list[i].err.msg), "the client was stopped");
    }
    world_run(w, ask, &b); /* and goes on to do so */
    assert_int_equal(b.list[N - 1].code, ERR_UNAVAILABLE);
    arena_done(&b.arena);
}

static void nothing_is_asked_by_an_empty_list(void **state)
{
    struct world *w = *state;
    struct batch b;
    fill(&b);
    b.n = 0;
    fake_log_clear(w->fake);
    world_run(w, ask, &b);
    assert_int_equal(fake_count(w->fake, "", ""), 0);
    arena_done(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_has_its_own_outcome, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_is_stopped_answers_all, world_set_up, world_tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_asked_by_an_empty_list, world_set_up, world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
