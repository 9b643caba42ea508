/* SPDX-License-Identifier: Apache-2.0 */
#include "control/item.h"

#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct json tree(struct arena *a, const char *text)
{
    struct json v;
    struct err err;
    if (json_decode(a, str_of(text), NULL, NULL, &v, &err) < 0)
        fail_msg("%s", err.msg);
    return v;
}

static void assert_text(str got, const char *expected)
{
    if (!str_eq(got, str_of(expected)))
        fail_msg("got \"%.*s\", not \"%s\"", STR(got), expected);
}

static const char role[] =
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"Role\",\"metadata\":{\"name\":\"reader\",\"namespace\":\"shop\","
    "\"uid\":\"5f0a\",\"resourceVersion\":\"71\",\"labels\":{\"app\":\"till\",\"tier\":\"\"},\"ownerReferences\":["
    "{\"kind\":\"A\",\"name\":\"a\",\"uid\":\"u-1\"},{\"kind\":\"B\",\"name\":\"b\",\"uid\":\"u-2\"}],"
    "\"managedFields\":[{\"manager\":\"kubectl\",\"fieldsV1\":{\"f:rules\":{}}}]},\"rules\":[]}";

static void an_item_knows_its_object(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = tree(&a, role);
    struct item *item = item_new(&object);
    assert_text(item_namespace(item), "shop");
    assert_text(item_name(item), "reader");
    assert_text(item_uid(item), "5f0a");
    assert_text(item_version(item), "71");
    assert_true(str_find(item_text(item), S("managedFields")) < 0);
    struct json again = item_tree(&a, item);
    assert_non_null(json_get(json_get(&object, S("metadata")), S("managedFields"))); /* it was not touched */
    json_remove(json_get_mut(&object, S("metadata")), S("managedFields"));
    assert_true(json_equal(&object, &again));
    item_unref(item);
}

static void names_that_json_spells_otherwise_are_kept(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = tree(&a, "{\"metadata\":{\"name\":\"a<b>&\\\"c\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}");
    struct item *item = item_new(&object);
    assert_text(item_name(item), "a<b>&\"c");
    assert_text(item_namespace(item), "");
    struct json again = item_tree(&a, item);
    assert_true(json_equal(&object, &again));
    item_unref(item);
}

static void keys_need_no_text(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = tree(&a, role);
    const str labels[] = {S("app"), S("absent"), S("tier")};
    struct item *item = item_new_shaped(&object, &(struct item_shape){true, labels, 3, true, NULL});
    assert_text(item_text(item), "");
    assert_int_equal(item_tree(&a, item).type, JSON_NULL);
    assert_text(item_name(item), "reader");
    assert_text(item_uid(item), "5f0a");
    const struct item_mark *marks;
    assert_int_equal(item_marks(item, &marks), 4);
    assert_int_equal(marks[0].index, 0);
    assert_text(item_slice(item, marks[0].at, marks[0].n), "till");
    assert_int_equal(marks[1].index, 2);
    assert_text(item_slice(item, marks[1].at, marks[1].n), "");
    assert_int_equal(marks[2].index, 3);
    assert_text(item_slice(item, marks[2].at, marks[2].n), "u-1");
    assert_text(item_slice(item, marks[3].at, marks[3].n), "u-2");
    item_unref(item);
}

