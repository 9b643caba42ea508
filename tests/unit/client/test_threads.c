/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads ask at once, and the client is stopped among them. The thread sanitizer watches this program too (tools/test). */
#include "client/client.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "object/object.h"
#include "world.h"

enum { THREADS = 8, ROUNDS = 60 };

static const struct client_resource configmaps = CLIENT_RESOURCE("", "v1", "configmaps", "ConfigMap", true);

struct crowd {
    struct world *world;
    atomic_int gone;
    atomic_int right, stopped, wrong;
};

struct member {
    struct crowd *crowd;
    int number;
};

static void count(struct crowd *c, int code, const struct err *err)
{
    if (code == 0)
        atomic_fetch_add(&c->right, 1);
    else if (code == ERR_UNAVAILABLE && strcmp(err->msg, "the client was stopped") == 0)
        atomic_fetch_add(&c->stopped, 1);
    else
        atomic_fetch_add(&c->wrong, 1);
}

/* Creates an object of its own, reads and changes it, and looks at the answers. */
static void *work(void *arg)
{
    struct member *m = arg;
    struct crowd *c = m->crowd;
    for (int i = 0; i < ROUNDS; i++) {
        struct arena a ARENA_SCOPE = {0};
        struct err err = {0};
        struct json object = json_obj(), ret = json_null();
        str name = str_fmt(&a, "m-%d-%d", m->number, i);
        struct client_ref ref = {&configmaps, S("x"), name, {0}};
        struct json *meta = json_set(&a, &object, S("metadata"), json_obj());
        json_set(&a, meta, S("name"), json_str(name));
        int code = client_create(c->world->client, &a, &ref, &object, NULL, &ret, &err);
        if (code == 0)
            code = client_get(c->world->client, &a, &ref, &ret, &err);
        if (code == 0 && !str_eq(object_name(&ret), name))
            code = err_set(&err, ERR_INTERNAL, "an answer to somebody else");
        if (code == 0)
            code = client_delete(c->world->client, &a, &ref, NULL, NULL, &err);
        count(c, code, &err);
    }
    atomic_fetch_add(&c->gone, 1);
    return NULL;
}

static void run_crowd(struct crowd *c, int stop_after)
{
    pthread_t threads[THREADS];
    struct member members[THREADS];
    for (int i = 0; i < THREADS; i++) {
        members[i] = (struct member){c, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &members[i]), 0);
    }
    while (atomic_load(&c->gone) < THREADS) {
        loop_turn(c->world->loop, 1000000);
        clock_fake_advance(&c->world->time, SECOND_NS / 10);
        if (stop_after && atomic_load(&c->right) >= stop_after)
            client_stop(c->world->client);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(c->wrong, 0);
}

static void everybody_gets_his_own_answer(void **state)
{
    struct crowd c = {.world = *state};
    fake_fault(c.world->fake,
               &(struct fake_fault){.type = FAKE_ANSWER, .method = S("GET"), .times = 20, .status = 429});
    run_crowd(&c, 0);
    assert_int_equal(c.right, THREADS * ROUNDS);
}

static void everybody_is_woken(void **state)
{
    struct crowd c = {.world = *state};
    run_crowd(&c, 100);
    assert_true(c.stopped > 0);
    assert_int_equal(c.right + c.stopped, THREADS * ROUNDS);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, world_set_up, world_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(everybody_gets_his_own_answer),
        TEST(everybody_is_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
