/* SPDX-License-Identifier: Apache-2.0 */
/* How command lines are read. The page is that of reeve check, because a table and its page must agree. */
#include "cli/flags.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct line {
    struct arena arena;
    str output;
    str namespace;
    bool is_verbose, is_quiet, output_given, ignores_kinds;
    int color;
    struct flag_words words;
    struct err err;
    int code;
};

static const char *const colors[] = {"auto", "always", "never", NULL};

#define READ(l, ...) read_line(l, (const char *const[]){"check", __VA_ARGS__, NULL})

static void read_line(struct line *l, const char *const *argv)
{
    int argc = 0;
    char **copy = arena_alloc(&l->arena, 16 * sizeof *copy);
    for (; argv[argc]; argc++)
        copy[argc] = str_cstr(&l->arena, str_of(argv[argc]));
    copy[argc] = NULL;
    const struct flag own[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_TEXT, .into = &l->output, .is_given = &l->output_given},
        {.letter = 'n', .name = "namespace", .kind = FLAG_TEXT, .into = &l->namespace},
        {.name = "ignore-unknown-kinds", .kind = FLAG_YES, .into = &l->ignores_kinds},
    };
    const struct flag shared[] = {
        {.letter = 'v', .name = "verbose", .kind = FLAG_YES, .into = &l->is_verbose},
        {.letter = 'q', .name = "quiet", .kind = FLAG_YES, .into = &l->is_quiet},
        {.name = "color", .kind = FLAG_WORD, .into = &l->color, .words = colors, .env = "TEST_COLOR"},
    };
    struct flags_args args = {&l->arena, "check", own, 3, shared, 3, argc, copy};
    l->code = flags_read(&args, &l->words, &l->err);
}

static void all_ways_to_give_a_value(void **state)
{
    static const char *const ways[][3] = {
        {"--output=yaml", NULL}, {"--output", "yaml", NULL}, {"-oyaml", NULL}, {"-o=yaml", NULL}, {"-o", "yaml", NULL}};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct line l = {0};
        READ(&l, ways[i][0], ways[i][1]);
        assert_int_equal(l.code, 0);
        assert_true(str_eq(l.output, S("yaml")) && l.output_given);
        assert_int_equal(l.words.n, 0);
        arena_done(&l.arena);
    }
    (void)state;
}

static void letters_come_together_and_words_in_between(void **state)
{
    struct line l = {0};
    READ(&l, "a", "-vqo", "json", "-", "b", "--", "-q", "--output");
    assert_int_equal(l.code, 0);
    assert_true(l.is_verbose && l.is_quiet && str_eq(l.output, S("json")));
    assert_int_equal(l.words.n, 5);
    assert_string_equal(l.words.p[0], "a");
    assert_string_equal(l.words.p[1], "-");
    assert_string_equal(l.words.p[3], "-q");
    assert_null(l.words.p[5]);
    arena_done(&l.arena);
    (void)state;
}

static void a_switch_may_be_switched_off(void **state)
{
    struct line l = {.is_quiet = true};
    READ(&l, "--quiet=false", "--verbose=true");
    assert_int_equal(l.code, 0);
    assert_true(!l.is_quiet && l.is_verbose);
    READ(&l, "--quiet=perhaps");
    assert_int_equal(l.code, ERR_BAD_REQUEST);
    assert_string_equal(l.err.msg, "--quiet=perhaps: say true or false, or nothing");
    arena_done(&l.arena);
    (void)state;
}

static void the_command_line_counts_before_the_environment(void **state)
{
    struct line l = {0};
    assert_int_equal(setenv("TEST_COLOR", "never", 1), 0);
    READ(&l, "x");
    assert_int_equal(l.color, 2);
    READ(&l, "--color=always");
    assert_int_equal(l.color, 1);
    assert_int_equal(setenv("TEST_COLOR", "pink", 1), 0);
    READ(&l, "x");
    assert_int_equal(l.code, ERR_BAD_REQUEST);
    assert_string_equal(l.err.msg, "$TEST_COLOR: --color \"pink\": say auto, always or never");
    READ(&l, "--color=always");
    assert_int_equal(l.code, 0); /* nobody asks for the variable */
    assert_int_equal(setenv("TEST_COLOR", "", 1), 0);
    READ(&l, "x");
    assert_int_equal(l.code, 0);
    assert_int_equal(unsetenv("TEST_COLOR"), 0);
    arena_done(&l.arena);
    (void)state;
}

static void what_makes_no_sense_is_told(void **state)
{
    static const struct {
        const char *word, *told;
    } rows[] = {
        {"--outptu=x", "unknown flag --outptu, did you mean --output?"},
        {"--nothing-like-it", "unknown flag --nothing-like-it"},
        {"-x", "unknown flag -x"},
        {"-\x1b", "unknown flag -?"},
        {"-vx", "unknown flag -x"},
        {"--output=", "--output needs a value"},
        {"--output", "--output needs a value"},
        {"-o", "--output needs a value"},
        {"--color=pink", "--color \"pink\": say auto, always or never"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct line l = {0};
        READ(&l, rows[i].word);
        assert_int_equal(l.code, ERR_BAD_REQUEST);
        assert_string_equal(l.err.msg, rows[i].told);
        arena_done(&l.arena);
    }
    (void)state;
}

static void near_words(void **state)
{
    static const char *const list[] = {"install", "uninstall", "up", "why", NULL};
    assert_string_equal(flags_nearest("instal", list), "install");
    assert_string_equal(flags_nearest("unistall", list), "uninstall");
    assert_string_equal(flags_nearest("wy", list), "why");
    assert_null(flags_nearest("completely-else", list));
    assert_null(flags_nearest("", (const char *const[]){NULL}));
    char long_word[200];
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = 0;
    assert_null(flags_nearest(long_word, list));
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_to_give_a_value),
        cmocka_unit_test(letters_come_together_and_words_in_between),
        cmocka_unit_test(a_switch_may_be_switched_off),
        cmocka_unit_test(the_command_line_counts_before_the_environment),
        cmocka_unit_test(what_makes_no_sense_is_told),
        cmocka_unit_test(near_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
