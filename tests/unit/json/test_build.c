/* SPDX-License-Identifier: Apache-2.0 */
/* json_build: every form of a template, and that all templates in the folder given as argument are well-formed. */
#include "json/json.h"

#include <fts.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char *source_folder;
static const char *volatile absent; /* a NULL that the compiler cannot see */

static void assert_json(struct json v, const char *want)
{
    struct buf b = {0};
    json_encode(&b, &v, 0);
    if (!str_eq(buf_str(&b), str_of(want)))
        fail_msg("got %.*s, want %s", STR(buf_str(&b)), want);
    buf_done(&b);
}

static void literals(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    assert_json(json_build(&a, "{}"), "{}");
    assert_json(json_build(&a, " [ ] "), "[]");
    assert_json(json_build(&a, "''"), "\"\"");
    assert_json(json_build(&a, "[true, false, null, 0, -12, 9223372036854775807]"),
                "[true,false,null,0,-12,9223372036854775807]");
    assert_json(json_build(&a, "{a: {b: [{c: 'd'}, [], {}]}, e: 'f g'}"),
                "{\"a\":{\"b\":[{\"c\":\"d\"},[],{}]},\"e\":\"f g\"}");
    assert_json(json_build(&a, "{\n  a : 1 ,\n  b:2\n}"), "{\"a\":1,\"b\":2}");
}

static void keys(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    assert_json(json_build(&a, "{app.kubernetes.io/name: 1, x-y_z: 2, $ref: 3, '': 4, 'a: b': 5}"),
                "{\"app.kubernetes.io/name\":1,\"x-y_z\":2,\"$ref\":3,\"\":4,\"a: b\":5}");
    assert_json(json_build(&a, "{%s: 1, %.*s: 2, 'c-%s/%d': 3}", "a", STR(S("b")), "d", 4),
                "{\"a\":1,\"b\":2,\"c-d/4\":3}");
    assert_json(json_build(&a, "{a: 1, b: 2, %s: 3}", "a"), "{\"a\":3,\"b\":2}");
}

static void placeholders(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json list = json_arr();
    json_push(&a, &list, json_int(1));
    assert_json(json_build(&a, "[%s, %.*s, %.*s, %s]", "a", STR(S("bc")), STR((str){0}), absent),
                "[\"a\",\"bc\",\"\",null]");
    assert_json(json_build(&a, "[%d, %u, %zu, %zd, %ld, %lu, %lld, %llu]", -1, 4294967295U, (size_t)3, (ssize_t)-4, -5L,
                           6UL, -7LL, 8ULL),
                "[-1,4294967295,3,-4,-5,6,-7,8]");
    assert_json(json_build(&a, "[%" PRId64 ", %" PRIu64 "]", INT64_MIN, UINT64_MAX),
                "[-9223372036854775808,18446744073709551615]");
    assert_json(json_build(&a, "[%c, %c, %g]", true, false, 1.5), "[true,false,1.5]");
    assert_json(json_build(&a, "{a: %p, b: %p}", &list, NULL), "{\"a\":[1],\"b\":null}");
    assert_json(json_build(&a, "[%p, %p]", JSON_REF(json_str(S("x"))), JSON_REF(json_bool(true))), "[\"x\",true]");
    assert_json(json_build(&a, "%p", &list), "[1]");
}

static void text_with_placeholders_and_escapes(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char name[] = "web";
    struct json v = json_build(&a, "{a: 'pod %s of %.*s, %d of %zu', b: '100%%', c: 'it\\'s\\\\\\n', d: '%s'}", name,
                               STR(S("ns")), 1, (size_t)2, name);
    name[0] = 'W'; /* quoted text belongs to the arena */
    assert_json(v, "{\"a\":\"pod web of ns, 1 of 2\",\"b\":\"100%\",\"c\":\"it's\\\\\\n\",\"d\":\"web\"}");
    assert_json(json_build(&a, "['\"', '%s']", ""), "[\"\\\"\",\"\"]");
}

static void values_are_borrowed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    const char *text = "text";
    struct json child = json_build(&a, "{a: 1}");
    struct json v = json_build(&a, "{t: %s, c: %p}", text, &child);
    assert_ptr_equal(json_get(&v, S("t"))->s, text);
    assert_ptr_equal(json_get(&v, S("c"))->members, child.members);
}

static void members_that_are_empty_are_omitted(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    assert_json(json_build(&a, "{a?: %s, b?: %s, c?: %d, d?: %c, e?: %p, f?: {g?: ''}, h?: [], i?: null, j?: %g}", "",
                           absent, 0, false, NULL, 0.0),
                "{}");
    assert_json(
        json_build(&a, "{a?: %s, c?: %d, d?: %c, e?: %p, f ?: {g?: '', k: 1}, h?: [''], j?: %g, u?: %" PRIu64 "}", "x",
                   1, true, JSON_REF(json_int(2)), 0.5, UINT64_MAX),
        "{\"a\":\"x\",\"c\":1,\"d\":true,\"e\":2,\"f\":{\"k\":1},\"h\":[\"\"],\"j\":0.5,\"u\":18446744073709551615}");
}

static void results_can_be_changed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    struct json v = json_build(&a, "{a: {}, l: [1]}");
    json_set(&a, json_get_mut(&v, S("a")), S("b"), json_int(1));
    json_push(&a, json_get_mut(&v, S("l")), json_int(2));
    json_set(&a, &v, S("c"), json_int(3));
    assert_json(v, "{\"a\":{\"b\":1},\"l\":[1,2],\"c\":3}");
}

