/* SPDX-License-Identifier: Apache-2.0 */
/* The past: states of old revisions, walks over keys and over the log, and what is given up after a while. */
#include "lib/store_harness.h"

#include "lib/store_audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const int64_t second = 1000000000;

/* What a walk gives, as "namespace/name=value namespace/name=value". */
static str walk(struct harness *h, struct store_list *l)
{
    struct buf b = {.arena = &h->arena};
    struct store_item item;
    struct err err;
    int code;
    while ((code = store_list_next(l, &item, &err)) > 0)
        buf_fmt(&b, "%s%.*s/%.*s=%.*s", b.n ? " " : "", STR(item.namespace), STR(item.name), STR(item.value));
    if (code < 0)
        fail_msg("%s", err.msg);
    return buf_str(&b);
}

static str list(struct harness *h, const struct store_range *range)
{
    struct store_range own = *range;
    own.table = h->table;
    struct store_list *l = store_list_open(h->store, &own);
    str text = walk(h, l);
    store_list_close(l);
    return text;
}

static str value_at(struct harness *h, const char *name, rev at)
{
    struct store_item item;
    struct err err;
    int code = store_get_at(h->store, h->table, S("ns"), str_of(name), at, &item, &err);
    if (code == ERR_NOT_FOUND)
        return S("-");
    if (code < 0)
        fail_msg("%s", err.msg);
    return item.value;
}

/* One second later something else is written, so that compaction has its chance. */
static rev later(struct harness *h, int64_t seconds)
{
    static size_t n;
    char name[32];
    (void)snprintf(name, sizeof name, "later-%zu", n++);
    clock_fake_advance(&h->clock, seconds * second);
    return put(h, "zz", name, 0, "");
}

static void the_past_can_be_read(void **state)
{
    struct harness *h = *state;
    rev a1 = put(h, "ns", "a", 0, "a1");
    rev b1 = put(h, "ns", "b", 0, "b1");
    rev a2 = put(h, "ns", "a", a1, "a2");
    rev gone = del(h, "ns", "a", a2);
    rev a3 = put(h, "ns", "a", 0, "a3");
    rev a4 = put(h, "ns", "a", a3, "a4");
    assert_str(value_at(h, "a", 1), "-");
    assert_str(value_at(h, "a", a1), "a1");
    assert_str(value_at(h, "a", b1), "a1");
    assert_str(value_at(h, "a", a2), "a2");
    assert_str(value_at(h, "a", gone), "-");
    assert_str(value_at(h, "a", a3), "a3");
    assert_str(value_at(h, "a", a4), "a4");
    assert_str(value_at(h, "b", a1), "-");
    assert_str(value_at(h, "b", a4), "b1");
    assert_str(list(h, &(struct store_range){.all_namespaces = true, .at = b1}), "ns/a=a1 ns/b=b1");
    assert_str(list(h, &(struct store_range){.all_namespaces = true, .at = gone}), "ns/b=b1");
    assert_str(list(h, &(struct store_range){.all_namespaces = true}), "ns/a=a4 ns/b=b1");
    struct store_item item;
    struct err err;
    assert_int_equal(store_get_at(h->store, h->table, S("ns"), S("a"), a4 + 1, &item, &err), ERR_INVALID);
}

/* kube-apiserver lists namespace "a-b" before "a", since etcd compares "a-b/…" with "a/…". */
static void walks_go_in_the_order_of_etcd(void **state)
{
    struct harness *h = *state;
    put(h, "a", "z", 0, "1");
    put(h, "a-b", "x", 0, "2");
    put(h, "", "cluster", 0, "3");
    put(h, "a", "b", 0, "4");
    put(h, "b", "a", 0, "5");
    put(h, "a", "b.c", 0, "6");
    assert_str(list(h, &(struct store_range){.all_namespaces = true}), "/cluster=3 a-b/x=2 a/b=4 a/b.c=6 a/z=1 b/a=5");
    assert_str(list(h, &(struct store_range){.namespace = S("a")}), "a/b=4 a/b.c=6 a/z=1");
    assert_str(list(h, &(struct store_range){.namespace = S("")}), "/cluster=3");
    assert_str(list(h, &(struct store_range){.namespace = S("a-")}), "");
    assert_str(list(h, &(struct store_range){.namespace = S("a/b")}), "");
    assert_str(list(h, &(struct store_range){.all_namespaces = true, .keys_only = true}),
               "/cluster= a-b/x= a/b= a/b.c= a/z= b/a=");
}

