/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct sink {
    struct buf text;
    int lines;
};

static void keep(void *ctx, str line)
{
    struct sink *s = ctx;
    buf_add_str(&s->text, line);
    s->lines++;
}

/* 2026-11-15T21:22:23.456Z */
static struct clock_fake noon = {.wall = INT64_C(1794777743) * 1000000000 + 456789000};

static struct log log_to(struct sink *s, enum log_level level)
{
    return (struct log){.level = level, .clock = clock_of_fake(&noon), .write = keep, .ctx = s};
}

static void assert_line(struct sink *s, str want)
{
    if (!str_eq(buf_str(&s->text), want))
        fail_msg("got %.*s, want %.*s", STR(buf_str(&s->text)), STR(want));
    assert_int_equal(s->lines, 1);
    buf_done(&s->text);
}

static void line_has_time_level_and_message(void **state)
{
    struct sink s = {0};
    struct log l = log_to(&s, LOG_DEBUG);
    log_line(&l, LOG_WARN, "going");
    assert_line(&s, S("time=2026-11-15T21:22:23.456Z level=warn msg=going\n"));
}

static void fields_follow_in_order(void **state)
{
    struct sink s = {0};
    struct log l = log_to(&s, LOG_INFO);
    log_line(&l, LOG_INFO, "listening", LOG_STR("address", S("127.0.0.1:6443")), LOG_INT("pid", -42));
    assert_line(&s, S("time=2026-11-15T21:22:23.456Z level=info msg=listening address=127.0.0.1:6443 pid=-42\n"));
}

static void values_are_quoted_when_needed(void **state)
{
    struct sink s = {0};
    struct log l = log_to(&s, LOG_INFO);
    log_line(&l, LOG_ERROR, "it failed", LOG_STR("a", S("")), LOG_STR("b", S("x=y")), LOG_STR("c", S("q\"q")),
             LOG_STR("d", S("é")), LOG_STR("e", S("\xff")), LOG_STR("f", S("a\\b")));
    assert_line(&s, S("time=2026-11-15T21:22:23.456Z level=error msg=\"it failed\" a=\"\" b=\"x=y\" c=\"q\\\"q\" d=é "
                      "e=\"\\xff\" f=\"a\\\\b\"\n"));
}

/* Whatever a peer sends, one event is one line. */
static void line_breaks_cannot_be_smuggled_in(void **state)
{
    struct sink s = {0};
    struct log l = log_to(&s, LOG_INFO);
    log_line(&l, LOG_INFO, "got", LOG_STR("name", S("x\ntime=1970 level=error msg=forged")));
    assert_line(&s, S("time=2026-11-15T21:22:23.456Z level=info msg=got "
                      "name=\"x\\ntime=1970 level=error msg=forged\"\n"));
}

static void lines_below_the_level_are_not_made(void **state)
{
    struct sink s = {0};
    struct log l = log_to(&s, LOG_WARN);
    log_line(&l, LOG_DEBUG, "a");
    log_line(&l, LOG_INFO, "b");
    assert_int_equal(s.lines, 0);
    log_line(&l, LOG_WARN, "c");
    log_line(&l, LOG_ERROR, "d");
    assert_int_equal(s.lines, 2);
    buf_done(&s.text);
}

static void count_lines(struct sink *s, struct log *l, struct log_limit *limit, int n, int want)
{
    s->lines = 0;
    for (int i = 0; i < n; i++)
        log_line_limited(l, limit, LOG_WARN, "again", LOG_INT("i", i));
    assert_int_equal(s->lines, want);
}

static void a_limit_bounds_lines_and_counts_the_rest(void **state)
{
    struct sink s = {0};
    struct clock_fake time = noon;
    struct log l = {.level = LOG_INFO, .clock = clock_of_fake(&time), .write = keep, .ctx = &s};
    struct log_limit limit = {0}, other = {0};
    count_lines(&s, &l, &limit, LOG_BURST, LOG_BURST);
    assert_true(str_find(buf_str(&s.text), S("suppressed")) < 0);
    count_lines(&s, &l, &limit, 1000, 0);
    clock_fake_advance(&time, LOG_INTERVAL_NS - 1);
    count_lines(&s, &l, &limit, 5, 0);
    count_lines(&s, &l, &other, 1, 1); /* each kind of line has its own */
    buf_done(&s.text);
    clock_fake_advance(&time, 1);
    s.lines = 0;
    log_line_limited(&l, &limit, LOG_WARN, "again", LOG_STR("a", S("b")));
    assert_line(&s, S("time=2026-11-15T21:22:24.456Z level=warn msg=again a=b suppressed=1005\n"));
    count_lines(&s, &l, &limit, 1, 0);
    clock_fake_advance(&time, 3 * (int64_t)LOG_INTERVAL_NS); /* what was not used adds up… */
    count_lines(&s, &l, &limit, 10, 3);
    clock_fake_advance(&time, 1000 * (int64_t)LOG_INTERVAL_NS); /* …to a burst at most */
    count_lines(&s, &l, &limit, 1000, LOG_BURST);
    buf_done(&s.text);
}

static void lines_below_the_level_use_up_no_limit(void **state)
{
    struct sink s = {0};
    struct log l = log_to(&s, LOG_ERROR);
    struct log_limit limit = {0};
    count_lines(&s, &l, &limit, 1000, 0);
    l.level = LOG_INFO;
    count_lines(&s, &l, &limit, LOG_BURST, LOG_BURST);
    count_lines(&s, &l, NULL, 1000, 1000);
    assert_true(str_find(buf_str(&s.text), S("suppressed")) < 0);
    buf_done(&s.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_has_time_level_and_message),
        cmocka_unit_test(fields_follow_in_order),
        cmocka_unit_test(values_are_quoted_when_needed),
        cmocka_unit_test(line_breaks_cannot_be_smuggled_in),
        cmocka_unit_test(lines_below_the_level_are_not_made),
        cmocka_unit_test(a_limit_bounds_lines_and_counts_the_rest),
        cmocka_unit_test(lines_below_the_level_use_up_no_limit),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
