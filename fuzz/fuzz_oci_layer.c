/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers on top of each other, from compressed bytes to files. Seeds are text: layers begin with a line "gzip", "zstd" or
 * "plain", then the lines of an archive (archive.h); anything else is one layer, its first byte picks the type. Never more comes out
 * than the budget; files are those that are wanted, sorted, each once; how the bytes are cut does not matter.
 */
#include "archive.h"
#include "oci/image.h"
#include "oci/layer.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUDGET = 1 << 20, LAYERS_MAX = 8 };

static const str types[] = {S_INIT(OCI_TYPE_LAYER_GZIP), S_INIT(OCI_TYPE_LAYER_ZSTD), S_INIT(OCI_TYPE_LAYER)};
static const str words[] = {S_INIT("gzip\n"), S_INIT("zstd\n"), S_INIT("plain\n")};
static const str wanted[] = {S_INIT(".registry"), S_INIT("package.yaml")};
static const struct oci_wants wants = {.paths = wanted, .n = 2};
static const struct oci_limits limits = {.unpacked = BUDGET, .entries = 1000, .files = 100, .file_size = 4096};

struct input {
    str media_type, bytes;
};

static str gzip(struct arena *a, str bytes)
{
    uLongf bound = compressBound(bytes.n) + 64;
    unsigned char *out = arena_alloc(a, bound);
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes.p,
                  .avail_in = (unsigned)bytes.n,
                  .next_out = out,
                  .avail_out = (unsigned)bound};
    if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&z, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&z);
    return (str){(char *)out, bound - z.avail_out};
}

static str zstd(struct arena *a, str bytes)
{
    size_t bound = ZSTD_compressBound(bytes.n);
    char *out = arena_alloc(a, bound);
    size_t n = ZSTD_compress(out, bound, bytes.n ? bytes.p : "", bytes.n, 1);
    assert(!ZSTD_isError(n));
    return (str){out, n};
}

static int word_at(str text)
{
    for (int i = 0; i < 3; i++)
        if (str_has_prefix(text, words[i]))
            return i;
    return -1;
}

/* Up to the next line that is one of the words. */
static str one_layer(str *text)
{
    str all = *text, line;
    while (text->n && word_at(*text) < 0)
        str_cut(*text, '\n', &line, text);
    return str_upto(all, all.n - text->n);
}

static size_t read_seed(struct arena *a, str text, struct input *layers)
{
    size_t n = 0;
    for (int word; n < LAYERS_MAX && (word = word_at(text)) >= 0; n++) {
        text = str_from(text, words[word].n);
        str tar = archive_of(a, one_layer(&text));
        layers[n] = (struct input){types[word], word == 0 ? gzip(a, tar) : word == 1 ? zstd(a, tar) : tar};
    }
    return n;
}

struct counted {
    struct tar_reader *tar;
    uint64_t n;
};

static int take(void *ctx, str piece, struct err *err)
{
    struct counted *c = ctx;
    c->n += piece.n;
    return tar_feed(c->tar, piece, err);
}

static int read_layer(const struct input *in, size_t piece, struct oci_flatten *f, uint64_t *budget, struct err *err)
{
    struct counted c = {.tar = tar_reader_new(&oci_flatten_ops, f, UINT64_MAX)};
    struct oci_layer *layer;
    uint64_t before = *budget;
    int code = oci_layer_new(in->media_type, (struct oci_sink){take, &c}, budget, &layer, err);
    assert(code == 0);
    oci_flatten_next_layer(f);
    for (str rest = in->bytes; code == 0 && rest.n; rest = str_from(rest, piece))
        code = oci_layer_feed(layer, str_upto(rest, piece), err);
    if (code == 0)
        code = oci_layer_finish(layer, err);
    if (code == 0)
        code = tar_finish(c.tar, err);
    assert(c.n <= before);
    oci_layer_free(layer);
    tar_reader_free(c.tar);
    return code;
}

static bool is_wanted(str path)
{
    return str_eq(path, wanted[1]) || str_eq(path, wanted[0]) || str_has_prefix(path, S(".registry/")) ||
           str_has_prefix(path, S("package.yaml/"));
}

static int read_all(struct arena *a, const struct input *layers, size_t n, size_t piece, struct oci_files *ret,
                    struct err *err)
{
    struct oci_flatten *f = oci_flatten_new(a, &wants, &limits);
    uint64_t budget = BUDGET;
    int code = 0;
    for (size_t i = 0; code == 0 && i < n; i++)
        code = read_layer(&layers[i], piece, f, &budget, err);
    *ret = code == 0 ? oci_flatten_files(f) : (struct oci_files){0};
    oci_flatten_free(f);
    for (size_t i = 0; i < ret->n; i++) {
        assert(is_wanted(ret->p[i].path) && str_is_utf8(ret->p[i].path) && ret->p[i].data.n <= limits.file_size);
        assert(i == 0 || str_cmp(ret->p[i - 1].path, ret->p[i].path) < 0);
    }
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a ARENA_SCOPE = {0};
    struct input layers[LAYERS_MAX];
    struct oci_files whole, cut;
    struct err err = {0}, other = {0};
    str in = {(const char *)data, size};
    size_t n = read_seed(&a, in, layers);
    if (n == 0 && size)
        layers[n++] = (struct input){types[data[0] % 3], str_from(in, 1)};
    int code = read_all(&a, layers, n, (size_t)1 << 20, &whole, &err);
    int again = read_all(&a, layers, n, 1 + size % 500, &cut, &other);
    assert(code == again && whole.n == cut.n);
    assert(code == 0 || ((code == ERR_INVALID || code == ERR_TOO_LARGE) && err.msg[0] && str_is_utf8(str_of(err.msg))));
    for (size_t i = 0; i < whole.n; i++)
        assert(str_eq(whole.p[i].path, cut.p[i].path) && str_eq(whole.p[i].data, cut.p[i].data));
    return 0;
}
