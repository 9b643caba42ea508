/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "maker.h"

/* "path=data" of all files, one line each; or the code and text of the error. */
static str listed(struct shop *s, const struct oci_limits *limits)
{
    struct buf out = {.arena = &s->arena};
    struct oci_files files;
    struct err err = {0};
    if (shop_read(s, &s->arena, limits, &files, &err) < 0)
        return str_fmt(&s->arena, "%s: %s", err_name(err.code), err.msg);
    for (size_t i = 0; i < files.n; i++)
        buf_fmt(&out, "%s%.*s=%.*s", i ? "\n" : "", STR(files.p[i].path), STR(files.p[i].data));
    return buf_str(&out);
}

#define assert_listed(s, want) assert_string_equal(str_cstr(&(s)->arena, listed((s), NULL)), (want))

/* One layer, with its end. */
static void put_one(struct shop *s, struct buf *tar)
{
    make_end(tar);
    struct shop_layer layer = {.tar = buf_str(tar)};
    shop_put_image(s, &layer, 1, NULL);
}

/* Layers written as "path=text" or "path" words; those that end with a slash are directories. */
static str layer_of(struct shop *s, const char *words)
{
    struct buf tar = {.arena = &s->arena};
    str word, rest = str_of(words);
    for (bool is_more = true; is_more;) {
        str path, text;
        is_more = str_cut(rest, ' ', &word, &rest);
        str_cut(word, '=', &path, &text);
        if (path.n)
            make_entry(&tar, str_cstr(&s->arena, path), str_has_suffix(path, S("/")) ? '5' : '0', text);
    }
    make_end(&tar);
    return buf_str(&tar);
}

static void put_layers(struct shop *s, const char *const *layers, size_t n)
{
    struct shop_layer made[8];
    for (size_t i = 0; i < n; i++)
        made[i] = (struct shop_layer){.tar = layer_of(s, layers[i])};
    shop_put_image(s, made, n, NULL);
}
#define PUT_LAYERS(s, ...)                        \
    do {                                          \
        const char *const list[] = {__VA_ARGS__}; \
        put_layers((s), list, COUNT(list));       \
    } while (0)

static void only_what_is_wanted(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(
        s, "bin/sh=x ./.registry/app.yaml=a .registry/sub/x.crd.yaml=b .registryx=c sub/.registry/d=d package.yaml=e");
    assert_listed(s, ".registry/app.yaml=a\n.registry/sub/x.crd.yaml=b\npackage.yaml=e");
    s->piece = 1;
    assert_listed(s, ".registry/app.yaml=a\n.registry/sub/x.crd.yaml=b\npackage.yaml=e");
}

static void upper_layers_win(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1 .registry/b=1", ".registry/b=2 .registry/c=2", ".registry/c=3");
    assert_listed(s, ".registry/a=1\n.registry/b=2\n.registry/c=3");
}

static void whiteouts(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1 .registry/d/x=1 .registry/d/y=1 .registry/e/f/g=1", ".registry/.wh.a .registry/.wh.d",
               ".registry/d/z=3");
    assert_listed(s, ".registry/d/z=3\n.registry/e/f/g=1");
    /* All of it, by what it is in. */
    PUT_LAYERS(s, ".registry/a=1 package.yaml=1", ".wh..registry");
    assert_listed(s, "package.yaml=1");
    /* Of things that are not there. */
    PUT_LAYERS(s, ".registry/a=1", ".registry/.wh.nothing .wh.nothing other/.wh.a .registry/a/.wh.b");
    assert_listed(s, ".registry/a=1");
}

/* A whiteout speaks of the layers below it, wherever in its own layer it stands. */
static void whiteouts_and_their_own_layer(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1 .registry/b=1", ".registry/a=2 .registry/.wh.a", ".registry/.wh.b .registry/b=3");
    assert_listed(s, ".registry/a=2\n.registry/b=3");
    PUT_LAYERS(s, ".registry/d/x=1", ".registry/d/y=2 .registry/.wh.d");
    assert_listed(s, ".registry/d/y=2");
}

