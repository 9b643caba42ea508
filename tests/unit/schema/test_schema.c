/* SPDX-License-Identifier: Apache-2.0 */
/* What server-side apply asks a schema, and what a schema costs. Everything else is in tests/cases/schema. */
#include "schema/schema.h"

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

/* ---- Limits ---- */

enum { LONG_NAME = 100000, MANY = 1000 };

static struct schema *compile_text(struct arena *a, str json)
{
    struct json tree;
    struct schema *s = NULL;
    assert_int_equal(json_decode(a, json, NULL, NULL, &tree, NULL), 0);
    assert_int_equal(schema_compile(&tree, &s, NULL), 0);
    return s;
}

static str long_name(struct arena *a)
{
    char *p = arena_alloc(a, LONG_NAME);
    memset(p, 'k', LONG_NAME);
    return (str){p, LONG_NAME};
}

/* {"map":{"kkk…":[item, item, …]}} */
static struct json long_path(struct arena *a, struct json item)
{
    struct json list = json_arr(), map = json_obj(), object = json_obj();
    for (int i = 0; i < MANY; i++)
        json_push(a, &list, json_dup(a, &item));
    json_set(a, &map, long_name(a), list);
    json_set(a, &object, S("map"), map);
    return object;
}

static void texts_of_errors_are_bounded(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct schema *s = compile_text(&arena, S("{\"properties\":{\"map\":{\"additionalProperties\":{\"items\":"
                                              "{\"type\":\"string\",\"anyOf\":[{\"minLength\":1}]}}}}}"));
    struct json object = long_path(&arena, json_int(1));
    struct field_errors errs = {.arena = &arena};
    size_t before = arena_footprint(&arena);
    assert_false(schema_validate(schema_root(s), (str){0}, &object, &errs));
    assert_true(errs.list.n > 1);
    assert_int_equal(errs.list.n + errs.dropped, MANY);
    assert_true(arena_footprint(&arena) - before < (size_t)6 * FIELD_ERRORS_MAX_BYTES);
    schema_free(s);
}

static void paths_of_unknown_fields_are_bounded(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct schema *s = compile_text(&arena, S("{\"properties\":{\"map\":{\"additionalProperties\":{\"items\":"
                                              "{\"type\":\"object\"}}}}}"));
    struct json item = json_obj();
    json_set(&arena, &item, S("unknown"), json_int(1));
    struct json object = long_path(&arena, item);
    struct schema_unknown unknown = {.arena = &arena};
    size_t before = arena_footprint(&arena);
    schema_prune(schema_root(s), &object, &(struct schema_prune_args){.unknown = &unknown});
    assert_true(unknown.paths.n > 1);
    assert_int_equal(unknown.paths.n + unknown.dropped, MANY);
    assert_true(arena_footprint(&arena) - before < (size_t)6 * SCHEMA_MAX_UNKNOWN_BYTES);
    schema_free(s);
}

/* A long name counts as often as it is filled in. */
static void names_of_defaults_are_bounded(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct buf text_of = {.arena = &arena};
    buf_fmt(&text_of, "{\"properties\":{\"l\":{\"items\":{\"properties\":{\"%.*s\":{\"default\":1}}}}}}",
            STR(long_name(&arena)));
    struct schema *s = compile_text(&arena, buf_str(&text_of));
    struct json list = json_arr(), object = json_obj();
    for (int i = 0; i < MANY; i++)
        json_push(&arena, &list, json_obj());
    json_set(&arena, &object, S("l"), list);
    size_t before = arena_footprint(&arena);
    assert_false(schema_default(schema_root(s), &arena, &object));
    assert_true(arena_footprint(&arena) - before < (size_t)4 * SCHEMA_MAX_DEFAULTS);
    schema_free(s);
}

/* {"k0":…,"k1":…} */
static void add_numbered(struct buf *b, int from, int to, const char *value)
{
    buf_add_char(b, '{');
    for (int i = from; i < to; i++)
        buf_fmt(b, "%s\"k%d\":%s", i > from ? "," : "", i, value);
    buf_add_char(b, '}');
}

