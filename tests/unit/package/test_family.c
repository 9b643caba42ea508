/* SPDX-License-Identifier: Apache-2.0 */
#include "package/family.h"

#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct json install_of(struct arena *a, const char *text)
{
    struct json install;
    struct err err;
    assert_int_equal(json_decode(a, str_of(text), NULL, NULL, &install, &err), 0);
    return install;
}

static void assert_text(str got, const char *want)
{
    if (!str_eq(got, str_of(want)))
        fail_msg("\"%.*s\", not \"%s\"", STR(got), want);
}

static const char waiting[] =
    "{\"metadata\":{\"namespace\":\"team-a\",\"name\":\"wp\",\"creationTimestamp\":\"2026-05-01T10:00:00Z\"}}";
static const char accepted[] =
    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"wp\",\"creationTimestamp\":\"2026-05-01T09:00:00Z\"},"
    "\"status\":{\"acceptedAt\":\"2026-05-01T10:00:00.000001Z\"}}";

/* One without acceptedAt comes before all that were accepted in the second of its creation. */
static void installs_of_before_count_from_their_creation(void **state)
{
    (void)state;
    struct arena a ARENA_SCOPE = {0};
    struct json old = install_of(&a, waiting), now = install_of(&a, accepted);
    str first = family_since(&a, &old), second = family_since(&a, &now);
    assert_text(first, "2026-05-01T10:00:00.000000Z team-a/wp");
    assert_text(second, "2026-05-01T10:00:00.000001Z a/wp");
    assert_true(str_cmp(first, second) < 0);
    assert_text(family_since_time(second), "2026-05-01T10:00:00.000001Z");
}

static void assert_next(int64_t wall_ns, const char *other, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    struct clock_fake fake = {.wall = wall_ns};
    struct clock clock = clock_of_fake(&fake);
    struct json install = install_of(&a, waiting);
    str others[] = {S("2020-01-01T00:00:00.000000Z z/z"), str_of(other)};
    assert_text(family_since_next(&a, &install, others, 2, &clock), want);
}

/* Behind all others, even if the clock stands still or was set back by a restart or on another machine. */
static void who_is_accepted_is_the_last(void **state)
{
    (void)state;
    static const int64_t second = INT64_C(1000000000), noon = INT64_C(1777636800) * second; /* 2026-05-01T12:00:00Z */
    assert_next(noon, "2026-05-01T11:59:59.999999Z a/a", "2026-05-01T12:00:00.000000Z team-a/wp");
    assert_next(noon + 1500, "2026-05-01T11:59:59.999999Z a/a", "2026-05-01T12:00:00.000001Z team-a/wp");
    assert_next(noon, "2026-05-01T12:00:00.000000Z a/a", "2026-05-01T12:00:00.000001Z team-a/wp");
    assert_next(noon - second, "2026-05-01T12:59:59.999999Z a/a", "2026-05-01T13:00:00.000000Z team-a/wp");
    assert_next(noon, "unreadable", "2026-05-01T12:00:00.000000Z team-a/wp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(installs_of_before_count_from_their_creation),
        cmocka_unit_test(who_is_accepted_is_the_last),
    };
    return cmocka_run_group_tests_name("family", tests, NULL, NULL);
}