static void walks_stay_in_their_table(void **state)
{
    struct harness *h = *state;
    uint32_t things = h->table;
    put(h, "ns", "a", 0, "1");
    h->table = store_table(h->store, S("others"));
    put(h, "ns", "a", 0, "2");
    put(h, "ns", "b", 0, "3");
    assert_str(list(h, &(struct store_range){.all_namespaces = true}), "ns/a=2 ns/b=3");
    assert_int_equal(store_count(h->store, h->table), 2);
    h->table = things;
    assert_str(list(h, &(struct store_range){.all_namespaces = true}), "ns/a=1");
    assert_int_equal(store_count(h->store, h->table), 1);
    assert_int_equal(store_stats(h->store).objects, 3);
}

static void walks_start_behind_a_key(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    put(h, "a", "1", 0, "");
    put(h, "a", "3", 0, "");
    put(h, "b", "2", 0, "");
    struct store_range r = {.all_namespaces = true, .after_namespace = S("a"), .after_name = S("1")};
    assert_str(list(h, &r), "a/3= b/2=");
    r.after_name = S("2"); /* need not exist */
    assert_str(list(h, &r), "a/3= b/2=");
    r.after_name = S("3");
    assert_str(list(h, &r), "b/2=");
    r = (struct store_range){.namespace = S("a"), .after_name = S("1")};
    assert_str(list(h, &r), "a/3=");
    r.after_name = S("9");
    assert_str(list(h, &r), "");
    r = (struct store_range){
        .table = h->table, .all_namespaces = true, .after_namespace = S("a/b"), .after_name = S("x")};
    struct store_list *l = store_list_open(h->store, &r);
    assert_int_equal(store_list_next(l, &item, &err), ERR_INVALID);
    assert_int_equal(store_list_rest(l, &err), ERR_INVALID);
    store_list_close(l);
}

static void the_rest_of_a_walk_is_counted(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    rev r[6];
    for (size_t i = 0; i < 6; i++)
        r[i] = put(h, i < 4 ? "a" : "b", (char[]){(char)('0' + i), 0}, 0, "x");
    struct store_range all = {.table = h->table, .all_namespaces = true};
    struct store_range one = {.table = h->table, .namespace = S("a")};
    struct store_range behind = {
        .table = h->table, .all_namespaces = true, .after_namespace = S("a"), .after_name = S("1")};
    struct store_list *in_all = store_list_open(h->store, &all), *in_one = store_list_open(h->store, &one),
                      *from = store_list_open(h->store, &behind);
    assert_int_equal(store_list_rest(in_all, &err), 6);
    assert_int_equal(store_list_rest(in_one, &err), 4);
    assert_int_equal(store_list_rest(from, &err), 4);
    assert_int_equal(store_list_next(in_all, &item, &err), 1);
    assert_int_equal(store_list_next(in_one, &item, &err), 1);
    /* What happens later does not change what was there. */
    del(h, "a", "3", r[3]);
    put(h, "a", "new", 0, "x");
    put(h, "a", "2", r[2], "changed");
    assert_int_equal(store_list_rest(in_all, &err), 5);
    assert_int_equal(store_list_rest(in_one, &err), 3);
    assert_int_equal(store_list_rest(from, &err), 4);
    assert_str(walk(h, in_all), "a/1=x a/2=x a/3=x b/4=x b/5=x");
    assert_str(walk(h, in_one), "a/1=x a/2=x a/3=x");
    assert_int_equal(store_list_rest(in_all, &err), 0);
    assert_int_equal(store_list_revision(in_all), r[5]);
    assert_int_equal(store_list_next(in_all, &item, &err), 0);
    store_list_close(in_all);
    store_list_close(in_one);
    store_list_close(from);
    all.at = r[5]; /* of the past, from the beginning: by going over the keys */
    in_all = store_list_open(h->store, &all);
    assert_int_equal(store_list_rest(in_all, &err), 6);
    store_list_close(in_all);
}

/* Pages of one revision fit together, whatever is written and given up between them. */
static void pages_fit_together_while_writes_go_on(void **state)
{
    struct harness *h = *state;
    struct err err;
    struct store_item item;
    rev at[40];
    char name[8];
    struct buf got = {.arena = &h->arena}, want = {.arena = &h->arena};
    for (size_t i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "n%02zu", i);
        at[i] = put(h, "ns", name, 0, "first");
        buf_fmt(&want, "%s=first ", name);
    }
    clock_fake_advance(&h->clock, 250 * second);
    rev now = store_revision(h->store);
    struct store_range range = {.table = h->table, .all_namespaces = true, .at = now};
    for (size_t page = 0; page < 10; page++) {
        struct store_list *l = store_list_open(h->store, &range);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(store_list_next(l, &item, &err), 1);
            buf_fmt(&got, "%.*s=%.*s ", STR(item.name), STR(item.value));
            range.after_namespace = str_dup(&h->arena, item.namespace);
            range.after_name = str_dup(&h->arena, item.name);
        }
        store_list_close(l);
        for (size_t i = page % 3; i < 40; i += 3) {
            (void)snprintf(name, sizeof name, "n%02zu", i);
            struct store_item current;
            int code = store_get(h->store, h->table, S("ns"), str_of(name), &current, &err);
            if (code == ERR_NOT_FOUND)
                put(h, "ns", name, 0, "again");
            else if (i % 2)
                put(h, "ns", name, current.revision, "changed");
            else
                del(h, "ns", name, current.revision);
        }
        clock_fake_advance(&h->clock, 10 * second);
    }
    assert_true(store_oldest(h->store) > at[0]); /* something was given up, and it was not this */
    assert_true(store_oldest(h->store) <= now);
    assert_true(str_eq(buf_str(&got), buf_str(&want)));
}

