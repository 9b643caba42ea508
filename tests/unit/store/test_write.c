/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that share a batch, writes of several changes, guards, the order in which things are told, the queue. */
#include "lib/store_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct store_change change(const struct harness *h, const char *name, rev expect, const char *value)
{
    return (struct store_change){
        .table = h->table, .namespace = S("ns"), .name = str_of(name), .expect = expect, .value = str_of(value)};
}

static void submit_one(struct harness *h, struct store_change c, struct outcome *ret)
{
    harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, ret);
}

static bool holds(struct harness *h, const char *name, const char *value)
{
    struct store_item item;
    struct err err;
    int code = store_get(h->store, h->table, S("ns"), str_of(name), &item, &err);
    if (code < 0 && code != ERR_NOT_FOUND)
        fail_msg("%s", err.msg);
    return value ? code == 0 && str_eq(item.value, str_of(value)) : code == ERR_NOT_FOUND;
}

static void waiting_writes_share_a_commit(void **state)
{
    struct harness *h = *state;
    struct outcome o[20];
    harness_hold(h);
    for (size_t i = 0; i < 20; i++) {
        char name[] = {(char)('a' + i), 0};
        submit_one(h, change(h, name, 0, "x"), &o[i]);
    }
    assert_int_equal(store_pending(h->store), 21);
    harness_release(h);
    harness_settle(h);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(o[i].result.code, 0);
        assert_int_equal(o[i].result.revision, 2 + i);
    }
    assert_int_equal(store_stats(h->store).commits, h->commits + 1);
    assert_int_equal(store_stats(h->store).writes, 20);
}

static void a_batch_is_bounded(void **state)
{
    struct harness *h = *state;
    struct outcome o[20];
    h->options.batch_max = 8;
    harness_reopen(h);
    harness_hold(h);
    for (size_t i = 0; i < 20; i++) {
        char name[] = {(char)('a' + i), 0};
        submit_one(h, change(h, name, 0, "x"), &o[i]);
    }
    harness_release(h);
    harness_settle(h);
    assert_int_equal(store_stats(h->store).commits, 3);
    char *big = calloc(1, 1000);
    memset(big, 'x', 999);
    h->options.batch_max = 0;
    h->options.batch_bytes = 3000;
    harness_reopen(h);
    harness_hold(h);
    for (size_t i = 0; i < 10; i++) {
        char name[] = {(char)('A' + i), 0};
        submit_one(h, change(h, name, 0, big), &o[i]);
    }
    harness_release(h);
    harness_settle(h);
    assert_int_equal(store_stats(h->store).commits, 5);
    free(big);
}

static void the_second_write_of_a_batch_sees_the_first(void **state)
{
    struct harness *h = *state;
    struct outcome first, second, third, fourth;
    rev r = put(h, "ns", "a", 0, "one");
    harness_hold(h);
    submit_one(h, change(h, "a", r, "two"), &first);
    submit_one(h, change(h, "a", r, "lost"), &second);
    submit_one(h, change(h, "a", r + 1, "three"), &third);
    submit_one(h, change(h, "b", 0, "new"), &fourth);
    harness_release(h);
    harness_settle(h);
    assert_int_equal(store_stats(h->store).commits, h->commits + 1);
    assert_int_equal(first.result.revision, r + 1);
    assert_int_equal(second.result.code, ERR_CONFLICT);
    assert_false(second.result.by_guard);
    assert_int_equal(second.result.which, 0);
    assert_int_equal(third.result.code, 0);
    assert_int_equal(third.result.revision, r + 2);
    assert_int_equal(fourth.result.revision, r + 3);
    assert_true(holds(h, "a", "three"));
}

static void two_creates_in_one_batch_make_one_object(void **state)
{
    struct harness *h = *state;
    struct outcome first, second;
    harness_hold(h);
    submit_one(h, change(h, "a", 0, "one"), &first);
    submit_one(h, change(h, "a", 0, "two"), &second);
    harness_release(h);
    harness_settle(h);
    assert_int_equal(first.result.code, 0);
    assert_int_equal(second.result.code, ERR_CONFLICT);
    assert_true(holds(h, "a", "one"));
    assert_int_equal(store_count(h->store, h->table), 1);
}

