/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- The world. ---- */

static void open_world(struct world *w, const struct fake_options *options)
{
    struct fake_options own = *options;
    own.loop = w->loop;
    own.clock = clock_of_fake(&w->time);
    w->fake = fake_new(&own);
    w->client = client_new(&(struct client_options){
        .loop = w->loop, .transport = fake_transport(w->fake), .random = random_of_seed(&w->chance)});
}

int world_set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct err err;
    assert_non_null(w);
    w->time.wall = INT64_C(1767323045) * SECOND_NS;
    w->time.mono = 7 * SECOND_NS;
    w->chance.state = 3;
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, &err), 0);
    open_world(w, &(struct fake_options){0});
    *state = w;
    return 0;
}

int world_tear_down(void **state)
{
    struct world *w = *state;
    client_free(w->client);
    fake_free(w->fake);
    loop_free(w->loop);
    arena_done(&w->arena);
    free(w);
    return 0;
}

void world_reset(struct world *w, const struct fake_options *options)
{
    client_free(w->client);
    fake_free(w->fake);
    open_world(w, options);
}

void world_turn(struct world *w, int turns)
{
    for (int i = 0; i < turns; i++)
        loop_turn(w->loop, 0);
}

void world_advance(struct world *w, int64_t ns)
{
    clock_fake_advance(&w->time, ns);
    world_turn(w, 2);
}

struct json world_json(struct world *w, const char *text)
{
    struct json v;
    struct err err;
    if (json_decode(&w->arena, str_of(text), NULL, NULL, &v, &err) < 0)
        fail_msg("%s: %s", text, err.msg);
    return v;
}

void world_assert_text(str s, const char *text, const char *file, int line)
{
    if (str_eq(s, str_of(text)))
        return;
    print_error("%.*s\n  is not\n%s\n", STR(s), text);
    _fail(file, line);
}

/* ---- Threads. ---- */

struct errand {
    struct world *world;
    void (*fn)(struct world *w, void *ctx);
    void *ctx;
    struct loop_work bell;
    atomic_bool is_over;
};

static void on_bell(struct loop_work *w)
{
    (void)w;
}

static void *go(void *arg)
{
    struct errand *e = arg;
    e->fn(e->world, e->ctx);
    atomic_store(&e->is_over, true);
    loop_post(e->world->loop, &e->bell);
    return NULL;
}

void world_run(struct world *w, void (*fn)(struct world *w, void *ctx), void *ctx)
{
    struct errand e = {.world = w, .fn = fn, .ctx = ctx, .bell = {.fn = on_bell}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, go, &e), 0);
    while (!atomic_load(&e.is_over)) {
        loop_turn(w->loop, 1000000);
        if (w->during)
            w->during(w);
        clock_fake_advance(&w->time, SECOND_NS / 10);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    loop_post_cancel(w->loop, &e.bell);
}

/* ---- Calls. ---- */

static void on_data(void *ctx, str bytes)
{
    struct ear *e = ctx;
    buf_add_str(&e->data, bytes);
    if (!e->cancels)
        return;
    client_cancel(e->call);
    e->call = NULL;
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    struct ear *e = ctx;
    e->call = NULL;
    e->ends++;
    e->status = answer->status;
    e->can_retry = answer->can_retry;
    e->retry_after_ns = answer->retry_after_ns;
    assert_true((answer->status == 0) == (answer->err != NULL));
    if (answer->err)
        e->err = *answer->err;
    buf_add_str(&e->body, answer->body);
}

void ear_start(struct ear *e, struct world *w, const char *method, const char *target, const char *body)
{
    static const struct client_listener pieces = {on_data, on_end}, whole = {.end = on_end};
    const char *type = strcmp(method, "APPLY") == 0   ? "application/apply-patch+yaml"
                       : strcmp(method, "PATCH") == 0 ? "application/merge-patch+json"
                                                      : "application/json";
    struct client_request request = {.method = str_of(strcmp(method, "APPLY") == 0 ? "PATCH" : method),
                                     .target = str_of(target),
                                     .content_type = str_of(type),
                                     .body = str_of(body)};
    e->ends = e->status = 0;
    e->data.n = e->body.n = 0;
    e->call = client_start(w->client, &request, e->is_silent ? &whole : &pieces, e);
    assert_int_equal(e->ends, 0);
}

int ear_ask(struct ear *e, struct world *w, const char *method, const char *target, const char *body)
{
    e->is_silent = true;
    ear_start(e, w, method, target, body);
    for (int i = 0; i < 100 && !e->ends; i++)
        loop_turn(w->loop, 0);
    assert_int_equal(e->ends, 1);
    return e->status;
}

void ear_done(struct ear *e)
{
    client_cancel(e->call);
    buf_done(&e->data);
    buf_done(&e->body);
}
