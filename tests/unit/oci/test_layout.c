/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/scratch.h"

#include "maker.h"
#include "oci/layout.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of the test, with a layout in it; and a shop to pull from. */
struct place {
    struct shop *shop;
    struct arena arena;
    char dir[SCRATCH_MAX];
    char *path; /* of the layout */
    struct oci_layout *layout;
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);
    struct err err;
    void *shop;
    scratch_make(p->dir, "reeve-layout");
    p->path = str_cstr(&p->arena, str_fmt(&p->arena, "%s/store", p->dir));
    if (oci_layout_create(p->path, &p->layout, &err) < 0)
        fail_msg("%s", err.msg);
    shop_set_up(&shop);
    p->shop = shop;
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    void *shop = p->shop;
    oci_layout_free(p->layout);
    shop_tear_down(&shop);
    scratch_remove(p->dir);
    arena_done(&p->arena);
    free(p);
    return 0;
}

static struct oci_reference reference(const char *text)
{
    struct oci_reference ref;
    struct err err;
    if (oci_reference_parse(str_of(text), &ref, &err) < 0)
        fail_msg("%s", err.msg);
    return ref;
}

static const char *path_of(struct place *p, const char *name)
{
    return str_cstr(&p->arena, str_fmt(&p->arena, "%s/%s", p->path, name));
}