/* Many names are looked up in a wide object another way than few are; k0 to k99 are given, k50 to k149 asked for. */
static void wide_objects(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct buf given = {.arena = &arena}, text_of = {.arena = &arena};
    struct json object;
    add_numbered(&given, 0, 100, "1");
    assert_int_equal(json_decode(&arena, buf_str(&given), NULL, NULL, &object, NULL), 0);
    buf_add_str(&text_of, S("{\"properties\":"));
    add_numbered(&text_of, 50, 150, "{\"default\":2}");
    buf_add_str(&text_of, S(",\"required\":[\"k0\""));
    for (int i = 1; i < 151; i++)
        buf_fmt(&text_of, ",\"k%d\"", i);
    buf_add_str(&text_of, S("]}"));
    struct schema *s = compile_text(&arena, buf_str(&text_of));
    struct field_errors errs = {.arena = &arena};
    assert_false(schema_validate(schema_root(s), (str){0}, &object, &errs));
    assert_int_equal(errs.list.n, 51);
    assert_true(str_eq(errs.list.p[0].field, S("k100")));
    assert_true(schema_default(schema_root(s), &arena, &object));
    assert_int_equal(object.n, 150);
    assert_int_equal(json_get(&object, S("k99"))->i, 1);
    assert_int_equal(json_get(&object, S("k100"))->i, 2);
    errs = (struct field_errors){.arena = &arena};
    assert_false(schema_validate(schema_root(s), (str){0}, &object, &errs));
    assert_int_equal(errs.list.n, 1);
    schema_free(s);
}

static void too_many_properties(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct json properties = json_obj(), tree = json_obj();
    struct schema *s = NULL;
    struct err err = {0};
    for (int i = 0; i < 65534; i++)
        json_add(&arena, &properties, str_fmt(&arena, "k%d", i), json_obj());
    json_set(&arena, &tree, S("properties"), properties);
    assert_int_equal(schema_compile(&tree, &s, &err), 0);
    assert_int_equal(schema_node_kind(schema_property(schema_root(s), S("k65533"))), SCHEMA_ANY);
    assert_int_equal(schema_node_kind(schema_property(schema_root(s), S("k65534"))), SCHEMA_NONE);
    schema_free(s);
    json_add(&arena, &properties, S("more"), json_obj());
    json_set(&arena, &tree, S("properties"), properties);
    assert_int_equal(schema_compile(&tree, &s, &err), ERR_INVALID);
    assert_string_equal(err.msg, "properties: must not have more than 65534 members");
}

/* One validation asks for a limited number of long searches; what they cost is seen in what they no longer find out. */
static void patience_ends(void **state)
{
    struct arena arena ARENA_SCOPE = {0};
    struct schema *s = compile_text(&arena, S("{\"items\":{\"pattern\":\"((x+x+)+(x*x*)+)+y|((xx?)+x+)+z\"}}"));
    struct json list = json_arr();
    for (int i = 0; i < 150; i++)
        json_push(&arena, &list, json_str(str_fmt(&arena, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx%d", i)));
    struct field_errors errs = {.arena = &arena};
    assert_false(schema_validate(schema_root(s), (str){0}, &list, &errs));
    assert_int_equal(errs.list.n, 150);
    assert_true(str_find(errs.list.p[99].detail, S("takes too long")) < 0);
    assert_true(str_find(errs.list.p[100].detail, S("takes too long")) >= 0);
    schema_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_places),
        cmocka_unit_test(places_below_unknown_fields),
        cmocka_unit_test(lists_and_their_keys),
        cmocka_unit_test(patterns_come_and_go),
        cmocka_unit_test(part_of_an_object),
        cmocka_unit_test(texts_of_errors_are_bounded),
        cmocka_unit_test(paths_of_unknown_fields_are_bounded),
        cmocka_unit_test(names_of_defaults_are_bounded),
        cmocka_unit_test(wide_objects),
        cmocka_unit_test(too_many_properties),
        cmocka_unit_test(patience_ends),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
