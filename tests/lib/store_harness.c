/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/store_harness.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAIT_MS = 60000 };

static void wake(void *ctx)
{
    struct harness *h = ctx;
    uint64_t one = 1;
    if (atomic_load(&h->hold)) {
        sem_post(&h->held);
        sem_wait(&h->go);
    }
    if (write(h->wake, &one, sizeof one) != sizeof one)
        abort();
}

static void on_event(void *ctx, const struct store_event *e)
{
    struct harness *h = ctx;
    struct arena *a = &h->arena;
    *vec_push(a, &h->events) = (struct recorded){
        .revision = e->revision,
        .created = e->created,
        .previous = e->previous,
        .op = e->op,
        .table = e->table,
        .namespace = str_dup(a, e->namespace),
        .name = str_dup(a, e->name),
        .value = str_dup(a, e->value),
    };
}

static void on_settled(void *ctx)
{
    struct harness *h = ctx;
    h->settled++;
}

int harness_set_up(void **state)
{
    struct harness *h = malloc(sizeof *h);
    assert_non_null(h);
    harness_init(h);
    *state = h;
    return 0;
}

int harness_tear_down(void **state)
{
    harness_done(*state);
    free(*state);
    return 0;
}

void harness_init(struct harness *h)
{
    *h = (struct harness){.clock = {.wall = INT64_C(1700000000) * 1000000000}};
    assert_int_equal(sem_init(&h->held, 0, 0), 0);
    assert_int_equal(sem_init(&h->go, 0, 0), 0);
    scratch_make(h->dir, "reeve-store");
    h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(h->wake >= 0);
    h->options = (struct store_options){
        .dir = h->dir,
        .map_bytes = (size_t)256 << 20,
        .clock = clock_of_fake(&h->clock),
        .wake = wake,
        .on_event = on_event,
        .on_settled = on_settled,
        .ctx = h,
    };
    harness_open(h);
}

void harness_open(struct harness *h)
{
    struct err err;
    if (store_open(&h->options, &h->store, &err) < 0)
        fail_msg("%s", err.msg);
    h->table = store_table(h->store, S("things"));
}

void harness_close(struct harness *h)
{
    store_close(h->store);
    h->store = NULL;
}

void harness_reopen(struct harness *h)
{
    harness_close(h);
    harness_open(h);
}

void harness_done(struct harness *h)
{
    store_close(h->store);
    close(h->wake);
    sem_destroy(&h->held);
    sem_destroy(&h->go);
    arena_done(&h->arena);
    scratch_remove(h->dir);
}

static void done(void *ctx, const struct store_result *result)
{
    struct outcome *o = ctx;
    assert_false(o->is_done);
    o->is_done = true;
    o->order = ++o->harness->results;
    o->n_events = o->harness->events.n;
    o->settled = o->harness->settled;
    o->result = *result;
    o->result.message = NULL;
    (void)snprintf(o->message, sizeof o->message, "%s", result->message ? result->message : "");
}

void harness_submit(struct harness *h, const struct store_write *w, struct outcome *ret)
{
    struct err err;
    struct store_write own = *w;
    *ret = (struct outcome){.harness = h};
    own.done = done;
    own.ctx = ret;
    if (store_submit(h->store, &own, &err) < 0)
        fail_msg("%s", err.msg);
}

void harness_poll(struct harness *h)
{
    struct pollfd fd = {.fd = h->wake, .events = POLLIN};
    uint64_t n;
    assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
    assert_int_equal(read(h->wake, &n, sizeof n), sizeof n);
    store_poll(h->store);
}

void harness_wait(struct harness *h, const struct outcome *o)
{
    while (!o->is_done)
        harness_poll(h);
}

void harness_settle(struct harness *h)
{
    while (store_pending(h->store))
        harness_poll(h);
}

/* A write that cannot succeed brings the writer to the place where it is held, and changes nothing. */
void harness_hold(struct harness *h)
{
    struct err err;
    struct store_change never = {.table = h->table, .name = S("never"), .expect = 1};
    harness_settle(h);
    h->commits = store_stats(h->store).commits;
    atomic_store(&h->hold, true);
    if (store_submit(h->store, &(struct store_write){.changes = &never, .n_changes = 1}, &err) < 0)
        fail_msg("%s", err.msg);
    while (sem_wait(&h->held) < 0)
        continue;
}

void harness_release(struct harness *h)
{
    atomic_store(&h->hold, false);
    sem_post(&h->go);
}

static struct store_result write_one(struct harness *h, const struct store_change *change)
{
    struct outcome o;
    harness_submit(h, &(struct store_write){.changes = change, .n_changes = 1}, &o);
    harness_wait(h, &o);
    return o.result;
}

int try_put(struct harness *h, const char *namespace, const char *name, rev expect, const char *value)
{
    return write_one(
               h, &(struct store_change){h->table, str_of(namespace), str_of(name), expect, false, str_of(value), {0}})
        .code;
}

rev put(struct harness *h, const char *namespace, const char *name, rev expect, const char *value)
{
    struct store_result r = write_one(
        h, &(struct store_change){h->table, str_of(namespace), str_of(name), expect, false, str_of(value), {0}});
    assert_int_equal(r.code, 0);
    return r.revision;
}

rev del(struct harness *h, const char *namespace, const char *name, rev expect)
{
    struct store_result r =
        write_one(h, &(struct store_change){h->table, str_of(namespace), str_of(name), expect, true, S("gone"), {0}});
    assert_int_equal(r.code, 0);
    return r.revision;
}
