/* SPDX-License-Identifier: Apache-2.0 */
#include "package/semver.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The oldest first. */
static const char *const in_order[] = {
    "",
    "0.0.1-alpha",
    "0.0.1",
    "0.1",
    "0.1.0",
    "0.9.9",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-rc.2",
    "1.0.0-rc.10",
    "1",
    "1.0",
    "1.0.0",
    "1.0.0+build.5",
    "v1.0.0",
    "1.0.1",
    "1.02",
    "1.2.0",
    "v1.9",
    "1.10",
    "2.0.0",
    "18446744073709551616.0",
    "18446744073709551617.0",
    "0a1b2c3d4e5f",
    "f0a1b2c3d4e5",
    "latest",
    "v",
};

static int sign(int v)
{
    return (v > 0) - (v < 0);
}

static void known_versions_are_in_order(void **state)
{
    size_t n = COUNT(in_order);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            int got = sign(package_version_compare(str_of(in_order[i]), str_of(in_order[k])));
            if (got != (i > k) - (i < k))
                fail_msg("\"%s\" and \"%s\": %d", in_order[i], in_order[k], got);
        }
}

static void some_texts_are_no_numbered_versions(void **state)
{
    static const char *const numbered[] = {"1", "v2", "0.1.0", "1.0.0-rc.2", "18446744073709551616.0", "1+build"};
    static const char *const others[] = {"", "latest", "v", "vv1", "0a1b2c3d4e5f", "sha256:00", "-1", ".1", "main-1.0"};
    for (size_t i = 0; i < COUNT(numbered); i++)
        if (!package_version_is_numbered(str_of(numbered[i])))
            fail_msg("\"%s\" is a numbered version", numbered[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        if (package_version_is_numbered(str_of(others[i])))
            fail_msg("\"%s\" is no numbered version", others[i]);
}

static str random_text(const struct random *random, char *room, size_t max)
{
    static const char letters[] = "0011ab.-+v";
    size_t n = (size_t)(random_uint64(random) % max);
    for (size_t i = 0; i < n; i++)
        room[i] = letters[random_uint64(random) % (sizeof letters - 1)];
    return (str){room, n};
}

/* A total order: no circles, and nothing is equal but itself. */
static void any_texts_have_an_order(void **state)
{
    struct random_seeded fake = {.state = 7};
    struct random random = random_of_seed(&fake);
    char room[3][8];
    for (int i = 0; i < 300000; i++) {
        str a = random_text(&random, room[0], 8), b = random_text(&random, room[1], 8);
        str c = random_text(&random, room[2], 8);
        int ab = package_version_compare(a, b), bc = package_version_compare(b, c), ac = package_version_compare(a, c);
        assert_int_equal(sign(ab), -sign(package_version_compare(b, a)));
        assert_int_equal(ab == 0, str_eq(a, b));
        if (ab <= 0 && bc <= 0 && ac > 0)
            fail_msg("\"%.*s\" \"%.*s\" \"%.*s\"", STR(a), STR(b), STR(c));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_versions_are_in_order),
        cmocka_unit_test(some_texts_are_no_numbered_versions),
        cmocka_unit_test(any_texts_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
