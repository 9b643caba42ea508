/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void set_keeps_code_and_text(void **state)
{
    struct err err;
    assert_int_equal(err_set(&err, ERR_NOT_FOUND, "no %s called %d", "pod", 7), ERR_NOT_FOUND);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.msg, "no pod called 7");
}

static void nobody_need_ask_for_the_text(void **state)
{
    assert_int_equal(err_set(NULL, ERR_CONFLICT, "text"), ERR_CONFLICT);
    assert_true(err_wrap(NULL, "text") < 0);
}

static void wrap_puts_what_was_tried_in_front(void **state)
{
    struct err err;
    err_set(&err, ERR_IO, "no such file");
    assert_int_equal(err_wrap(&err, "open %s", "x.yaml"), ERR_IO);
    assert_string_equal(err.msg, "open x.yaml: no such file");
    err_wrap(&err, "start");
    assert_string_equal(err.msg, "start: open x.yaml: no such file");
}

/* A text too long ends with an ellipsis, never within a character. */
static void assert_cut(const struct err *err)
{
    str msg = str_of(err->msg);
    assert_true(msg.n < sizeof err->msg);
    assert_true(str_has_suffix(msg, S("…")));
    assert_true(str_is_utf8(msg));
}

static void long_text_is_cut_at_a_character(void **state)
{
    struct err err;
    char text[4 * sizeof err.msg + 4];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 4)
            memcpy(text + i, "\xf0\x9f\x98\x80", 5);
        err_set(&err, ERR_INVALID, "%s", text);
        assert_cut(&err);
        err_wrap(&err, "once more");
        assert_cut(&err);
        assert_true(str_has_prefix(str_of(err.msg), S("once more: ")));
        err_set(&err, ERR_INVALID, "short");
        err_wrap(&err, "%s", text);
        assert_cut(&err);
    }
}

static void text_that_just_fits_is_whole(void **state)
{
    struct err err;
    char text[sizeof err.msg];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&err, ERR_INVALID, "%s", text);
    assert_string_equal(err.msg, text);
    err_set(&err, ERR_INVALID, "%sy", text);
    assert_cut(&err);
}

static void codes_have_the_names_of_kubernetes(void **state)
{
    assert_string_equal(err_name(ERR_NONE), "None");
    assert_string_equal(err_name(ERR_NOT_FOUND), "NotFound");
    assert_string_equal(err_name(ERR_TOO_LARGE), "RequestEntityTooLarge");
    assert_string_equal(err_name(ERR_INVALID), "Invalid");
    assert_string_equal(err_name(ERR_UNAVAILABLE), "ServiceUnavailable");
    assert_string_equal(err_name(ERR_INTERNAL), "InternalError");
    assert_string_equal(err_name(ERR_IO), "IO");
    assert_string_equal(err_name((enum err_code) - 1000), "Unknown");
    assert_string_equal(err_name((enum err_code)5), "Unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_keeps_code_and_text),           cmocka_unit_test(nobody_need_ask_for_the_text),
        cmocka_unit_test(wrap_puts_what_was_tried_in_front), cmocka_unit_test(long_text_is_cut_at_a_character),
        cmocka_unit_test(text_that_just_fits_is_whole),      cmocka_unit_test(codes_have_the_names_of_kubernetes),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
