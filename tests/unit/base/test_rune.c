/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_runes(str s, const uint32_t *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(s.n > 0);
        assert_int_equal(rune_next(&s), want[i]);
    }
    assert_int_equal(s.n, 0);
}

static void test_next(void **state)
{
    static const uint32_t good[] = {'a', 0xe9, 0x20ac, 0x1f600};
    static const uint32_t bad[] = {RUNE_BAD, RUNE_BAD, 'x', RUNE_BAD, RUNE_BAD, RUNE_BAD};
    assert_runes(S("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), good, 4);
    assert_runes(S("\xff\xc3x\xed\xa0\x80"), bad, 6);
}

static void test_print(void **state)
{
    assert_true(rune_is_print(' ') && rune_is_print('~') && rune_is_print(0xe9) && rune_is_print(0x1f600));
    assert_true(rune_is_print(0xfffd));
    assert_false(rune_is_print(0x1f) || rune_is_print(0x7f) || rune_is_print(0x80) || rune_is_print(0xa0));
    assert_false(rune_is_print(0xad) || rune_is_print(0x200b) || rune_is_print(0x2028) || rune_is_print(0x10ffff));
}

static void test_quoted(void **state)
{
    struct buf b = {0};
    buf_add_quoted(&b, S("a\"\\\n\x01\x7f\xc2\xad\xe2\x80\xa8\xf0\x9f\x98\x80\xff\xf4\x8f\xbf\xbf"));
    buf_add_char(&b, 0);
    assert_string_equal(b.p, "\"a\\\"\\\\\\n\\x01\\x7f\\u00ad\\u2028\xf0\x9f\x98\x80\\xff\\U0010ffff\"");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_quoted),
    };
    return cmocka_run_group_tests_name("rune", tests, NULL, NULL);
}
