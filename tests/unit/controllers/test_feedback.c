/* SPDX-License-Identifier: Apache-2.0 */
/* What a ManifestWork asks for in masses; the rest is in tests/cases/feedback. */
#include "controllers/works/works_feedback.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct json decode(struct arena *a, str text)
{
    struct json v = {0};
    struct err err;
    if (json_decode(a, text, NULL, NULL, &v, &err) < 0)
        fail_msg("%s", err.msg);
    return v;
}

static struct json many(struct arena *a, const char *head, size_t n, const char *each, const char *tail)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, str_of(head));
    for (size_t i = 0; i < n; i++) {
        str piece = str_of(each), before, after;
        if (i)
            buf_add_char(&b, ',');
        if (str_cut(piece, '#', &before, &after))
            buf_fmt(&b, "%.*s%zu%.*s", STR(before), i, STR(after));
        else
            buf_add_str(&b, piece);
    }
    buf_add_str(&b, str_of(tail));
    return decode(a, buf_str(&b));
}

static void paths_are_bounded(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = decode(&a, S("{\"apiVersion\":\"v1\",\"kind\":\"X\",\"n\":7}"));
    struct json rules = many(&a, "[{\"type\":\"JSONPaths\",\"jsonPaths\":[", 40000, "{\"name\":\"n#\",\"path\":\".n\"}",
                             "]},{\"type\":\"WellKnownStatus\"}]");
    struct feedback f = feedback_read(&a, &rules, &object);
    assert_int_equal(json_len(&f.values), FEEDBACK_PATHS);
    assert_true(str_eq(f.problem, S("Sync status feedback failed with error there are more than 256 paths")));
    rules = many(&a, "[{\"type\":\"JSONPaths\",\"jsonPaths\":[", FEEDBACK_PATHS, "{\"name\":\"n#\",\"path\":\".n\"}",
                 "]}]");
    f = feedback_read(&a, &rules, &object);
    assert_int_equal(json_len(&f.values), FEEDBACK_PATHS);
    assert_int_equal(f.problem.n, 0);
}

static void values_are_bounded(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json rules = decode(&a, S("[{\"type\":\"JSONPaths\",\"jsonPaths\":["
                                     "{\"name\":\"a\",\"path\":\".a\"},{\"name\":\"b\",\"path\":\".b\"},"
                                     "{\"name\":\"c\",\"path\":\".c\"}]}]"));
    size_t half = FEEDBACK_BYTES / 2;
    char *text = arena_alloc(&a, half);
    memset(text, 'x', half);
    struct json object = json_obj();
    json_add(&a, &object, S("a"), json_str((str){text, half - 1}));
    json_add(&a, &object, S("b"), json_str((str){text, half}));
    json_add(&a, &object, S("c"), json_str((str){text, half - 1}));
    struct feedback f = feedback_read(&a, &rules, &object);
    assert_int_equal(json_len(&f.values), 2);
    assert_true(str_eq(json_get_text(&f.values.items[1], S("name")), S("c")));
    assert_true(str_eq(f.problem, S("Sync status feedback failed with error the value for b is too long: feedback is "
                                    "limited to 65536 bytes")));
}

static void messages_are_bounded(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = decode(&a, S("{\"apiVersion\":\"v1\",\"kind\":\"X\",\"n\":[]}"));
    struct buf name = {.arena = &a};
    for (size_t i = 0; i < 200; i++)
        buf_add_char(&name, 'x');
    str each = str_fmt(&a, "{\"name\":\"%.*s#\",\"path\":\".n\"}", STR(buf_str(&name)));
    struct json rules = many(&a, "[{\"type\":\"JSONPaths\",\"jsonPaths\":[", 256, str_cstr(&a, each), "]}]");
    struct feedback f = feedback_read(&a, &rules, &object);
    assert_true(f.problem.n > FEEDBACK_PROBLEM_BYTES / 2);
    assert_true(f.problem.n < FEEDBACK_PROBLEM_BYTES + 1000);
    rules = decode(&a, str_fmt(&a, "[{\"type\":\"JSONPaths\",\"jsonPaths\":[{\"name\":\"%.*s%.*s\",\"path\":\".n\"}]}]",
                               STR(buf_str(&name)), STR(buf_str(&name))));
    f = feedback_read(&a, &rules, &object);
    assert_true(str_eq(f.problem, S("Sync status feedback failed with error the type []interface {} of the value for "
                                    "(a text of 400 bytes) is not found")));
}

static void conditions_are_bounded(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    const struct condition *list;
    struct json object = decode(&a, S("{\"apiVersion\":\"v1\",\"kind\":\"X\"}"));
    struct json rules = many(&a, "[", 20000, "{\"condition\":\"C#\",\"type\":\"CEL\"}", "]");
    size_t n = feedback_conditions(&a, &rules, &object, &list);
    assert_int_equal(n, FEEDBACK_PATHS);
    assert_true(str_eq(list[n - 1].type, S("ConditionRulesTooMany")));
    assert_true(str_eq(list[n - 1].message, S("there are too many condition rules")));
    assert_true(str_eq(list[n - 2].type, S("C254")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_bounded),
        cmocka_unit_test(values_are_bounded),
        cmocka_unit_test(messages_are_bounded),
        cmocka_unit_test(conditions_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