static void created_and_deleted_in_one_batch(void **state)
{
    struct harness *h = *state;
    struct outcome created, deleted, again;
    harness_hold(h);
    submit_one(h, change(h, "a", 0, "one"), &created);
    struct store_change gone = change(h, "a", 2, "last words");
    gone.is_delete = true;
    submit_one(h, gone, &deleted);
    submit_one(h, change(h, "a", 0, "another"), &again);
    harness_release(h);
    harness_settle(h);
    assert_int_equal(deleted.result.revision, 3);
    assert_int_equal(again.result.revision, 4);
    assert_int_equal(h->events.n, 3);
    assert_int_equal(h->events.p[1].op, STORE_DELETED);
    assert_str(h->events.p[1].value, "last words");
    assert_int_equal(h->events.p[1].previous, 2);
    assert_int_equal(h->events.p[1].created, 2);
    assert_int_equal(h->events.p[2].op, STORE_CREATED);
    assert_int_equal(h->events.p[2].previous, 0);
    assert_int_equal(h->events.p[2].created, 4);
}

static void several_changes_are_made_together_or_not_at_all(void **state)
{
    struct harness *h = *state;
    struct outcome good, bad;
    struct store_change two[] = {change(h, "a", 0, "one"), change(h, "b", 0, "two"), change(h, "c", 0, "three")};
    harness_submit(h, &(struct store_write){.changes = two, .n_changes = 2}, &good);
    harness_wait(h, &good);
    assert_int_equal(good.result.revision, 2);
    assert_int_equal(store_revision(h->store), 3);
    two[0] = change(h, "c", 0, "new");
    two[1] = change(h, "b", 2, "stale");
    harness_submit(h, &(struct store_write){.changes = two, .n_changes = 2}, &bad);
    harness_wait(h, &bad);
    assert_int_equal(bad.result.code, ERR_CONFLICT);
    assert_int_equal(bad.result.which, 1);
    assert_true(holds(h, "c", NULL));
    assert_true(holds(h, "b", "two"));
    assert_int_equal(store_revision(h->store), 3);
}

static void guards_hold_what_is_not_changed(void **state)
{
    struct harness *h = *state;
    struct outcome o;
    rev r = put(h, "ns", "guard", 0, "x");
    struct store_change c = change(h, "a", 0, "one");
    struct store_guard guards[] = {
        {h->table, S("ns"), S("guard"), r},
        {h->table, S("ns"), S("absent"), 0},
    };
    struct store_write w = {.changes = &c, .n_changes = 1, .guards = guards, .n_guards = 2};
    harness_submit(h, &w, &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, 0);
    c = change(h, "b", 0, "two");
    put(h, "ns", "absent", 0, "here");
    harness_submit(h, &w, &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, ERR_CONFLICT);
    assert_true(o.result.by_guard);
    assert_int_equal(o.result.which, 1);
    w.n_guards = 1;
    del(h, "ns", "guard", r);
    harness_submit(h, &w, &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, ERR_CONFLICT);
    assert_true(o.result.by_guard);
    assert_int_equal(o.result.which, 0);
    assert_true(holds(h, "b", NULL));
}

static void a_guard_sees_what_the_same_batch_did(void **state)
{
    struct harness *h = *state;
    struct outcome removed, guarded;
    rev r = put(h, "ns", "guard", 0, "x");
    struct store_change gone = change(h, "guard", r, ""), c = change(h, "a", 0, "one");
    struct store_guard guard = {h->table, S("ns"), S("guard"), r};
    gone.is_delete = true;
    harness_hold(h);
    submit_one(h, gone, &removed);
    harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1, .guards = &guard, .n_guards = 1}, &guarded);
    harness_release(h);
    harness_settle(h);
    assert_int_equal(removed.result.code, 0);
    assert_int_equal(guarded.result.code, ERR_CONFLICT);
    assert_true(holds(h, "a", NULL));
}

