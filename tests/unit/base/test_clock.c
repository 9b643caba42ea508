/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static void assert_time(int64_t seconds, uint32_t nanos, int digits, str want)
{
    struct buf b = {0};
    time_format(&b, seconds, nanos, digits);
    if (!str_eq(buf_str(&b), want))
        fail_msg("got %.*s, want %.*s", STR(buf_str(&b)), STR(want));
    buf_done(&b);
}

static void formats_as_kubernetes_does(void **state)
{
    assert_time(0, 0, 0, S("1970-01-01T00:00:00Z"));
    assert_time(1794777743, 0, 0, S("2026-11-15T21:22:23Z"));
    assert_time(1794777743, 5000, 6, S("2026-11-15T21:22:23.000005Z"));
    assert_time(1794777743, 123456789, 3, S("2026-11-15T21:22:23.123Z"));
    assert_time(1794777743, 123456789, 9, S("2026-11-15T21:22:23.123456789Z"));
    assert_time(-1, 0, 0, S("1969-12-31T23:59:59Z"));
    assert_time(951782400, 0, 0, S("2000-02-29T00:00:00Z"));
    assert_time(-62135596800, 0, 0, S("0001-01-01T00:00:00Z"));
    assert_time(253402300799, 0, 0, S("9999-12-31T23:59:59Z"));
    assert_time(-2203891200, 0, 0, S("1900-03-01T00:00:00Z"));
}

static void parses_offsets_and_decimals(void **state)
{
    static const struct {
        str text;
        int64_t seconds;
        uint32_t nanos;
    } rows[] = {
        {S_INIT("1970-01-01T00:00:00Z"), 0, 0},
        {S_INIT("2026-11-15T21:22:23Z"), 1794777743, 0},
        {S_INIT("2026-11-15T22:22:23+01:00"), 1794777743, 0},
        {S_INIT("2026-11-15T15:52:23-05:30"), 1794777743, 0},
        {S_INIT("2026-11-15T21:22:23.5Z"), 1794777743, 500000000},
        {S_INIT("2026-11-15T21:22:23.000000001Z"), 1794777743, 1},
        {S_INIT("2026-11-15T21:22:23.123456+00:00"), 1794777743, 123456000},
        {S_INIT("2000-02-29T00:00:00Z"), 951782400, 0},
        {S_INIT("0001-01-01T00:00:00Z"), -62135596800, 0},
        {S_INIT("9999-12-31T23:59:59Z"), 253402300799, 0},
        {S_INIT("1969-12-31T23:59:59Z"), -1, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t seconds = 0;
        uint32_t nanos = 0;
        assert_true(time_parse(rows[i].text, &seconds, &nanos));
        assert_int_equal(seconds, rows[i].seconds);
        assert_int_equal(nanos, rows[i].nanos);
    }
}

static void refuses_what_is_no_time(void **state)
{
    static const str rows[] = {
        S_INIT(""),
        S_INIT("2026-11-15"),
        S_INIT("2026-11-15T21:22:23"),
        S_INIT("2026-11-15 21:22:23Z"),
        S_INIT("2026-11-15T21:22Z"),
        S_INIT("2026-11-15T21:22:23.Z"),
        S_INIT("2026-11-15T21:22:23Zx"),
        S_INIT("2026-11-15T21:22:23+1:00"),
        S_INIT("2026-11-15T21:22:23+0100"),
        S_INIT("2026-11-15T21:22:23+24:00"),
        S_INIT("2026-11-15T21:22:23+01:60"),
        S_INIT("2026-13-01T00:00:00Z"),
        S_INIT("2026-00-01T00:00:00Z"),
        S_INIT("2026-01-00T00:00:00Z"),
        S_INIT("2026-02-29T00:00:00Z"),
        S_INIT("1900-02-29T00:00:00Z"),
        S_INIT("2026-04-31T00:00:00Z"),
        S_INIT("2026-01-01T24:00:00Z"),
        S_INIT("2026-01-01T00:60:00Z"),
        S_INIT("2026-01-01T00:00:60Z"),
        S_INIT("026-01-01T00:00:00Z"),
        S_INIT("+026-01-01T00:00:00Z"),
        S_INIT("20260-1-01T00:00:00Z"),
        S_INIT("2026-1-01T00:00:00Z"),
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t seconds = 77;
        uint32_t nanos = 77;
        if (time_parse(rows[i], &seconds, &nanos))
            fail_msg("%.*s was taken", STR(rows[i]));
        assert_int_equal(seconds, 77);
        assert_int_equal(nanos, 77);
    }
}

/* Every 11th day of the years 1 to 9999, in and out, and against the C library. */
static void all_dates_agree(void **state)
{
    for (int64_t day = -719162; day < 2932896; day += 11) {
        struct buf b = {0};
        int64_t seconds = 0, t = day * 86400 + day % 86400;
        uint32_t nanos;
        struct tm tm;
        time_t c = (time_t)t;
        time_format(&b, t, 0, 0);
        assert_true(time_parse(buf_str(&b), &seconds, &nanos));
        assert_int_equal(seconds, t);
        assert_non_null(gmtime_r(&c, &tm));
        char want[80];
        (void)snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                       tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        assert_true(str_eq(buf_str(&b), str_of(want)));
        buf_done(&b);
    }
}

static void fake_clock_goes_when_told(void **state)
{
    struct clock_fake fake = {.wall = 100, .mono = 5};
    struct clock clock = clock_of_fake(&fake);
    assert_int_equal(clock_wall_ns(&clock), 100);
    clock_fake_advance(&fake, 1000);
    assert_int_equal(clock_wall_ns(&clock), 1100);
    assert_int_equal(clock_mono_ns(&clock), 1005);
}

static void system_clock_goes_forward(void **state)
{
    int64_t before = clock_mono_ns(&clock_system);
    assert_true(clock_mono_ns(&clock_system) >= before);
    assert_true(clock_wall_ns(&clock_system) > INT64_C(1600000000) * 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_as_kubernetes_does), cmocka_unit_test(parses_offsets_and_decimals),
        cmocka_unit_test(refuses_what_is_no_time),    cmocka_unit_test(all_dates_agree),
        cmocka_unit_test(fake_clock_goes_when_told),  cmocka_unit_test(system_clock_goes_forward),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
