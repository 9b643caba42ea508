/* SPDX-License-Identifier: Apache-2.0 */
/* Words for a shell, read back by one. */
#include "base/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"

/* What sh makes of it as an argument: said back byte by byte. */
static str read_back(struct arena *a, str word)
{
    int ends[2];
    struct buf got = {.arena = a};
    char *script = str_cstr(a, str_fmt(a, "printf %%s %.*s", STR(word)));
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t n = 1; n > 0; got.n += n > 0 ? (size_t)n : 0) {
        buf_grow(&got, 256);
        n = read(ends[0], got.p + got.n, got.cap - got.n);
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return buf_str(&got);
}

static void a_shell_reads_it_back(void **state)
{
    static const char *const words[] = {"plain",     "with space", "it's",      "''", "$HOME", "$(ls)", "`ls`", "a\"b",
                                        "back\\sla", "semi;colon", "new\nline", "*",  "~",     "a&b",   "é ü",  "-n"};
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(words); i++) {
        struct buf b = {.arena = &a};
        shell_add_word(&b, str_of(words[i]));
        str back = read_back(&a, buf_str(&b));
        if (!str_eq(back, str_of(words[i])))
            fail_msg("%s became %.*s", words[i], STR(back));
    }
    (void)state;
}

static void quotes_only_where_they_are_needed(void **state)
{
    static const char *const rows[][2] = {{"system:serviceaccount:a:b", "system:serviceaccount:a:b"},
                                          {"jane@example.com", "jane@example.com"},
                                          {"", "''"},
                                          {"a b", "'a b'"},
                                          {"it's", "'it'\\''s'"}};
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf b = {.arena = &a};
        shell_add_word(&b, str_of(rows[i][0]));
        assert_string_equal(str_cstr(&a, buf_str(&b)), rows[i][1]);
        assert_string_equal(str_cstr(&a, shell_word(&a, str_of(rows[i][0]))), rows[i][1]);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shell_reads_it_back),
        cmocka_unit_test(quotes_only_where_they_are_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
