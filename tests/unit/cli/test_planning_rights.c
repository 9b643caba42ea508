/* SPDX-License-Identifier: Apache-2.0 */
/* How rights look in a plan: verbs together, a resource and its parts as one, lines that fit. */
#include "cli/cli_plan_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* What rules look like on a terminal of so many columns. */
static void assert_lines(const char *rules, unsigned width, bool is_whole, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    struct term term = {.width = width};
    struct planning_lines l = {.term = &term, .arena = &a, .indent = 2, .sign = '+', .is_whole = is_whole};
    struct buf got = {.arena = &a};
    struct json tree;
    struct rules list;
    struct err err;
    assert_int_equal(json_decode(&a, str_of(rules), NULL, NULL, &tree, &err), 0);
    assert_int_equal(rules_from_json(&a, &tree, &list, &err), 0);
    planning_add_rules(&got, &l, list);
    if (!str_eq(buf_str(&got), str_of(want)))
        fail_msg("want:\n%s\ngot:\n%.*s", want, STR(buf_str(&got)));
}

static void nothing(void **state)
{
    (void)state;
    assert_lines("[]", 80, false, "");
}

static void a_resource_and_its_parts_are_one(void **state)
{
    (void)state;
    assert_lines("[{\"verbs\":[\"get\",\"list\"],\"apiGroups\":[\"g.example.org\"],"
                 "\"resources\":[\"a\",\"a/status\",\"a-b\",\"a-b/status\",\"c/status\",\"d\"]}]",
                 80, false,
                 "  + get, list on:\n"
                 "      a, a-b (and /status) of g.example.org\n"
                 "      c/status, d of g.example.org\n");
}

static void a_part_alone_is_never_taken_for_the_whole(void **state)
{
    (void)state;
    assert_lines("[{\"verbs\":[\"update\"],\"apiGroups\":[\"g\"],\"resources\":[\"c/scale\",\"c/status\"]}]", 80, false,
                 "  + update on c/scale, c/status of g\n");
}

static void wildcards_are_words(void **state)
{
    (void)state;
    assert_lines("[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]},"
                 "{\"verbs\":[\"*\"],\"nonResourceURLs\":[\"*\"]}]",
                 80, false,
                 "  + all verbs on:\n"
                 "      all resources of all groups\n"
                 "      *\n");
}

static void names_and_groups_are_told(void **state)
{
    (void)state;
    assert_lines(
        "[{\"verbs\":[\"get\"],\"apiGroups\":[\"\",\"apps\"],\"resources\":[\"x\"],\"resourceNames\":[\"n\",\"m\"]},"
        "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/healthz\"]}]",
        80, false,
        "  + get on:\n"
        "      x named n, m\n"
        "      x named n, m of apps\n"
        "      /healthz\n");
}

static void lines_fit(void **state)
{
    (void)state;
    assert_lines("[{\"verbs\":[\"create\",\"delete\",\"get\"],\"apiGroups\":[\"compute.example.org\"],"
                 "\"resources\":[\"networks\",\"routers\"]}]",
                 40, false,
                 "  + create, delete, get on networks,\n"
                 "      routers of compute.example.org\n");
    /* What is too long for a line stays whole, and nothing is narrower than can be read. */
    assert_lines("[{\"verbs\":[\"get\"],\"apiGroups\":[\"an.api.group.whose.name.is.longer.than.a.line.example.org\"],"
                 "\"resources\":[\"x\"]}]",
                 5, false,
                 "  + get on x of\n"
                 "      an.api.group.whose.name.is.longer.than.a.line.example.org\n");
}

static void long_lists_are_shortened_unless_all_is_wanted(void **state)
{
    (void)state;
    struct arena a ARENA_SCOPE = {0};
    struct buf rules = {.arena = &a};
    buf_add_str(&rules, S("[{\"verbs\":[\"get\"],\"apiGroups\":[\"g\"],\"resources\":["));
    for (int i = 0; i < 30; i++)
        buf_fmt(&rules, "%s\"r%02d\"", i ? "," : "", i);
    buf_add_str(&rules, S("]}]"));
    const char *text = str_cstr(&a, buf_str(&rules));
    assert_lines(text, 200, false,
                 "  + get on r00, r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11, r12, r13, r14, r15, r16, r17, "
                 "r18, r19, r20, r21, r22, r23 and 6 more of g\n");
    assert_lines(text, 200, true,
                 "  + get on r00, r01, r02, r03, r04, r05, r06, r07, r08, r09, r10, r11, r12, r13, r14, r15, r16, r17, "
                 "r18, r19, r20, r21, r22, r23, r24, r25, r26, r27, r28, r29 of g\n");
}

static void what_a_terminal_would_obey_is_shown(void **state)
{
    (void)state;
    assert_lines("[{\"verbs\":[\"get\"],\"apiGroups\":[\"g\"],\"resources\":[\"x\\u001b[2J\"]}]", 80, false,
                 "  + get on x\\x1b[2J of g\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),
        cmocka_unit_test(a_resource_and_its_parts_are_one),
        cmocka_unit_test(a_part_alone_is_never_taken_for_the_whole),
        cmocka_unit_test(wildcards_are_words),
        cmocka_unit_test(names_and_groups_are_told),
        cmocka_unit_test(lines_fit),
        cmocka_unit_test(long_lists_are_shortened_unless_all_is_wanted),
        cmocka_unit_test(what_a_terminal_would_obey_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
