/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as Prometheus reads them. */
#include "base/metric.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/arena.h"

static const double bounds[] = {1e-8, 0.25, 2};

static void assert_text(const struct buf *b, const char *want)
{
    if (!str_eq(buf_str(b), str_of(want)))
        fail_msg("\n%.*s", STR(buf_str(b)));
}

static void buckets_add_up(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    struct histogram h = {.bounds = bounds, .n_bounds = 3};
    static const double values[] = {0, 1e-8, 0.25, 0.26, 2, 3, 4.5};
    for (size_t i = 0; i < 7; i++)
        histogram_add(&h, values[i]);
    assert_int_equal(histogram_count(&h), 7);
    metric_histogram(&b, "x_seconds", S("a=\"b\""), &h);
    assert_text(&b, "x_seconds_bucket{a=\"b\",le=\"1e-08\"} 2\n"
                    "x_seconds_bucket{a=\"b\",le=\"0.25\"} 3\n"
                    "x_seconds_bucket{a=\"b\",le=\"2\"} 5\n"
                    "x_seconds_bucket{a=\"b\",le=\"+Inf\"} 7\n"
                    "x_seconds_sum{a=\"b\"} 10.01\n"
                    "x_seconds_count{a=\"b\"} 7\n");
}

static void labels_may_be_missing(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    struct histogram h = {.bounds = bounds, .n_bounds = 1};
    metric_head(&b, "y", "gauge", "Of y.");
    metric_value(&b, "y", (str){0}, 0.5);
    metric_count(&b, "y_total", (str){0}, UINT64_MAX);
    metric_count(&b, "y_total", S("q=\"1\""), 0);
    metric_histogram(&b, "z", (str){0}, &h);
    assert_text(&b, "# HELP y Of y.\n# TYPE y gauge\ny 0.5\n"
                    "y_total 18446744073709551615\ny_total{q=\"1\"} 0\n"
                    "z_bucket{le=\"1e-08\"} 0\nz_bucket{le=\"+Inf\"} 0\nz_sum 0\nz_count 0\n");
}

static void labels_are_escaped(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    metric_label(&b, "a", S("x"));
    metric_label(&b, "b", S("\"\\\n"));
    metric_label(&b, "c", (str){0});
    assert_text(&b, "a=\"x\",b=\"\\\"\\\\\\n\",c=\"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_add_up),
        cmocka_unit_test(labels_may_be_missing),
        cmocka_unit_test(labels_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
