/* SPDX-License-Identifier: Apache-2.0 */
/* What cases cannot see: an update is compared after its resourceVersion has been restored, but need not be. */
#include "object/meta.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is_unchanged(const char *object, const char *current)
{
    struct arena a ARENA_SCOPE = {0};
    struct json x, y;
    struct err err;
    assert_int_equal(json_decode(&a, str_of(object), NULL, NULL, &x, &err), 0);
    assert_int_equal(json_decode(&a, str_of(current), NULL, NULL, &y, &err), 0);
    return meta_is_unchanged(&x, &y);
}

static void version_makes_no_change(void **state)
{
    static const char current[] = "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"7\"}}";
    assert_true(is_unchanged("{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"8\"}}", current));
    assert_true(is_unchanged("{\"metadata\":{\"name\":\"x\"}}", current));
    assert_false(is_unchanged("{\"metadata\":{\"name\":\"y\",\"resourceVersion\":\"7\"}}", current));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_makes_no_change),
    };
    return cmocka_run_group_tests_name("meta", tests, NULL, NULL);
}