static void opaque_directories(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1 .registry/d/x=1", ".registry/d/y=2 .registry/d/.wh..wh..opq");
    assert_listed(s, ".registry/a=1\n.registry/d/y=2");
    PUT_LAYERS(s, ".registry/a=1 .registry/d/x=1 package.yaml=1", ".wh..wh..opq .registry/b=2");
    assert_listed(s, ".registry/b=2");
    PUT_LAYERS(s, ".registry/a=1", ".registry/.wh..wh.plnk .registry/.wh..wh.aufs");
    assert_listed(s, ".registry/a=1");
}

static void directories_and_files_in_turn(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/d/x=1", ".registry/d=2");
    assert_listed(s, ".registry/d=2");
    PUT_LAYERS(s, ".registry/d=1", ".registry/d/ .registry/d/x=2");
    assert_listed(s, ".registry/d/x=2");
    PUT_LAYERS(s, ".registry/d/x=1", ".registry/d=2", ".registry/d/ .registry/d/y=3");
    assert_listed(s, ".registry/d/y=3");
    PUT_LAYERS(s, ".registry/d=1", ".registry/.wh.d .registry/d/x=2");
    assert_listed(s, ".registry/d/x=2");
    PUT_LAYERS(s, ".registry/d=1", ".registry/d/x=2");
    assert_listed(s, "Invalid: layer 1: \".registry/d/x\" is below a file");
    PUT_LAYERS(s, ".registry/d=1 .registry/d/x/y=2");
    assert_listed(s, "Invalid: layer 0: \".registry/d/x/y\" is below a file");
}

static void empty_and_twice(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a= .registry/b=1 .registry/b=2 .registry/", "", ".registry/c=3");
    assert_listed(s, ".registry/a=\n.registry/b=2\n.registry/c=3");
}

/* A layer that is marked as package is the only one read: the others need not even be there. */
static void xpkg(void **state)
{
    struct shop *s = *state;
    struct shop_layer layers[] = {
        {.tar = layer_of(s, "package.yaml=other")},
        {.tar = layer_of(s, "package.yaml=right"), .more = "\"annotations\":{\"io.crossplane.xpkg\":\"base\"}"},
        {.tar = layer_of(s, "package.yaml=upper"), .more = "\"annotations\":{\"io.crossplane.xpkg\":\"upbound\"}"},
    };
    shop_put_image(s, layers, 3, NULL);
    struct oci_digest unread = oci_digest_of(OCI_SHA256, make_gzip(&s->arena, layers[0].tar));
    map_del(&s->blobs, oci_digest_format(&s->arena, &unread));
    assert_listed(s, "package.yaml=right");
    layers[0].more = layers[1].more;
    shop_put_image(s, layers, 3, NULL);
    assert_listed(s, "Invalid: layers 0 and 1 are both marked as base of the package");
}

static void xpkg_by_label(void **state)
{
    struct shop *s = *state;
    struct shop_layer layers[] = {{.tar = layer_of(s, "package.yaml=other")},
                                  {.tar = layer_of(s, "package.yaml=right")}};
    struct oci_digest marked = oci_digest_of(OCI_SHA256, make_gzip(&s->arena, layers[1].tar));
    str label = str_fmt(&s->arena, "\"io.crossplane.xpkg:%.*s\":\"base\",\"x\":\"y\"",
                        STR(oci_digest_format(&s->arena, &marked)));
    shop_put_image(s, layers, 2, str_cstr(&s->arena, label));
    assert_listed(s, "package.yaml=right");
}

static void formats_of_layers(void **state)
{
    struct shop *s = *state;
    struct shop_layer layers[] = {
        {.tar = layer_of(s, ".registry/a=1"), .media_type = OCI_TYPE_LAYER},
        {.tar = layer_of(s, ".registry/b=2"), .media_type = OCI_TYPE_LAYER_ZSTD},
        {.tar = layer_of(s, ".registry/c=3"), .media_type = DOCKER_TYPE_LAYER_GZIP},
    };
    shop_put_image(s, layers, 3, NULL);
    assert_listed(s, ".registry/a=1\n.registry/b=2\n.registry/c=3");
}

/* ---- Indexes. ---- */

static struct oci_descriptor put_doc(struct shop *s, const char *type, str bytes)
{
    shop_set_top(s, type, bytes);
    return shop_put(s, type, bytes);
}

