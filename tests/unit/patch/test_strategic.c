/* SPDX-License-Identifier: Apache-2.0 */
/* What cases cannot see: that patches which name the same things again and again cost no square of time or memory. */
#include "kinds/builtin.h"
#include "patch/strategic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int patch_pod(struct arena *a, struct json patch, struct err *err)
{
    const struct kind *pod = kind_builtin_by_body(S("v1"), S("Pod"));
    struct json doc = json_obj(), spec = json_obj(), list = json_arr(), item = json_obj(), out;
    json_add(a, &item, S("name"), json_str(S("x")));
    json_push(a, &list, item);
    json_add(a, &spec, S("containers"), list);
    json_add(a, &doc, S("spec"), spec);
    return strategic_patch(a, pod->shape, &doc, &patch, &out, err);
}

/* One item gets very wide, and then is named very often. */
static void wide_items_are_bounded(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct err err;
    struct json patch = json_obj(), spec = json_obj(), list = json_arr(), item = json_obj();
    (void)state;
    for (int i = 0; i < 50000; i++)
        json_add(&a, &item, str_fmt(&a, "f%d", i), json_int(i));
    json_add(&a, &item, S("name"), json_str(S("x")));
    json_push(&a, &list, item);
    for (int i = 0; i < 50000; i++) {
        struct json again = json_obj();
        json_add(&a, &again, S("name"), json_str(S("x")));
        json_push(&a, &list, again);
    }
    json_add(&a, &spec, S("containers"), list);
    json_add(&a, &patch, S("spec"), spec);
    assert_int_equal(patch_pod(&a, patch, &err), ERR_TOO_LARGE);
    assert_string_equal(err.msg, "the patch merges more than 1048576 fields");
}

/* Names of fields are found whatever their case, so one list has many names. */
static void many_orders_cost_no_square(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct err err;
    struct json patch = json_obj(), spec = json_obj(), list = json_arr(), item = json_obj();
    (void)state;
    json_add(&a, &item, S("topologyKey"), json_str(S("k")));
    json_push(&a, &list, item);
    for (unsigned i = 0; i < 30000; i++) {
        char name[] = "topologyspreadconstraints";
        for (unsigned bit = 0; bit < 15; bit++)
            name[bit] = (char)(i >> bit & 1 ? name[bit] - 'a' + 'A' : name[bit]);
        json_add(&a, &spec, str_fmt(&a, "$setElementOrder/%s", name), list);
        json_add(&a, &spec, str_dup(&a, str_of(name)), list);
    }
    json_add(&a, &patch, S("spec"), spec);
    assert_int_equal(patch_pod(&a, patch, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_items_are_bounded),
        cmocka_unit_test(many_orders_cost_no_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