static void events_then_settled_then_results(void **state)
{
    struct harness *h = *state;
    struct outcome o[3];
    harness_hold(h);
    submit_one(h, change(h, "a", 0, "one"), &o[0]);
    submit_one(h, change(h, "a", 0, "two"), &o[1]);
    submit_one(h, change(h, "b", 0, "three"), &o[2]);
    harness_release(h);
    harness_settle(h);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(o[i].order, i + 1);
        assert_int_equal(o[i].n_events, 2);
        assert_int_equal(o[i].settled, 1);
    }
    assert_int_equal(h->events.p[0].revision, 2);
    assert_int_equal(h->events.p[0].table, h->table);
    assert_str(h->events.p[0].namespace, "ns");
    assert_str(h->events.p[0].name, "a");
    assert_str(h->events.p[0].value, "one");
    assert_int_equal(h->events.p[1].revision, 3);
    store_poll(h->store);
    assert_int_equal(h->settled, 1);
}

/* Between two polls the world stands still, whatever the writer does meanwhile. */
static void nothing_is_seen_before_its_event(void **state)
{
    struct harness *h = *state;
    struct outcome o;
    harness_hold(h);
    submit_one(h, change(h, "a", 0, "one"), &o);
    atomic_store(&h->hold, true);
    sem_post(&h->go);
    while (sem_wait(&h->held) < 0)
        continue;
    assert_true(holds(h, "a", NULL)); /* it is on disk, but not in the view */
    assert_int_equal(store_revision(h->store), 1);
    assert_int_equal(store_count(h->store, h->table), 0);
    store_poll(h->store);
    assert_true(holds(h, "a", "one"));
    harness_release(h);
    harness_settle(h);
}

static void a_value_in_two_parts_is_one(void **state)
{
    struct harness *h = *state;
    struct outcome o;
    struct store_change c = change(h, "a", 0, "head,");
    c.value_rest = S("body");
    submit_one(h, c, &o);
    harness_wait(h, &o);
    assert_true(holds(h, "a", "head,body"));
    c = change(h, "b", 0, "");
    submit_one(h, c, &o);
    harness_wait(h, &o);
    assert_true(holds(h, "b", ""));
}

struct again {
    struct harness *harness;
    struct outcome outcome;
};

static void submit_again(void *ctx, const struct store_result *result)
{
    struct again *again = ctx;
    assert_int_equal(result->code, 0);
    submit_one(again->harness, change(again->harness, "b", 0, "from done"), &again->outcome);
}

static void a_result_may_lead_to_the_next_write(void **state)
{
    struct harness *h = *state;
    struct err err;
    struct again again = {.harness = h};
    struct store_change c = change(h, "a", 0, "one");
    assert_int_equal(
        store_submit(h->store,
                     &(struct store_write){.changes = &c, .n_changes = 1, .done = submit_again, .ctx = &again}, &err),
        0);
    harness_settle(h);
    assert_int_equal(again.outcome.result.code, 0);
    assert_true(holds(h, "b", "from done"));
}

static int refused(struct harness *h, const struct store_change *changes, size_t n)
{
    struct err err;
    int code = store_submit(h->store, &(struct store_write){.changes = changes, .n_changes = n}, &err);
    assert_int_equal(err.code, code);
    assert_int_equal(store_pending(h->store), 0);
    return code;
}

static void what_cannot_be_written_is_refused(void **state)
{
    struct harness *h = *state;
    static char longest[STORE_KEY_MAX];
    memset(longest, 'x', sizeof longest);
    struct store_change c = change(h, "a", 0, "");
    struct store_change twice[] = {change(h, "a", 0, ""), change(h, "b", 0, ""), change(h, "a", 0, "")};
    assert_int_equal(refused(h, &c, 0), ERR_INVALID);
    assert_int_equal(refused(h, twice, 3), ERR_INVALID);
    c.namespace = S("a/b");
    assert_int_equal(refused(h, &c, 1), ERR_INVALID);
    c.namespace = S("n");
    c.name = (str){longest, sizeof longest};
    assert_int_equal(refused(h, &c, 1), ERR_INVALID);
    c = change(h, "", 0, "");
    assert_int_equal(refused(h, &c, 1), ERR_INVALID);
    c = change(h, "a", 0, "");
    c.table = h->table + 1;
    assert_int_equal(refused(h, &c, 1), ERR_INVALID);
    c.table = 0;
    assert_int_equal(refused(h, &c, 1), ERR_INVALID);
    c = change(h, "a", 0, "");
    c.is_delete = true;
    assert_int_equal(refused(h, &c, 1), ERR_INVALID);
    c = change(h, "a", 0, "");
    c.value = (str){longest, STORE_VALUE_MAX};
    c.value_rest = S("x");
    assert_int_equal(refused(h, &c, 1), ERR_TOO_LARGE);
}

