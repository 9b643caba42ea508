/* SPDX-License-Identifier: Apache-2.0 */
/* What case files cannot show of protobuf bodies: limits, and sizes at which a careless decoder would hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/builtin.h"
#include "json/proto.h"

static void add_varint(struct buf *b, uint64_t v)
{
    for (; v > 127; v >>= 7)
        buf_add_char(b, (char)(v | 128));
    buf_add_char(b, (char)v);
}

static void add_bytes(struct buf *b, uint32_t number, str bytes)
{
    add_varint(b, (uint64_t)number << 3 | 2);
    add_varint(b, bytes.n);
    buf_add_str(b, bytes);
}

static int decode(struct arena *a, const char *api_version, const char *kind, str message,
                  const struct json_limits *limits, struct json *ret)
{
    struct err err = {0};
    const struct kind *k = kind_builtin_by_body(str_of(api_version), str_of(kind));
    int rc = proto_decode(a, k->shape, message, limits, ret, &err);
    assert_int_equal(rc, err.code);
    return rc;
}

/* The message inside, wrapped as the fields named, the innermost first, and the whole of that again and again. */
static str wrap(struct arena *a, str inside, const uint32_t *numbers, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        for (const uint32_t *number = numbers; *number; number++) {
            struct buf b = {.arena = a};
            add_bytes(&b, *number, inside);
            inside = buf_str(&b);
        }
    }
    return inside;
}

/* {spec {versions [{schema {openAPIV3Schema …}}]}}: the schema is the sixth container. */
static int decode_schema(struct arena *a, str schema, const struct json_limits *limits, struct json *ret)
{
    static const uint32_t around[] = {1, 4, 7, 2, 0};
    str message = wrap(a, schema, around, 1);
    return decode(a, "apiextensions.k8s.io/v1", "CustomResourceDefinition", message, limits, ret);
}

static void test_depth_is_limited(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    static const uint32_t not [] = {28, 0};
    struct json v;
    assert_int_equal(decode_schema(&a, wrap(&a, (str){0}, not, 994), NULL, &v), 0);
    assert_int_equal(decode_schema(&a, wrap(&a, (str){0}, not, 995), NULL, &v), ERR_TOO_LARGE);
}

/* Lists and maps count like the objects in them: what is decoded can be printed as JSON and decoded again. */
static void test_depth_is_that_of_the_json(void **state)
{
    static const struct {
        uint32_t numbers[4];
        str inside;
    } cases[] = {
        {{28}, {0}},                     /* not: {} */
        {{25}, {0}},                     /* allOf: [{}] */
        {{2, 29}, {0}},                  /* properties: {"": {}} */
        {{1, 24}, {0}},                  /* items: {} */
        {{2, 24}, {0}},                  /* items: [{}] */
        {{1, 2, 32}, {0}},               /* dependencies: {"": {}} */
        {{2, 2, 32}, S_INIT("x")},       /* dependencies: {"": ["x"]} */
        {{23}, S_INIT("x")},             /* required: ["x"] */
        {{1, 8}, S_INIT("1")},           /* default: 1 */
        {{1, 8}, S_INIT("[[1]]")},       /* default: [[1]] */
        {{1, 20}, S_INIT("{\"a\":{}}")}, /* enum: [{"a": {}}] */
    };
    struct arena a ARENA_SCOPE = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        str schema = wrap(&a, cases[i].inside, cases[i].numbers, 1);
        struct buf text = {.arena = &a};
        struct json v, again;
        assert_int_equal(decode_schema(&a, schema, NULL, &v), 0);
        json_encode(&text, &v, 0);
        for (uint32_t depth = 1; depth < 12; depth++) {
            struct json_limits limits = {.depth = depth};
            int want = json_decode(&a, buf_str(&text), &limits, NULL, &again, NULL);
            if (decode_schema(&a, schema, &limits, &v) != want)
                fail_msg("with depth %u: %.*s", depth, STR(buf_str(&text)));
        }
    }
}

static void test_size_is_limited(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf b = {.arena = &a};
    struct json v;
    struct err err;
    struct proto_envelope env;
    buf_add_str(&b, S("k8s\0"));
    while (b.n < JSON_MAX_BYTES)
        buf_add_str(&b, S("\x1a\0"));
    struct json_limits small = {.bytes = 100};
    assert_int_equal(proto_open(buf_str(&b), NULL, &env, &err), 0);
    buf_add_str(&b, S("\x1a\0"));
    assert_int_equal(proto_open(buf_str(&b), NULL, &env, &err), ERR_TOO_LARGE);
    assert_int_equal(decode(&a, "v1", "ConfigMap", str_upto(buf_str(&b), 101), &small, &v), ERR_TOO_LARGE);
}

/* A map that comes in as many parts as fit into a body. */
static void test_map_in_many_parts(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf body = {.arena = &a};
    struct json v;
    for (unsigned i = 0; i < 100000; i++) {
        struct buf entry = {.arena = &a}, meta = {.arena = &a};
        add_bytes(&entry, 1, str_fmt(&a, "%u", i % 50000));
        add_bytes(&entry, 2, str_fmt(&a, "%u", i));
        add_bytes(&meta, 11, buf_str(&entry));
        add_bytes(&body, 1, buf_str(&meta));
    }
    assert_int_equal(decode(&a, "v1", "ConfigMap", buf_str(&body), NULL, &v), 0);
    const struct json *labels = json_dig(&v, "metadata.labels");
    assert_int_equal(json_len(labels), 50000);
    assert_true(str_eq(json_text(&labels->members[7].val), S("50007")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_depth_is_that_of_the_json),
        cmocka_unit_test(test_size_is_limited),
        cmocka_unit_test(test_map_in_many_parts),
    };
    return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