static struct oci_descriptor put_index(struct shop *s, const struct oci_descriptor *of, const char *platform)
{
    struct buf b = {.arena = &s->arena};
    buf_fmt(&b, "{\"schemaVersion\":2,\"mediaType\":\"" OCI_TYPE_INDEX "\",\"manifests\":[");
    shop_describe(s, &b, of, platform);
    buf_fmt(&b, "]}");
    return put_doc(s, OCI_TYPE_INDEX, buf_str(&b));
}

static struct oci_descriptor put_simple(struct shop *s, const char *words)
{
    PUT_LAYERS(s, words);
    return shop_put(s, OCI_TYPE_MANIFEST, s->top.bytes);
}

static void image_of_an_index(void **state)
{
    struct shop *s = *state;
    struct oci_descriptor arm = put_simple(s, ".registry/a=arm"), amd = put_simple(s, ".registry/a=amd");
    struct buf b = {.arena = &s->arena};
    buf_fmt(&b, "{\"schemaVersion\":2,\"manifests\":[");
    shop_describe(s, &b, &arm, "\"platform\":{\"os\":\"linux\",\"architecture\":\"arm64\"}");
    buf_fmt(&b, ",");
    shop_describe(s, &b, &amd, "\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"}");
    buf_fmt(&b, "]}");
    shop_set_top(s, OCI_TYPE_INDEX, buf_str(&b));
    assert_listed(s, ".registry/a=amd");
    put_index(s, &arm, "\"platform\":{\"os\":\"linux\",\"architecture\":\"arm64\"}");
    assert_listed(s, ".registry/a=arm");
}

static void digests_of_an_index(void **state)
{
    struct shop *s = *state;
    struct oci_descriptor manifest = put_simple(s, ".registry/a=1"), index = put_index(s, &manifest, NULL);
    struct oci_reference ref;
    struct oci_image image;
    struct err err;
    assert_int_equal(oci_reference_parse(S("a"), &ref, &err), 0);
    assert_int_equal(oci_image_open(&s->arena, &s->source, &ref, &image, &err), 0);
    assert_true(oci_digest_eq(&image.digest, &index.digest));
    assert_true(oci_digest_eq(&image.manifest_digest, &manifest.digest));
    assert_int_equal(image.base, -1);
}

static void indexes_in_indexes(void **state)
{
    struct shop *s = *state;
    struct oci_descriptor d = put_simple(s, ".registry/a=1");
    for (int i = 0; i < 4; i++) {
        d = put_index(s, &d, NULL);
        assert_listed(s, ".registry/a=1");
    }
    put_index(s, &d, NULL);
    assert_listed(s, "Invalid: there are more than 4 indexes in each other");
}

/* An index that names another, which the source says is the first again. */
static void circles(void **state)
{
    struct shop *s = *state;
    struct oci_descriptor there = {.media_type = S(OCI_TYPE_INDEX), .size = 0};
    there.digest = oci_digest_of(OCI_SHA256, S("there"));
    for (int i = 0; i < 2; i++) { /* the second time with the right size */
        struct oci_descriptor here = put_index(s, &there, NULL);
        there.size = here.size + (i == 0 ? 2 : 0);
    }
    shop_put_as(s, &there.digest, s->top.bytes);
    struct err err;
    struct oci_files files;
    assert_int_equal(shop_read(s, &s->arena, NULL, &files, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, ": its content has the digest sha256:"));
}

/* ---- What is not what it is said to be. ---- */

static struct oci_descriptor first_layer(struct shop *s)
{
    struct oci_manifest m;
    struct err err;
    assert_int_equal(oci_manifest_parse(&s->arena, s->top.bytes, s->top.media_type, &m, &err), 0);
    return m.layers[0];
}

static void wrong_digest_of_a_layer(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1");
    struct oci_descriptor layer = first_layer(s);
    str other = make_gzip(&s->arena, layer_of(s, ".registry/a=2"));
    assert_int_equal(other.n, layer.size);
    shop_put_as(s, &layer.digest, other);
    str want = str_fmt(&s->arena, "Invalid: layer 0: blob %.*s: its content has the digest ",
                       STR(oci_digest_format(&s->arena, &layer.digest)));
    assert_true(str_has_prefix(listed(s, NULL), want));
    /* Garbage is of the wrong digest, too: that is the better answer. */
    char *noise = str_cstr(&s->arena, other);
    memset(noise, 'x', other.n);
    shop_put_as(s, &layer.digest, (str){noise, other.n});
    assert_true(str_has_prefix(listed(s, NULL), want));
}