static void history_goes_with_age(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    rev a1 = put(h, "ns", "a", 0, "a1"), b1 = put(h, "ns", "b", 0, "b1");
    clock_fake_advance(&h->clock, 100 * second);
    rev a2 = put(h, "ns", "a", a1, "a2");
    later(h, 299);
    assert_true(store_oldest(h->store) >= b1);
    assert_true(store_oldest(h->store) < a2);
    assert_str(value_at(h, "a", a2 - 1), "a1");
    later(h, 1);
    assert_true(store_oldest(h->store) >= a2);
    assert_int_equal(store_get_at(h->store, h->table, S("ns"), S("a"), a2 - 1, &item, &err), ERR_EXPIRED);
    assert_str(value_at(h, "a", store_oldest(h->store)), "a2");
    assert_str(value_at(h, "b", store_revision(h->store)), "b1"); /* old, but never replaced */
    assert_int_equal(store_stats(h->store).log_bytes, 0);
}

static void history_goes_when_it_is_too_much(void **state)
{
    struct harness *h = *state;
    h->options.keep_bytes = 2000;
    harness_reopen(h);
    rev r = put(h, "ns", "a", 0, "0");
    char value[200] = {0};
    memset(value, 'v', sizeof value - 1);
    for (size_t i = 0; i < 100; i++) {
        r = put(h, "ns", "a", r, value);
        assert_true(store_stats(h->store).log_bytes <= 2000 + 2 * 300);
    }
    assert_true(store_oldest(h->store) > 50);
    assert_true(store_oldest(h->store) < store_revision(h->store) - 5);
    assert_int_equal(store_count(h->store, h->table), 1);
}