static void write_file(struct place *p, const char *name, const char *text)
{
    FILE *f = fopen(path_of(p, name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static str read_file(struct place *p, const char *name)
{
    char text[4096];
    FILE *f = fopen(path_of(p, name), "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    return str_dup(&p->arena, (str){text, n});
}

/* A manifest that says no more than who it is. */
static struct oci_descriptor put_manifest(struct place *p, const char *who)
{
    static const char hex[] = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    struct oci_descriptor d = {.media_type = S(OCI_TYPE_MANIFEST)};
    struct err err;
    str text = str_fmt(
        &p->arena, "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":0},\"layers\":[]}",
        who, hex);
    d.size = text.n;
    assert_int_equal(oci_layout_put_bytes(p->layout, OCI_SHA256, text, &d.digest, &err), 0);
    return d;
}

/* The type of the config is who it is. */
static const char *who_is(struct place *p, const char *name)
{
    struct oci_reference ref = reference(name);
    struct oci_document doc;
    struct oci_manifest m;
    struct err err;
    if (oci_source_resolve(oci_layout_source(p->layout), &p->arena, &ref, &doc, &err) < 0 ||
        oci_manifest_parse(&p->arena, doc.bytes, doc.media_type, &m, &err) < 0)
        return str_cstr(&p->arena, str_fmt(&p->arena, "%s: %s", err_name(err.code), err.msg));
    return str_cstr(&p->arena, m.config.media_type);
}

static void set(struct place *p, const char *name, const char *who)
{
    struct oci_descriptor d = put_manifest(p, who);
    struct oci_reference ref = reference(name);
    struct err err;
    if (oci_layout_set(p->layout, &ref, &d, &err) < 0)
        fail_msg("%s", err.msg);
}

static size_t count_names(struct place *p)
{
    struct oci_manifest index;
    struct err err;
    if (oci_layout_list(p->layout, &p->arena, &index, &err) < 0)
        fail_msg("%s", err.msg);
    return index.n_layers;
}

static size_t count_files(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void new_layout(void **state)
{
    struct place *p = *state;
    assert_int_equal(count_names(p), 0);
    assert_true(str_eq(read_file(p, "oci-layout"), S("{\"imageLayoutVersion\":\"1.0.0\"}")));
    assert_int_equal(count_files(p->path), 3);
}

static void names(void **state)
{
    struct place *p = *state;
    set(p, "acme/wp:1.0", "one");
    set(p, "acme/wp:1.1", "two");
    assert_string_equal(who_is(p, "acme/wp:1.0"), "one");
    assert_string_equal(who_is(p, "docker.io/acme/wp:1.1"), "two");
    assert_string_equal(who_is(p, "index.docker.io/acme/wp:1.1"), "two");
    str missing = str_fmt(&p->arena, "NotFound: acme/wp is not in %s", p->path);
    assert_string_equal(who_is(p, "acme/wp"), str_cstr(&p->arena, missing));
    set(p, "docker.io/acme/wp:1.0", "three");
    assert_string_equal(who_is(p, "acme/wp:1.0"), "three");
    assert_int_equal(count_names(p), 2);
}

static void by_digest(void **state)
{
    struct place *p = *state;
    struct oci_descriptor d = put_manifest(p, "me"); /* without a name */
    str digest = oci_digest_format(&p->arena, &d.digest);
    assert_string_equal(who_is(p, str_cstr(&p->arena, str_fmt(&p->arena, "any/thing:else@%.*s", STR(digest)))), "me");
}

/* Names as other tools write them; their other members stay when we write. */
static void names_of_other_tools(void **state)
{
    struct place *p = *state;
    struct oci_descriptor one = put_manifest(p, "one"), two = put_manifest(p, "two");
    struct buf b = {.arena = &p->arena};
    buf_fmt(&b, "{\"schemaVersion\":2,\"extra\":{\"a\":1},\"manifests\":[");
    shop_describe(p->shop, &b, &one,
                  "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},"
                  "\"annotations\":{\"org.opencontainers.image.ref.name\":\"acme/wp:1.0\",\"x\":\"y\"}");
    buf_fmt(&b, ",");
    shop_describe(p->shop, &b, &two,
                  "\"annotations\":{\"io.containerd.image.name\":\"docker.io/acme/wp:1.1\","
                  "\"org.opencontainers.image.ref.name\":\"1.1\"}");
    buf_fmt(&b, ",");
    shop_describe(p->shop, &b, &one, "\"annotations\":{\"org.opencontainers.image.ref.name\":\"no reference at all\"}");
    buf_fmt(&b, ",");
    shop_describe(p->shop, &b, &one, NULL);
    buf_fmt(&b, "]}");
    write_file(p, "index.json", str_cstr(&p->arena, buf_str(&b)));
    assert_string_equal(who_is(p, "acme/wp:1.0"), "one");
    assert_string_equal(who_is(p, "acme/wp:1.1"), "two");
    set(p, "acme/wp:1.1", "three");
    assert_string_equal(who_is(p, "acme/wp:1.1"), "three");
    assert_int_equal(count_names(p), 4);
    str after = read_file(p, "index.json");
    assert_true(str_find(after, S("\"extra\":{\"a\":1}")) > 0);
    assert_true(str_find(after, S("\"x\":\"y\"")) > 0);
    assert_true(str_find(after, S("\"platform\":{")) > 0);
    assert_true(str_find(after, S("no reference at all")) > 0);
}

enum { WRITERS = 4, NAMES = 12 };

struct writer {
    struct place *place;
    int number;
    int failures;
};

static void *write_names(void *ctx)
{
    struct writer *w = ctx;
    struct oci_layout *l;
    struct err err;
    if (oci_layout_create(w->place->path, &l, &err) < 0) {
        w->failures++;
        return NULL;
    }
    for (int i = 0; i < NAMES; i++) {
        struct arena a ARENA_SCOPE = {0};
        struct oci_reference ref;
        struct oci_descriptor d = {.media_type = S(OCI_TYPE_MANIFEST)};
        str name = str_fmt(&a, "acme/wp%d:%d", w->number, i);
        if (oci_reference_parse(name, &ref, &err) < 0 ||
            oci_layout_put_bytes(l, OCI_SHA256, str_fmt(&a, "blob %d", i), &d.digest, &err) < 0 ||
            oci_layout_set(l, &ref, &d, &err) < 0)
            w->failures++;
    }
    oci_layout_free(l);
    return NULL;
}

/* Each through a layout of its own, as processes would. */
static void writers_lose_nothing(void **state)
{
    struct place *p = *state;
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){p, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, write_names, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(writers[i].failures, 0);
    }
    assert_int_equal(count_names(p), WRITERS * NAMES);
    assert_int_equal(count_files(p->path), 3);
    assert_int_equal(count_files(path_of(p, "blobs/sha256")), NAMES);
}

/* What a writer that died has left goes; what one that lives is at work on stays. */
static void leftovers(void **state)
{
    struct place *p = *state;
    struct oci_blob_writer *w;
    struct oci_layout *again;
    struct oci_digest digest;
    struct err err;
    uint64_t size;
    write_file(p, ".new-dead", "half a blo");
    assert_int_equal(oci_blob_writer_open(p->layout, OCI_SHA256, &w, &err), 0);
    assert_int_equal(oci_blob_writer_add(w, S("who"), &err), 0);
    assert_int_equal(count_files(p->path), 5);
    assert_int_equal(oci_layout_create(p->path, &again, &err), 0);
    oci_layout_free(again);
    assert_int_equal(count_files(p->path), 4);
    assert_int_equal(oci_blob_writer_add(w, S("le"), &err), 0);
    assert_int_equal(oci_blob_writer_finish(w, &digest, &size, &err), 0);
    oci_blob_writer_free(w);
    assert_int_equal(size, 5);
    assert_int_equal(count_files(p->path), 3);
    assert_true(oci_layout_has_blob(p->layout, &digest, 5));
    assert_false(oci_layout_has_blob(p->layout, &digest, 4));
    assert_int_equal(oci_blob_writer_open(p->layout, OCI_SHA256, &w, &err), 0);
    oci_blob_writer_free(w); /* it was not to be */
    assert_int_equal(count_files(p->path), 3);
    assert_int_equal(count_files(path_of(p, "blobs/sha256")), 1);
}

static void links_lead_nowhere(void **state)
{
    struct place *p = *state;
    set(p, "a:1", "me");
    struct oci_descriptor d = put_manifest(p, "me");
    str hex = oci_digest_hex(&p->arena, &d.digest);
    const char *blob = path_of(p, str_cstr(&p->arena, str_fmt(&p->arena, "blobs/sha256/%.*s", STR(hex))));
    const char *elsewhere = str_cstr(&p->arena, str_fmt(&p->arena, "%s/elsewhere", p->dir));
    assert_int_equal(rename(blob, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, blob), 0);
    assert_non_null(strstr(who_is(p, "a:1"), "open sha256:"));
    unlink(blob);
    assert_int_equal(rename(elsewhere, blob), 0);
    assert_string_equal(who_is(p, "a:1"), "me");
    assert_int_equal(rename(path_of(p, "blobs"), elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path_of(p, "blobs")), 0);
    assert_string_not_equal(who_is(p, "a:1"), "me");
    assert_false(oci_layout_has_blob(p->layout, &d.digest, d.size));
    unlink(path_of(p, "index.json"));
    assert_int_equal(symlink("/etc/passwd", path_of(p, "index.json")), 0);
    struct oci_manifest index;
    struct err err;
    assert_int_equal(oci_layout_list(p->layout, &p->arena, &index, &err), ERR_IO);
}

static int has(struct place *p, const char *name)
{
    struct oci_reference ref = reference(name);
    struct err err = {0};
    bool has;
    int code = oci_layout_at_has(p->path, &ref, &has, &err);
    if (code < 0 && strstr(err.msg, "index.json") == NULL)
        fail_msg("%s", err.msg);
    return code < 0 ? code : has;
}

/* Who cannot read the names cannot say that one is not there: it would be asked of a registry, where somebody else may have it. */
static void damaged_names(void **state)
{
    static const char *const damaged[] = {"", "{", "[]", "{\"manifests\":[{\"mediaType\":7}]}"};
    struct place *p = *state;
    set(p, "acme/app:1", "one");
    struct oci_digest digest = put_manifest(p, "one").digest;
    const char *whole =
        str_cstr(&p->arena, str_fmt(&p->arena, "acme/app@%.*s", STR(oci_digest_format(&p->arena, &digest))));
    assert_int_equal(has(p, "acme/app:1"), 1);
    assert_int_equal(has(p, "acme/app:2"), 0);
    for (size_t i = 0; i < COUNT(damaged); i++) {
        write_file(p, "index.json", damaged[i]);
        assert_int_equal(has(p, "acme/app:1"), ERR_IO);
        assert_int_equal(has(p, "acme/app:2"), ERR_IO);
        assert_int_equal(has(p, whole), 1); /* that needs no names */
        assert_true(str_eq(read_file(p, "index.json"), str_of(damaged[i])));
    }
    unlink(path_of(p, "index.json"));
    assert_int_equal(has(p, "acme/app:1"), ERR_IO);
    unlink(path_of(p, "oci-layout"));
    assert_int_equal(has(p, "acme/app:1"), 0); /* no layout at all */
}

static void damaged_blobs(void **state)
{
    struct place *p = *state;
    set(p, "a:1", "me");
    struct oci_descriptor d = put_manifest(p, "me");
    str name = str_fmt(&p->arena, "blobs/sha256/%.*s", STR(oci_digest_hex(&p->arena, &d.digest)));
    write_file(p, str_cstr(&p->arena, name), "{}");
    str pinned = str_fmt(&p->arena, "a@%.*s", STR(oci_digest_format(&p->arena, &d.digest)));
    assert_non_null(strstr(who_is(p, str_cstr(&p->arena, pinned)), "its content has the digest"));
    assert_non_null(strstr(who_is(p, "a:1"), "its content has the digest"));
}

static void no_layouts(void **state)
{
    struct place *p = *state;
    struct oci_layout *l;
    struct err err;
    assert_int_equal(oci_layout_open("/nonexistent/place", &l, &err), ERR_NOT_FOUND);
    assert_int_equal(oci_layout_open(p->dir, &l, &err), ERR_NOT_FOUND); /* no oci-layout */
    write_file(p, "oci-layout", "{\"imageLayoutVersion\":\"2.0.0\"}");
    assert_int_equal(oci_layout_open(p->path, &l, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, "imageLayoutVersion is \"2.0.0\", not \"1.0.0\""));
    write_file(p, "oci-layout", "x");
    assert_int_equal(oci_layout_open(p->path, &l, &err), ERR_INVALID);
    assert_int_equal(oci_layout_create(p->path, &l, &err), ERR_INVALID);
    assert_int_equal(oci_layout_create("/nonexistent/place", &l, &err), ERR_IO);
}

/* ---- Copies. ---- */

static void fill(struct place *p)
{
    struct buf tar = {.arena = &p->arena};
    make_file(&tar, ".registry/app.yaml", "a");
    make_end(&tar);
    struct shop_layer layers[] = {{.tar = buf_str(&tar)}, {.tar = buf_str(&tar), .media_type = OCI_TYPE_LAYER_ZSTD}};
    shop_put_image(p->shop, layers, 2, NULL);
}

static int pull(struct place *p, const char *name, struct oci_digest *ret, struct err *err)
{
    struct oci_reference ref = reference(name);
    return oci_layout_pull(p->layout, &p->shop->source, &ref, NULL, ret, err);
}

static void copies(void **state)
{
    struct place *p = *state;
    static const str wanted[] = {S_INIT(".registry")};
    const struct oci_wants wants = {.paths = wanted, .n = 1};
    const struct oci_limits limits = OCI_LIMITS_DEFAULT;
    struct oci_reference ref = reference("acme/wp:1");
    struct oci_image image = {0};
    struct oci_files files = {0};
    struct oci_digest digest;
    struct err err;
    fill(p);
    struct oci_descriptor manifest = shop_put(p->shop, OCI_TYPE_MANIFEST, p->shop->top.bytes);
    struct buf index = {.arena = &p->arena};
    buf_fmt(&index, "{\"schemaVersion\":2,\"manifests\":[");
    shop_describe(p->shop, &index, &manifest, NULL);
    buf_fmt(&index, "]}");
    shop_set_top(p->shop, OCI_TYPE_INDEX, buf_str(&index));
    if (pull(p, "acme/wp:1", &digest, &err) < 0)
        fail_msg("%s", err.msg);
    struct oci_digest want = oci_digest_of(OCI_SHA256, buf_str(&index));
    assert_true(oci_digest_eq(&digest, &want));
    if (oci_image_open(&p->arena, oci_layout_source(p->layout), &ref, &image, &err) < 0 ||
        oci_image_read(&p->arena, oci_layout_source(p->layout), &image, &wants, &limits, &files, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(files.n, 1);
    assert_true(files.p && str_eq(files.p[0].data, S("a")));
    /* What is there is not fetched again. */
    p->shop->served = 0;
    assert_int_equal(pull(p, "acme/wp:2", &digest, &err), 0);
    assert_int_equal(p->shop->served, 0);
    assert_int_equal(count_names(p), 2);
    assert_int_equal(count_files(path_of(p, "blobs/sha256")), 5);
}

/* Nothing wrong is ever kept, and no name points to it. */
static void copies_of_lies(void **state)
{
    struct place *p = *state;
    struct oci_manifest m;
    struct oci_digest digest;
    struct err err;
    fill(p);
    assert_int_equal(oci_manifest_parse(&p->arena, p->shop->top.bytes, (str){0}, &m, &err), 0);
    shop_put_as(p->shop, &m.layers[1].digest, S("lies"));
    assert_int_equal(pull(p, "acme/wp:1", &digest, &err), ERR_INVALID);
    assert_int_equal(count_names(p), 0);
    assert_int_equal(count_files(path_of(p, "blobs/sha256")), 2); /* the config and the first layer */
    assert_int_equal(count_files(p->path), 3);
}

/* Digests of the other kind are kept as such. */
static void copies_by_sha512(void **state)
{
    struct place *p = *state;
    struct oci_digest digest, want;
    struct err err;
    fill(p);
    want = oci_digest_of(OCI_SHA512, p->shop->top.bytes);
    str name = str_fmt(&p->arena, "acme/wp@%.*s", STR(oci_digest_format(&p->arena, &want)));
    if (pull(p, str_cstr(&p->arena, name), &digest, &err) < 0)
        fail_msg("%s", err.msg);
    assert_true(oci_digest_eq(&digest, &want));
    assert_int_equal(count_files(path_of(p, "blobs/sha512")), 1);
    struct oci_reference ref = reference(str_cstr(&p->arena, name));
    struct oci_image image = {0};
    assert_int_equal(oci_image_open(&p->arena, oci_layout_source(p->layout), &ref, &image, &err), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(new_layout),
        TEST(names),
        TEST(by_digest),
        TEST(names_of_other_tools),
        TEST(writers_lose_nothing),
        TEST(leftovers),
        TEST(links_lead_nowhere),
        TEST(damaged_blobs),
        TEST(damaged_names),
        TEST(no_layouts),
        TEST(copies),
        TEST(copies_of_lies),
        TEST(copies_by_sha512),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
