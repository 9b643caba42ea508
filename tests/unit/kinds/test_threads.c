/* SPDX-License-Identifier: Apache-2.0 */
/* What several threads share: a schema whose patterns are compiled by whoever needs them first, and kinds that are held
 * while the registry goes on. The thread sanitizer watches this program too (tools/test). */
#include "kinds/registry.h"
#include "schema/schema.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 50 };

static struct json tree(struct arena *a, const char *text)
{
    struct json v;
    struct err err;
    if (json_decode(a, str_of(text), NULL, NULL, &v, &err) < 0)
        fail_msg("%s", err.msg);
    return v;
}

static void together(void *(*fn)(void *), void *arg)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fn, arg), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

static void *validate(void *arg)
{
    const struct schema *schema = *(struct schema **)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct arena a ARENA_SCOPE = {0};
        struct field_errors errs = {.arena = &a};
        struct json good = tree(&a, "{\"spec\":{\"a\":\"abc\",\"b\":\"12\",\"c\":\"x-y\"}}");
        struct json bad = tree(&a, "{\"spec\":{\"a\":\"ABC\",\"b\":\"no\",\"c\":\"x_y\"}}");
        if (!schema_validate(schema_root(schema), (str){0}, &good, &errs) ||
            schema_validate(schema_root(schema), (str){0}, &bad, &errs) || errs.list.n != 3)
            return arg;
    }
    return NULL;
}

static void patterns_are_compiled_once_for_all(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v = tree(&a, "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{"
                             "\"a\":{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"},"
                             "\"b\":{\"type\":\"string\",\"pattern\":\"^\\\\d+$\"},"
                             "\"c\":{\"type\":\"string\",\"pattern\":\"^x-(y|z)$\"}}}}}");
    for (int i = 0; i < ROUNDS; i++) {
        struct schema *schema;
        struct err err;
        assert_int_equal(schema_compile(&v, &schema, &err), 0);
        together(validate, &schema);
        schema_free(schema);
    }
}

static void *hold(void *arg)
{
    const struct kind *kind = arg;
    for (int i = 0; i < ROUNDS; i++) {
        const struct kind *mine = registry_hold(kind);
        bool same = str_eq(str_of(mine->plural), S("fleets"));
        registry_release(mine);
        if (!same)
            return arg;
    }
    return NULL;
}

static void kinds_are_held_by_many(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct err err;
    struct registry *r = registry_new();
    struct json crd = tree(
        &a,
        "{\"metadata\":{\"name\":\"fleets.example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":\"Namespaced\","
        "\"names\":{\"plural\":\"fleets\",\"singular\":\"fleet\",\"kind\":\"Fleet\",\"listKind\":\"FleetList\"},"
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{\"type\":"
        "\"object\"}}}]},\"status\":{\"acceptedNames\":{\"plural\":\"fleets\",\"singular\":\"fleet\",\"kind\":"
        "\"Fleet\",\"listKind\":\"FleetList\"},\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}}");
    assert_int_equal(registry_put_crd(r, &crd, &err), 0);
    const struct kind *kind = registry_hold(registry_by_body(r, S("example.com/v1"), S("Fleet")));
    assert_non_null(kind);
    assert_true(registry_remove_crd(r, S("fleets.example.com")));
    registry_free(r);
    together(hold, (void *)kind);
    registry_release(kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_compiled_once_for_all),
        cmocka_unit_test(kinds_are_held_by_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