static void wrong_size_of_a_layer(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1");
    struct oci_descriptor layer = first_layer(s);
    str right = make_gzip(&s->arena, layer_of(s, ".registry/a=1"));
    shop_put_as(s, &layer.digest, str_upto(right, right.n - 1));
    assert_true(str_find(listed(s, NULL), S("bytes it is said to have")) > 0);
    struct buf more = {.arena = &s->arena};
    buf_add_str(&more, right);
    buf_add_char(&more, '\0');
    shop_put_as(s, &layer.digest, buf_str(&more));
    assert_true(str_find(listed(s, NULL), S("there is more of it than the")) > 0);
}

static void wrong_diff_id(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1");
    struct oci_descriptor layer = first_layer(s);
    struct buf manifest = {.arena = &s->arena};
    str config =
        str_fmt(&s->arena, "{\"rootfs\":{\"diff_ids\":[\"%.*s\"]}}", STR(oci_digest_format(&s->arena, &layer.digest)));
    struct oci_descriptor c = shop_put(s, OCI_TYPE_CONFIG, config);
    buf_fmt(&manifest, "{\"schemaVersion\":2,\"config\":");
    shop_describe(s, &manifest, &c, NULL);
    buf_fmt(&manifest, ",\"layers\":[");
    shop_describe(s, &manifest, &layer, NULL);
    buf_fmt(&manifest, "]}");
    shop_set_top(s, OCI_TYPE_MANIFEST, buf_str(&manifest));
    assert_true(str_has_prefix(listed(s, NULL), S("Invalid: layer 0: unpacked it has the digest sha256:")));
}

static void layers_the_config_does_not_have(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1", ".registry/b=2");
    str one = S("\"layers\":[");
    struct buf manifest = {.arena = &s->arena};
    size_t at = (size_t)str_find(s->top.bytes, one);
    struct oci_descriptor layer = first_layer(s);
    buf_add_str(&manifest, str_upto(s->top.bytes, at + one.n));
    shop_describe(s, &manifest, &layer, NULL);
    buf_fmt(&manifest, "]}");
    shop_set_top(s, OCI_TYPE_MANIFEST, buf_str(&manifest));
    assert_listed(s, "Invalid: the manifest has 1 layers, and the config of the image has 2");
}

static void wrong_digest_of_a_manifest(void **state)
{
    struct shop *s = *state;
    struct oci_descriptor d = put_simple(s, ".registry/a=1");
    put_simple(s, ".registry/a=2");
    struct oci_reference ref;
    struct oci_image image;
    struct err err;
    str text = str_fmt(&s->arena, "acme/wp@%.*s", STR(oci_digest_format(&s->arena, &d.digest)));
    assert_int_equal(oci_reference_parse(text, &ref, &err), 0);
    assert_int_equal(oci_image_open(&s->arena, &s->source, &ref, &image, &err), ERR_INVALID);
    assert_non_null(strstr(err.msg, ": its content has the digest sha256:"));
}

/* ---- What no package may have where it is wanted; elsewhere it is passed over. ---- */

static void links(void **state)
{
    struct shop *s = *state;
    static const char types[] = "12";
    for (int i = 0; types[i]; i++) {
        struct buf tar = {.arena = &s->arena};
        make_file(&tar, ".registry/app.yaml", "a");
        make_link(&tar, "bin/sh", types[i], "../../etc/passwd");
        struct buf bad = {.arena = &s->arena};
        buf_add_str(&bad, buf_str(&tar));
        put_one(s, &tar);
        assert_listed(s, ".registry/app.yaml=a");
        make_link(&bad, ".registry/b.crd.yaml", types[i], "app.yaml");
        put_one(s, &bad);
        assert_listed(s, "Invalid: layer 0: \".registry/b.crd.yaml\" is a link: a package has none");
    }
    struct buf whole = {.arena = &s->arena};
    make_link(&whole, ".registry", '2', "/etc");
    put_one(s, &whole);
    assert_listed(s, "Invalid: layer 0: \".registry\" is a link: a package has none");
}

