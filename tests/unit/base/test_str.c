/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define assert_str(got, want)                                       \
    do {                                                            \
        str got_ = (got), want_ = (want);                           \
        if (!str_eq(got_, want_))                                   \
            fail_msg("got %.*s, want %.*s", STR(got_), STR(want_)); \
    } while (0)

static void zero_value_is_the_empty_string(void **state)
{
    str zero = {0};
    assert_true(str_eq(zero, S("")));
    assert_int_equal(str_cmp(zero, S("")), 0);
    assert_true(str_has_prefix(zero, zero));
    assert_true(str_has_suffix(S("a"), zero));
    assert_int_equal(str_find(zero, S("a")), -1);
    assert_int_equal(str_find(zero, zero), 0);
    assert_int_equal(str_find_char(zero, 'a'), -1);
    assert_str(str_trim(zero), S(""));
    assert_str(str_of(NULL), S(""));
    assert_true(str_is_utf8(zero));
    assert_int_equal(str_utf8_len(zero), 0);
}

static void equality_counts_bytes(void **state)
{
    assert_true(str_eq(S("abc"), S("abc")));
    assert_false(str_eq(S("abc"), S("abd")));
    assert_false(str_eq(S("abc"), S("ab")));
    assert_true(str_eq(S("a\0b"), S("a\0b")));
    assert_false(str_eq(S("a\0b"), S("a\0c")));
}

static void order_is_bytewise(void **state)
{
    assert_true(str_cmp(S("a"), S("b")) < 0);
    assert_true(str_cmp(S("b"), S("a")) > 0);
    assert_true(str_cmp(S("a"), S("ab")) < 0);
    assert_true(str_cmp(S("B"), S("a")) < 0);
    assert_true(str_cmp(S("z"), S("é")) < 0);
    assert_true(str_cmp(S("\x7f"), S("\x80")) < 0);
    assert_int_equal(str_cmp(S("same"), S("same")), 0);
}

static void slices_stay_inside(void **state)
{
    assert_str(str_from(S("hello"), 2), S("llo"));
    assert_str(str_from(S("hello"), 5), S(""));
    assert_str(str_from(S("hello"), 9), S(""));
    assert_str(str_upto(S("hello"), 2), S("he"));
    assert_str(str_upto(S("hello"), 9), S("hello"));
}

static void prefix_suffix_and_search(void **state)
{
    assert_true(str_has_prefix(S("abc"), S("ab")));
    assert_false(str_has_prefix(S("ab"), S("abc")));
    assert_true(str_has_suffix(S("abc"), S("bc")));
    assert_false(str_has_suffix(S("bc"), S("abc")));
    assert_int_equal(str_find_char(S("abcb"), 'b'), 1);
    assert_int_equal(str_find_char(S("abc"), 'x'), -1);
    assert_int_equal(str_find(S("abcabd"), S("abd")), 3);
    assert_int_equal(str_find(S("abc"), S("abcd")), -1);
    assert_int_equal(str_find(S("abc"), S("")), 0);
}

static void trim_takes_blanks_off_both_ends(void **state)
{
    assert_str(str_trim(S(" \t\r\n a b \v\f")), S("a b"));
    assert_str(str_trim(S("   ")), S(""));
    assert_str(str_trim(S("x")), S("x"));
}

static void cut_parts_at_the_first(void **state)
{
    str before, rest;
    assert_true(str_cut(S("a=b=c"), '=', &before, &rest));
    assert_str(before, S("a"));
    assert_str(rest, S("b=c"));
    assert_true(str_cut(S("=x"), '=', &before, &rest));
    assert_str(before, S(""));
    assert_str(rest, S("x"));
    assert_true(str_cut(S("x="), '=', &before, &rest));
    assert_str(before, S("x"));
    assert_str(rest, S(""));
    assert_false(str_cut(S("x"), '=', &before, &rest));
    assert_str(before, S("x"));
    assert_str(rest, S(""));
    str s = S("a,b,c");
    assert_true(str_cut(s, ',', &before, &s)); /* source and rest may be the same */
    assert_str(s, S("b,c"));
}

