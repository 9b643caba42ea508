/* SPDX-License-Identifier: Apache-2.0 */
/* What does not fit into the columns of a terminal: lines go on below, and so do tables; nothing is cut. */
#include "base/arena.h"
#include "cli/cli_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void assert_text(const struct buf *got, const char *want)
{
    if (!str_eq(buf_str(got), str_of(want)))
        fail_msg("want:\n%s\ngot:\n%.*s", want, STR(buf_str(got)));
}

/* ---- Lines. ---- */

static void assert_wrapped(const struct term *t, size_t width, str text, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf got = {.arena = &a};
    const struct term_wrap wrap = {.width = width, .lead = S("├── "), .hang = S("│   ")};
    term_add_wrapped(&got, t, &wrap, text);
    assert_text(&got, want);
}

static void lines_that_fit_stay(void **state)
{
    (void)state;
    const struct term plain = {0};
    assert_wrapped(&plain, 20, S(""), "├── \n");
    assert_wrapped(&plain, 20, S("one  two"), "├── one  two\n");
    assert_wrapped(&plain, 16, S("twelve signs"), "├── twelve signs\n");
    assert_wrapped(&plain, 16, S("zwölf Zeichen"), "├── zwölf\n│   Zeichen\n");
    assert_wrapped(&plain, 17, S("zwölf Zeichen"), "├── zwölf Zeichen\n"); /* letters count, not bytes */
}

static void nobody_knows_the_width(void **state)
{
    (void)state;
    const struct term plain = {0};
    assert_wrapped(&plain, 0, S("a line for a program, which is as long as it is"),
                   "├── a line for a program, which is as long as it is\n");
}

static void words_are_never_broken(void **state)
{
    (void)state;
    const struct term plain = {0};
    assert_wrapped(&plain, 12, S("a word-that-is-longer-than-the-line b"),
                   "├── a\n│   word-that-is-longer-than-the-line\n│   b\n");
}

static void styles_take_no_room_and_end_with_the_line(void **state)
{
    (void)state;
    const struct term colours = {.has_color = true};
    struct arena a ARENA_SCOPE = {0};
    struct buf text = {.arena = &a};
    buf_add_str(&text, S("by "));
    term_add(&text, &colours, STYLE_NAME, S("two words"));
    buf_add_str(&text, S(" more"));
    assert_wrapped(&colours, 21, buf_str(&text), "├── by \x1b[36mtwo words\x1b[0m more\n");
    assert_wrapped(&colours, 10, buf_str(&text), "├── by \x1b[36mtwo\x1b[0m\n│   \x1b[36mwords\x1b[0m\n│   more\n");
}

/* ---- Tables. ---- */

static void assert_table(size_t width, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf got = {.arena = &a};
    struct table t = {.arena = &a, .columns = 4, .width = width};
    cli_table_add(&t, (const str[]){S("NAME"), S("SCOPE"), S("BINDING"), S("ROLE")});
    cli_table_add(&t, (const str[]){S("ann"), S("cluster"), S("ann"), S("")});
    cli_table_add(&t, (const str[]){S("bob"), S("ops"), S("all-of-ops"), S("häuser")});
    cli_table_print(&got, &t);
    assert_text(&got, want);
}

static void tables_that_fit_stay(void **state)
{
    (void)state;
    const char *whole = "NAME   SCOPE     BINDING      ROLE\n"
                        "ann    cluster   ann\n"
                        "bob    ops       all-of-ops   häuser\n";
    assert_table(0, whole);
    assert_table(36, whole);
}

static void the_last_columns_go_below(void **state)
{
    (void)state;
    assert_table(35, "NAME   SCOPE     BINDING\n"
                     "ann    cluster   ann\n"
                     "bob    ops       all-of-ops\n"
                     "  ROLE   häuser\n");
    assert_table(26, "NAME   SCOPE\n"
                     "ann    cluster\n"
                     "  BINDING   ann\n"
                     "bob    ops\n"
                     "  BINDING   all-of-ops\n"
                     "  ROLE      häuser\n");
    assert_table(1, "NAME\n"
                    "ann\n"
                    "  SCOPE     cluster\n"
                    "  BINDING   ann\n"
                    "bob\n"
                    "  SCOPE     ops\n"
                    "  BINDING   all-of-ops\n"
                    "  ROLE      häuser\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_fit_stay),    cmocka_unit_test(nobody_knows_the_width),
        cmocka_unit_test(words_are_never_broken), cmocka_unit_test(styles_take_no_room_and_end_with_the_line),
        cmocka_unit_test(tables_that_fit_stay),   cmocka_unit_test(the_last_columns_go_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
