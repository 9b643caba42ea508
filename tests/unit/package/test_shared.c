/* SPDX-License-Identifier: Apache-2.0 */
/* Packages as others hold them: found by name, shared by threads, read again where they lie. What becomes of which files is
 * shown in tests/cases/package. */
#include "package/package.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 300, READERS = 4 };

static struct arena arena;

static int teardown(void **state)
{
    arena_done(&arena);
    return 0;
}

static void add_manifest(struct buf *b)
{
    buf_add_str(b, S("{\"manifest\":{\"digest\":\"sha256:"
                     "3333333333333333333333333333333333333333333333333333333333333333\"}}\n"
                     "{\"path\":\".registry/app.yaml\",\"document\":{\"title\":\"Many\"}}\n"));
}

/* The keys of a CRD in one order or the other. */
static void add_crd(struct buf *b, size_t i, bool is_turned, const char *type)
{
    str meta = str_fmt(&arena, "\"metadata\":{\"name\":\"kind%zus.example.org\"}", i);
    str spec =
        str_fmt(&arena,
                "\"spec\":{\"group\":\"example.org\",\"scope\":\"Namespaced\",\"names\":{\"kind\":\"Kind%zu\","
                "\"plural\":\"kind%zus\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
                "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"%s\"}}}}}]}",
                i, i, type);
    str head = S("\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\"");
    buf_fmt(b, "{\"path\":\".registry/%zu.crd.yaml\",\"document\":{%.*s,%.*s,%.*s}}\n", i, STR(is_turned ? spec : head),
            STR(meta), STR(is_turned ? head : spec));
}

static struct package *load(const struct buf *lines)
{
    struct package *p = NULL;
    struct err err;
    if (package_load(content_of_text(buf_str(lines)), S("acme/many:1.0"), &p, &err) < 0)
        fail_msg("%s", err.msg);
    if (p->findings.list.n)
        fail_msg("%.*s", STR(findings_text(&arena, &p->findings)));
    return p;
}

static struct package *load_many(struct buf *lines)
{
    *lines = (struct buf){.arena = &arena};
    add_manifest(lines);
    for (size_t i = MANY; i-- > 0;)
        add_crd(lines, i, false, "string");
    return load(lines);
}

static void each_crd_is_found_by_its_name(void **state)
{
    struct buf lines;
    struct package *p = load_many(&lines);
    assert_int_equal(p->n_crds, MANY);
    for (size_t i = 0; i < MANY; i++) {
        str name = str_fmt(&arena, "kind%zus.example.org", i);
        const struct package_crd *crd = package_find_crd(p, name);
        assert_non_null(crd);
        assert_true(str_eq(crd->info.name, name));
    }
    assert_null(package_find_crd(p, S("")));
    assert_null(package_find_crd(p, S("a")));
    assert_null(package_find_crd(p, S("kind1s.example.or")));
    assert_null(package_find_crd(p, S("zzz")));
    package_unref(p);
}

static void a_package_without_crds_has_none(void **state)
{
    struct buf lines = {.arena = &arena};
    add_manifest(&lines);
    struct package *p = load(&lines);
    assert_int_equal(p->n_crds, 0);
    assert_null(package_find_crd(p, S("kind1s.example.org")));
    package_unref(p);
    package_unref(NULL);
}

static void the_last_line_needs_no_newline(void **state)
{
    struct buf lines = {.arena = &arena};
    add_manifest(&lines);
    add_crd(&lines, 1, false, "string");
    lines.n--;
    struct package *p = load(&lines);
    assert_int_equal(p->n_crds, 1);
    package_unref(p);
}

static str hash_of_one(bool is_turned, const char *type)
{
    struct buf lines = {.arena = &arena};
    add_manifest(&lines);
    add_crd(&lines, 1, is_turned, type);
    struct package *p = load(&lines);
    str hash = str_dup(&arena, p->crds[0].hash);
    package_unref(p);
    return hash;
}

static void hashes_are_those_of_what_a_crd_says(void **state)
{
    str plain = hash_of_one(false, "string");
    assert_true(plain.n > 0);
    assert_true(str_eq(plain, hash_of_one(true, "string")));
    assert_false(str_eq(plain, hash_of_one(false, "integer")));
}

