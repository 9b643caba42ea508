/* SPDX-License-Identifier: Apache-2.0 */
/* Text of others: nothing of it reaches a terminal that would be obeyed, or that would make it look like another text. */
#include "base/arena.h"
#include "cli/term.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_shown(str text, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    str got = cli_visible(&a, text);
    if (!str_eq(got, str_of(want)))
        fail_msg("want: %s\ngot:  %.*s", want, STR(got));
    assert_true(!cli_is_visible(text) || str_eq(text, got));
    assert_true(str_eq(cli_visible(&a, got), got)); /* shown twice is shown alike */
}

static void words_are_as_they_are(void **state)
{
    (void)state;
    assert_shown(S(""), "");
    assert_shown(S("a name, ~and \\ more"), "a name, ~and \\ more");
    assert_shown(S("Zürich → 東京 ✔ \xf0\x9f\x8e\x89"), "Zürich → 東京 ✔ \xf0\x9f\x8e\x89");
}

static void what_a_terminal_obeys_is_shown(void **state)
{
    (void)state;
    assert_shown(S("\x1b[2J"), "\\x1b[2J");
    assert_shown(S("one\ntwo\r\t\x7f"), "one\\x0atwo\\x0d\\x09\\x7f");
    assert_shown(S("a\0b"), "a\\x00b");
    assert_shown(S("\xc2\x9b"
                   "2J"),
                 "\\x9b2J");
}

static void bytes_that_are_no_text_are_shown(void **state)
{
    (void)state;
    assert_shown(S("\x9b"
                   "2J"),
                 "\\x9b2J");
    assert_shown(S("\xff\xc3"), "\\xff\\xc3");
    assert_shown(S("\xed\xa0\x80"), "\\xed\\xa0\\x80"); /* half of a pair */
}

static void what_hides_or_turns_text_is_shown(void **state)
{
    (void)state;
    assert_shown(S("admin\xe2\x80\xaetxt\xe2\x80\xac"), "admin\\u202etxt\\u202c");
    assert_shown(S("a\xe2\x81\xa6"
                   "b\xe2\x80\xa8"
                   "c\xe2\x81\xa9"),
                 "a\\u2066b\\u2028c\\u2069");
    assert_shown(S("ro\xe2\x80\x8bot\xef\xbb\xbf"), "ro\\u200bot\\ufeff");
    assert_shown(S("\xf3\xa0\x80\x81"), "\\U000e0001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_as_they_are),
        cmocka_unit_test(what_a_terminal_obeys_is_shown),
        cmocka_unit_test(bytes_that_are_no_text_are_shown),
        cmocka_unit_test(what_hides_or_turns_text_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