/* Far apart, near each other, and spelt otherwise in JSON. */
static void an_item_may_have_many_owners(void **state)
{
    enum { OWNERS = 5000 };
    struct arena a ARENA_SCOPE = {0};
    struct json object = tree(&a, role), owners = json_arr();
    char filler[8000];
    memset(filler, 'x', sizeof filler);
    for (int i = 0; i < OWNERS; i++) {
        struct json owner = json_obj();
        if (i % 1000 == 500)
            json_set(&a, &owner, S("name"), json_str((str){filler, sizeof filler}));
        json_set(&a, &owner, S("uid"), json_str(str_fmt(&a, "%s%d", i % 1000 == 100 ? "<" : "owner", i)));
        json_push(&a, &owners, owner);
    }
    json_set(&a, json_get_mut(&object, S("metadata")), S("ownerReferences"), owners);
    for (int keys_only = 0; keys_only < 2; keys_only++) {
        struct item *item = item_new_shaped(&object, &(struct item_shape){.keys_only = keys_only, .by_owner = true});
        const struct item_mark *marks;
        assert_int_equal(item_marks(item, &marks), OWNERS);
        size_t copied = 0;
        for (int i = 0; i < OWNERS; i++) {
            str uid = json_get_text(&owners.items[i], S("uid"));
            assert_int_equal(marks[i].index, 0);
            assert_true(str_eq(item_slice(item, marks[i].at, marks[i].n), uid));
            copied += marks[i].at >= item_text(item).n;
        }
        if (!keys_only)
            assert_true(copied >= 5 && copied < 100); /* the others are found where they stand */
        item_unref(item);
    }
}

static struct json metadata_alone(struct arena *a, const struct json *object)
{
    struct json kept = json_obj();
    json_add(a, &kept, S("metadata"), *object_meta(object));
    return kept;
}

static void a_trimmed_item_keeps_what_it_is_told(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = tree(&a, role);
    struct item *item = item_new_shaped(&object, &(struct item_shape){.trim = metadata_alone});
    struct json kept = item_tree(&a, item);
    assert_int_equal(json_len(&kept), 1);
    assert_true(str_eq(object_name(&kept), object_name(&object)) && str_eq(item_uid(item), object_uid(&object)));
    item_unref(item);
}

static void what_has_no_name_is_refused(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    const char *texts[] = {"{}", "[]", "\"x\"", "{\"metadata\":{\"name\":\"\"}}", "{\"metadata\":{\"name\":1}}"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct json object = tree(&a, texts[i]);
        assert_null(item_new(&object));
    }
    char *name = malloc(70000);
    memset(name, 'a', 70000);
    struct json meta = json_obj(), object = json_obj();
    json_set(&a, &meta, S("name"), json_str((str){name, 65535}));
    json_set(&a, &object, S("metadata"), meta);
    struct item *item = item_new(&object);
    assert_int_equal(item_name(item).n, 65535);
    item_unref(item);
    json_set(&a, &meta, S("name"), json_str((str){name, 65536}));
    json_set(&a, &object, S("metadata"), meta);
    assert_null(item_new(&object));
    free(name);
}

static void references_are_counted(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = tree(&a, role);
    struct item *item = item_new(&object);
    assert_ptr_equal(item_ref(item), item);
    item_unref(item);
    assert_text(item_name(item), "reader");
    assert_true(item_footprint(item) > item_text(item).n);
    item_unref(item);
    item_unref(NULL);
}

static void versions_are_numbers(void **state)
{
    static const struct {
        str version, than;
        bool is_older;
    } rows[] = {
        {S_INIT("9"), S_INIT("10"), true},
        {S_INIT("10"), S_INIT("9"), false},
        {S_INIT("10"), S_INIT("10"), false},
        {S_INIT("0"), S_INIT("1"), true},
        {S_INIT(""), S_INIT("1"), false},
        {S_INIT("1"), S_INIT(""), false},
        {S_INIT("abc"), S_INIT("1"), false},
        {S_INIT("1"), S_INIT("2x"), false},
        {S_INIT("01"), S_INIT("2"), false},
        {S_INIT("99999999999999999999999"), S_INIT("100000000000000000000000"), true},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(item_version_is_older(rows[i].version, rows[i].than), rows[i].is_older);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_knows_its_object),    cmocka_unit_test(names_that_json_spells_otherwise_are_kept),
        cmocka_unit_test(keys_need_no_text),           cmocka_unit_test(an_item_may_have_many_owners),
        cmocka_unit_test(what_has_no_name_is_refused), cmocka_unit_test(references_are_counted),
        cmocka_unit_test(versions_are_numbers),        cmocka_unit_test(a_trimmed_item_keeps_what_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