static void malformed_templates_are_found(void **state)
{
    static const struct {
        const char *template;
        size_t at;
        const char *why;
    } cases[] = {
        {"", 0, "expected a value"},
        {"{", 1, "expected a key"},
        {"{a}", 2, "expected \":\""},
        {"{a:}", 3, "expected a value"},
        {"{a: 1", 5, "expected \",\" or \"}\""},
        {"{a: 1,}", 6, "expected a key"},
        {"{a: 1 b: 2}", 6, "expected \",\" or \"}\""},
        {"{%d: 1}", 3, "a key must be text"},
        {"[1, 2", 5, "expected \",\" or \"]\""},
        {"[1,]", 3, "expected a value"},
        {"[1}", 2, "expected \",\" or \"]\""},
        {"'abc", 4, "unterminated text"},
        {"'a\\t'", 3, "unknown escape"},
        {"'%p'", 3, "only text and numbers fit into quotes"},
        {"'%c'", 3, "only text and numbers fit into quotes"},
        {"%x", 1, "unknown placeholder"},
        {"%5d", 1, "unknown placeholder"},
        {"\"a\"", 0, "expected a value"},
        {"1.5", 1, "expected the end"},
        {"99999999999999999999", 0, "expected a value"},
        {"{} {}", 3, "expected the end"},
        {"truely", 4, "expected the end"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t at = 0;
        const char *why = json_template_check(cases[i].template, &at);
        if (why == NULL || strcmp(why, cases[i].why) != 0 || at != cases[i].at)
            fail_msg("%s: got %s at %zu, want %s at %zu", cases[i].template, why ? why : "no error", at, cases[i].why,
                     cases[i].at);
    }
}

static void malformed_templates_abort(void **state)
{
    int ends[2], status;
    char text[200] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct arena a = {0};
        dup2(ends[1], STDERR_FILENO);
        json_build(&a, "{a: 1]");
        _exit(0);
    }
    assert_true(pid > 0);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(text, "json_build: expected \",\" or \"}\" at byte 5 of template {a: 1]\n");
}

/* ---- The templates of the source tree ---- */

/* Appends the text of the C string literal after its opening quote; returns what follows the closing one. */
static const char *read_literal(const char *p, struct buf *b)
{
    for (; *p && *p != '"'; p++) {
        if (*p == '\\') {
            p++;
            buf_add_char(b, *p == 'n' ? '\n' : *p); /* \\ \' \" and \n; others fail as characters of a template */
        } else {
            buf_add_char(b, *p);
        }
    }
    return *p ? p + 1 : p;
}

/* The template that starts at p, literals and the macros of <inttypes.h>; false for anything else. */
static bool read_template(const char *p, struct buf *b)
{
    static const struct {
        const char *name, *text;
    } macros[] = {{"PRId64", "ld"}, {"PRIu64", "lu"}, {"PRId32", "d"}, {"PRIu32", "u"}};
    for (;;) {
        p += strspn(p, " \n");
        size_t i = 0;
        while (i < COUNT(macros) && strncmp(p, macros[i].name, strlen(macros[i].name)) != 0)
            i++;
        if (*p == '"') {
            p = read_literal(p + 1, b);
        } else if (i < COUNT(macros)) {
            buf_add_str(b, str_of(macros[i].text));
            p += strlen(macros[i].name);
        } else {
            buf_add_char(b, '\0');
            return b->n > 1 && (*p == ',' || *p == ')');
        }
    }
}

/* Returns how many templates the file has. */
static size_t check_file(struct arena *a, const char *path)
{
    struct buf text = {.arena = a};
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    for (int c = getc(f); c != EOF; c = getc(f))
        buf_add_char(&text, (char)c);
    buf_add_char(&text, '\0');
    assert_int_equal(fclose(f), 0);
    size_t n = 0, at = 0;
    for (const char *p = text.p; (p = strstr(p, "json_build(")) != NULL; n++) {
        p += strlen("json_build(");
        struct buf template = {.arena = a};
        const char *comma = strchr(p, ',');
        if (comma == NULL || !read_template(comma + 1, &template))
            fail_msg("%s: the template is not a literal: %.60s", path, p);
        const char *why = json_template_check(template.p, &at);
        if (why)
            fail_msg("%s: %s at byte %zu of template %s", path, why, at, template.p);
    }
    return n;
}

static void all_templates_are_well_formed(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    char *const roots[] = {source_folder, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    assert_non_null(tree);
    size_t n = 0;
    for (FTSENT *e; (e = fts_read(tree)) != NULL;) {
        if (e->fts_info == FTS_F && str_has_suffix(str_of(e->fts_name), S(".c")) &&
            strcmp(e->fts_name, "json_build.c") != 0)
            n += check_file(&a, e->fts_path);
    }
    assert_int_equal(fts_close(tree), 0);
    assert_true(n > 0); /* else this test looks in the wrong place */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literals),
        cmocka_unit_test(keys),
        cmocka_unit_test(placeholders),
        cmocka_unit_test(text_with_placeholders_and_escapes),
        cmocka_unit_test(values_are_borrowed),
        cmocka_unit_test(members_that_are_empty_are_omitted),
        cmocka_unit_test(results_can_be_changed),
        cmocka_unit_test(malformed_templates_are_found),
        cmocka_unit_test(malformed_templates_abort),
        cmocka_unit_test(all_templates_are_well_formed),
    };
    source_folder = argc > 1 ? argv[1] : NULL;
    return source_folder ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
