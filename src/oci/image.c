/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/image.h"

#include "oci/flatten.h"
#include "oci/layer.h"
#include "oci/tar.h"

/* ---- From a name to the manifest for us. ---- */

/* A circle of indexes would need one that holds its own digest; a source that pretends to have such is found out by the digest. So
 * a bound on the depth is all it takes. */
static int descend(struct arena *a, struct oci_source *s, struct oci_image *image, struct err *err)
{
    for (int depth = 0; image->manifest.type == OCI_INDEX; depth++) {
        const struct oci_descriptor *chosen;
        struct oci_document doc;
        int code;
        if (depth == OCI_INDEX_DEPTH)
            return err_set(err, ERR_INVALID, "there are more than %d indexes in each other", OCI_INDEX_DEPTH);
        if ((code = oci_index_choose(&image->manifest, &chosen, err)) < 0 ||
            (code = oci_source_document(s, a, chosen, &doc, err)) < 0)
            return code;
        image->manifest_digest = doc.digest;
        if ((code = oci_manifest_parse(a, doc.bytes, chosen->media_type, &image->manifest, err)) < 0)
            return code;
    }
    return 0;
}

/* Artifacts of other kinds have configs that are nobody's business here. */
static int read_config(struct arena *a, struct oci_source *s, struct oci_image *image, struct err *err)
{
    const struct oci_descriptor *config = &image->manifest.config;
    str bytes;
    if (!oci_config_is_known_type(config->media_type))
        return 0;
    int code = oci_source_blob_bytes(s, a, config, OCI_DOCUMENT_MAX, &bytes, err);
    if (code == 0)
        code = oci_config_parse(a, bytes, &image->config, err);
    if (code < 0)
        return code;
    if (image->config.n_diff_ids && image->config.n_diff_ids != image->manifest.n_layers)
        return err_set(err, ERR_INVALID, "the manifest has %zu layers, and the config of the image has %zu",
                       image->manifest.n_layers, image->config.n_diff_ids);
    return 0;
}

int oci_image_open(struct arena *a, struct oci_source *s, const struct oci_reference *ref, struct oci_image *ret,
                   struct err *err)
{
    struct oci_image image = {0};
    struct oci_document doc;
    int code;
    if ((code = oci_source_resolve(s, a, ref, &doc, err)) < 0)
        return code;
    image.digest = image.manifest_digest = doc.digest;
    if ((code = oci_manifest_parse(a, doc.bytes, doc.media_type, &image.manifest, err)) < 0 ||
        (code = descend(a, s, &image, err)) < 0 || (code = read_config(a, s, &image, err)) < 0 ||
        (code = oci_manifest_find_base(a, &image.manifest, &image.config, &image.base, err)) < 0)
        return code;
    *ret = image;
    return 0;
}

/* ---- Layers.
 *
 *   source ─► verifier ─► layer: uncompressed ─┬─► hash: is it the diff_id?
 *                                              └─► tar ─► flatten
 */

struct unpacking {
    struct oci_layer *layer;
    struct oci_hash *hash; /* NULL: nobody knows what it should be */
    struct tar_reader *tar;
    struct err fault; /* the first thing wrong with the content */
};

static int report(const struct unpacking *u, struct err *err)
{
    return err_set(err, u->fault.code, "%s", u->fault.msg);
}

static int take_unpacked(void *ctx, str piece, struct err *err)
{
    struct unpacking *u = ctx;
    if (u->hash)
        oci_hash_add(u->hash, piece);
    return tar_feed(u->tar, piece, err);
}

/* When the content makes no sense the rest is still read, for the digest: if that is wrong it is the better answer. But nobody
 * has to sit through a bomb. */
static int take_packed(void *ctx, str piece, struct err *err)
{
    struct unpacking *u = ctx;
    if (u->fault.code)
        return 0;
    int code = oci_layer_feed(u->layer, piece, &u->fault);
    return code == 0 || code == ERR_INVALID ? 0 : report(u, err);
}

static int check_unpacked(struct unpacking *u, const struct oci_digest *diff_id, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int code;
    if (u->fault.code)
        return report(u, err);
    if ((code = oci_layer_finish(u->layer, err)) < 0 || (code = tar_finish(u->tar, err)) < 0)
        return code;
    if (u->hash == NULL)
        return 0;
    struct oci_digest got = oci_hash_finish(u->hash);
    if (!oci_digest_eq(&got, diff_id))
        return err_set(err, ERR_INVALID, "unpacked it has the digest %.*s, not %.*s as the config of the image says",
                       STR(oci_digest_format(&scratch, &got)), STR(oci_digest_format(&scratch, diff_id)));
    return 0;
}

static int read_layer(struct oci_source *s, const struct oci_descriptor *layer, const struct oci_digest *diff_id,
                      struct unpacking *u, uint64_t *budget, struct err *err)
{
    int code = oci_layer_new(layer->media_type, (struct oci_sink){take_unpacked, u}, budget, &u->layer, err);
    if (code < 0)
        return code;
    code = oci_source_blob(s, layer, (struct oci_sink){take_packed, u}, err);
    if (code < 0) /* the source's words, unless it was stopped from here */
        return u->fault.code && u->fault.code != ERR_INVALID ? report(u, err) : code;
    return check_unpacked(u, diff_id, err);
}

static int unpack_layer(struct oci_source *s, const struct oci_image *image, size_t i, struct oci_flatten *flatten,
                        uint64_t *budget, struct err *err)
{
    const struct oci_digest *diff_id = image->config.n_diff_ids ? &image->config.diff_ids[i] : NULL;
    struct unpacking u = {
        .hash = diff_id ? oci_hash_new(diff_id->algorithm) : NULL,
        .tar = tar_reader_new(&oci_flatten_ops, flatten, UINT64_MAX), /* flatten counts, over all layers */
    };
    oci_flatten_next_layer(flatten);
    int code = read_layer(s, &image->manifest.layers[i], diff_id, &u, budget, err);
    oci_layer_free(u.layer);
    oci_hash_free(u.hash);
    tar_reader_free(u.tar);
    return code < 0 ? err_wrap(err, "layer %zu", i) : 0;
}

/* What cannot unpack to something small enough is not even fetched. Compression may add a little. */
static int check_sizes(const struct oci_image *image, size_t first, size_t end, const struct oci_limits *limits,
                       struct err *err)
{
    uint64_t sum = 0, max = limits->unpacked + limits->unpacked / 64 + 4096;
    for (size_t i = first; i < end; i++)
        sum += image->manifest.layers[i].size; /* 256 times 2^40 at most */
    return sum <= max ? 0
                      : err_set(err, ERR_TOO_LARGE, "its layers have %llu bytes, more than a package may have",
                                (unsigned long long)sum);
}

int oci_image_read(struct arena *a, struct oci_source *s, const struct oci_image *image, const struct oci_wants *wants,
                   const struct oci_limits *limits, struct oci_files *ret, struct err *err)
{
    size_t first = image->base >= 0 ? (size_t)image->base : 0;
    size_t end = image->base >= 0 ? first + 1 : image->manifest.n_layers;
    uint64_t budget = limits->unpacked;
    int code = check_sizes(image, first, end, limits, err);
    struct oci_flatten *flatten = oci_flatten_new(a, wants, limits);
    for (size_t i = first; code == 0 && i < end; i++)
        code = unpack_layer(s, image, i, flatten, &budget, err);
    if (code == 0)
        *ret = oci_flatten_files(flatten);
    oci_flatten_free(flatten);
    return code;
}
