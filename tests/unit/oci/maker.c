/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

enum { BLOCK = 512 };

/* ---- Archives. ---- */

void make_zeros(struct buf *out, size_t n)
{
    while (n-- > 0)
        buf_add_char(out, '\0');
}

void make_sum(struct buf *out, size_t at)
{
    unsigned sum = 0;
    char text[8];
    memset(out->p + at + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)out->p[at + i];
    snprintf(text, sizeof text, "%06o", sum);
    memcpy(out->p + at + 148, text, 7);
}

static void put(struct buf *out, size_t at, str text)
{
    if (text.n)
        memcpy(out->p + at, text.p, text.n);
}

void make_header(struct buf *out, const struct made *what)
{
    size_t at = out->n;
    char number[16];
    make_zeros(out, BLOCK);
    put(out, at, str_upto(what->path, 100));
    put(out, at + 100, S("0000644"));
    snprintf(number, sizeof number, "%011llo", (unsigned long long)what->size);
    put(out, at + 124, str_upto(str_of(number), 11));
    out->p[at + 156] = what->type ? what->type : '0';
    put(out, at + 157, str_upto(what->link, 100));
    if (!what->is_old)
        put(out, at + 257, (str){"ustar\00000", 8});
    make_sum(out, at);
}

void make_entry(struct buf *out, const char *path, char type, str data)
{
    make_header(out, &(struct made){.path = str_of(path), .type = type, .size = data.n});
    buf_add_str(out, data);
    make_zeros(out, -data.n & (BLOCK - 1));
}

void make_file(struct buf *out, const char *path, const char *text)
{
    make_entry(out, path, '0', str_of(text));
}

void make_link(struct buf *out, const char *path, char type, const char *target)
{
    make_header(out, &(struct made){.path = str_of(path), .type = type, .link = str_of(target)});
}

void make_meta(struct buf *out, char type, str text)
{
    make_entry(out, type == 'L' || type == 'K' ? "././@LongLink" : "PaxHeaders/x", type, text);
}

void make_record(struct buf *out, const char *key, str value)
{
    size_t body = strlen(key) + value.n + 3, digits = 1;
    while (snprintf(NULL, 0, "%zu", body + digits) > (int)digits)
        digits++;
    buf_fmt(out, "%zu %s=", body + digits, key);
    buf_add_str(out, value);
    buf_add_char(out, '\n');
}

void make_end(struct buf *out)
{
    make_zeros(out, 2 * (size_t)BLOCK);
}

/* ---- Compression. ---- */

static char zeros[64 * 1024];

/* All of bytes, or n zeros. */
static str gzip(struct arena *a, str bytes, uint64_t n)
{
    struct buf out = {.arena = a};
    z_stream z = {0};
    int code = Z_OK;
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    while (code != Z_STREAM_END) {
        if (bytes.n && z.total_in == 0) {
            z.next_in = (unsigned char *)(uintptr_t)bytes.p;
            z.avail_in = (unsigned)bytes.n;
        }
        if (z.avail_in == 0 && n) {
            z.next_in = (unsigned char *)zeros;
            z.avail_in = n < sizeof zeros ? (unsigned)n : sizeof zeros;
            n -= z.avail_in;
        }
        buf_grow(&out, 4096);
        z.next_out = (unsigned char *)out.p + out.n;
        z.avail_out = (unsigned)(out.cap - out.n);
        code = deflate(&z, n ? Z_NO_FLUSH : Z_FINISH);
        out.n = out.cap - z.avail_out;
    }
    deflateEnd(&z);
    return buf_str(&out);
}

str make_gzip(struct arena *a, str bytes)
{
    return gzip(a, bytes, 0);
}

str make_gzip_bomb(struct arena *a, uint64_t n)
{
    return gzip(a, (str){0}, n);
}

str make_zstd(struct arena *a, str bytes)
{
    size_t cap = ZSTD_compressBound(bytes.n);
    char *p = arena_alloc(a, cap);
    size_t n = ZSTD_compress(p, cap, bytes.p ? bytes.p : "", bytes.n, 3);
    assert_false(ZSTD_isError(n));
    return (str){p, n};
}

str make_zstd_bomb(struct arena *a, uint64_t n)
{
    struct buf out = {.arena = a};
    ZSTD_CStream *z = ZSTD_createCStream();
    size_t left = 1;
    while (left) {
        size_t piece = n < sizeof zeros ? (size_t)n : sizeof zeros;
        ZSTD_inBuffer in = {zeros, piece, 0};
        n -= piece;
        do {
            buf_grow(&out, 4096);
            ZSTD_outBuffer o = {out.p + out.n, out.cap - out.n, 0};
            left = ZSTD_compressStream2(z, &o, &in, n ? ZSTD_e_continue : ZSTD_e_end);
            assert_false(ZSTD_isError(left));
            out.n += o.pos;
        } while (in.pos < in.size || (n == 0 && left));
        left = n || left;
    }
    ZSTD_freeCStream(z);
    return buf_str(&out);
}

/* ---- The shop. ---- */

struct ware {
    str bytes;
};

static struct ware *find(struct shop *s, const struct oci_digest *digest)
{
    return map_get(&s->blobs, oci_digest_format(&s->arena, digest));
}

static int shop_resolve(struct oci_source *source, struct arena *a, const struct oci_reference *ref,
                        struct oci_document *ret, struct err *err)
{
    *ret = ((struct shop *)source)->top;
    return 0;
}

