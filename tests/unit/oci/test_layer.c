/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "maker.h"
#include "oci/layer.h"

static int take(void *ctx, str piece, struct err *err)
{
    buf_add_str(ctx, piece);
    return 0;
}

static int take_nothing(void *ctx, str piece, struct err *err)
{
    *(uint64_t *)ctx += piece.n;
    return 0;
}

static int unpack(struct arena *a, const char *media_type, str bytes, size_t piece, struct buf *ret, struct err *err)
{
    struct oci_layer *l = NULL;
    uint64_t budget = 1 << 20;
    *ret = (struct buf){.arena = a};
    int code = oci_layer_new(str_of(media_type), (struct oci_sink){take, ret}, &budget, &l, err);
    while (code == 0 && bytes.n) {
        code = oci_layer_feed(l, str_upto(bytes, piece), err);
        bytes = str_from(bytes, piece);
    }
    if (code == 0)
        code = oci_layer_finish(l, err);
    if (code == 0)
        assert_int_equal(budget, (1 << 20) - ret->n);
    oci_layer_free(l);
    return code;
}

static void assert_unpacks(const char *media_type, str bytes, str want)
{
    static const size_t pieces[] = {1, 3, 1000, 1 << 20};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct buf got;
        struct err err;
        if (unpack(&a, media_type, bytes, pieces[i], &got, &err) < 0)
            fail_msg("%s in pieces of %zu: %s", media_type, pieces[i], err.msg);
        assert_true(str_eq(buf_str(&got), want));
    }
}

static void assert_refuses(const char *media_type, str bytes, int code, const char *want)
{
    static const size_t pieces[] = {1, 1000};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        struct arena a ARENA_SCOPE = {0};
        struct buf got;
        struct err err = {0};
        assert_int_equal(unpack(&a, media_type, bytes, pieces[i], &got, &err), code);
        assert_string_equal(err.msg, want);
    }
}

/* 200 KB that compress to a part of that. */
static str sample(struct arena *a)
{
    struct buf b = {.arena = a};
    for (int i = 0; i < 20000; i++)
        buf_fmt(&b, "line %04d\n", i * 7919 % 10000);
    return buf_str(&b);
}

static str joined(struct arena *a, str one, str two)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, one);
    buf_add_str(&b, two);
    return buf_str(&b);
}

static void formats(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str text = sample(&a), gz = make_gzip(&a, text), zst = make_zstd(&a, text);
    assert_unpacks(OCI_TYPE_LAYER, text, text);
    assert_unpacks(OCI_TYPE_LAYER_GZIP, gz, text);
    assert_unpacks(OCI_TYPE_LAYER_ZSTD, zst, text);
    assert_unpacks(DOCKER_TYPE_LAYER_GZIP, gz, text);
    assert_unpacks("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", gz, text);
    assert_unpacks(OCI_TYPE_LAYER_GZIP, make_gzip(&a, (str){0}), (str){0});
}

/* What does not say how it is compressed is looked at. */
static void first_bytes_tell(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str text = sample(&a);
    assert_unpacks(OCI_TYPE_LAYER, make_gzip(&a, text), text);
    assert_unpacks(DOCKER_TYPE_LAYER, make_zstd(&a, text), text);
    assert_unpacks(OCI_TYPE_LAYER, S("ab"), S("ab"));
    assert_unpacks(OCI_TYPE_LAYER, S(""), S(""));
    assert_unpacks(OCI_TYPE_LAYER, S("\x1f\x8c\x08\x00"), S("\x1f\x8c\x08\x00"));
}

static void many_members(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str text = sample(&a);
    str twice = joined(&a, text, text);
    str nothing = make_gzip(&a, (str){0});
    assert_unpacks(OCI_TYPE_LAYER_GZIP, joined(&a, make_gzip(&a, text), make_gzip(&a, text)), twice);
    assert_unpacks(OCI_TYPE_LAYER_GZIP, joined(&a, nothing, joined(&a, make_gzip(&a, text), nothing)), text);
    assert_unpacks(OCI_TYPE_LAYER_ZSTD, joined(&a, make_zstd(&a, text), make_zstd(&a, text)), twice);
    /* A frame to be skipped. */
    assert_unpacks(OCI_TYPE_LAYER_ZSTD, joined(&a, make_zstd(&a, text), (str){"\x50\x2a\x4d\x18\x03\0\0\0xyz", 11}),
                   text);
}

