/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta.h"
#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct json decode(struct arena *a, const char *text)
{
    struct json v;
    struct err err;
    assert_int_equal(json_decode(a, str_of(text), NULL, NULL, &v, &err), 0);
    return v;
}

static void assert_json(struct arena *a, const struct json *v, const char *want)
{
    struct buf b = {.arena = a};
    json_encode(&b, v, 0);
    buf_add_char(&b, 0);
    assert_string_equal(b.p, want);
}

static void test_reference(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json owner =
        decode(&a, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d\",\"uid\":\"u\"}}");
    struct json plain = meta_owner_reference(&a, &owner, false, false);
    struct json both = meta_owner_reference(&a, &owner, true, true);
    assert_json(&a, &plain, "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\",\"uid\":\"u\"}");
    assert_json(&a, &both,
                "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\",\"uid\":\"u\","
                "\"controller\":true,\"blockOwnerDeletion\":true}");
}

static void test_controller_and_owners(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json o =
        decode(&a, "{\"metadata\":{\"ownerReferences\":[{\"uid\":\"1\"},{\"uid\":\"2\",\"controller\":true}]}}");
    struct json none = decode(&a, "{}");
    assert_json(&a, meta_controller_of(&o), "{\"uid\":\"2\",\"controller\":true}");
    assert_true(meta_is_owned_by(&o, S("1")));
    assert_false(meta_is_owned_by(&o, S("3")));
    assert_null(meta_controller_of(&none));
    assert_false(meta_is_owned_by(&none, S("1")));
}

static void test_finalizers(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json o = decode(&a, "{}");
    assert_true(meta_add_finalizer(&a, &o, S("a/b")));
    assert_false(meta_add_finalizer(&a, &o, S("a/b")));
    assert_true(meta_add_finalizer(&a, &o, S("c/d")));
    assert_true(object_has_finalizer(&o, S("c/d")));
    assert_true(meta_remove_finalizer(&o, S("a/b")));
    assert_false(meta_remove_finalizer(&o, S("a/b")));
    assert_json(&a, &o, "{\"metadata\":{\"finalizers\":[\"c/d\"]}}");
    assert_true(meta_remove_finalizer(&o, S("c/d")));
    assert_json(&a, &o, "{\"metadata\":{}}");
}

static void test_accessors_of_nothing(void **state)
{
    assert_int_equal(object_name(NULL).n, 0);
    assert_int_equal(object_label(NULL, S("a")).n, 0);
    assert_int_equal(object_generation(NULL), 0);
    assert_false(object_is_deleting(NULL));
    assert_int_equal(object_group(NULL).n, 0);
}

/* Hostile lists must not cost the square of their length. */
static void test_many_references(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json list = json_arr(), o = json_obj();
    struct meta_warnings warnings = {.arena = &a};
    struct field_errors errs = {.arena = &a};
    for (int i = 0; i < 20000; i++) {
        struct json ref = json_obj();
        json_add(&a, &ref, S("uid"), json_str(S("same")));
        json_add(&a, &ref, S("name"), json_int(i / 2));
        json_add(&a, &ref, S("controller"), json_bool(true));
        json_push(&a, &list, ref);
    }
    json_set(&a, meta_of(&a, &o), S("ownerReferences"), list);
    meta_dedup_owners(&a, &o, &warnings);
    assert_int_equal(json_len(object_owners(&o)), 10000);
    assert_int_equal(warnings.list.n, 1);
    meta_validate_owners(&errs, S("x"), object_owners(&o));
    /* Three faults of each, and the eight texts that show the whole list, cut to what is quoted of a value. */
    assert_int_equal(errs.list.n + errs.dropped, 3 * 10000 + 8);
    assert_true(field_errors_full(&errs));
    assert_int_equal(errs.list.n, FIELD_ERRORS_MAX);
    assert_true(errs.bytes < FIELD_ERRORS_MAX_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),       cmocka_unit_test(test_controller_and_owners),
        cmocka_unit_test(test_finalizers),      cmocka_unit_test(test_accessors_of_nothing),
        cmocka_unit_test(test_many_references),
    };
    return cmocka_run_group_tests_name("owners", tests, NULL, NULL);
}
