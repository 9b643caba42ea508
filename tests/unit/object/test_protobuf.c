/* SPDX-License-Identifier: Apache-2.0 */
/* What case files cannot show of protobuf bodies: limits, and sizes at which a careless decoder would hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "object/kind.h"
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

/* {spec {versions {schema {openAPIV3Schema {not {not {…}}}}}}} */
static str nested_schema(struct arena *a, unsigned depth)
{
    str message = {0};
    for (unsigned i = 0; i < depth; i++) {
        struct buf b = {.arena = a};
        add_bytes(&b, 28, message);
        message = buf_str(&b);
    }
    static const uint32_t around[] = {1, 4, 7, 2};
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++) {
        struct buf b = {.arena = a};
        add_bytes(&b, around[i], message);
        message = buf_str(&b);
    }
    return message;
}

static void test_depth_is_limited(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v;
    assert_int_equal(
        decode(&a, "apiextensions.k8s.io/v1", "CustomResourceDefinition", nested_schema(&a, 900), NULL, &v), 0);
    assert_int_equal(
        decode(&a, "apiextensions.k8s.io/v1", "CustomResourceDefinition", nested_schema(&a, 1000), NULL, &v),
        ERR_TOO_LARGE);
    struct json_limits shallow = {.depth = 8};
    assert_int_equal(
        decode(&a, "apiextensions.k8s.io/v1", "CustomResourceDefinition", nested_schema(&a, 3), &shallow, &v), 0);
    assert_int_equal(
        decode(&a, "apiextensions.k8s.io/v1", "CustomResourceDefinition", nested_schema(&a, 4), &shallow, &v),
        ERR_TOO_LARGE);
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
        cmocka_unit_test(test_size_is_limited),
        cmocka_unit_test(test_map_in_many_parts),
    };
    return cmocka_run_group_tests_name("protobuf", tests, NULL, NULL);
}
