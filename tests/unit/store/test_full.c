/* SPDX-License-Identifier: Apache-2.0 */
/* No room: on the disk (here: a limit on the size of files) or in the map. Nothing is half-written, reading goes on, and
 * writing too once there is room. */
#include "lib/store_harness.h"

#include "lib/store_audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { VALUE = 20000, MANY = 2000 };

static char value[VALUE + 1];

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static struct store_change change(struct harness *h, size_t i)
{
    return (struct store_change){
        .table = h->table, .namespace = S("ns"), .name = str_fmt(&h->arena, "n%05zu", i), .value = {value, VALUE}};
}

/* Creates objects until one is refused; how many there are then. */
static size_t fill(struct harness *h, struct outcome *o)
{
    for (size_t i = 0; i < MANY; i++) {
        struct store_change c = change(h, i);
        harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, o);
        harness_wait(h, o);
        if (o->result.code < 0)
            return i;
    }
    fail_msg("it was never full");
    return 0;
}

static void check_all(struct harness *h, size_t n)
{
    struct store_item item;
    struct err err;
    struct store_list *l = store_list_open(h->store, &(struct store_range){.table = h->table, .all_namespaces = true});
    for (size_t i = 0; i < n; i++) {
        if (store_list_next(l, &item, &err) != 1)
            fail_msg("%s", err.msg);
        assert_true(str_eq(item.name, change(h, i).name));
        assert_int_equal(item.value.n, VALUE);
    }
    assert_int_equal(store_list_next(l, &item, &err), 0);
    store_list_close(l);
    assert_int_equal(store_count(h->store, h->table), n);
    assert_int_equal(store_revision(h->store), n + 1);
}

static void nothing_is_half_written(struct harness *h, size_t n)
{
    struct outcome o[5];
    rev before = store_revision(h->store);
    size_t events = h->events.n;
    harness_hold(h);
    for (size_t i = 0; i < 5; i++) {
        struct store_change c[] = {change(h, n + i), change(h, n + 5 + i)};
        harness_submit(h, &(struct store_write){.changes = c, .n_changes = 2}, &o[i]);
    }
    harness_release(h);
    harness_settle(h);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(o[i].result.code, ERR_NO_SPACE);
        assert_non_null(strstr(o[i].message, "no room"));
    }
    assert_int_equal(store_revision(h->store), before);
    assert_int_equal(h->events.n, events);
    assert_true(store_stats(h->store).is_failing || store_stats(h->store).is_full);
}

static void the_disk_is_full_and_then_it_is_not(void **state)
{
    struct harness *h = *state;
    struct outcome o;
    limit_files(2 << 20);
    size_t n = fill(h, &o);
    assert_in_range(n, 30, 110);
    assert_int_equal(o.result.code, ERR_NO_SPACE);
    assert_non_null(strstr(o.message, "File too large"));
    assert_non_null(strstr(o.message, h->dir));
    check_all(h, n);
    nothing_is_half_written(h, n);
    check_all(h, n);
    limit_files(RLIM_INFINITY);
    struct store_change c = change(h, n);
    harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, 0);
    assert_int_equal(o.result.revision, n + 2); /* no revision was lost */
    assert_false(store_stats(h->store).is_failing);
    harness_close(h);
    struct err err;
    if (store_audit(h->dir, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    harness_open(h);
    check_all(h, n + 1);
}

/* Also a table that was first used while there was no room gets its name. */
static void a_new_table_survives_a_full_disk(void **state)
{
    struct harness *h = *state;
    struct outcome o;
    put(h, "ns", "a", 0, "1");
    limit_files(4096);
    uint32_t table = store_table(h->store, S("new"));
    h->table = table;
    struct store_change c = change(h, 0);
    harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, ERR_NO_SPACE);
    limit_files(RLIM_INFINITY);
    put(h, "ns", "b", 0, "2");
    harness_reopen(h);
    assert_int_equal(store_table(h->store, S("new")), table);
    assert_int_equal(store_count(h->store, table), 1);
}

static void the_map_is_full_until_it_may_be_larger(void **state)
{
    struct harness *h = *state;
    struct outcome o;
    h->options.map_bytes = 1 << 20;
    harness_reopen(h);
    size_t n = fill(h, &o);
    assert_int_equal(o.result.code, ERR_NO_SPACE);
    assert_non_null(strstr(o.message, "1048576 bytes"));
    check_all(h, n);
    nothing_is_half_written(h, n);
    h->options.map_bytes = 8 << 20;
    harness_reopen(h);
    check_all(h, n);
    struct store_change c = change(h, n);
    harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, &o);
    harness_wait(h, &o);
    assert_int_equal(o.result.code, 0);
    check_all(h, n + 1);
}

/* ---- The reserve. ---- */

enum { LARGE = 1500000 };
static const size_t mib = 1 << 20;

/* The code of one write of one change. */
static int write_one(struct harness *h, struct store_change c, bool is_cleanup)
{
    struct outcome o;
    harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1, .is_cleanup = is_cleanup}, &o);
    harness_wait(h, &o);
    return o.result.code;
}

static rev revision_of(struct harness *h, str name)
{
    struct store_item item;
    assert_int_equal(store_get(h->store, h->table, S("ns"), name, &item, NULL), 0);
    return item.revision;
}

static struct store_change deletion(struct harness *h, size_t i)
{
    struct store_change c = change(h, i);
    return (struct store_change){.table = c.table,
                                 .namespace = c.namespace,
                                 .name = c.name,
                                 .expect = revision_of(h, c.name),
                                 .is_delete = true};
}

