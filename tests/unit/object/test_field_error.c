/* SPDX-License-Identifier: Apache-2.0 */
#include "object/field_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_text(str got, const char *want)
{
    assert_int_equal(got.n, strlen(want));
    assert_memory_equal(got.p, want, got.n);
}

static void test_paths(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    assert_text(field_child(&a, S("spec"), S("size")), "spec.size");
    assert_text(field_child(&a, S(""), S("size")), "size");
    assert_text(field_index(&a, S("spec.list"), 2), "spec.list[2]");
    assert_text(field_key(&a, S("data"), S("a.b")), "data[a.b]");
}

/* A list of a million errors must not become an answer of a million lines. */
static void test_too_many_are_counted(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &a};
    struct buf b = {.arena = &a};
    for (int i = 0; i < FIELD_ERRORS_MAX + 23; i++)
        field_error_add(&errs, FIELD_REQUIRED, S("x"), (str){0}, "%d", i % 2);
    assert_int_equal(errs.list.n, FIELD_ERRORS_MAX);
    assert_int_equal(errs.dropped, 23);
    field_errors_format(&b, &errs);
    assert_text(buf_str(&b), "[x: Required value: 0, x: Required value: 1, and 23 more]");
}

static void test_nothing_is_borrowed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &a};
    struct buf b = {.arena = &a};
    char field[] = "spec", value[] = "\"v\"";
    field_error_add(&errs, FIELD_INVALID, str_of(field), str_of(value), NULL);
    memset(field, 'x', sizeof field - 1);
    memset(value, 'x', sizeof value - 1);
    field_error_format(&b, &errs.list.p[0]);
    assert_text(buf_str(&b), "spec: Invalid value: \"v\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_too_many_are_counted),
        cmocka_unit_test(test_nothing_is_borrowed),
    };
    return cmocka_run_group_tests_name("field_error", tests, NULL, NULL);
}
