/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens and texts as kube-apiserver 1.32.4 makes and refuses them. */
#include "api/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "json/base64.h"

#include <cmocka.h>

static str encode(struct arena *a, const char *text)
{
    str padded = base64_encode(a, str_of(text));
    char *p = arena_alloc(a, padded.n + 1);
    size_t n = 0;
    for (; n < padded.n && padded.p[n] != '='; n++)
        p[n] = padded.p[n] == '+' ? '-' : padded.p[n] == '/' ? '_' : padded.p[n];
    return (str){p, n};
}

static void assert_text(str got, const char *want)
{
    char text[512];
    assert_true(got.n < sizeof text);
    if (got.n)
        memcpy(text, got.p, got.n);
    text[got.n] = 0;
    assert_string_equal(text, want);
}

static void test_format(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct page_token t = {.revision = 17960, .name = S("cm3")};
    assert_text(page_token_format(&a, &t, false),
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTc5NjAsInN0YXJ0IjoiY20zXHUwMDAwIn0");
    t.revision = -1;
    t.name = S("cm2");
    assert_text(page_token_format(&a, &t, false),
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiY20yXHUwMDAwIn0");
}

static void round_trip(struct arena *a, str namespace, str name, bool with_namespace)
{
    struct page_token t = {.revision = 7, .namespace = namespace, .name = name}, back;
    struct err err;
    assert_int_equal(page_token_parse(a, page_token_format(a, &t, with_namespace), with_namespace, &back, &err), 0);
    assert_int_equal(back.revision, 7);
    assert_true(str_eq(back.namespace, namespace));
    assert_true(str_eq(back.name, name));
}

static void test_round_trips(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    round_trip(&a, (str){0}, S("system:aggregate-to-admin"), false);
    round_trip(&a, S("kube-system"), S("x"), true);
    round_trip(&a, (str){0}, S("<\"\\>?"), false);
}

/* What is left was counted for the page before; a token of others, or one that somebody made up, has no such number. */
static void test_left(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } rows[] = {
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":7,\"start\":\"a\\u0000\",\"left\":41000}", 41000},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":7,\"start\":\"a\\u0000\"}", 0},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":7,\"start\":\"a\\u0000\",\"left\":-3}", 0},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":7,\"start\":\"a\\u0000\",\"left\":\"many\"}", 0},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":7,\"start\":\"a\\u0000\",\"left\":1e30}", 0},
    };
    struct arena a ARENA_SCOPE = {0};
    struct page_token t = {.revision = 7, .name = S("a"), .left = 12}, back;
    struct err err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(page_token_parse(&a, encode(&a, rows[i].text), false, &back, &err), 0);
        assert_int_equal(back.left, rows[i].want);
    }
    assert_int_equal(page_token_parse(&a, page_token_format(&a, &t, false), false, &back, &err), 0);
    assert_int_equal(back.left, 12);
}

static void test_slash_of_other_servers(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct page_token t;
    struct err err;
    str text = S("eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTc5NjAsInN0YXJ0IjoiL2NtMVx1MDAwMCJ9");
    assert_int_equal(page_token_parse(&a, text, false, &t, &err), 0);
    assert_true(str_eq(t.name, S("cm1")));
    assert_int_equal(t.revision, 17960);
}

static void refused(str token, bool with_namespace, const char *want)
{
    struct arena a ARENA_SCOPE = {0};
    struct page_token t;
    struct err err;
    assert_int_equal(page_token_parse(&a, token, with_namespace, &t, &err), ERR_BAD_REQUEST);
    assert_string_equal(err.msg, want);
}

static void test_refusals(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    static const char *const rows[][2] = {
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":0,\"start\":\"a\\u0000\"}",
         "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":17960,\"start\":\"\"}",
         "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":17960,\"start\":\"../x\"}", "continue key is not valid: ../x"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":17960,\"start\":\"//x\"}", "continue key is not valid: //x"},
        {"{\"v\":\"v2\",\"rv\":17960,\"start\":\"x\"}",
         "continue key is not valid: server does not recognize this encoded version v2"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":\"x\",\"start\":\"x\"}",
         "continue key is not valid: json: cannot unmarshal string into Go struct field continueToken.rv of type int64"},
        {"[]", "continue key is not valid: json: cannot unmarshal array into Go value of type storage.continueToken"},
        {"\"x\"",
         "continue key is not valid: json: cannot unmarshal string into Go value of type storage.continueToken"},
        {"null", "continue key is not valid: server does not recognize this encoded version "},
        {"{}", "continue key is not valid: server does not recognize this encoded version "},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":17960,\"start\":\"x\"",
         "continue key is not valid: unexpected end of JSON input"},
        {"abc", "continue key is not valid: invalid character 'a' looking for beginning of value"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":5,\"start\":\"a/b\\u0000\"}", "continue key is not valid: a/b"},
        {"{\"v\":\"meta.k8s.io/v1\",\"rv\":5,\"start\":\"..\\u0000\"}", "continue key is not valid: .."},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        refused(encode(&a, rows[i][0]), false, rows[i][1]);
    refused(encode(&a, "{\"v\":\"meta.k8s.io/v1\",\"rv\":5,\"start\":\"b\\u0000\"}"), true,
            "continue key is not valid: b");
    refused(encode(&a, "{\"v\":\"meta.k8s.io/v1\",\"rv\":5,\"start\":\"a/b/c\\u0000\"}"), true,
            "continue key is not valid: a/b/c");
}

static void test_not_base64(void **state)
{
    refused(S("!!"), false, "continue key is not valid: illegal base64 data at input byte 0");
    refused(S("e30="), false, "continue key is not valid: illegal base64 data at input byte 3");
    refused(S("e30+a"), false, "continue key is not valid: illegal base64 data at input byte 3");
    refused(S("e30ab"), false, "continue key is not valid: illegal base64 data at input byte 4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),   cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_left),     cmocka_unit_test(test_slash_of_other_servers),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_not_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
