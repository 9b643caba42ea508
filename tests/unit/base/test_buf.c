/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void grows_on_the_heap(void **state)
{
    struct buf b = {0};
    for (int i = 0; i < 10000; i++)
        buf_add_char(&b, (char)('a' + i % 26));
    assert_int_equal(b.n, 10000);
    assert_int_equal(b.p[9999], 'a' + 9999 % 26);
    buf_done(&b);
    assert_null(b.p);
    buf_done(&b);
}

static void grows_in_an_arena(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a}, other = {.arena = &a};
    for (int i = 0; i < 1000; i++) {
        buf_add_str(&b, S("0123456789"));
        buf_add_char(&other, 'x');
    }
    assert_int_equal(b.n, 10000);
    assert_memory_equal(b.p + 9990, "0123456789", 10);
    assert_int_equal(other.p[999], 'x');
    buf_done(&b);
}

static void adding_nothing_takes_no_memory(void **state)
{
    struct buf b = {0};
    buf_add_str(&b, (str){0});
    buf_add(&b, NULL, 0);
    assert_null(b.p);
    assert_int_equal(buf_str(&b).n, 0);
}

static void formats_behind_what_is_there(void **state)
{
    struct buf b = {0};
    buf_fmt(&b, "%s", "");
    buf_fmt(&b, "%d,", 42);
    buf_fmt(&b, "%s", "a text that is longer than the first block of memory that a buffer gets");
    assert_true(str_has_prefix(buf_str(&b), S("42,a text")));
    assert_true(str_has_suffix(buf_str(&b), S("buffer gets")));
    buf_done(&b);
}

static void adds_numbers(void **state)
{
    struct buf b = {0};
    buf_add_uint(&b, 0);
    buf_add_char(&b, ' ');
    buf_add_uint(&b, 1203);
    buf_add_char(&b, ' ');
    buf_add_uint(&b, UINT64_MAX);
    assert_true(str_eq(buf_str(&b), S("0 1203 18446744073709551615")));
    buf_done(&b);
}

static void room_for_more_is_kept(void **state)
{
    struct buf b = {0};
    buf_grow(&b, 1000);
    const char *p = b.p;
    for (int i = 0; i < 1000; i++)
        buf_add_char(&b, 'x');
    assert_ptr_equal(b.p, p);
    buf_done(&b);
}

/* Expectations are what Go's %q prints. */
static void quotes_as_go_does(void **state)
{
    static const struct {
        str text, quoted;
    } rows[] = {
        {S_INIT(""), S_INIT("\"\"")},
        {S_INIT("plain"), S_INIT("\"plain\"")},
        {S_INIT("a\"b\\c"), S_INIT("\"a\\\"b\\\\c\"")},
        {S_INIT("\a\b\f\n\r\t\v"), S_INIT("\"\\a\\b\\f\\n\\r\\t\\v\"")},
        {S_INIT("a\0b"), S_INIT("\"a\\x00b\"")},
        {S_INIT("\x1b\x7f"), S_INIT("\"\\x1b\\x7f\"")},
        {S_INIT("é日本"), S_INIT("\"é日本\"")},
        {S_INIT("\xf0\x9f\x98\x80"), S_INIT("\"\xf0\x9f\x98\x80\"")},
        {S_INIT("\xff\xfe"), S_INIT("\"\\xff\\xfe\"")},
        {S_INIT("é\xc3"), S_INIT("\"é\\xc3\"")},
        {S_INIT("\xc2\xa0"), S_INIT("\"\\u00a0\"")},
        {S_INIT("\xe2\x80\xa8"), S_INIT("\"\\u2028\"")},
        {S_INIT("\xef\xbb\xbf"), S_INIT("\"\\ufeff\"")},
        {S_INIT("\xef\xbf\xbd"), S_INIT("\"\xef\xbf\xbd\"")},
        {S_INIT("it's"), S_INIT("\"it's\"")},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf b = {0};
        buf_add_quoted(&b, rows[i].text);
        if (!str_eq(buf_str(&b), rows[i].quoted))
            fail_msg("got %.*s, want %.*s", STR(buf_str(&b)), STR(rows[i].quoted));
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_on_the_heap),
        cmocka_unit_test(grows_in_an_arena),
        cmocka_unit_test(adding_nothing_takes_no_memory),
        cmocka_unit_test(formats_behind_what_is_there),
        cmocka_unit_test(adds_numbers),
        cmocka_unit_test(room_for_more_is_kept),
        cmocka_unit_test(quotes_as_go_does),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