static void devices(void **state)
{
    struct shop *s = *state;
    static const char types[] = "346";
    for (int i = 0; types[i]; i++) {
        struct buf tar = {.arena = &s->arena}, bad = {.arena = &s->arena};
        make_entry(&tar, "dev/null", types[i], (str){0});
        make_file(&tar, ".registry/app.yaml", "a");
        put_one(s, &tar);
        assert_listed(s, ".registry/app.yaml=a");
        make_entry(&bad, ".registry/null", types[i], (str){0});
        put_one(s, &bad);
        assert_listed(s, "Invalid: layer 0: \".registry/null\" is a device or a pipe: a package has none");
    }
}

static void paths(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, "/etc/x=1 .registry/a=1");
    assert_listed(s, ".registry/a=1");
    PUT_LAYERS(s, "/.registry/a=1");
    assert_listed(s, "Invalid: layer 0: \"/.registry/a\" is an absolute path");
    PUT_LAYERS(s, "usr/../etc/x=1 .registry/a=1");
    assert_listed(s, "Invalid: layer 0: the path \"usr/../etc/x\" leads out of the archive");
    PUT_LAYERS(s, ".registry/../../x=1");
    assert_listed(s, "Invalid: layer 0: the path \".registry/../../x\" leads out of the archive");
    PUT_LAYERS(s, ".registry/\xff=1");
    assert_listed(s, "Invalid: layer 0: \".registry/\\xff\" is not UTF-8");
    PUT_LAYERS(s, "x/.wh...=1");
    assert_listed(s, "Invalid: layer 0: \".wh...\" hides nothing that could be there");
}

static void nul_bytes(void **state)
{
    struct shop *s = *state;
    struct buf tar = {.arena = &s->arena};
    make_header(&tar, &(struct made){.path = {".registry/app.yaml\0x", 20}});
    put_one(s, &tar);
    assert_listed(s, "Invalid: layer 0: a path in the archive has a NUL byte in it");
}

static void lying_sizes(void **state)
{
    struct shop *s = *state;
    struct buf tar = {.arena = &s->arena}, huge = {.arena = &s->arena};
    make_header(&tar, &(struct made){.path = S(".registry/app.yaml"), .size = 1 << 20});
    put_one(s, &tar);
    assert_listed(s, "Invalid: layer 0: the archive is cut off: it ends in the middle of an entry or without its end");
    make_header(&huge, &(struct made){.path = S(".registry/app.yaml"), .size = 077777777777});
    put_one(s, &huge);
    assert_listed(s,
                  "RequestEntityTooLarge: layer 0: \".registry/app.yaml\" is larger than a file of a package may be");
}

/* ---- Limits. ---- */

static void bombs(void **state)
{
    struct shop *s = *state;
    struct oci_limits limits = OCI_LIMITS_DEFAULT;
    limits.unpacked = 4 << 20;
    static const char *const types[] = {OCI_TYPE_LAYER_GZIP, OCI_TYPE_LAYER_ZSTD};
    for (int i = 0; i < 2; i++) {
        struct buf manifest = {.arena = &s->arena};
        str bomb = i ? make_zstd_bomb(&s->arena, UINT64_C(1) << 30) : make_gzip_bomb(&s->arena, UINT64_C(64) << 20);
        struct oci_descriptor layer = shop_put(s, types[i], bomb), config = shop_put(s, OCI_TYPE_CONFIG, S("{}"));
        buf_fmt(&manifest, "{\"schemaVersion\":2,\"config\":");
        shop_describe(s, &manifest, &config, NULL);
        buf_fmt(&manifest, ",\"layers\":[");
        shop_describe(s, &manifest, &layer, NULL);
        buf_fmt(&manifest, "]}");
        shop_set_top(s, OCI_TYPE_MANIFEST, buf_str(&manifest));
        assert_string_equal(str_cstr(&s->arena, listed(s, &limits)),
                            "RequestEntityTooLarge: layer 0: unpacked it is larger than a package may be");
    }
}

