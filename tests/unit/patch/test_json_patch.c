/* SPDX-License-Identifier: Apache-2.0 */
#include "patch/json_patch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct json numbers(struct arena *a, int n)
{
    struct json l = json_arr_sized(a, (size_t)n);
    for (int i = 0; i < n; i++)
        json_push(a, &l, json_int(i));
    return l;
}

static struct json operation(struct arena *a, const char *op, const char *path)
{
    struct json o = json_obj();
    json_add(a, &o, S("op"), json_str(str_of(op)));
    json_add(a, &o, S("path"), json_str(str_of(path)));
    return o;
}

/* Ten thousand insertions in front of a long list would move gigabytes. */
static void costly_patches_are_refused(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json doc = numbers(&a, 300000), op = operation(&a, "add", "/0"), patch = json_arr(), ret = json_int(42);
    struct err err;
    for (int i = 0; i < PATCH_MAX_OPS; i++)
        json_push(&a, &patch, op);
    assert_int_equal(json_patch(&a, &doc, &patch, &ret, &err), ERR_TOO_LARGE);
    assert_int_equal(ret.i, 42);
    assert_int_equal(doc.n, 300000);
}

static void many_operations_on_a_modest_document_are_fine(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json doc = numbers(&a, 1000), op = operation(&a, "add", "/0"), patch = json_arr(), ret;
    for (int i = 0; i < PATCH_MAX_OPS; i++)
        json_push(&a, &patch, op);
    assert_int_equal(json_patch(&a, &doc, &patch, &ret, NULL), 0);
    assert_int_equal(ret.n, 1000 + PATCH_MAX_OPS);
}

static void results_do_not_share_what_a_patch_may_change(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json value = json_arr(), doc = json_obj(), patch = json_arr(), ret;
    struct json add = operation(&a, "add", "/x"), push = operation(&a, "add", "/x/-");
    json_push(&a, &value, json_int(1));
    json_add(&a, &add, S("value"), value);
    json_push(&a, &patch, add);
    json_push(&a, &patch, push);
    assert_int_equal(json_patch(&a, &doc, &patch, &ret, NULL), 0);
    assert_int_equal(json_get(&ret, S("x"))->n, 2);
    assert_int_equal(json_get(&patch.items[0], S("value"))->n, 1);
    assert_int_equal(doc.n, 0);
}

static void wide_merges_keep_the_order(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json doc = json_obj(), patch = json_obj();
    for (int i = 0; i < 1000; i++) {
        json_add(&a, &doc, str_fmt(&a, "k%d", i), json_int(i));
        json_add(&a, &patch, str_fmt(&a, "k%d", 1500 - i), i % 2 ? json_null() : json_int(-i));
    }
    struct json ret = json_merge_patch(&a, &doc, &patch);
    assert_int_equal(json_get(&ret, S("k500"))->i, 500);
    assert_null(json_get(&ret, S("k501")));
    assert_int_equal(json_get(&ret, S("k502"))->i, -998);
    assert_int_equal(json_get(&ret, S("k1500"))->i, 0);
    assert_true(str_eq(json_key(&ret.members[0]), S("k0")));
    assert_int_equal(ret.n, 501 + 249 + 251);
    assert_int_equal(doc.n, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costly_patches_are_refused),
        cmocka_unit_test(many_operations_on_a_modest_document_are_fine),
        cmocka_unit_test(results_do_not_share_what_a_patch_may_change),
        cmocka_unit_test(wide_merges_keep_the_order),
    };
    return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