static void a_deleted_name_leaves_nothing_behind(void **state)
{
    struct harness *h = *state;
    for (size_t i = 0; i < 50; i++)
        del(h, "ns", "a", put(h, "ns", "a", 0, "x"));
    for (size_t i = 0; i < 4; i++) /* a piece in each commit */
        later(h, 400);
    struct store_stats stats = store_stats(h->store);
    assert_int_equal(stats.objects, 4);
    assert_int_equal(stats.log_bytes, 0);
    harness_close(h);
    struct err err;
    if (store_audit(h->dir, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    harness_open(h);
}

static void a_walk_whose_revision_is_given_up_says_so(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct store_event event;
    struct err err;
    rev a = put(h, "ns", "a", 0, "1"), b = put(h, "ns", "b", 0, "1");
    struct store_list *l = store_list_open(h->store, &(struct store_range){.table = h->table, .all_namespaces = true});
    struct store_log *log;
    assert_int_equal(store_log_open(h->store, a, &log, &err), 0);
    assert_int_equal(store_list_next(l, &item, &err), 1);
    put(h, "ns", "b", b, "2");
    later(h, 301);
    later(h, 1);
    assert_int_equal(store_list_next(l, &item, &err), ERR_EXPIRED);
    assert_int_equal(store_list_rest(l, &err), ERR_EXPIRED);
    assert_int_equal(store_log_next(log, &event, &err), ERR_EXPIRED);
    assert_non_null(strstr(err.msg, "no longer kept"));
    store_list_close(l);
    store_log_close(log);
    assert_int_equal(store_log_open(h->store, a, &log, &err), ERR_EXPIRED);
    assert_int_equal(store_log_open(h->store, store_oldest(h->store), &log, &err), 0);
    store_log_close(log);
}

static void the_log_tells_all_changes_in_order(void **state)
{
    struct harness *h = *state;
    struct store_event e;
    struct store_log *log;
    struct err err;
    rev a = put(h, "ns", "a", 0, "a1");
    assert_int_equal(store_log_open(h->store, 1, &log, &err), 0);
    rev b = put(h, "ns", "b", 0, "b1");
    rev a2 = put(h, "ns", "a", a, "a2");
    rev gone = del(h, "ns", "a", a2);
    assert_int_equal(store_log_next(log, &e, &err), 1);
    assert_int_equal(e.revision, a);
    assert_int_equal(e.op, STORE_CREATED);
    assert_int_equal(store_log_next(log, &e, &err), 1);
    assert_int_equal(e.revision, b);
    assert_int_equal(store_log_next(log, &e, &err), 1);
    assert_int_equal(e.op, STORE_UPDATED);
    assert_int_equal(e.previous, a);
    assert_int_equal(e.created, a);
    assert_str(e.value, "a2");
    assert_int_equal(store_log_next(log, &e, &err), 1);
    assert_int_equal(e.revision, gone);
    assert_int_equal(e.op, STORE_DELETED);
    assert_int_equal(e.previous, a2);
    assert_str(e.value, "gone");
    assert_int_equal(store_log_next(log, &e, &err), 0);
    rev c = put(h, "ns", "c", 0, "c1"); /* it follows */
    assert_int_equal(store_log_next(log, &e, &err), 1);
    assert_int_equal(e.revision, c);
    assert_str(e.namespace, "ns");
    assert_str(e.name, "c");
    assert_int_equal(store_log_next(log, &e, &err), 0);
    store_log_close(log);
}

static void the_log_of_one_table(void **state)
{
    struct harness *h = *state;
    struct store_event e;
    struct store_log *log;
    struct err err;
    uint32_t things = h->table, others = store_table(h->store, S("others"));
    put(h, "ns", "a", 0, "1");
    h->table = others;
    rev r = put(h, "ns", "b", 0, "2");
    h->table = things;
    put(h, "ns", "c", 0, "3");
    assert_int_equal(store_log_open(h->store, 1, &log, &err), 0);
    store_log_only(log, others);
    assert_int_equal(store_log_next(log, &e, &err), 1);
    assert_int_equal(e.revision, r);
    assert_int_equal(e.table, others);
    assert_int_equal(store_log_next(log, &e, &err), 0);
    store_log_close(log);
}

static void what_an_event_replaced(void **state)
{
    struct harness *h = *state;
    struct store_event created, updated;
    struct store_item item;
    struct store_log *log;
    struct err err;
    rev a = put(h, "ns", "a", 0, "before");
    put(h, "ns", "a", a, "after");
    assert_int_equal(store_log_open(h->store, 1, &log, &err), 0);
    assert_int_equal(store_log_next(log, &created, &err), 1);
    assert_int_equal(store_log_next(log, &updated, &err), 1);
    assert_int_equal(store_previous(h->store, &created, &item, &err), ERR_NOT_FOUND);
    assert_int_equal(store_previous(h->store, &updated, &item, &err), 0);
    assert_str(item.value, "before");
    assert_int_equal(item.revision, a);
    later(h, 301);
    later(h, 1);
    assert_int_equal(store_previous(h->store, &updated, &item, &err), ERR_EXPIRED);
    store_log_close(log);
}

static void next_is(struct store_list *l, const char *namespace, const char *name)
{
    struct store_item item;
    struct err err;
    assert_int_equal(store_list_next(l, &item, &err), 1);
    assert_true(str_eq(item.namespace, str_of(namespace)) && str_eq(item.name, str_of(name)));
}

/* Forward to a key or the first one behind it, before and after the view moved; never back, and not out of the range. */
static void a_walk_skips(void **state)
{
    struct harness *h = *state;
    struct store_item item;
    struct err err;
    for (char name[] = "a"; name[0] <= 'j'; name[0]++)
        put(h, "ns", name, 0, "v");
    put(h, "other", "x", 0, "v");
    struct store_list *l = store_list_open(h->store, &(struct store_range){.table = h->table, .namespace = S("ns")});
    store_list_skip(l, S("ns"), S("c"));
    next_is(l, "ns", "c");
    store_list_skip(l, S("ns"), S("d"));
    next_is(l, "ns", "d");
    store_list_skip(l, S("ns"), S("eee"));
    next_is(l, "ns", "f");
    store_list_skip(l, S("ns"), S("b"));
    next_is(l, "ns", "g");
    put(h, "ns", "hh", 0, "v"); /* later than the walk: not seen */
    store_list_skip(l, S("ns"), S("hh"));
    next_is(l, "ns", "i");
    next_is(l, "ns", "j");
    store_list_skip(l, S("other"), S("x"));
    assert_int_equal(store_list_next(l, &item, &err), 0);
    store_list_close(l);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, harness_set_up, harness_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_past_can_be_read),
        TEST(walks_go_in_the_order_of_etcd),
        TEST(walks_stay_in_their_table),
        TEST(walks_start_behind_a_key),
        TEST(the_rest_of_a_walk_is_counted),
        TEST(pages_fit_together_while_writes_go_on),
        TEST(history_goes_with_age),
        TEST(history_goes_when_it_is_too_much),
        TEST(a_deleted_name_leaves_nothing_behind),
        TEST(a_walk_whose_revision_is_given_up_says_so),
        TEST(the_log_tells_all_changes_in_order),
        TEST(the_log_of_one_table),
        TEST(what_an_event_replaced),
        TEST(a_walk_skips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
