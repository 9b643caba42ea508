/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/layer.h"

#include "oci/shown.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

enum {
    ROOM = 64 * 1024,     /* bytes out at a time */
    MAGIC = 4,            /* bytes looked at to tell what it is */
    WINDOW_LOG_MAX = 27,  /* 128 MiB: what zstd's own tool allows by default */
    GZIP_WINDOW = 15 + 16 /* 32 KiB; 16: gzip, not zlib */
};

enum format {
    FORMAT_UNKNOWN, /* not seen enough of it */
    FORMAT_PLAIN,
    FORMAT_GZIP,
    FORMAT_ZSTD,
};

static const struct {
    str media_type;
    enum format format; /* FORMAT_UNKNOWN: have a look */
} types[] = {
    {S_INIT(OCI_TYPE_LAYER), FORMAT_UNKNOWN},
    {S_INIT(OCI_TYPE_LAYER_GZIP), FORMAT_GZIP},
    {S_INIT(OCI_TYPE_LAYER_ZSTD), FORMAT_ZSTD},
    {S_INIT("application/vnd.oci.image.layer.nondistributable.v1.tar"), FORMAT_UNKNOWN},
    {S_INIT("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"), FORMAT_GZIP},
    {S_INIT("application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"), FORMAT_ZSTD},
    {S_INIT(DOCKER_TYPE_LAYER), FORMAT_UNKNOWN},
    {S_INIT(DOCKER_TYPE_LAYER_GZIP), FORMAT_GZIP},
    {S_INIT("application/vnd.docker.image.rootfs.diff.tar.zstd"), FORMAT_ZSTD},
    {S_INIT("application/vnd.docker.image.rootfs.foreign.diff.tar"), FORMAT_UNKNOWN},
    {S_INIT("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"), FORMAT_GZIP},
};
enum { N_TYPES = COUNT(types) };

struct oci_layer {
    enum format format;
    struct oci_sink sink;
    uint64_t *budget;
    z_stream gzip;
    ZSTD_DStream *zstd;
    bool is_between; /* members or frames: this may be the end */
    int broken;      /* the code of the first error */
    size_t seen;     /* of magic */
    char magic[MAGIC];
    char out[ROOM];
};

static int find_type(str media_type)
{
    for (int i = 0; i < N_TYPES; i++)
        if (str_eq(types[i].media_type, media_type))
            return i;
    return -1;
}

/* Makes what the format needs. */
static void begin(struct oci_layer *l, enum format format)
{
    bool is_made = true;
    l->format = format;
    l->is_between = format != FORMAT_GZIP && format != FORMAT_ZSTD;
    if (format == FORMAT_GZIP)
        is_made = inflateInit2(&l->gzip, GZIP_WINDOW) == Z_OK;
    if (format == FORMAT_ZSTD)
        is_made = (l->zstd = ZSTD_createDStream()) &&
                  !ZSTD_isError(ZSTD_DCtx_setParameter(l->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX));
    if (!is_made)
        abort(); /* out of memory */
}

int oci_layer_new(str media_type, struct oci_sink sink, uint64_t *budget, struct oci_layer **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int i = find_type(media_type);
    if (i < 0)
        return err_set(err, ERR_UNSUPPORTED_MEDIA_TYPE, "it is no layer of files: its type is %.*s",
                       STR(oci_shown(&scratch, media_type)));
    struct oci_layer *l = xcalloc(1, sizeof(*l));
    l->sink = sink;
    l->budget = budget;
    begin(l, types[i].format);
    *ret = l;
    return 0;
}

void oci_layer_free(struct oci_layer *l)
{
    if (l == NULL)
        return;
    if (l->format == FORMAT_GZIP)
        inflateEnd(&l->gzip);
    ZSTD_freeDStream(l->zstd);
    free(l);
}

static int give(struct oci_layer *l, str piece, struct err *err)
{
    if (piece.n == 0)
        return 0;
    if (piece.n > *l->budget) {
        *l->budget = 0;
        return err_set(err, ERR_TOO_LARGE, "unpacked it is larger than a package may be");
    }
    *l->budget -= piece.n;
    return l->sink.take(l->sink.ctx, piece, err);
}

/* ---- gzip: members one after the other, until there is nothing more. ---- */

