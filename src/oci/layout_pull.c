/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/layout.h"

/* A copy under way. */
struct copy {
    struct oci_layout *to;
    struct oci_source *from;
    const struct oci_watch *watch; /* or NULL */
    struct oci_moved moved;
    struct oci_blob_writer *writer;
};

static void tell(const struct copy *c)
{
    if (c->watch)
        c->watch->moved(c->watch->ctx, &c->moved);
}

static int take(void *ctx, str piece, struct err *err)
{
    struct copy *c = ctx;
    c->moved.bytes += piece.n;
    tell(c);
    return oci_blob_writer_add(c->writer, piece, err);
}

static int copy_blob(struct copy *c, const struct oci_descriptor *what, struct err *err)
{
    struct oci_digest digest; /* the same: what comes from a source was verified */
    if (oci_layout_has_blob(c->to, &what->digest, what->size)) {
        c->moved.bytes_of -= what->size;
        return 0;
    }
    c->writer = NULL;
    int code = oci_blob_writer_open(c->to, what->digest.algorithm, &c->writer, err);
    if (code == 0 && (code = oci_source_blob(c->from, what, (struct oci_sink){take, c}, err)) == 0)
        code = oci_blob_writer_finish(c->writer, &digest, NULL, err);
    oci_blob_writer_free(c->writer);
    return code;
}

static int copy_blobs(struct copy *c, const struct oci_manifest *m, struct err *err)
{
    uint64_t sum = m->config.size;
    for (size_t i = 0; i < m->n_layers; i++)
        sum += m->layers[i].size;
    if (sum > OCI_PULL_MAX)
        return err_set(err, ERR_TOO_LARGE, "the image has %llu bytes, more than %d", (unsigned long long)sum,
                       OCI_PULL_MAX);
    c->moved.of = m->n_layers;
    c->moved.bytes_of = sum;
    tell(c);
    int code = copy_blob(c, &m->config, err);
    for (size_t i = 0; code == 0 && i < m->n_layers; i++) {
        code = copy_blob(c, &m->layers[i], err);
        c->moved.layers = i + 1;
        if (code == 0)
            tell(c);
    }
    return code;
}

/* Documents from the outside in: indexes, and the manifest at their end. */
struct chain {
    struct oci_document docs[OCI_INDEX_DEPTH + 1];
    int n;
    str media_type; /* of the first */
    struct oci_manifest manifest;
};

static int follow(struct arena *a, struct oci_source *from, struct chain *c, struct err *err)
{
    struct oci_manifest *m = &c->manifest;
    const struct oci_descriptor *chosen;
    int code = oci_manifest_parse(a, c->docs[0].bytes, c->docs[0].media_type, m, err);
    c->n = 1;
    c->media_type = m->media_type;
    for (; code == 0 && m->type == OCI_INDEX; c->n++) {
        struct oci_document *next = &c->docs[c->n];
        if (c->n > OCI_INDEX_DEPTH)
            return err_set(err, ERR_INVALID, "there are more than %d indexes in each other", OCI_INDEX_DEPTH);
        if ((code = oci_index_choose(m, &chosen, err)) == 0 &&
            (code = oci_source_document(from, a, chosen, next, err)) == 0)
            code = oci_manifest_parse(a, next->bytes, chosen->media_type, m, err);
    }
    return code;
}

/* From the inside out: what a document needs is there before it. */
int oci_layout_pull(struct oci_layout *l, struct oci_source *from, const struct oci_reference *ref,
                    const struct oci_watch *watch, struct oci_digest *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct copy copy = {.to = l, .from = from, .watch = watch};
    struct chain c = {0};
    struct oci_descriptor what = {0};
    int code;
    if ((code = oci_source_resolve(from, &scratch, ref, &c.docs[0], err)) < 0 ||
        (code = follow(&scratch, from, &c, err)) < 0 || (code = copy_blobs(&copy, &c.manifest, err)) < 0)
        return code;
    for (int i = c.n; code == 0 && i-- > 0;)
        code = oci_layout_put_bytes(l, c.docs[i].digest.algorithm, c.docs[i].bytes, &what.digest, err);
    what.media_type = c.media_type;
    what.size = c.docs[0].bytes.n;
    if (code == 0 && (code = oci_layout_set(l, ref, &what, err)) == 0)
        *ret = what.digest;
    return code;
}
