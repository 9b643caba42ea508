/* SPDX-License-Identifier: Apache-2.0 */
/* The selectors that a watch keeps when its request is gone. */
#include "api/watch_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* As read_options_parse leaves them, for a request about a namespace. */
static struct read_options options(struct arena *a, const char *labels, const char *fields, enum read_need need)
{
    struct read_options o = {.namespace = S("default"), .need = need};
    struct err err;
    assert_int_equal(selector_parse(a, str_of(labels), &o.labels, &err), 0);
    assert_int_equal(field_selector_parse(a, str_of(fields), &o.fields, &err), 0);
    field_selector_requires(&o.fields, S("metadata.name"), &o.name);
    return o;
}

/* What is kept outlives the arena of the request. */
static struct read_options *keep(const char *labels, const char *fields, enum read_need need)
{
    struct arena a ARENA_SCOPE = {0};
    struct read_options o = options(&a, labels, fields, need);
    return watch_filter_new(&o);
}

static bool fits(const struct read_options *filter, const char *object)
{
    struct arena a ARENA_SCOPE = {0};
    struct json tree;
    assert_int_equal(json_decode(&a, str_of(object), NULL, NULL, &tree, NULL), 0);
    return read_options_match(filter, &tree);
}

static void test_nothing_to_keep(void **state)
{
    assert_null(keep("", "", READ_NEEDS_KEY));
    assert_null(keep("", "metadata.name=a", READ_NEEDS_KEY));
    assert_null(keep("", "metadata.namespace=default", READ_NEEDS_KEY));
    assert_null(keep("", "metadata.name=a,metadata.namespace=default", READ_NEEDS_KEY));
}

/* What the place alone does not say. */
static void test_kept(void **state)
{
    static const struct {
        const char *labels, *fields;
    } rows[] = {
        {"a", ""},
        {"", "metadata.name!=a"},
        {"", "metadata.namespace=other"},
        {"", "metadata.namespace!=default"},
        {"", "metadata.name=a,metadata.name=b"},
        {"", "metadata.name=a,metadata.name!=b"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct read_options *f = keep(rows[i].labels, rows[i].fields, READ_NEEDS_METADATA);
        assert_non_null(f);
        free(f);
    }
}

static void test_labels(void **state)
{
    struct read_options *f = keep("app in (x,y),tier!=front,!old,size>3", "", READ_NEEDS_METADATA);
    assert_int_equal(f->need, READ_NEEDS_METADATA);
    assert_true(fits(f, "{\"metadata\":{\"labels\":{\"app\":\"y\",\"size\":\"4\"}}}"));
    assert_false(fits(f, "{\"metadata\":{\"labels\":{\"app\":\"z\",\"size\":\"4\"}}}"));
    assert_false(fits(f, "{\"metadata\":{\"labels\":{\"app\":\"x\",\"size\":\"3\"}}}"));
    assert_false(fits(f, "{\"metadata\":{\"labels\":{\"app\":\"x\",\"size\":\"4\",\"old\":\"\"}}}"));
    assert_false(fits(f, "{\"metadata\":{\"labels\":{\"app\":\"x\",\"size\":\"4\",\"tier\":\"front\"}}}"));
    assert_false(fits(f, "{\"metadata\":{}}"));
    free(f);
}

static void test_fields(void **state)
{
    struct read_options *f = keep("", "status.phase=Active,metadata.name!=b", READ_NEEDS_OBJECT);
    assert_int_equal(f->need, READ_NEEDS_OBJECT);
    assert_true(fits(f, "{\"metadata\":{\"name\":\"a\"},\"status\":{\"phase\":\"Active\"}}"));
    assert_false(fits(f, "{\"metadata\":{\"name\":\"b\"},\"status\":{\"phase\":\"Active\"}}"));
    assert_false(fits(f, "{\"metadata\":{\"name\":\"a\"},\"status\":{\"phase\":\"Terminating\"}}"));
    free(f);
    f = keep("", "metadata.name=a,metadata.name=b", READ_NEEDS_KEY);
    assert_false(fits(f, "{\"metadata\":{\"name\":\"a\"}}"));
    assert_false(fits(f, "{\"metadata\":{\"name\":\"b\"}}"));
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_keep),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_fields),
    };
    return cmocka_run_group_tests_name("api/watch_filter", tests, NULL, NULL);
}