static int inflate_failed(const struct oci_layer *l, int code, struct err *err)
{
    if (code == Z_MEM_ERROR)
        abort();
    if (code == Z_NEED_DICT)
        return err_set(err, ERR_INVALID, "the gzip data needs a dictionary");
    return err_set(err, ERR_INVALID, "the gzip data is broken: %s", l->gzip.msg ? l->gzip.msg : "no more to be had");
}

static int feed_gzip(struct oci_layer *l, str piece, struct err *err)
{
    l->gzip.next_in = (unsigned char *)(uintptr_t)piece.p; /* zlib does not write there */
    l->gzip.avail_in = (unsigned)piece.n;
    do {
        if (l->is_between && l->gzip.avail_in && inflateReset(&l->gzip) != Z_OK)
            abort();
        l->is_between = false;
        l->gzip.next_out = (unsigned char *)l->out;
        l->gzip.avail_out = ROOM;
        int code = inflate(&l->gzip, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) /* the last: it wants more to read */
            return inflate_failed(l, code, err);
        l->is_between = code == Z_STREAM_END;
        if ((code = give(l, (str){l->out, ROOM - l->gzip.avail_out}, err)) < 0)
            return code;
    } while (l->gzip.avail_in || l->gzip.avail_out == 0);
    return 0;
}

/* ---- zstd: frames likewise. ---- */

static int feed_zstd(struct oci_layer *l, str piece, struct err *err)
{
    ZSTD_inBuffer in = {piece.p, piece.n, 0};
    ZSTD_outBuffer out;
    do {
        out = (ZSTD_outBuffer){l->out, ROOM, 0};
        size_t hint = ZSTD_decompressStream(l->zstd, &out, &in);
        if (ZSTD_isError(hint))
            return err_set(err, ERR_INVALID, "the zstd data is broken: %s", ZSTD_getErrorName(hint));
        l->is_between = hint == 0;
        int code = give(l, (str){l->out, out.pos}, err);
        if (code < 0)
            return code;
    } while (in.pos < in.size || (out.pos == ROOM && !l->is_between));
    return 0;
}

static int feed(struct oci_layer *l, str piece, struct err *err)
{
    if (piece.n == 0)
        return 0;
    if (l->format == FORMAT_GZIP)
        return feed_gzip(l, piece, err);
    return l->format == FORMAT_ZSTD ? feed_zstd(l, piece, err) : give(l, piece, err);
}

/* ---- What it is, if nobody said. ---- */

static enum format guess(str magic)
{
    if (str_has_prefix(magic, S("\x1f\x8b")))
        return FORMAT_GZIP;
    return str_eq(magic, S("\x28\xb5\x2f\xfd")) ? FORMAT_ZSTD : FORMAT_PLAIN;
}

/* Takes the first bytes aside until they tell; then they are fed as all others. */
static int look(struct oci_layer *l, str *piece, struct err *err)
{
    size_t n = MAGIC - l->seen < piece->n ? MAGIC - l->seen : piece->n;
    if (n)
        memcpy(l->magic + l->seen, piece->p, n);
    l->seen += n;
    *piece = str_from(*piece, n);
    if (l->seen < MAGIC)
        return 0;
    begin(l, guess((str){l->magic, MAGIC}));
    return feed(l, (str){l->magic, MAGIC}, err);
}

int oci_layer_feed(struct oci_layer *l, str piece, struct err *err)
{
    if (l->broken)
        return err_set(err, (enum err_code)l->broken, "the layer was given up");
    if (l->format == FORMAT_UNKNOWN)
        l->broken = look(l, &piece, err);
    while (l->broken == 0 && piece.n) { /* zlib counts in 32 bits */
        l->broken = feed(l, str_upto(piece, (size_t)1 << 30), err);
        piece = str_from(piece, (size_t)1 << 30);
    }
    return l->broken;
}

int oci_layer_finish(struct oci_layer *l, struct err *err)
{
    if (l->broken)
        return err_set(err, (enum err_code)l->broken, "the layer was given up");
    if (l->format == FORMAT_UNKNOWN && l->seen)
        return give(l, (str){l->magic, l->seen}, err);
    return l->is_between
               ? 0
               : err_set(err, ERR_INVALID, "the %s data is cut off", l->format == FORMAT_GZIP ? "gzip" : "zstd");
}
