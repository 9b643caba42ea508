/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of reeve manager: the choice of controllers, times that leave room for each other. */
#include "manager/manager_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "controllers/controllers.h"
#include "lib/capture.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)

static int choose(struct manager_options *o, const char *list, struct err *err)
{
    *o = (struct manager_options){0};
    return manager_choose(o, list, err);
}

static void controllers_are_chosen_by_name(void **state)
{
    struct manager_options o;
    struct err err = {0};
    assert_int_equal(choose(&o, "aggregation", &err), 0);
    assert_int_equal(o.n_rows, 1);
    assert_string_equal(o.rows[0]->name, "aggregation");
    assert_int_equal(choose(&o, "aggregation, aggregation", &err), 0);
    assert_int_equal(o.n_rows, 1);
    assert_int_equal(choose(&o, "aggregation,*", &err), 0);
    assert_int_equal(o.n_rows, controllers_count());
    for (size_t i = 0; i < o.n_rows; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(o.rows[i] != o.rows[j]);
    assert_int_equal(choose(&o, "aggregation,agregation", &err), ERR_BAD_REQUEST);
    assert_non_null(strstr(err.msg, "there is no controller \"agregation\": there are aggregation"));
    assert_int_equal(choose(&o, "aggregation,", &err), ERR_BAD_REQUEST);
    assert_int_equal(choose(&o, "garbage,namespaces", &err), 0);
    assert_int_equal(manager_choose(&o, "aggregation", &err), 0); /* of two the last counts */
    assert_int_equal(o.n_rows, 1);
    assert_string_equal(o.rows[0]->name, "aggregation");
}

enum { WORDS = 16 };

static int read_line(const char *const *words, struct manager_options *o, struct err *err)
{
    char *argv[WORDS + 1] = {NULL};
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)words[argc];
    struct arena arena ARENA_SCOPE = {0};
    return manager_options_read(&arena, argc, argv, o, err); /* texts are those of words, and live on */
}

#define READ(o, err, ...) read_line((const char *const[]){"manager", __VA_ARGS__, NULL}, o, err)

static void times_leave_room_for_each_other(void **state)
{
    struct manager_options o;
    struct err err = {0};
#define TIMES(lease, deadline, retry)                                                                    \
    READ(&o, &err, "--controllers=aggregation", "--lease-duration", lease, "--renew-deadline", deadline, \
         "--retry-period", retry)
    assert_int_equal(TIMES("3s", "2s", "500ms"), 0);
    assert_true(o.lease_ns == 3 * SECOND && o.deadline_ns == 2 * SECOND && o.retry_ns == 500 * MS);
    assert_int_equal(TIMES("2s", "2s", "500ms"), ERR_BAD_REQUEST);
    assert_int_equal(TIMES("1500ms", "1s", "500ms"), ERR_BAD_REQUEST);
    assert_int_equal(TIMES("500ms", "200ms", "50ms"), ERR_BAD_REQUEST);
    assert_int_equal(TIMES("3s", "1s", "900ms"), ERR_BAD_REQUEST);
    assert_int_equal(TIMES("3s", "0s", "900ms"), ERR_BAD_REQUEST);
#undef TIMES
}

static void flags_are_read(void **state)
{
    struct manager_options o;
    struct err err = {0};
    assert_int_equal(READ(&o, &err, "--controllers", "*", "--listen", "[::1]:0", "--kubeconfig=k", "--context=c",
                          "--no-leader-election", "-v"),
                     0);
    assert_true(str_eq(o.listen.host, S("::1")) && o.listen.port == 0 && o.no_election && o.level == LOG_DEBUG);
    assert_true(str_eq(o.kubeconfig, S("k")) && str_eq(o.context, S("c")));
    assert_int_equal(READ(&o, &err, "--controllers", "*", "--listen", "somewhere"), ERR_BAD_REQUEST);
    assert_int_equal(READ(&o, &err, "--controllers"), ERR_BAD_REQUEST);
    assert_string_equal(err.msg, "--controllers needs a value");
    assert_int_equal(READ(&o, &err, "--controller", "*", "--what"), ERR_BAD_REQUEST);
    assert_int_equal(READ(&o, &err, "--controllers=*", "more"), ERR_BAD_REQUEST);
    assert_string_equal(err.msg, "unknown argument \"more\"");
    assert_int_equal(READ(&o, &err, "-v"), 0); /* not what a Kubernetes does already */
    assert_true(o.n_rows > 0);
    for (size_t i = 0; i < o.n_rows; i++)
        assert_false(o.rows[i]->in_kubernetes);
}

static void help_is_printed(void **state)
{
    struct manager_options o;
    struct err err = {0};
    struct arena a ARENA_SCOPE = {0};
    struct capture capture;
    capture_begin(&capture);
    int code = READ(&o, &err, "--help");
    str text = capture_end(&capture, &a);
    assert_int_equal(code, 1);
    assert_true(str_has_prefix(text, S("Usage: reeve manager ")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(controllers_are_chosen_by_name),
        cmocka_unit_test(times_leave_room_for_each_other),
        cmocka_unit_test(flags_are_read),
        cmocka_unit_test(help_is_printed),
    };
    unsetenv("REEVE_CONTROLLERS"); /* NOLINT(concurrency-mt-unsafe) */
    unsetenv("REEVE_LISTEN");      /* NOLINT(concurrency-mt-unsafe) */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