/* The budget is that of the image, not of each layer. */
static void budget_of_all_layers(void **state)
{
    struct shop *s = *state;
    struct oci_limits limits = OCI_LIMITS_DEFAULT;
    PUT_LAYERS(s, ".registry/a=1", ".registry/b=2", ".registry/c=3"); /* of 2048 bytes each */
    limits.unpacked = 3 * UINT64_C(2048);
    assert_true(str_has_prefix(listed(s, &limits), S(".registry/a=1")));
    limits.unpacked--;
    assert_true(str_has_prefix(listed(s, &limits), S("RequestEntityTooLarge: layer 2: ")));
}

/* What is too large to unpack is not fetched. */
static void sizes_of_layers(void **state)
{
    struct shop *s = *state;
    struct oci_limits limits = OCI_LIMITS_DEFAULT;
    struct buf manifest = {.arena = &s->arena};
    struct oci_descriptor config = shop_put(s, OCI_TYPE_CONFIG, S("{}"));
    struct oci_descriptor layer = {.media_type = S(OCI_TYPE_LAYER_GZIP), .size = 300 << 20};
    layer.digest = oci_digest_of(OCI_SHA256, S("x"));
    buf_fmt(&manifest, "{\"schemaVersion\":2,\"config\":");
    shop_describe(s, &manifest, &config, NULL);
    buf_fmt(&manifest, ",\"layers\":[");
    shop_describe(s, &manifest, &layer, NULL);
    buf_fmt(&manifest, "]}");
    shop_set_top(s, OCI_TYPE_MANIFEST, buf_str(&manifest));
    assert_string_equal(str_cstr(&s->arena, listed(s, &limits)),
                        "RequestEntityTooLarge: its layers have 314572800 bytes, more than a package may have");
}

static void many_files(void **state)
{
    struct shop *s = *state;
    struct oci_limits limits = OCI_LIMITS_DEFAULT;
    limits.files = 3;
    limits.entries = 8;
    PUT_LAYERS(s, ".registry/a=1 .registry/b=1 .registry/c=1 x=1 y=1 z=1");
    assert_true(str_has_prefix(listed(s, &limits), S(".registry/a=1")));
    PUT_LAYERS(s, ".registry/a=1 .registry/b=1", ".registry/c=1 .registry/d=1");
    assert_string_equal(str_cstr(&s->arena, listed(s, &limits)),
                        "RequestEntityTooLarge: layer 1: the package has more than 3 files");
    PUT_LAYERS(s, "1=1 2=1 3=1 4=1 5=1", "6=1 7=1 8=1 9=1");
    assert_string_equal(str_cstr(&s->arena, listed(s, &limits)),
                        "RequestEntityTooLarge: layer 1: the image has more than 8 entries");
    PUT_LAYERS(s, ".registry/a/b/c/d/e/f/g/h/i/j/k/l/m=1");
    assert_string_equal(str_cstr(&s->arena, listed(s, &limits)),
                        "RequestEntityTooLarge: layer 0: the package has too many directories");
}

/* As an attacker would: empty files, a hundred bytes each when compressed. Stopped at the limit, long before the end. */
static void a_million_files(void **state)
{
    struct shop *s = *state;
    struct buf tar = {.arena = &s->arena}, manifest = {.arena = &s->arena};
    enum { ALL = 1000000, AT_ONCE = 1000 };
    struct buf packed = {.arena = &s->arena};
    for (int i = 0; i < AT_ONCE; i++)
        make_file(&tar, "some/where/in/the/image", "");
    str member = make_gzip(&s->arena, buf_str(&tar));
    for (int i = 0; i < ALL / AT_ONCE; i++)
        buf_add_str(&packed, member);
    struct oci_descriptor layer = shop_put(s, OCI_TYPE_LAYER_GZIP, buf_str(&packed));
    struct oci_descriptor config = shop_put(s, OCI_TYPE_CONFIG, S("{}"));
    buf_fmt(&manifest, "{\"schemaVersion\":2,\"config\":");
    shop_describe(s, &manifest, &config, NULL);
    buf_fmt(&manifest, ",\"layers\":[");
    shop_describe(s, &manifest, &layer, NULL);
    buf_fmt(&manifest, "]}");
    shop_set_top(s, OCI_TYPE_MANIFEST, buf_str(&manifest));
    assert_listed(s, "RequestEntityTooLarge: layer 0: the image has more than 200000 entries");
}

