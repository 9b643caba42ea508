/* SPDX-License-Identifier: Apache-2.0 */
/* What server-side apply asks a schema, and what a schema costs. Everything else is in tests/cases/schema. */
#include "object/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char text[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"spec\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\",\"properties\":{"
    "\"name\":{\"type\":\"string\",\"pattern\":\"^a+$\",\"nullable\":true},"
    "\"port\":{\"x-kubernetes-int-or-string\":true},"
    "\"raw\":{\"x-kubernetes-preserve-unknown-fields\":true},"
    "\"set\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}},"
    "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"map\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"port\",\"protocol\"],"
    "\"items\":{\"type\":\"object\",\"properties\":{\"port\":{\"type\":\"integer\"},"
    "\"protocol\":{\"type\":\"string\",\"default\":\"TCP\"}}}},"
    "\"labels\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"any\":{\"type\":\"object\",\"additionalProperties\":true},"
    "\"tmpl\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,"
    "\"x-kubernetes-preserve-unknown-fields\":true}}},"
    "\"status\":{\"type\":\"object\",\"x-kubernetes-validations\":[{\"rule\":\"true\"}]}}}";

static struct schema *compiled(void)
{
    struct arena arena ARENA_SCOPE = {0};
    struct json tree;
    struct schema *s = NULL;
    struct err err = {0};
    assert_int_equal(json_decode(&arena, str_of(text), NULL, NULL, &tree, &err), 0);
    assert_int_equal(schema_compile(&tree, &s, &err), 0);
    return s; /* and the tree is gone */
}

static schema_node spec_of(const struct schema *s, const char *name)
{
    return schema_property(schema_property(schema_root(s), S("spec")), str_of(name));
}

static void kinds_of_places(void **state)
{
    struct schema *s = compiled();
    assert_int_equal(schema_node_kind(schema_root(s)), SCHEMA_MAP);
    assert_int_equal(schema_node_kind(spec_of(s, "name")), SCHEMA_SCALAR);
    assert_true(schema_node_is_nullable(spec_of(s, "name")));
    assert_int_equal(schema_node_kind(spec_of(s, "port")), SCHEMA_SCALAR);
    assert_true(schema_node_is_int_or_string(spec_of(s, "port")));
    assert_int_equal(schema_node_kind(spec_of(s, "list")), SCHEMA_LIST);
    assert_int_equal(schema_node_kind(spec_of(s, "bogus")), SCHEMA_NONE);
    assert_int_equal(schema_node_kind(schema_property(spec_of(s, "bogus"), S("x"))), SCHEMA_NONE);
    assert_true(schema_node_is_atomic_map(schema_property(schema_root(s), S("spec"))));
    assert_false(schema_node_is_atomic_map(spec_of(s, "labels")));
    assert_true(schema_node_is_resource(spec_of(s, "tmpl")));
    assert_true(schema_node_keeps_unknown(spec_of(s, "tmpl")));
    assert_true(schema_has_rules(s));
    schema_free(s);
}

static void places_below_unknown_fields(void **state)
{
    struct schema *s = compiled();
    schema_node raw = spec_of(s, "raw");
    assert_int_equal(schema_node_kind(raw), SCHEMA_ANY);
    assert_int_equal(schema_node_kind(schema_property(raw, S("x"))), SCHEMA_ANY);
    assert_int_equal(schema_node_kind(schema_items(schema_property(raw, S("x")))), SCHEMA_ANY);
    assert_int_equal(schema_node_kind(schema_property(spec_of(s, "any"), S("x"))), SCHEMA_ANY);
    assert_int_equal(schema_node_kind(schema_property(spec_of(s, "tmpl"), S("data"))), SCHEMA_ANY);
    assert_int_equal(schema_node_kind(schema_property(spec_of(s, "labels"), S("x"))), SCHEMA_SCALAR);
    schema_free(s);
}

static void lists_and_their_keys(void **state)
{
    struct schema *s = compiled();
    struct arena arena ARENA_SCOPE = {0};
    struct json value;
    schema_node map = spec_of(s, "map");
    assert_int_equal(schema_node_list_type(spec_of(s, "list")), SCHEMA_LIST_ATOMIC);
    assert_int_equal(schema_node_list_type(spec_of(s, "set")), SCHEMA_LIST_SET);
    assert_int_equal(schema_node_list_type(map), SCHEMA_LIST_MAP);
    assert_int_equal(schema_node_key_count(map), 2);
    assert_true(str_eq(schema_node_key(map, 0), S("port")) && str_eq(schema_node_key(map, 1), S("protocol")));
    assert_int_equal(schema_node_key_count(spec_of(s, "set")), 0);
    assert_true(schema_node_default(schema_property(schema_items(map), S("protocol")), &arena, &value));
    assert_true(str_eq(json_text(&value), S("TCP")));
    assert_false(schema_node_default(schema_property(schema_items(map), S("port")), &arena, &value));
    schema_free(s);
}

static void patterns_come_and_go(void **state)
{
    struct schema *s = compiled();
    size_t idle = schema_footprint(s);
    struct json name = json_str(S("aaa")), other = json_str(S("b"));
    assert_true(idle <= 2 * (sizeof text - 1));
    assert_true(schema_validate(spec_of(s, "name"), S("spec.name"), &name, NULL));
    assert_false(schema_validate(spec_of(s, "name"), S("spec.name"), &other, NULL));
    assert_true(schema_footprint(s) > idle);
    schema_trim(s);
    assert_int_equal(schema_footprint(s), idle);
    assert_true(schema_validate(spec_of(s, "name"), S("spec.name"), &name, NULL));
    schema_free(s);
    schema_free(NULL);
}

/* Errors of a part, as of the status subresource, name the field from the root and the message from the part. */
static void part_of_an_object(void **state)
{
    struct schema *s = compiled();
    struct arena arena ARENA_SCOPE = {0};
    struct field_errors errs = {.arena = &arena};
    struct json spec = json_obj();
    json_set(&arena, &spec, S("port"), json_bool(true));
    assert_false(schema_validate(schema_property(schema_root(s), S("spec")), S("spec"), &spec, &errs));
    struct buf b = {.arena = &arena};
    field_errors_format(&b, &errs);
    buf_add_char(&b, 0);
    assert_string_equal(
        b.p, "spec.port: Invalid value: \"boolean\": port in body must be of type integer,string: \"boolean\"");
    schema_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_places),      cmocka_unit_test(places_below_unknown_fields),
        cmocka_unit_test(lists_and_their_keys), cmocka_unit_test(patterns_come_and_go),
        cmocka_unit_test(part_of_an_object),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
