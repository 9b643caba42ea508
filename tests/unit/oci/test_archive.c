/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "maker.h"
#include "oci/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct place {
    struct arena arena;
    char path[40];
    struct oci_source *source;
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    snprintf(p->path, sizeof p->path, "/tmp/reeve-archive-XXXXXX");
    int fd = mkstemp(p->path);
    assert_true(fd >= 0);
    close(fd);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    oci_source_free(p->source);
    unlink(p->path);
    arena_done(&p->arena);
    free(p);
    return 0;
}

static int open_as(struct place *p, const struct buf *tar, struct err *err)
{
    FILE *f = fopen(p->path, "w");
    assert_non_null(f);
    if (tar->n)
        assert_int_equal(fwrite(tar->p, 1, tar->n, f), tar->n);
    fclose(f);
    oci_source_free(p->source);
    p->source = NULL;
    return oci_archive_open(p->path, &p->source, err);
}

static void must_open(struct place *p, struct buf *tar)
{
    struct err err;
    make_end(tar);
    if (open_as(p, tar, &err) < 0)
        fail_msg("%s", err.msg);
}

static void must_refuse(struct place *p, const struct buf *tar, int code, const char *why)
{
    struct err err = {0};
    assert_int_equal(open_as(p, tar, &err), code);
    assert_string_equal(err.msg, str_cstr(&p->arena, str_fmt(&p->arena, "%s: %s", p->path, why)));
}

/* "path=data" of the files of an image; NULL: of the only one. */
static const char *listed(struct place *p, const char *name)
{
    static const str paths[] = {S_INIT(".registry"), S_INIT("package.yaml")};
    const struct oci_wants wants = {.paths = paths, .n = 2};
    const struct oci_limits limits = OCI_LIMITS_DEFAULT;
    struct oci_reference ref;
    struct oci_image image;
    struct oci_files files;
    struct buf out = {.arena = &p->arena};
    struct err err;
    if ((name ? oci_reference_parse(str_of(name), &ref, &err) : oci_archive_only(p->source, &p->arena, &ref, &err)) <
            0 ||
        oci_image_open(&p->arena, p->source, &ref, &image, &err) < 0 ||
        oci_image_read(&p->arena, p->source, &image, &wants, &limits, &files, &err) < 0)
        return str_cstr(&p->arena, str_fmt(&p->arena, "%s: %s", err_name(err.code), err.msg));
    for (size_t i = 0; i < files.n; i++)
        buf_fmt(&out, "%s%.*s=%.*s", i ? "\n" : "", STR(files.p[i].path), STR(files.p[i].data));
    return str_cstr(&p->arena, buf_str(&out));
}

static str layer(struct place *p, const char *path, const char *text)
{
    struct buf tar = {.arena = &p->arena};
    make_file(&tar, path, text);
    make_end(&tar);
    return buf_str(&tar);
}

static const char *digest_of(struct place *p, str bytes)
{
    struct oci_digest d = oci_digest_of(OCI_SHA256, bytes);
    return str_cstr(&p->arena, oci_digest_format(&p->arena, &d));
}

/* As "crossplane xpkg build" makes them: files named by digest, the package marked by a label. */
static void xpkg(void **state)
{
    struct place *p = *state;
    struct buf tar = {.arena = &p->arena};
    str runtime = make_gzip(&p->arena, layer(p, "package.yaml", "no")),
        base = make_gzip(&p->arena, layer(p, "package.yaml", "yes"));
    str config =
        str_fmt(&p->arena, "{\"config\":{\"Labels\":{\"io.crossplane.xpkg:%s\":\"base\"}}}", digest_of(p, base));
    make_file(&tar, "manifest.json",
              "[{\"Config\":\"sha256:abc\",\"RepoTags\":null,\"Layers\":[\"one.tar.gz\",\"two.tar.gz\"]}]");
    make_entry(&tar, "sha256:abc", '0', config);
    make_entry(&tar, "one.tar.gz", '0', runtime);
    make_entry(&tar, "two.tar.gz", '0', base);
    must_open(p, &tar);
    assert_string_equal(listed(p, NULL), "package.yaml=yes");
    assert_non_null(strstr(listed(p, "acme/wp"), "NotFound: acme/wp is not in "));
}

/* As "docker save" made them: plain layers, several images, layers they share. */
static void docker_save(void **state)
{
    struct place *p = *state;
    struct buf tar = {.arena = &p->arena};
    make_entry(&tar, "aa/layer.tar", '0', layer(p, ".registry/a", "1"));
    make_entry(&tar, "bb/layer.tar", '0', layer(p, ".registry/b", "2"));
    make_file(&tar, "one.json", "{}");
    make_file(&tar, "two.json", "{\"os\":\"linux\"}");
    make_file(
        &tar, "./manifest.json",
        "[{\"Config\":\"one.json\",\"RepoTags\":[\"acme/wp:1\",\"acme/wp:latest\"],\"Layers\":[\"aa/layer.tar\"]},"
        "{\"Config\":\"two.json\",\"RepoTags\":[\"acme/wp:2\"],\"Layers\":[\"aa/layer.tar\",\"./bb/layer.tar\"]}]");
    must_open(p, &tar);
    assert_string_equal(listed(p, "acme/wp:1"), ".registry/a=1");
    assert_string_equal(listed(p, "docker.io/acme/wp"), ".registry/a=1");
    assert_string_equal(listed(p, "acme/wp:2"), ".registry/a=1\n.registry/b=2");
    assert_non_null(strstr(listed(p, NULL), "holds 2 images, not one"));
}

