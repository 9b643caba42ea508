/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, reading the present, writing and its results. */
#include "lib/store_harness.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void an_empty_store_is_at_revision_1(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    assert_int_equal(store_revision(h->store), 1);
    assert_int_equal(store_oldest(h->store), 1);
    assert_int_equal(store_count(h->store, h->table), 0);
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("a"), &item, NULL), ERR_NOT_FOUND);
}

static void what_was_written_can_be_read(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    rev created = put(h, "ns", "a", 0, "one");
    assert_int_equal(created, 2);
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("a"), &item, &err), 0);
    assert_str(item.value, "one");
    assert_str(item.namespace, "ns");
    assert_str(item.name, "a");
    assert_int_equal(item.revision, 2);
    assert_int_equal(item.created, 2);
    rev updated = put(h, "ns", "a", created, "two");
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("a"), &item, &err), 0);
    assert_str(item.value, "two");
    assert_int_equal(item.revision, updated);
    assert_int_equal(item.created, created);
    del(h, "ns", "a", updated);
    assert_int_equal(store_get(h->store, h->table, S("ns"), S("a"), &item, &err), ERR_NOT_FOUND);
    assert_int_equal(store_count(h->store, h->table), 0);
}

static void it_is_all_there_after_a_restart(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    put(h, "ns", "a", 0, "one");
    put(h, "", "b", 0, "two");
    uint32_t table = h->table, other = store_table(h->store, S("others"));
    put(h, "ns", "c", 0, "three");
    harness_reopen(h);
    assert_int_equal(h->table, table);
    assert_int_equal(store_table(h->store, S("others")), other);
    assert_str(store_table_name(h->store, other), "others");
    assert_int_equal(store_revision(h->store), 4);
    assert_int_equal(store_count(h->store, h->table), 3);
    assert_int_equal(store_get(h->store, h->table, S(""), S("b"), &item, &err), 0);
    assert_str(item.value, "two");
    assert_int_equal(put(h, "ns", "d", 0, "four"), 5);
}

static void expectations_are_checked(void **state)
{
    struct harness *h = *state;
    rev r = put(h, "ns", "a", 0, "one");
    assert_int_equal(try_put(h, "ns", "a", 0, "again"), ERR_CONFLICT);
    assert_int_equal(try_put(h, "ns", "a", r + 1, "later"), ERR_CONFLICT);
    assert_int_equal(try_put(h, "ns", "b", r, "absent"), ERR_CONFLICT);
    assert_int_equal(store_revision(h->store), r);
    assert_int_equal(try_put(h, "ns", "a", r, "right"), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, harness_set_up, harness_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_store_is_at_revision_1),
        TEST(what_was_written_can_be_read),
        TEST(it_is_all_there_after_a_restart),
        TEST(expectations_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