/* A cache that somebody wrote to must not become what is installed. */
static void a_crd_that_changed_meanwhile_is_not_read(void **state)
{
    struct buf lines = {.arena = &arena};
    struct json body;
    struct err err;
    add_manifest(&lines);
    add_crd(&lines, 1, false, "string");
    struct package *p = load(&lines);
    assert_int_equal(package_crd_body(p, &p->crds[0], &arena, &body, &err), 0);
    ptrdiff_t at = str_find(buf_str(&lines), S("\"string\""));
    assert_true(at > 0);
    lines.p[at + 1] = 'S';
    assert_int_equal(package_crd_body(p, &p->crds[0], &arena, &body, &err), ERR_IO);
    lines.p[at] = ' ';
    assert_int_equal(package_crd_body(p, &p->crds[0], &arena, &body, &err), ERR_IO);
    package_unref(p);
}

static void *read_all(void *arg)
{
    const struct package *p = arg;
    size_t wrong = 0;
    for (size_t i = 0; i < p->n_crds; i++) {
        struct arena scratch ARENA_SCOPE = {0};
        struct json body;
        struct err err;
        struct package *mine = package_ref(p);
        if (package_crd_body(mine, &mine->crds[i], &scratch, &body, &err) < 0 ||
            !str_eq(json_get_text(json_get(&body, S("metadata")), S("name")), mine->crds[i].info.name))
            wrong++;
        package_unref(mine);
    }
    package_unref(p);
    return (void *)wrong;
}

static void threads_share_a_package(void **state)
{
    struct buf lines;
    struct package *p = load_many(&lines);
    pthread_t readers[READERS];
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, package_ref(p)), 0);
    package_unref(p); /* the last reader frees it */
    for (size_t i = 0; i < READERS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(readers[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* What describes a package is bounded, however much of it there is. */
static void too_many_descriptions_are_left_out(void **state)
{
    struct buf lines = {.arena = &arena}, readme = {.arena = &arena};
    for (size_t i = 0; i < 100000; i++)
        buf_add_char(&readme, 'x');
    add_manifest(&lines);
    for (size_t i = 0; i < 200; i++)
        buf_fmt(&lines, "{\"path\":\".registry/%zu/group.yaml\",\"document\":{\"readme\":\"%.*s\"}}\n", i,
                STR(buf_str(&readme)));
    struct package *p = load(&lines);
    assert_true(p->warnings.list.n > 0 && p->warnings.list.n < 200);
    assert_true(str_find(p->warnings.list.p[0].message, S("is left out: descriptions come to more than")) > 0);
    package_unref(p);
}

/* Records must fit into the store: an author with 20 large icons loses those, and no more. */
static void large_metadata_loses_its_icons_first(void **state)
{
    struct buf lines = {.arena = &arena}, icon = {.arena = &arena};
    for (size_t i = 0; i < 100000; i++)
        buf_add_char(&icon, 'A');
    add_manifest(&lines);
    lines.n = (size_t)str_find(buf_str(&lines), S("\n")) + 1;
    buf_add_str(&lines,
                S("{\"path\":\".registry/app.yaml\",\"document\":{\"title\":\"T\",\"readme\":\"R\",\"icons\":["));
    for (size_t i = 0; i < 20; i++)
        buf_fmt(&lines, "%s{\"mediatype\":\"image/png\",\"base64Data\":\"%.*s\"}", i ? "," : "", STR(buf_str(&icon)));
    buf_add_str(&lines, S("]}}\n"));
    struct package *p = load(&lines);
    assert_null(json_get(&p->metadata, S("icons")));
    assert_true(str_eq(json_get_text(&p->metadata, S("readme")), S("R")));
    assert_int_equal(p->warnings.list.n, 1);
    package_unref(p);
}

/* Findings quote what a package says, and 100 of them are kept. */
static void messages_are_short_and_on_one_line(void **state)
{
    struct findings f = {.arena = &arena};
    struct buf b = {.arena = &arena};
    for (size_t i = 0; i < 100000; i++)
        buf_add_str(&b, S("é\n"));
    findings_add(&f, S("InvalidPackage"), "%.*s", STR(buf_str(&b)));
    str message = f.list.p[0].message;
    assert_true(message.n <= FINDING_MAX_BYTES + sizeof "…");
    assert_true(str_is_utf8(message));
    assert_int_equal(str_find_char(message, '\n'), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_crd_is_found_by_its_name),
        cmocka_unit_test(a_package_without_crds_has_none),
        cmocka_unit_test(the_last_line_needs_no_newline),
        cmocka_unit_test(hashes_are_those_of_what_a_crd_says),
        cmocka_unit_test(a_crd_that_changed_meanwhile_is_not_read),
        cmocka_unit_test(threads_share_a_package),
        cmocka_unit_test(too_many_descriptions_are_left_out),
        cmocka_unit_test(large_metadata_loses_its_icons_first),
        cmocka_unit_test(messages_are_short_and_on_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
