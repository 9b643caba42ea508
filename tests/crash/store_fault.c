/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that fails at the worst moments, and then works again: the store goes on without a restart. */
#include "disk.h"
#include "lib/store_harness.h"

#include "lib/store_audit.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int set_up(void **state)
{
    char path[SCRATCH_MAX + 16];
    if (harness_set_up(state) != 0)
        return -1;
    const struct harness *h = *state;
    (void)snprintf(path, sizeof path, "%s/data.mdb", h->dir);
    disk_watch(path);
    return 0;
}

static int tear_down(void **state)
{
    disk_fail_durable(0);
    disk_fail_sync(0);
    int rc = harness_tear_down(state);
    disk_forget();
    return rc;
}

static str value_of(struct harness *h, const char *name)
{
    struct store_item item;
    struct err err;
    int code = store_get(h->store, h->table, S("ns"), str_of(name), &item, &err);
    if (code < 0 && code != ERR_NOT_FOUND)
        fail_msg("%s", err.msg);
    return code < 0 ? S("-") : item.value;
}

static void check_files(struct harness *h)
{
    struct err err;
    rev revision, expect = store_revision(h->store);
    harness_close(h);
    if (store_audit(h->dir, &revision, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(revision, expect);
    harness_open(h);
}

/* The pages are written but cannot be made durable. */
static void a_sync_fails(void **state)
{
    struct harness *h = *state;
    rev a = put(h, "ns", "a", 0, "one");
    disk_fail_sync(EIO);
    assert_int_equal(try_put(h, "ns", "a", a, "two"), ERR_IO);
    assert_int_equal(try_put(h, "ns", "b", 0, "new"), ERR_IO);
    assert_true(store_stats(h->store).is_failing);
    assert_str(value_of(h, "a"), "one");
    assert_str(value_of(h, "b"), "-");
    disk_fail_sync(0);
    assert_int_equal(put(h, "ns", "a", a, "three"), a + 1);
    assert_false(store_stats(h->store).is_failing);
    check_files(h);
}

/* The page that makes the commit valid cannot be written; after that LMDB must be opened again. */
static void commit_fails(struct harness *h, int code, int expect)
{
    struct store_item item;
    struct err err;
    rev a = put(h, "ns", "a", 0, "one");
    put(h, "ns", "b", 0, "two");
    struct store_list *l = store_list_open(h->store, &(struct store_range){.table = h->table, .all_namespaces = true});
    struct store_log *log;
    struct store_event event;
    assert_int_equal(store_log_open(h->store, a, &log, &err), 0);
    assert_int_equal(store_list_next(l, &item, &err), 1);
    disk_fail_durable(code);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(try_put(h, "ns", "a", a, "lost"), expect);
    assert_str(value_of(h, "a"), "one");
    assert_int_equal(store_list_next(l, &item, &err), 1); /* walks that were open go on */
    assert_str(item.name, "b");
    assert_int_equal(store_log_next(log, &event, &err), 1);
    assert_str(event.name, "b");
    disk_fail_durable(0);
    rev next = put(h, "ns", "a", a, "three");
    assert_int_equal(next, a + 2);
    assert_str(value_of(h, "a"), "three");
    assert_int_equal(h->events.n, 3);
    assert_int_equal(store_list_next(l, &item, &err), 0);
    assert_int_equal(store_log_next(log, &event, &err), 1);
    assert_int_equal(event.revision, next);
    store_list_close(l);
    store_log_close(log);
    check_files(h);
}

static void the_last_page_does_not_fit(void **state)
{
    commit_fails(*state, ENOSPC, ERR_NO_SPACE);
}

static void the_last_page_cannot_be_written(void **state)
{
    commit_fails(*state, EIO, ERR_IO);
}

static void closing_while_the_disk_fails(void **state)
{
    struct harness *h = *state;
    struct outcome o[3];
    put(h, "ns", "a", 0, "one");
    harness_hold(h);
    disk_fail_durable(EIO);
    for (size_t i = 0; i < 3; i++) {
        struct store_change c = {.table = h->table, .namespace = S("ns"), .name = str_fmt(&h->arena, "n%zu", i)};
        harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, &o[i]);
    }
    harness_release(h);
    harness_close(h);
    for (size_t i = 0; i < 3; i++) {
        assert_true(o[i].is_done);
        assert_int_equal(o[i].result.code, ERR_IO);
    }
    disk_fail_durable(0);
    harness_open(h);
    assert_str(value_of(h, "a"), "one");
    assert_str(value_of(h, "n0"), "-");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_sync_fails),
        TEST(the_last_page_does_not_fit),
        TEST(the_last_page_cannot_be_written),
        TEST(closing_while_the_disk_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
