/* SPDX-License-Identifier: Apache-2.0 */
#include "object/conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct clock_fake fake;
static struct clock now;

static int setup(void **state)
{
    fake = (struct clock_fake){.wall = INT64_C(1767323045) * 1000000000};
    now = clock_of_fake(&fake);
    return 0;
}

static int teardown(void **state)
{
    arena_done(&arena);
    return 0;
}

static void assert_json(const struct json *v, const char *want)
{
    struct buf b = {.arena = &arena};
    json_encode(&b, v, 0);
    buf_add_char(&b, 0);
    assert_string_equal(b.p, want);
}

static void test_set_adds_with_the_time(void **state)
{
    struct json list = json_arr();
    struct condition c = {S("Ready"), S("True"), S("AsExpected"), S("all is well"), 3};
    assert_true(condition_set(&arena, &list, &c, &now));
    assert_json(&list, "[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\","
                       "\"reason\":\"AsExpected\",\"message\":\"all is well\",\"observedGeneration\":3}]");
}

static void test_set_keeps_the_time_while_the_status_stays(void **state)
{
    struct json list = json_arr();
    struct condition c = {S("Ready"), S("False"), S("Waiting"), S("for x"), 0};
    condition_set(&arena, &list, &c, &now);
    clock_fake_advance(&fake, INT64_C(60) * 1000000000);
    assert_false(condition_set(&arena, &list, &c, &now));
    c.message = S("for y");
    assert_true(condition_set(&arena, &list, &c, &now));
    assert_json(&list, "[{\"type\":\"Ready\",\"status\":\"False\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\","
                       "\"reason\":\"Waiting\",\"message\":\"for y\"}]");
    c.status = S("True");
    assert_true(condition_set(&arena, &list, &c, &now));
    assert_json(&list, "[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"2026-01-02T03:05:05Z\","
                       "\"reason\":\"Waiting\",\"message\":\"for y\"}]");
}

static void test_generation_comes_and_goes(void **state)
{
    struct json list = json_arr();
    struct condition c = {S("Ready"), S("True"), S("A"), S(""), 0};
    condition_set(&arena, &list, &c, &now);
    c.observed_generation = 2;
    assert_true(condition_set(&arena, &list, &c, &now));
    assert_false(condition_set(&arena, &list, &c, &now));
    c.observed_generation = 0;
    assert_true(condition_set(&arena, &list, &c, &now));
    assert_null(json_get(&list.items[0], S("observedGeneration")));
}

static void test_found_by_type(void **state)
{
    struct json object = json_obj();
    struct condition a = {S("A"), S("True"), S("R"), S(""), 0}, b = {S("B"), S("False"), S("R"), S(""), 0};
    struct json *list = conditions_of(&arena, &object);
    condition_set(&arena, list, &a, &now);
    condition_set(&arena, list, &b, &now);
    assert_ptr_equal(conditions_of(&arena, &object)->items, list->items);
    assert_true(condition_is(&object, S("A"), S("True")));
    assert_false(condition_is(&object, S("B"), S("True")));
    assert_false(condition_is(&object, S("C"), S("True")));
    assert_true(condition_remove(list, S("A")));
    assert_false(condition_remove(list, S("A")));
    assert_null(condition_find(list, S("A")));
    assert_non_null(condition_find(list, S("B")));
}

static void assert_faults(const char *text, const char *want)
{
    struct field_errors errs = {.arena = &arena};
    struct json list;
    struct err err;
    struct buf b = {.arena = &arena};
    assert_int_equal(json_decode(&arena, str_of(text), NULL, NULL, &list, &err), 0);
    conditions_validate(&errs, S("conditions"), &list);
    field_errors_format(&b, &errs);
    buf_add_char(&b, 0);
    assert_string_equal(b.p, want);
}

static void test_validate(void **state)
{
    assert_faults("[{\"type\":\"A\",\"status\":\"True\",\"reason\":\"R\",\"lastTransitionTime\":\"x\"}]", "");
    assert_faults(
        "[{\"type\":\"A\",\"status\":\"True\",\"reason\":\"R\",\"lastTransitionTime\":\"x\"},"
        "{\"type\":\"A\",\"status\":\"Maybe\",\"observedGeneration\":-1}]",
        "[conditions[1].type: Duplicate value: \"A\", conditions[1].status: Unsupported value: \"Maybe\": "
        "supported values: \"False\", \"True\", \"Unknown\", conditions[1].observedGeneration: Invalid value: "
        "-1: must be greater than or equal to zero, conditions[1].lastTransitionTime: Required value: must be "
        "set, conditions[1].reason: Required value: must be set]");
}

/* One condition with a reason and a message of these lengths. */
static void assert_long_faults(size_t reason, size_t message, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    buf_add_str(&b, S("[{\"type\":\"A\",\"status\":\"True\",\"lastTransitionTime\":\"x\",\"reason\":\""));
    for (size_t i = 0; i < reason; i++)
        buf_add_char(&b, 'r');
    buf_add_str(&b, S("\",\"message\":\""));
    for (size_t i = 0; i < message; i++)
        buf_add_char(&b, 'm');
    buf_add_str(&b, S("\"}]"));
    buf_add_char(&b, 0);
    assert_faults(b.p, want);
}

static void test_lengths(void **state)
{
    assert_long_faults(1024, 32768, "");
    assert_long_faults(1025, 0, "conditions[0].reason: Too long: may not be more than 1024 bytes");
    assert_long_faults(1, 32769, "conditions[0].message: Too long: may not be more than 32768 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_set_adds_with_the_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_set_keeps_the_time_while_the_status_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_generation_comes_and_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_found_by_type, setup, teardown),
        cmocka_unit_test_setup_teardown(test_validate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lengths, setup, teardown),
    };
    return cmocka_run_group_tests_name("conditions", tests, NULL, NULL);
}