static void put_blob(struct place *p, struct buf *tar, str bytes)
{
    const char *path = str_cstr(&p->arena, str_fmt(&p->arena, "blobs/sha256/%s", digest_of(p, bytes) + 7));
    make_entry(tar, path, '0', bytes);
}

static void layout_in_a_file(void **state)
{
    struct place *p = *state;
    struct buf tar = {.arena = &p->arena};
    str files = make_zstd(&p->arena, layer(p, ".registry/a", "1"));
    str manifest =
        str_fmt(&p->arena,
                "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"x/y\",\"digest\":\"%s\",\"size\":2},\"layers\":"
                "[{\"mediaType\":\"" OCI_TYPE_LAYER_ZSTD "\",\"digest\":\"%s\",\"size\":%zu}]}",
                digest_of(p, S("{}")), digest_of(p, files), files.n);
    str index = str_fmt(&p->arena,
                        "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"" OCI_TYPE_MANIFEST
                        "\",\"digest\":\"%s\",\"size\":%zu,\"annotations\":{\"org.opencontainers.image.ref.name\":"
                        "\"acme/wp:1\"}}]}",
                        digest_of(p, manifest), manifest.n);
    put_blob(p, &tar, files);
    put_blob(p, &tar, manifest);
    make_entry(&tar, "index.json", '0', index);
    make_file(&tar, "oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}");
    make_file(&tar, "manifest.json", "of no interest then");
    must_open(p, &tar);
    assert_string_equal(listed(p, "acme/wp:1"), ".registry/a=1");
    assert_string_equal(listed(p, NULL), ".registry/a=1");
    assert_non_null(strstr(listed(p, "acme/wp:2"), "NotFound"));
}

/* A layout whose manifest is not what index.json says. */
static void damaged_layout(void **state)
{
    struct place *p = *state;
    struct buf tar = {.arena = &p->arena};
    str index = str_fmt(&p->arena,
                        "{\"schemaVersion\":2,\"manifests\":[{\"mediaType\":\"" OCI_TYPE_MANIFEST
                        "\",\"digest\":\"%s\",\"size\":2,\"annotations\":{\"org.opencontainers.image.ref.name\":"
                        "\"acme/wp:1\"}}]}",
                        digest_of(p, S("what it was")));
    const char *path = str_cstr(&p->arena, str_fmt(&p->arena, "blobs/sha256/%s", digest_of(p, S("what it was")) + 7));
    make_file(&tar, path, "{}");
    make_entry(&tar, "index.json", '0', index);
    make_file(&tar, "oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}");
    must_open(p, &tar);
    assert_non_null(strstr(listed(p, "acme/wp:1"), "its content has the digest"));
}

static void no_archives(void **state)
{
    struct place *p = *state;
    struct buf tar = {.arena = &p->arena};
    struct err err;
    assert_int_equal(oci_archive_open("/nonexistent", &p->source, &err), ERR_NOT_FOUND);
    assert_int_equal(oci_archive_open("/tmp", &p->source, &err), ERR_INVALID);
    must_refuse(p, &tar, ERR_INVALID, "the archive is cut off: it ends in the middle of an entry or without its end");
    make_file(&tar, "x", "1");
    make_end(&tar);
    must_refuse(p, &tar, ERR_INVALID, "it is no archive of images: it has neither index.json nor manifest.json");
    struct buf gz = {.arena = &p->arena};
    buf_add_str(&gz, make_gzip(&p->arena, buf_str(&tar)));
    make_zeros(&gz, 512);
    must_refuse(p, &gz, ERR_INVALID, "the archive is damaged: the checksum of a header is wrong");
}

static void bad_manifests(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"[]", "manifest.json: it is not a list of 1 to 256 images"},
        {"{}", "manifest.json: it is not a list of 1 to 256 images"},
        {"[{}]", "manifest.json: the name of a file is missing"},
        {"[{\"Config\":\"gone\"}]", "manifest.json: \"gone\" is not in the archive, or is a link"},
        {"[{\"Config\":\"../../etc/passwd\"}]", "the path \"../../etc/passwd\" leads out of the archive"},
        {"[{\"Config\":\"link\"}]", "manifest.json: \"link\" is not in the archive, or is a link"},
        {"[{\"Config\":\"c\",\"Layers\":[5]}]", "manifest.json: the name of a file is missing"},
    };
    struct place *p = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf tar = {.arena = &p->arena};
        make_file(&tar, "c", "{}");
        make_link(&tar, "link", '2', "/etc/passwd");
        make_file(&tar, "manifest.json", cases[i].text);
        make_end(&tar);
        must_refuse(p, &tar, ERR_INVALID, cases[i].why);
    }
}

static void too_many_layers(void **state)
{
    struct place *p = *state;
    struct buf tar = {.arena = &p->arena}, text = {.arena = &p->arena};
    buf_fmt(&text, "[{\"Config\":\"c\",\"Layers\":[");
    for (int i = 0; i < 300; i++)
        buf_fmt(&text, "%s\"c\"", i ? "," : "");
    buf_fmt(&text, "]}]");
    make_file(&tar, "c", "{}");
    make_entry(&tar, "manifest.json", '0', buf_str(&text));
    make_end(&tar);
    must_refuse(p, &tar, ERR_TOO_LARGE, "it has 300 layers, more than 256");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(xpkg),        TEST(docker_save),   TEST(layout_in_a_file), TEST(damaged_layout),
        TEST(no_archives), TEST(bad_manifests), TEST(too_many_layers),
    };
    return cmocka_run_group_tests_name("archive", tests, NULL, NULL);
}