static void signed_numbers(void **state)
{
    static const struct {
        str text;
        bool ok;
        int64_t value;
    } rows[] = {
        {S_INIT("0"), true, 0},
        {S_INIT("-0"), true, 0},
        {S_INIT("+7"), true, 7},
        {S_INIT("007"), true, 7},
        {S_INIT("9223372036854775807"), true, INT64_MAX},
        {S_INIT("-9223372036854775808"), true, INT64_MIN},
        {S_INIT("9223372036854775808"), false, 0},
        {S_INIT("-9223372036854775809"), false, 0},
        {S_INIT(""), false, 0},
        {S_INIT("-"), false, 0},
        {S_INIT("+"), false, 0},
        {S_INIT("--1"), false, 0},
        {S_INIT("1 "), false, 0},
        {S_INIT(" 1"), false, 0},
        {S_INIT("1a"), false, 0},
        {S_INIT("0x1"), false, 0},
        {S_INIT("1.0"), false, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t v = 0;
        assert_int_equal(str_to_int64(rows[i].text, &v), rows[i].ok);
        assert_int_equal(v, rows[i].value);
    }
}

static void unsigned_numbers(void **state)
{
    uint64_t v = 5;
    assert_true(str_to_uint64(S("18446744073709551615"), &v));
    assert_true(v == UINT64_MAX);
    v = 5;
    assert_false(str_to_uint64(S("18446744073709551616"), &v));
    assert_false(str_to_uint64(S("99999999999999999999"), &v));
    assert_false(str_to_uint64(S("-1"), &v));
    assert_false(str_to_uint64(S("+1"), &v));
    assert_false(str_to_uint64(S(""), &v));
    assert_int_equal(v, 5);
}

static void utf8_as_rfc_3629_has_it(void **state)
{
    static const str good[] = {
        S_INIT("plain ascii that is long enough for whole words"),
        S_INIT("é"),
        S_INIT("日本語"),
        S_INIT("\xf0\x9f\x98\x80"),
        S_INIT("\xef\xbf\xbf"),
        S_INIT("\xf4\x8f\xbf\xbf"),
        S_INIT("\xed\x9f\xbf"),
        S_INIT("\xee\x80\x80"),
        S_INIT("a\0b"),
        S_INIT("1234567\xc3\xa9"),
    };
    static const str bad[] = {
        S_INIT("\x80"),
        S_INIT("\xbf"),
        S_INIT("\xc0\x80"),
        S_INIT("\xc1\xbf"),
        S_INIT("\xc3"),
        S_INIT("\xc3("),
        S_INIT("\xe0\x80\x80"),
        S_INIT("\xe0\x9f\xbf"),
        S_INIT("\xe2\x82"),
        S_INIT("\xed\xa0\x80"),
        S_INIT("\xed\xbf\xbf"),
        S_INIT("\xf0\x80\x80\x80"),
        S_INIT("\xf0\x8f\xbf\xbf"),
        S_INIT("\xf0\x9f\x98"),
        S_INIT("\xf4\x90\x80\x80"),
        S_INIT("\xf5\x80\x80\x80"),
        S_INIT("\xff"),
        S_INIT("12345678901234567890\xff"),
        S_INIT("1234567\xc3"),
        S_INIT("\xf8\x88\x80\x80\x80"),
    };
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(str_is_utf8(good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(str_is_utf8(bad[i]));
    assert_int_equal(str_utf8_len(S("aé日\xf0\x9f\x98\x80")), 4);
}

static void copies_are_of_their_own(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char text[] = "abc";
    str copy = str_dup(&a, str_of(text));
    const char *terminated = str_cstr(&a, (str){text, 2});
    text[0] = 'x';
    assert_str(copy, S("abc"));
    assert_string_equal(terminated, "ab");
    assert_non_null(str_dup(&a, (str){0}).p);
    assert_string_equal(str_cstr(&a, (str){0}), "");
    assert_str(str_fmt(&a, "%s-%d", "x", 5), S("x-5"));
    assert_str(str_fmt(&a, "%s", ""), S(""));
}

/* The cut is between characters, and shown. */
static void clips_what_is_too_long_to_quote(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf plain = {.arena = &a}, wide = {.arena = &a};
    for (int i = 0; i < STR_QUOTED_MAX; i++)
        buf_add_char(&plain, 'x');
    assert_ptr_equal(str_clip(&a, buf_str(&plain)).p, plain.p);
    buf_add_char(&plain, 'x');
    str clipped = str_clip(&a, buf_str(&plain));
    assert_int_equal(clipped.n, STR_QUOTED_MAX);
    assert_true(str_has_suffix(clipped, S("x\u2026")));
    for (int i = 0; i < STR_QUOTED_MAX; i++)
        buf_add_str(&wide, S("\u00e4"));
    buf_add_char(&plain, 'x');
    for (size_t skip = 0; skip < 4; skip++) {
        struct buf b = {.arena = &a};
        buf_add_str(&b, str_upto(buf_str(&plain), skip));
        buf_add_str(&b, buf_str(&wide));
        clipped = str_clip(&a, buf_str(&b));
        assert_in_range(clipped.n, STR_QUOTED_MAX - 1, STR_QUOTED_MAX);
        assert_true(str_is_utf8(clipped));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_value_is_the_empty_string),
        cmocka_unit_test(equality_counts_bytes),
        cmocka_unit_test(order_is_bytewise),
        cmocka_unit_test(slices_stay_inside),
        cmocka_unit_test(prefix_suffix_and_search),
        cmocka_unit_test(trim_takes_blanks_off_both_ends),
        cmocka_unit_test(cut_parts_at_the_first),
        cmocka_unit_test(signed_numbers),
        cmocka_unit_test(unsigned_numbers),
        cmocka_unit_test(utf8_as_rfc_3629_has_it),
        cmocka_unit_test(copies_are_of_their_own),
        cmocka_unit_test(clips_what_is_too_long_to_quote),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
