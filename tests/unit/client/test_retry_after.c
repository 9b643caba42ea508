/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/retry_after.h"

#define SECOND INT64_C(1000000000)
#define NOW (INT64_C(784111777) * SECOND) /* 1994-11-06T08:49:37Z, the date of RFC 9110's examples */

static int64_t parse(const char *text)
{
    return retry_after_parse(str_of(text), NOW) / SECOND;
}

static void seconds(void **state)
{
    assert_int_equal(parse("1"), 1);
    assert_int_equal(parse("120"), 120);
    assert_int_equal(parse("0"), 0);
    assert_int_equal(parse("86400"), 86400);
    assert_int_equal(parse("86401"), 86400);
    assert_int_equal(parse("18446744073709551615"), 86400);
}

static void dates(void **state)
{
    assert_int_equal(parse("Sun, 06 Nov 1994 08:50:37 GMT"), 60);
    assert_int_equal(parse("Sunday, 06-Nov-94 08:50:38 GMT"), 61);
    assert_int_equal(parse("Wednesday, 09-Nov-94 08:50:38 GMT"), 86400);
    assert_int_equal(parse("Sun Nov  6 08:50:39 1994"), 62);
    assert_int_equal(parse("Sun Nov 06 09:49:37 1994"), 3600);
    assert_int_equal(parse("Sun, 06 Nov 1994 08:50:60 GMT"), 82); /* a leap second */
    assert_int_equal(parse("Mon, 07 Nov 2044 08:49:37 GMT"), 86400);
}

/* Now or in the past: there is nothing to wait for. A year of two digits that is far ahead is one that has gone by. */
static void past_dates(void **state)
{
    assert_int_equal(parse("Sun, 06 Nov 1994 08:49:37 GMT"), 0);
    assert_int_equal(parse("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
    assert_int_equal(parse("Sunday, 06-Nov-45 08:50:38 GMT"), 0);
    assert_int_equal(parse("Sunday, 06-Nov-93 08:50:38 GMT"), 0);
}

static void what_makes_no_sense(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "-1",
        "1.5",
        "1 s",
        "18446744073709551616",
        "soon",
        "Sun, 06 Nov 1994 08:50:37",
        "Sun, 06 Nov 1994 08:50:37 CET",
        "Sun, 31 Feb 1995 08:50:37 GMT",
        "Sun, 06 Non 1994 08:50:37 GMT",
        "Sun, 06 Nov 1994 24:50:37 GMT",
        "Sun, 06 Nov 1994 08:5x:37 GMT",
        "Sun,, , , , , , , , , , , , , ",
        "Sunday, 06-Nov-9408:50:38 GMT ",
        "                        ",
        "Sun Nov  6 08:50:39 19944",
        "2094-11-06T08:50:39Z",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_int_equal(parse(texts[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds),
        cmocka_unit_test(dates),
        cmocka_unit_test(past_dates),
        cmocka_unit_test(what_makes_no_sense),
    };
    return cmocka_run_group_tests_name("retry_after", tests, NULL, NULL);
}
