/* SPDX-License-Identifier: Apache-2.0 */
/* The loop and the writer at work at the same time: many writes in flight, reading and walking meanwhile, compaction,
 * closing with writes in flight. The thread sanitizer watches this program too (tools/test). */
#include "lib/store_harness.h"

#include "lib/store_audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEYS = 50, IN_FLIGHT = 64, WRITES = 3000 };

struct work {
    struct harness *h;
    rev standing[KEYS];
    size_t in_flight, made, conflicts, next;
};

static void done(void *ctx, const struct store_result *result)
{
    struct work *w = ctx;
    w->in_flight--;
    if (result->code == 0)
        w->made++;
    else if (result->code == ERR_CONFLICT)
        w->conflicts++;
    else
        fail_msg("%d: %s", result->code, result->message);
}

static void submit(struct work *w)
{
    char name[16], value[400];
    struct err err;
    size_t key = w->next++ * 7 % KEYS;
    (void)snprintf(name, sizeof name, "n%zu", key);
    memset(value, 'v', sizeof value);
    struct store_change c = {.table = w->h->table,
                             .namespace = S("ns"),
                             .name = str_of(name),
                             .expect = w->standing[key],
                             .is_delete = w->standing[key] && w->next % 11 == 0,
                             .value = {value, sizeof value}};
    struct store_write write = {.changes = &c, .n_changes = 1, .done = done, .ctx = w};
    if (store_submit(w->h->store, &write, &err) < 0)
        fail_msg("%s", err.msg);
    w->in_flight++;
}

/* What the events say now stands; and a look around while the writer goes on. */
static void look(struct work *w, struct store_log *log)
{
    struct store_event e;
    struct store_item item;
    struct err err;
    int code;
    while ((code = store_log_next(log, &e, &err)) > 0) {
        uint64_t key;
        assert_true(str_to_uint64(str_from(e.name, 1), &key));
        w->standing[key] = e.op == STORE_DELETED ? 0 : e.revision;
    }
    assert_int_equal(code, 0);
    size_t n = 0;
    struct store_list *l =
        store_list_open(w->h->store, &(struct store_range){.table = w->h->table, .all_namespaces = true});
    while ((code = store_list_next(l, &item, &err)) > 0)
        n += item.value.n == 400;
    assert_int_equal(code, 0);
    assert_int_equal(n, store_count(w->h->store, w->h->table));
    store_list_close(l);
}

static void loop_and_writer_work_side_by_side(void **state)
{
    struct harness *h = *state;
    struct work w = {.h = h};
    struct store_log *log;
    struct err err;
    h->options.keep_bytes = 40000;
    harness_reopen(h);
    assert_int_equal(store_log_open(h->store, store_revision(h->store), &log, &err), 0);
    while (w.next < WRITES) {
        while (w.in_flight < IN_FLIGHT)
            submit(&w);
        (void)store_table(h->store, w.next % 100 < 5 ? S("more") : S("things"));
        store_poll(h->store); /* without waiting: also while the writer is in the middle */
        look(&w, log);
    }
    store_log_close(log);
    harness_close(h); /* with what is still in flight */
    assert_int_equal(w.in_flight, 0);
    assert_true(w.made > 100);
    assert_int_equal(h->events.n, w.made);
    for (size_t i = 0; i < h->events.n; i++)
        assert_int_equal(h->events.p[i].revision, i + 2);
    if (store_audit(h->dir, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    harness_open(h);
    assert_int_equal(store_revision(h->store), w.made + 1);
    assert_true(store_oldest(h->store) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(loop_and_writer_work_side_by_side, harness_set_up, harness_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
