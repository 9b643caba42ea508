/* SPDX-License-Identifier: Apache-2.0 */
#include "agent_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "controllers/accounts/accounts.h"

static void show(void *ctx, str line)
{
    (void)ctx;
    if (getenv("CASES_LOG"))
        (void)fprintf(stderr, "%.*s", STR(line));
}

static struct client *connect(struct agent_world *w, struct fake *server)
{
    return client_new(&(struct client_options){
        .loop = w->loop, .transport = fake_transport(server), .random = random_of_seed(&w->chance)});
}

int agent_world_set_up(void **state)
{
    struct agent_world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    *w = (struct agent_world){.time = {.wall = INT64_C(1767323045) * SECOND, .mono = SECOND}, .chance = {.state = 3}};
    struct clock clock = clock_of_fake(&w->time);
    assert_int_equal(loop_new_on(&clock, &w->loop, NULL), 0);
    w->hub = fake_new(&(struct fake_options){.loop = w->loop, .clock = clock});
    w->managed = fake_new(&(struct fake_options){.loop = w->loop, .clock = clock});
    w->log = (struct log){.level = LOG_DEBUG, .clock = clock, .write = show};
    fleet_kinds(w->hub);
    *state = w;
    return 0;
}

void agent_world_start(struct agent_world *w)
{
    struct clock clock = clock_of_fake(&w->time);
    w->to_hub = connect(w, w->hub);
    w->to_managed = connect(w, w->managed);
    w->control = control_new(&(struct control_options){w->loop, clock, random_of_seed(&w->chance), &w->log});
    struct accounts_options options = {.control = w->control,
                                       .loop = w->loop,
                                       .clock = clock,
                                       .random = random_of_seed(&w->chance),
                                       .log = &w->log,
                                       .hub = w->to_hub,
                                       .managed = w->to_managed,
                                       .cluster = S("one"),
                                       .namespace = S("agents"),
                                       .ca_pem = S("CA of one"),
                                       .version = S("0.1.0")};
    assert_int_equal(accounts_add(&options, NULL), 0);
    control_start(w->control);
}

static void on_stopped(void *ctx)
{
    struct agent_world *w = ctx;
    w->is_stopped = true;
}

static void stop(struct agent_world *w)
{
    if (!w->control)
        return;
    w->is_stopped = false;
    control_stop(w->control, on_stopped, w);
    client_stop(w->to_hub);
    client_stop(w->to_managed);
    for (int i = 0; i < TURNS && !w->is_stopped; i++)
        loop_turn(w->loop, TURN_NS);
    assert_true(w->is_stopped);
    control_free(w->control);
    client_free(w->to_hub);
    client_free(w->to_managed);
    w->control = NULL;
}

void agent_world_restart(struct agent_world *w)
{
    stop(w);
    agent_world_start(w);
}

int agent_world_tear_down(void **state)
{
    struct agent_world *w = *state;
    stop(w);
    fake_free(w->hub);
    fake_free(w->managed);
    loop_free(w->loop);
    arena_done(&w->arena);
    free(w);
    return 0;
}

/* ---- Waiting. ---- */

static long sum_of(str text, const char *line)
{
    long sum = 0;
    for (ptrdiff_t at; (at = str_find(text, str_of(line))) >= 0;) {
        str head, value;
        text = str_from(text, (size_t)at + strlen(line));
        if (!str_cut(text, ' ', &head, &value))
            break;
        sum += strtol(value.p, NULL, 10);
    }
    return sum;
}

static bool is_busy(struct agent_world *w)
{
    struct buf text = {0};
    control_metrics_write(w->control, &text);
    buf_add_char(&text, '\0');
    long n = sum_of(buf_str(&text), "workqueue_depth{") + sum_of(buf_str(&text), "controller_runtime_active_workers{");
    buf_done(&text);
    return n > 0;
}

static size_t asked(const struct agent_world *w)
{
    size_t hub, managed;
    (void)fake_log(w->hub, &hub);
    (void)fake_log(w->managed, &managed);
    return hub + managed;
}

void agent_world_rest(struct agent_world *w)
{
    size_t before = 0;
    for (int calm = 0, turns = 0; calm < 4; calm++) {
        assert_true(turns++ < TURNS);
        loop_turn(w->loop, is_busy(w) ? TURN_NS : 0);
        if (is_busy(w) || asked(w) != before)
            calm = 0;
        before = asked(w);
    }
}

void agent_world_pass(struct agent_world *w, int64_t seconds)
{
    for (; seconds > 0; seconds -= 5) {
        clock_fake_advance(&w->time, (seconds < 5 ? seconds : 5) * SECOND);
        agent_world_rest(w);
    }
}

bool is_there(struct fake *server, const char *path)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json object;
    return fake_get(server, &scratch, path, &object);
}

void assert_text(str have, const char *want)
{
    struct buf text = {0};
    buf_add_str(&text, have);
    buf_add_char(&text, '\0');
    assert_string_equal(text.p, want);
    buf_done(&text);
}