static void the_longest_key_fits(void **state)
{
    struct harness *h = *state;
    char longest[STORE_KEY_MAX];
    memset(longest, 'x', sizeof longest);
    struct outcome o;
    struct store_item item;
    struct err err;
    struct store_change c = {.table = h->table, .namespace = S("n"), .name = {longest, STORE_KEY_MAX - 1}};
    submit_one(h, c, &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, 0);
    assert_int_equal(store_get(h->store, h->table, S("n"), c.name, &item, &err), 0);
    assert_int_equal(store_get(h->store, h->table, S("n"), (str){longest, STORE_KEY_MAX}, &item, &err), ERR_NOT_FOUND);
}

/* Submits to a writer that is held until the queue is full; how many went in. */
static size_t fill_queue(struct harness *h, const char *prefix)
{
    struct err err;
    size_t n = 0;
    int code = 0;
    harness_hold(h);
    for (;; n++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%s%zu", prefix, n);
        struct store_change c = change(h, name, 0, "some value of the usual size");
        code = store_submit(h->store, &(struct store_write){.changes = &c, .n_changes = 1}, &err);
        if (code < 0)
            break;
        assert_in_range(n, 0, 100);
    }
    assert_int_equal(code, ERR_TOO_MANY_REQUESTS);
    assert_int_equal(err.code, ERR_TOO_MANY_REQUESTS);
    harness_release(h);
    harness_settle(h);
    return n;
}

static void a_full_queue_refuses(void **state)
{
    struct harness *h = *state;
    struct outcome o;
    h->options.queue_bytes = 4000;
    harness_reopen(h);
    size_t n = fill_queue(h, "a");
    assert_in_range(n, 5, 40);
    assert_int_equal(store_count(h->store, h->table), n);
    assert_int_equal(fill_queue(h, "b"), n); /* there is room again, as much as before */
    /* One write that is larger than the whole queue goes when nothing else waits. */
    char *big = calloc(1, 10001);
    memset(big, 'b', 10000);
    submit_one(h, change(h, "big", 0, big), &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, 0);
    free(big);
}

static void closing_writes_what_is_queued(void **state)
{
    struct harness *h = *state;
    struct outcome o[10];
    harness_hold(h);
    for (size_t i = 0; i < 10; i++) {
        char name[] = {(char)('a' + i), 0};
        submit_one(h, change(h, name, 0, "x"), &o[i]);
    }
    harness_release(h);
    harness_close(h);
    for (size_t i = 0; i < 10; i++) {
        assert_true(o[i].is_done);
        assert_int_equal(o[i].result.code, 0);
    }
    assert_int_equal(h->events.n, 10);
    harness_open(h);
    assert_int_equal(store_count(h->store, h->table), 10);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, harness_set_up, harness_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(waiting_writes_share_a_commit),
        TEST(a_batch_is_bounded),
        TEST(the_second_write_of_a_batch_sees_the_first),
        TEST(two_creates_in_one_batch_make_one_object),
        TEST(created_and_deleted_in_one_batch),
        TEST(several_changes_are_made_together_or_not_at_all),
        TEST(guards_hold_what_is_not_changed),
        TEST(a_guard_sees_what_the_same_batch_did),
        TEST(events_then_settled_then_results),
        TEST(nothing_is_seen_before_its_event),
        TEST(a_value_in_two_parts_is_one),
        TEST(a_result_may_lead_to_the_next_write),
        TEST(what_cannot_be_written_is_refused),
        TEST(the_longest_key_fits),
        TEST(a_full_queue_refuses),
        TEST(closing_writes_what_is_queued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
