/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/scratch.h"

#include "oci/oci_build.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    struct arena arena;
    char dir[SCRATCH_MAX];
    struct oci_layout *layout;
};

static const char *path_of(struct place *p, const char *name)
{
    return str_cstr(&p->arena, str_fmt(&p->arena, "%s/%s", p->dir, name));
}

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    struct err err;
    scratch_make(p->dir, "reeve-build");
    if (oci_layout_create(path_of(p, "store"), &p->layout, &err) < 0)
        fail_msg("%s", err.msg);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    oci_layout_free(p->layout);
    scratch_remove(p->dir);
    arena_done(&p->arena);
    free(p);
    return 0;
}

/* With the directories above it. */
static void write_file(struct place *p, const char *name, const char *text)
{
    char *path = str_cstr(&p->arena, str_of(path_of(p, name)));
    for (char *slash = strchr(path + strlen(p->dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int build_tree(struct place *p, const char *tree, enum oci_format format, struct oci_digest *ret,
                      struct err *err)
{
    struct oci_build build;
    struct oci_reference ref;
    int code;
    if ((code = oci_reference_parse(S("acme/wp:1"), &ref, err)) < 0 ||
        (code = oci_build_collect(&p->arena, path_of(p, tree), format, &build, err)) < 0)
        return code;
    return oci_build_image(p->layout, &build, &ref, ret, err);
}

static struct oci_digest must_build(struct place *p, const char *tree, enum oci_format format)
{
    struct oci_digest digest;
    struct err err;
    if (build_tree(p, tree, format, &digest, &err) < 0)
        fail_msg("%s", err.msg);
    return digest;
}

/* "path=data" of the files of the image, as an install would read it. */
static const char *listed(struct place *p, ptrdiff_t *ret_base)
{
    static const str paths[] = {S_INIT(".registry"), S_INIT("package.yaml")};
    const struct oci_wants wants = {.paths = paths, .n = 2};
    const struct oci_limits limits = OCI_LIMITS_DEFAULT;
    struct oci_source *source = oci_layout_source(p->layout);
    struct oci_reference ref;
    struct oci_image image = {0};
    struct oci_files files = {0};
    struct buf out = {.arena = &p->arena};
    struct err err;
    if (oci_reference_parse(S("acme/wp:1"), &ref, &err) < 0 ||
        oci_image_open(&p->arena, source, &ref, &image, &err) < 0 ||
        oci_image_read(&p->arena, source, &image, &wants, &limits, &files, &err) < 0)
        fail_msg("%s", err.msg);
    *ret_base = image.base;
    for (size_t i = 0; i < files.n; i++)
        buf_fmt(&out, "%s%.*s=%.*s", i ? "\n" : "", STR(files.p[i].path), STR(files.p[i].data));
    return str_cstr(&p->arena, buf_str(&out));
}

static void registry(void **state)
{
    struct place *p = *state;
    ptrdiff_t base;
    write_file(p, "tree/.registry/app.yaml", "title: x\n");
    write_file(p, "tree/.registry/resources/a.crd.yaml", "kind: y\n");
    write_file(p, "tree/.registry/.hidden", "no");
    write_file(p, "tree/Dockerfile", "no");
    struct oci_digest whole = must_build(p, "tree", OCI_FORMAT_REGISTRY);
    assert_string_equal(listed(p, &base), ".registry/app.yaml=title: x\n\n.registry/resources/a.crd.yaml=kind: y\n");
    assert_int_equal(base, -1);
    /* The same by the inner directory. */
    struct oci_digest inner = must_build(p, "tree/.registry", OCI_FORMAT_REGISTRY);
    assert_true(oci_digest_eq(&whole, &inner));
}

/* What is only measured has the digest that building it gives, and leaves nothing in any store. */
static void measured(void **state)
{
    static const enum oci_format formats[] = {OCI_FORMAT_REGISTRY, OCI_FORMAT_XPKG};
    struct place *p = *state;
    struct oci_build build;
    struct oci_digest digest;
    struct oci_manifest index;
    struct err err;
    uint64_t size = 0;
    write_file(p, "tree/.registry/app.yaml", "title: x\n");
    write_file(p, "tree/crossplane.yaml", "kind: Provider\n");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(oci_build_collect(&p->arena, path_of(p, "tree"), formats[i], &build, &err), 0);
        assert_int_equal(oci_build_measure(&build, &digest, &size, &err), 0);
        assert_true(size > 100);
        assert_false(oci_layout_has_blob(p->layout, &digest, size));
        struct oci_digest built = must_build(p, "tree", formats[i]);
        assert_true(oci_digest_eq(&digest, &built));
        struct oci_image image;
        struct oci_reference ref;
        assert_int_equal(oci_reference_parse(S("acme/wp:1"), &ref, &err), 0);
        assert_int_equal(oci_image_open(&p->arena, oci_layout_source(p->layout), &ref, &image, &err), 0);
        assert_int_equal(image.manifest.config.size + image.manifest.layers[0].size, size);
    }
    assert_int_equal(oci_layout_list(p->layout, &p->arena, &index, &err), 0);
    assert_int_equal(index.n_layers, 1);
}

static void same_tree_same_image(void **state)
{
    struct place *p = *state;
    static const char *const names[] = {"app.yaml", "b/c.yaml", "b-c.yaml", "b.yaml", "b/a/d.yaml"};
    for (size_t i = 0; i < 5; i++) {
        write_file(p, str_cstr(&p->arena, str_fmt(&p->arena, "one/%s", names[i])), names[i]);
        write_file(p, str_cstr(&p->arena, str_fmt(&p->arena, "two/%s", names[4 - i])), names[4 - i]);
    }
    assert_int_equal(chmod(path_of(p, "two/app.yaml"), 0755), 0);
    assert_int_equal(utimensat(AT_FDCWD, path_of(p, "two/b"), (struct timespec[2]){{1, 0}, {1, 0}}, 0), 0);
    struct oci_digest one = must_build(p, "one", OCI_FORMAT_REGISTRY), two = must_build(p, "two", OCI_FORMAT_REGISTRY);
    assert_true(oci_digest_eq(&one, &two));
    write_file(p, "two/app.yaml", "other");
    two = must_build(p, "two", OCI_FORMAT_REGISTRY);
    assert_false(oci_digest_eq(&one, &two));
}

static void long_paths(void **state)
{
    struct place *p = *state;
    ptrdiff_t base;
    struct buf name = {.arena = &p->arena};
    buf_fmt(&name, "tree/");
    for (int i = 0; i < 20; i++)
        buf_fmt(&name, "directory-%d/", i);
    buf_fmt(&name, "x.yaml");
    write_file(p, str_cstr(&p->arena, buf_str(&name)), "1");
    write_file(p, "tree/app.yaml", "2");
    must_build(p, "tree", OCI_FORMAT_REGISTRY);
    assert_string_equal(listed(p, &base),
                        str_cstr(&p->arena, str_fmt(&p->arena, ".registry/app.yaml=2\n.registry/%.*s=1",
                                                    STR(str_from(buf_str(&name), 5)))));
}

static void xpkg_of_one_file(void **state)
{
    struct place *p = *state;
    ptrdiff_t base;
    write_file(p, "tree/package.yaml", "kind: Provider\n");
    write_file(p, "tree/other.yaml", "no");
    must_build(p, "tree", OCI_FORMAT_XPKG);
    assert_string_equal(listed(p, &base), "package.yaml=kind: Provider\n");
    assert_int_equal(base, 0);
}

static void xpkg_of_many(void **state)
{
    struct place *p = *state;
    ptrdiff_t base;
    write_file(p, "tree/crds/b.yaml", "kind: B");
    write_file(p, "tree/a.yml", "---\nkind: A\n");
    write_file(p, "tree/crossplane.yaml", "kind: Provider\n");
    write_file(p, "tree/empty.yaml", "");
    write_file(p, "tree/examples/x.yaml", "no");
    write_file(p, "tree/README.md", "no");
    write_file(p, "tree/.git/x.yaml", "no");
    must_build(p, "tree", OCI_FORMAT_XPKG);
    assert_string_equal(listed(p, &base), "package.yaml=---\nkind: Provider\n---\nkind: A\n---\nkind: B\n");
    assert_int_equal(base, 0);
}

/* What the stream is made of is told file by file, for messages: in its order, and what each means alone it means in it. */
static void xpkg_in_parts(void **state)
{
    struct place *p = *state;
    struct oci_build build;
    struct err err;
    ptrdiff_t base;
    write_file(p, "tree/crds/b.yaml", "\xef\xbb\xbfkind: B");
    write_file(p, "tree/a.yml", "kind: A\n");
    write_file(p, "tree/crossplane.yaml", "kind: Provider\n");
    must_build(p, "tree", OCI_FORMAT_XPKG);
    assert_string_equal(listed(p, &base), "package.yaml=---\nkind: Provider\n---\nkind: A\n---\nkind: B\n");
    assert_int_equal(oci_build_collect(&p->arena, path_of(p, "tree"), OCI_FORMAT_XPKG, &build, &err), 0);
    assert_int_equal(build.n_files, 1);
    assert_int_equal(build.n_parts, 3);
    assert_true(str_eq(build.parts[0].path, S("crossplane.yaml")));
    assert_true(str_eq(build.parts[1].path, S("a.yml")));
    assert_true(str_eq(build.parts[2].path, S("crds/b.yaml")));
    assert_true(str_eq(build.parts[2].data, S("kind: B")));
    write_file(p, "tree/crds/c.yaml", "%YAML 1.1\n---\nkind: C\n");
    assert_int_equal(oci_build_collect(&p->arena, path_of(p, "tree"), OCI_FORMAT_XPKG, &build, &err), ERR_INVALID);
    assert_true(
        str_has_suffix(str_of(err.msg), S(": crds/c.yaml: begins with a directive of YAML: a package has none")));
}

static void refused(struct place *p, const char *tree, int code, const char *why)
{
    struct oci_digest digest;
    struct err err = {0};
    assert_int_equal(build_tree(p, tree, OCI_FORMAT_REGISTRY, &digest, &err), code);
    assert_string_equal(err.msg, str_cstr(&p->arena, str_fmt(&p->arena, "%s%s", path_of(p, tree), why)));
}

static void trees_that_are_none(void **state)
{
    struct place *p = *state;
    struct oci_digest digest;
    struct err err;
    assert_int_equal(build_tree(p, "nowhere", OCI_FORMAT_XPKG, &digest, &err), ERR_NOT_FOUND);
    write_file(p, "empty/.hidden", "x");
    refused(p, "empty", ERR_INVALID,
            ": there is nothing to build a package from: no .registry, crossplane.yaml or app.yaml");
    write_file(p, "home/admin.kubeconfig", "x");
    write_file(p, "home/papers/app.yaml", "x");
    refused(p, "home", ERR_INVALID,
            ": there is nothing to build a package from: no .registry, crossplane.yaml or app.yaml");
    write_file(p, "hollow/.registry/.hidden", "x");
    refused(p, "hollow", ERR_INVALID, ": there is nothing to build a package from");
    write_file(p, "link/app.yaml", "x");
    write_file(p, "link/sub/y.yaml", "x");
    assert_int_equal(symlink("/etc/passwd", path_of(p, "link/sub/x.crd.yaml")), 0);
    refused(p, "link", ERR_INVALID, ": sub/x.crd.yaml: is a link: a package has none");
    write_file(p, "pipe/app.yaml", "x");
    assert_int_equal(mkfifo(path_of(p, "pipe/q"), 0600), 0);
    refused(p, "pipe", ERR_INVALID, ": q: is not a file: a package has nothing else");
    write_file(p, "way/x", "x");
    assert_int_equal(symlink("/etc", path_of(p, "way/.registry")), 0);
    refused(p, "way", ERR_INVALID, ": .registry: must be a directory, and no link");
    write_file(p, "inner/.registry/app.yaml", "x");
    assert_int_equal(symlink("app.yaml", path_of(p, "inner/.registry/link.yaml")), 0);
    refused(p, "inner", ERR_INVALID, ": .registry/link.yaml: is a link: a package has none");
    write_file(p, "large/app.yaml", "");
    assert_int_equal(truncate(path_of(p, "large/app.yaml"), (16 << 20) + 1), 0);
    refused(p, "large", ERR_TOO_LARGE, ": app.yaml: it, or all files together, are larger than a package may be");
}

/* Paths given by a caller are checked as well. */
static void paths_that_are_none(void **state)
{
    static const char *const paths[] = {"", "/a", "a/", "./a", "a//b", "../a", "a\xff"};
    struct place *p = *state;
    struct oci_reference ref;
    struct oci_digest digest;
    struct err err;
    assert_int_equal(oci_reference_parse(S("a"), &ref, &err), 0);
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct oci_file file = {str_of(paths[i]), S("x")};
        struct oci_build build = {.files = &file, .n_files = 1};
        assert_int_equal(oci_build_image(p->layout, &build, &ref, &digest, &err), ERR_INVALID);
    }
    struct oci_file twice[] = {{S("a"), S("1")}, {S("a"), S("2")}};
    struct oci_build build = {.files = twice, .n_files = 2};
    assert_int_equal(oci_build_image(p->layout, &build, &ref, &digest, &err), ERR_INVALID);
    assert_string_equal(err.msg, "\"a\" is there twice");
    struct oci_manifest index;
    assert_int_equal(oci_layout_list(p->layout, &p->arena, &index, &err), 0);
    assert_int_equal(index.n_layers, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(registry),
        TEST(measured),
        TEST(same_tree_same_image),
        TEST(long_paths),
        TEST(xpkg_of_one_file),
        TEST(xpkg_of_many),
        TEST(xpkg_in_parts),
        TEST(trees_that_are_none),
        TEST(paths_that_are_none),
    };
    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