static int shop_document(struct oci_source *source, struct arena *a, const struct oci_descriptor *want,
                         struct oci_document *ret, struct err *err)
{
    struct ware *ware = find((struct shop *)source, &want->digest);
    if (ware == NULL)
        return err_set(err, ERR_NOT_FOUND, "no such document");
    *ret = (struct oci_document){.bytes = ware->bytes};
    return 0;
}

static int shop_blob(struct oci_source *source, const struct oci_descriptor *want, struct oci_sink sink,
                     struct err *err)
{
    struct shop *s = (struct shop *)source;
    struct ware *ware = find(s, &want->digest);
    if (ware == NULL)
        return err_set(err, ERR_NOT_FOUND, "no such blob");
    for (str rest = ware->bytes; rest.n;) {
        str piece = str_upto(rest, s->piece ? s->piece : rest.n);
        int code = sink.take(sink.ctx, piece, err);
        if (code < 0)
            return code;
        s->served += piece.n;
        rest = str_from(rest, piece.n);
    }
    return 0;
}

static void shop_free(struct oci_source *source)
{
    struct shop *s = (struct shop *)source;
    map_done(&s->blobs);
    arena_done(&s->arena);
    free(s);
}

static const struct oci_source_ops shop_ops = {shop_resolve, shop_document, shop_blob, shop_free};

int shop_set_up(void **state)
{
    struct shop *s = calloc(1, sizeof *s);
    s->source.ops = &shop_ops;
    *state = s;
    return 0;
}

int shop_tear_down(void **state)
{
    oci_source_free(*state);
    return 0;
}

void shop_put_as(struct shop *s, const struct oci_digest *digest, str bytes)
{
    struct ware *ware = ARENA_NEW(&s->arena, struct ware);
    ware->bytes = str_dup(&s->arena, bytes);
    map_set(&s->blobs, oci_digest_format(&s->arena, digest), ware);
}

struct oci_descriptor shop_put(struct shop *s, const char *media_type, str bytes)
{
    struct oci_descriptor d = {
        .media_type = str_of(media_type), .digest = oci_digest_of(OCI_SHA256, bytes), .size = bytes.n};
    shop_put_as(s, &d.digest, bytes);
    return d;
}

void shop_set_top(struct shop *s, const char *media_type, str bytes)
{
    s->top = (struct oci_document){.media_type = str_of(media_type), .bytes = str_dup(&s->arena, bytes)};
}

void shop_describe(struct shop *s, struct buf *out, const struct oci_descriptor *d, const char *more)
{
    buf_fmt(out, "{\"mediaType\":\"%.*s\",\"digest\":\"%.*s\",\"size\":%llu%s%s}", STR(d->media_type),
            STR(oci_digest_format(&s->arena, &d->digest)), (unsigned long long)d->size, more && *more ? "," : "",
            more ? more : "");
}

static str pack(struct shop *s, const struct shop_layer *layer)
{
    if (layer->media_type == NULL || strstr(layer->media_type, "gzip"))
        return make_gzip(&s->arena, layer->tar);
    return strstr(layer->media_type, "zstd") ? make_zstd(&s->arena, layer->tar) : layer->tar;
}

void shop_put_image(struct shop *s, const struct shop_layer *layers, size_t n, const char *labels)
{
    struct buf list = {.arena = &s->arena}, ids = {.arena = &s->arena}, manifest = {.arena = &s->arena};
    for (size_t i = 0; i < n; i++) {
        struct oci_digest id = oci_digest_of(OCI_SHA256, layers[i].tar);
        struct oci_descriptor d =
            shop_put(s, layers[i].media_type ? layers[i].media_type : OCI_TYPE_LAYER_GZIP, pack(s, &layers[i]));
        buf_fmt(&list, "%s", i ? "," : "");
        shop_describe(s, &list, &d, layers[i].more);
        buf_fmt(&ids, "%s\"%.*s\"", i ? "," : "", STR(oci_digest_format(&s->arena, &id)));
    }
    str config = str_fmt(&s->arena, "{\"config\":{\"Labels\":{%s}},\"rootfs\":{\"diff_ids\":[%.*s]}}",
                         labels ? labels : "", STR(buf_str(&ids)));
    struct oci_descriptor c = shop_put(s, OCI_TYPE_CONFIG, config);
    buf_fmt(&manifest, "{\"schemaVersion\":2,\"config\":");
    shop_describe(s, &manifest, &c, NULL);
    buf_fmt(&manifest, ",\"layers\":[%.*s]}", STR(buf_str(&list)));
    shop_put(s, OCI_TYPE_MANIFEST, buf_str(&manifest));
    shop_set_top(s, OCI_TYPE_MANIFEST, buf_str(&manifest));
}

int shop_read(struct shop *s, struct arena *a, const struct oci_limits *limits, struct oci_files *ret, struct err *err)
{
    static const str paths[] = {S_INIT(".registry"), S_INIT("package.yaml")};
    const struct oci_wants wants = {.paths = paths, .n = 2};
    struct oci_limits usual = OCI_LIMITS_DEFAULT;
    struct oci_reference ref;
    struct oci_image image;
    int code;
    if ((code = oci_reference_parse(S("acme/wordpress:1.1"), &ref, err)) < 0 ||
        (code = oci_image_open(a, &s->source, &ref, &image, err)) < 0)
        return code;
    return oci_image_read(a, &s->source, &image, &wants, limits ? limits : &usual, ret, err);
}