static void deep_paths(void **state)
{
    struct shop *s = *state;
    struct buf path = {.arena = &s->arena};
    buf_fmt(&path, ".registry");
    for (int i = 0; i < 31; i++)
        buf_fmt(&path, "/d");
    struct buf tar = {.arena = &s->arena}, deep = {.arena = &s->arena}, record = {.arena = &s->arena};
    make_entry(&tar, str_cstr(&s->arena, buf_str(&path)), '0', S("1"));
    put_one(s, &tar);
    assert_true(str_has_suffix(listed(s, NULL), S("/d/d=1")));
    for (int i = 0; i < 33; i++)
        buf_fmt(&path, "/d");
    make_record(&record, "path", buf_str(&path));
    make_meta(&deep, 'x', buf_str(&record));
    make_file(&deep, "x", "1");
    put_one(s, &deep);
    assert_true(str_has_suffix(listed(s, NULL), S("\" is too deep")));
}

static bool keeps_yaml(void *ctx, str path)
{
    return str_has_suffix(path, S(".yaml"));
}

/* What is not kept costs nothing, however large, and still obeys the rules. */
static void what_is_not_kept(void **state)
{
    struct shop *s = *state;
    static const str wanted[] = {S_INIT(".registry")};
    const struct oci_wants wants = {.paths = wanted, .n = 1, .keeps = keeps_yaml};
    struct oci_limits limits = OCI_LIMITS_DEFAULT;
    struct oci_reference ref;
    struct oci_image image;
    struct oci_files files;
    struct err err;
    limits.file_size = 3;
    PUT_LAYERS(s, ".registry/a.yaml=123 .registry/b.bin=1234");
    assert_int_equal(oci_reference_parse(S("a"), &ref, &err), 0);
    assert_int_equal(oci_image_open(&s->arena, &s->source, &ref, &image, &err), 0);
    assert_int_equal(oci_image_read(&s->arena, &s->source, &image, &wants, &limits, &files, &err), 0);
    assert_int_equal(files.n, 1);
    PUT_LAYERS(s, ".registry/a.yaml=1234");
    assert_int_equal(oci_image_open(&s->arena, &s->source, &ref, &image, &err), 0);
    assert_int_equal(oci_image_read(&s->arena, &s->source, &image, &wants, &limits, &files, &err), ERR_TOO_LARGE);
    assert_non_null(strstr(err.msg, "\".registry/a.yaml\" is larger than a file of a package may be"));
}

static void missing_blobs(void **state)
{
    struct shop *s = *state;
    PUT_LAYERS(s, ".registry/a=1");
    struct oci_descriptor layer = first_layer(s);
    map_del(&s->blobs, oci_digest_format(&s->arena, &layer.digest));
    assert_true(str_has_prefix(listed(s, NULL), S("NotFound: layer 0: blob sha256:")));
}

static void other_types(void **state)
{
    struct shop *s = *state;
    struct shop_layer layer = {.tar = layer_of(s, ".registry/a=1"), .media_type = "application/vnd.example+gzip"};
    shop_put_image(s, &layer, 1, NULL);
    assert_listed(
        s, "UnsupportedMediaType: layer 0: it is no layer of files: its type is \"application/vnd.example+gzip\"");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, shop_set_up, shop_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_is_wanted),
        TEST(upper_layers_win),
        TEST(whiteouts),
        TEST(whiteouts_and_their_own_layer),
        TEST(opaque_directories),
        TEST(directories_and_files_in_turn),
        TEST(empty_and_twice),
        TEST(xpkg),
        TEST(xpkg_by_label),
        TEST(formats_of_layers),
        TEST(image_of_an_index),
        TEST(digests_of_an_index),
        TEST(indexes_in_indexes),
        TEST(circles),
        TEST(wrong_digest_of_a_layer),
        TEST(wrong_size_of_a_layer),
        TEST(wrong_diff_id),
        TEST(layers_the_config_does_not_have),
        TEST(wrong_digest_of_a_manifest),
        TEST(links),
        TEST(devices),
        TEST(paths),
        TEST(nul_bytes),
        TEST(lying_sizes),
        TEST(bombs),
        TEST(budget_of_all_layers),
        TEST(sizes_of_layers),
        TEST(many_files),
        TEST(a_million_files),
        TEST(deep_paths),
        TEST(what_is_not_kept),
        TEST(missing_blobs),
        TEST(other_types),
    };
    return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