/* Creates objects of this size, from number `first` on, until there is no space for the next one; the number of that. */
static size_t fill_with(struct harness *h, size_t first, str text)
{
    for (size_t i = first;; i++) {
        struct store_change c = change(h, i);
        c.value = text;
        int code = write_one(h, c, false);
        if (code == ERR_NO_SPACE)
            return i;
        assert_int_equal(code, 0);
    }
}

static void delete_all(struct harness *h, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (write_one(h, deletion(h, i), false) < 0)
            fail_msg("object %zu of %zu was not deleted", i, end);
}

/* The space comes back as soon as the history of the deletions is given up. */
static void wait_for_space(struct harness *h)
{
    while (store_stats(h->store).is_full)
        harness_poll(h);
}

/* Full and empty, over and over: nothing is lost of the reserve. */
static void fill_and_delete(struct harness *h, str text)
{
    size_t fewest = SIZE_MAX, most = 0, first = 0;
    for (int round = 0; round < 4; round++) {
        size_t end = fill_with(h, first, text);
        fewest = end - first < fewest ? end - first : fewest;
        most = end - first > most ? end - first : most;
        struct store_change update = change(h, first);
        update.expect = revision_of(h, update.name);
        update.value = text;
        assert_int_equal(write_one(h, update, false), ERR_NO_SPACE);
        delete_all(h, first, end);
        wait_for_space(h);
        first = end;
    }
    assert_int_equal(store_stats(h->store).objects, 0);
    assert_true(fewest > 0 && most < fewest * 2);
    harness_close(h);
    struct err err;
    if (store_audit(h->dir, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    harness_open(h);
}

static void deletions_need_no_space_in_the_map(void **state)
{
    struct harness *h = *state;
    h->options.map_bytes = 4 * mib;
    harness_reopen(h);
    fill_and_delete(h, (str){value, VALUE});
    fill_and_delete(h, (str){value, 100});
}

/* The file may be as large as it is, and no larger. */
static void deletions_need_no_space_on_the_disk(void **state)
{
    struct harness *h = *state;
    limit_files(store_stats(h->store).file_bytes);
    fill_and_delete(h, (str){value, VALUE});
    limit_files(RLIM_INFINITY);
}

static void objects_as_large_as_the_server_takes_are_marked_and_deleted(void **state)
{
    struct harness *h = *state;
    char *text = arena_alloc(&h->arena, LARGE);
    memset(text, 'l', LARGE);
    h->options.map_bytes = 64 * mib;
    harness_reopen(h);
    size_t n = fill_with(h, 0, (str){text, LARGE});
    for (size_t i = 0; i < n; i++) {
        struct store_change mark = change(h, i);
        mark.value = (str){text, LARGE};
        mark.expect = revision_of(h, mark.name);
        assert_int_equal(write_one(h, mark, true), 0);
    }
    delete_all(h, 0, n);
    wait_for_space(h);
}

/* Whatever is written as a part of deletions: what is left is enough to delete all. */
static void cleanup_leaves_space_for_deletions(void **state)
{
    struct harness *h = *state;
    h->options.map_bytes = 4 * mib;
    harness_reopen(h);
    size_t n = fill_with(h, 0, (str){value, 5000});
    struct store_change more = change(h, n);
    while (write_one(h, more, true) == 0)
        more = change(h, ++n);
    assert_int_equal(write_one(h, more, true), ERR_NO_SPACE);
    more.value = (str){value, 1};
    while (write_one(h, more, true) == 0) {
        more = change(h, ++n);
        more.value = (str){value, 1};
    }
    delete_all(h, 0, n);
    wait_for_space(h);
}

/* Many at once, as a client that deletes a collection asks for them. */
static void a_thousand_deletions_at_once(void **state)
{
    struct harness *h = *state;
    h->options.map_bytes = 4 * mib;
    harness_reopen(h);
    size_t n = fill_with(h, 0, (str){value, 1000});
    struct outcome *o = ARENA_ARRAY(&h->arena, struct outcome, n);
    for (size_t i = 0; i < n; i++) {
        struct store_change c = deletion(h, i);
        harness_submit(h, &(struct store_write){.changes = &c, .n_changes = 1}, &o[i]);
    }
    harness_settle(h);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(o[i].result.code, 0);
    wait_for_space(h);
    assert_int_equal(store_stats(h->store).objects, 0);
}

/* Also a store that is opened when it is full. */
static void a_full_store_is_opened_read_and_emptied(void **state)
{
    struct harness *h = *state;
    h->options.map_bytes = 4 * mib;
    harness_reopen(h);
    size_t n = fill_with(h, 0, (str){value, VALUE});
    harness_reopen(h);
    assert_true(store_stats(h->store).is_full);
    check_all(h, n);
    delete_all(h, 0, n);
    wait_for_space(h);
    assert_int_equal(write_one(h, change(h, n), false), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, harness_set_up, harness_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_disk_is_full_and_then_it_is_not),
        TEST(a_new_table_survives_a_full_disk),
        TEST(the_map_is_full_until_it_may_be_larger),
        TEST(deletions_need_no_space_in_the_map),
        TEST(deletions_need_no_space_on_the_disk),
        TEST(objects_as_large_as_the_server_takes_are_marked_and_deleted),
        TEST(cleanup_leaves_space_for_deletions),
        TEST(a_thousand_deletions_at_once),
        TEST(a_full_store_is_opened_read_and_emptied),
    };
    memset(value, 'v', VALUE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