static void cut_off(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str gz = make_gzip(&a, sample(&a)), zst = make_zstd(&a, sample(&a));
    static const size_t cuts[] = {1, 2, 4, 8, 9, 100};
    for (size_t i = 0; i < COUNT(cuts); i++) {
        assert_refuses(OCI_TYPE_LAYER_GZIP, str_upto(gz, gz.n - cuts[i]), ERR_INVALID, "the gzip data is cut off");
        assert_refuses(OCI_TYPE_LAYER_ZSTD, str_upto(zst, zst.n - cuts[i]), ERR_INVALID, "the zstd data is cut off");
    }
    assert_refuses(OCI_TYPE_LAYER_GZIP, (str){0}, ERR_INVALID, "the gzip data is cut off");
    assert_refuses(OCI_TYPE_LAYER_ZSTD, (str){0}, ERR_INVALID, "the zstd data is cut off");
    assert_refuses(OCI_TYPE_LAYER_GZIP, joined(&a, gz, str_upto(gz, 5)), ERR_INVALID, "the gzip data is cut off");
}

static void broken(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str gz = str_dup(&a, make_gzip(&a, sample(&a)));
    assert_refuses(OCI_TYPE_LAYER_GZIP, S("plain text"), ERR_INVALID,
                   "the gzip data is broken: incorrect header check");
    assert_refuses(OCI_TYPE_LAYER_ZSTD, S("plain text"), ERR_INVALID,
                   "the zstd data is broken: Unknown frame descriptor");
    assert_refuses(OCI_TYPE_LAYER_GZIP, joined(&a, gz, S("garbage")), ERR_INVALID,
                   "the gzip data is broken: incorrect header check");
    assert_refuses(OCI_TYPE_LAYER_GZIP, joined(&a, gz, (str){"\0\0\0\0", 4}), ERR_INVALID,
                   "the gzip data is broken: incorrect header check");
    ((char *)(uintptr_t)gz.p)[gz.n - 6] ^= 1; /* its checksum */
    assert_refuses(OCI_TYPE_LAYER_GZIP, gz, ERR_INVALID, "the gzip data is broken: incorrect data check");
}

static void other_types(void **state)
{
    assert_refuses("application/vnd.cncf.helm.chart.content.v1.tar+gzip", S("x"), ERR_UNSUPPORTED_MEDIA_TYPE,
                   "it is no layer of files: its type is \"application/vnd.cncf.helm.chart.content.v1.tar+gzip\"");
    assert_refuses("", S("x"), ERR_UNSUPPORTED_MEDIA_TYPE, "it is no layer of files: its type is \"\"");
}

/* Zeros without end: they stop at the budget, and no later. */
static void assert_defused(const char *media_type, str bomb)
{
    struct oci_layer *l;
    uint64_t budget = 1 << 20, taken = 0;
    struct err err;
    assert_int_equal(oci_layer_new(str_of(media_type), (struct oci_sink){take_nothing, &taken}, &budget, &l, &err), 0);
    assert_int_equal(oci_layer_feed(l, bomb, &err), ERR_TOO_LARGE);
    assert_string_equal(err.msg, "unpacked it is larger than a package may be");
    assert_true(taken <= 1 << 20 && taken > (1 << 20) - (128 << 10));
    assert_int_equal(oci_layer_feed(l, bomb, &err), ERR_TOO_LARGE);
    assert_int_equal(oci_layer_finish(l, &err), ERR_TOO_LARGE);
    oci_layer_free(l);
}

static void bombs(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str gz = make_gzip_bomb(&a, UINT64_C(64) << 20), zst = make_zstd_bomb(&a, UINT64_C(1) << 30);
    assert_true(gz.n < 80 << 10 && zst.n < 64 << 10);
    assert_defused(OCI_TYPE_LAYER_GZIP, gz);
    assert_defused(OCI_TYPE_LAYER_ZSTD, zst);
    assert_defused(OCI_TYPE_LAYER, gz);
}

/* A frame that wants a window of 256 MiB: refused before memory is taken. */
static void window_of_zstd(void **state)
{
    static const char frame[] = "\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00";
    assert_refuses(OCI_TYPE_LAYER_ZSTD, (str){frame, 9}, ERR_INVALID,
                   "the zstd data is broken: Frame requires too much memory for decoding");
}

/* The budget may be used up to the last byte. */
static void all_of_the_budget(void **state)
{
    struct arena a ARENA_SCOPE = {0};
    str zst = make_zstd_bomb(&a, 1 << 20);
    struct buf got;
    struct err err;
    assert_int_equal(unpack(&a, OCI_TYPE_LAYER_ZSTD, zst, 100, &got, &err), 0);
    assert_int_equal(got.n, 1 << 20);
    zst = make_zstd_bomb(&a, (1 << 20) + 1);
    assert_int_equal(unpack(&a, OCI_TYPE_LAYER_ZSTD, zst, 100, &got, &err), ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats), cmocka_unit_test(first_bytes_tell), cmocka_unit_test(many_members),
        cmocka_unit_test(cut_off), cmocka_unit_test(broken),           cmocka_unit_test(other_types),
        cmocka_unit_test(bombs),   cmocka_unit_test(window_of_zstd),   cmocka_unit_test(all_of_the_budget),
    };
    return cmocka_run_group_tests_name("layer", tests, NULL, NULL);
}
