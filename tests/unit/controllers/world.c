/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void show(void *ctx, str line)
{
    (void)ctx;
    if (getenv("CASES_LOG"))
        (void)fprintf(stderr, "%.*s", STR(line));
}

int world_set_up(void **state, const struct controller_row *row)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    *w = (struct world){.time = {.wall = INT64_C(1767323045) * SECOND, .mono = SECOND}, .chance = {.state = 3}};
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->fake = fake_new(&(struct fake_options){.loop = w->loop, .clock = clock});
    w->client = client_new(&(struct client_options){
        .loop = w->loop, .transport = fake_transport(w->fake), .random = random_of_seed(&w->chance)});
    w->log = (struct log){.level = LOG_ERROR, .clock = clock, .write = show};
    w->control = control_new(&(struct control_options){w->loop, clock, random_of_seed(&w->chance), &w->log});
    struct controller_env env = {
        .control = w->control, .loop = w->loop, .clock = clock, .client = w->client, .reader = w->client};
    assert_int_equal(row->add(&env, NULL), 0);
    *state = w;
    return 0;
}

static void on_stopped(void *ctx)
{
    struct world *w = ctx;
    w->is_stopped = true;
}

int world_tear_down(void **state)
{
    struct world *w = *state;
    control_stop(w->control, on_stopped, w);
    client_stop(w->client);
    for (int i = 0; i < TURNS && !w->is_stopped; i++)
        loop_turn(w->loop, TURN_NS);
    assert_true(w->is_stopped);
    control_free(w->control);
    client_free(w->client);
    fake_free(w->fake);
    loop_free(w->loop);
    arena_done(&w->arena);
    free(w);
    return 0;
}
