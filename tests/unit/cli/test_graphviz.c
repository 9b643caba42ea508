/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures by a program called dot that does as it likes: what it draws is taken, and nobody waits for it without end. */
#include "cli/tree_internal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LONG (INT64_C(600) * 1000000000) /* nobody waits for that: a test that needs it hangs, and fails */
#define SHORT INT64_C(10000000)

/* A folder with a script called dot, which is all of $PATH. */
struct place {
    struct arena arena;
    char dir[32];
    const char *file;
};

static void open_place(struct place *p, const char *script)
{
    *p = (struct place){.dir = "/tmp/reeve-dot-XXXXXX"};
    assert_non_null(mkdtemp(p->dir));
    p->file = str_cstr(&p->arena, str_fmt(&p->arena, "%s/dot", p->dir));
    FILE *f = fopen(p->file, "we");
    assert_non_null(f);
    assert_true(fprintf(f, "#!/bin/sh\nPATH=/usr/bin:/bin\n%s\n", script) > 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(p->file, 0700), 0);
    assert_int_equal(setenv("PATH", p->dir, 1), 0);
}

/* And no process of ours is left. */
static void close_place(struct place *p)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(unlink(p->file), 0);
    assert_int_equal(rmdir(p->dir), 0);
    arena_done(&p->arena);
}

static void expect(const char *script, str dot, int64_t limit_ns, const char *want)
{
    struct place p;
    struct err err = {0};
    str svg = {0};
    open_place(&p, script);
    int code = graphviz_draw(&p.arena, dot, limit_ns, &svg, &err);
    const char *got = code < 0 ? err.msg : str_cstr(&p.arena, svg);
    assert_string_equal(got, want);
    close_place(&p);
}

static void what_it_draws_is_taken(void **state)
{
    (void)state;
    expect("tr a-z A-Z", S("digraph"), LONG, "DIGRAPH");
    expect("exit 3", S("digraph"), LONG, "dot failed");
}

#define GIVEN_UP "dot took too long for the picture and was ended"

static void it_is_not_waited_for_without_end(void **state)
{
    (void)state;
    expect("exec sleep 600", S("digraph"), SHORT, GIVEN_UP);
    expect("echo half; exec sleep 600", S("digraph"), SHORT, GIVEN_UP);
    expect("while :; do echo more; done", S("digraph"), SHORT, GIVEN_UP);
}

static void nor_when_it_has_closed_its_output(void **state)
{
    (void)state;
    expect("echo all; exec sleep 600 >&-", S("digraph"), SHORT, GIVEN_UP);
}

/* Much more than a pipe holds, and it never reads: the text is in a file, so nobody waits for that. */
static void nor_for_what_it_does_not_read(void **state)
{
    enum { MUCH = 1 << 20 };
    struct arena a ARENA_SCOPE = {0};
    struct buf dot = {.arena = &a};
    (void)state;
    while (dot.n < MUCH)
        buf_add_str(&dot, S("a -> b;\n"));
    expect("echo unread", buf_str(&dot), LONG, "unread\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_draws_is_taken),
        cmocka_unit_test(it_is_not_waited_for_without_end),
        cmocka_unit_test(nor_when_it_has_closed_its_output),
        cmocka_unit_test(nor_for_what_it_does_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
