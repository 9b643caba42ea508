/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/image.h"
#include "base/map.h"
#include "base/vec.h"
#include "oci/layer.h"
#include "oci/shown.h"
#include "oci/tar.h"
#include "oci/tar_internal.h"

#include <assert.h>
#include <stdlib.h>

enum {
    DEPTH_MAX = 64,     /* components of a wanted path */
    NODES_PER_FILE = 4, /* directories come on top of the files */
};

#define WHITEOUT S(".wh.")
#define WHITEOUT_META S(".wh..wh.")
#define OPAQUE S(".wh..wh..opq")

struct node {
    str path;
    struct node *parent; /* NULL: the root */
    uint32_t floor;      /* see the header */
    uint32_t layer;      /* of the file */
    bool is_file, is_kept;
    char *data;
    size_t n;
};

struct oci_flatten {
    struct arena *arena;
    const struct oci_wants *wants;
    const struct oci_limits *limits;
    uint32_t layer;
    uint64_t entries, files;
    struct node root;
    struct map by_path; /* struct node */
    VEC(struct node *) nodes;
    struct node *filling; /* the file whose data comes */
    size_t filled;
};

struct oci_flatten *oci_flatten_new(struct arena *a, const struct oci_wants *wants, const struct oci_limits *limits)
{
    struct oci_flatten *f = xcalloc(1, sizeof(*f));
    f->arena = a;
    f->wants = wants;
    f->limits = limits;
    return f;
}

void oci_flatten_free(struct oci_flatten *f)
{
    if (f == NULL)
        return;
    map_done(&f->by_path);
    free(f);
}

void oci_flatten_next_layer(struct oci_flatten *f)
{
    f->layer++;
}

/* ---- Paths. ---- */

/* At or below base. */
static bool is_within(str path, str base)
{
    return str_has_prefix(path, base) && (path.n == base.n || path.p[base.n] == '/');
}

static bool is_wanted(const struct oci_flatten *f, str path)
{
    for (size_t i = 0; i < f->wants->n; i++)
        if (is_within(path, f->wants->paths[i]))
            return true;
    return false;
}

/* Does the way to something wanted lead through it? */
static bool is_on_the_way(const struct oci_flatten *f, str path)
{
    for (size_t i = 0; i < f->wants->n; i++)
        if (is_within(f->wants->paths[i], path))
            return true;
    return false;
}

static void split_last(str path, str *dir, str *name)
{
    size_t n = path.n;
    while (n && path.p[n - 1] != '/')
        n--;
    *name = str_from(path, n);
    *dir = str_upto(path, n ? n - 1 : 0);
}

static int refuse(str path, enum err_code code, const char *why, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    return err_set(err, code, "%.*s %s", STR(oci_shown(&scratch, path)), why);
}

/* ---- Nodes. ---- */

static struct node *find(struct oci_flatten *f, str path)
{
    return path.n ? map_get(&f->by_path, path) : &f->root;
}

/* Is its file hidden, by a floor at or above it? */
static bool is_hidden(const struct node *node)
{
    for (const struct node *n = node; n; n = n->parent)
        if (node->layer < n->floor)
            return true;
    return false;
}

static int add_node(struct oci_flatten *f, struct node *parent, str path, struct node **ret, struct err *err)
{
    if (f->nodes.n >= NODES_PER_FILE * f->limits->files)
        return err_set(err, ERR_TOO_LARGE, "the package has too many directories");
    if (parent->is_file && !is_hidden(parent))
        return refuse(path, ERR_INVALID, "is below a file", err);
    struct node *node = ARENA_NEW(f->arena, struct node);
    node->path = str_dup(f->arena, path);
    node->parent = parent;
    map_set(&f->by_path, node->path, node);
    *vec_push(f->arena, &f->nodes) = node;
    *ret = node;
    return 0;
}

/* The node of a path, made with all directories above it. */
static int reach(struct oci_flatten *f, str path, struct node **ret, struct err *err)
{
    struct node *node = &f->root;
    size_t depth = 0;
    for (size_t at = 0; at < path.n;) {
        ptrdiff_t slash = str_find_char(str_from(path, at), '/');
        size_t end = slash < 0 ? path.n : at + (size_t)slash;
        struct node *next = find(f, str_upto(path, end));
        int code = 0;
        if (++depth > DEPTH_MAX)
            return refuse(path, ERR_INVALID, "is too deep", err);
        if (next == NULL && (code = add_node(f, node, str_upto(path, end), &next, err)) < 0)
            return code;
        assert(next);
        if (end < path.n && next->is_file && !is_hidden(next))
            return refuse(path, ERR_INVALID, "is below a file", err);
        node = next;
        at = end + 1;
    }
    *ret = node;
    return 0;
}

/* ---- Entries. ---- */

static int hide(struct oci_flatten *f, str dir, str name, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct node *node;
    if (str_eq(name, OPAQUE)) {
        node = find(f, dir);
    } else if (str_has_prefix(name, WHITEOUT_META)) {
        return 0; /* notes of old storage drivers to themselves */
    } else {
        str hidden = str_from(name, WHITEOUT.n);
        if (hidden.n == 0 || str_eq(hidden, S(".")) || str_eq(hidden, S("..")))
            return refuse(name, ERR_INVALID, "hides nothing that could be there", err);
        node = find(f, dir.n ? str_fmt(&scratch, "%.*s/%.*s", STR(dir), STR(hidden)) : hidden);
    }
    if (node)
        node->floor = f->layer;
    return 0;
}

static int put_directory(struct oci_flatten *f, str path, struct err *err)
{
    struct node *node = NULL;
    int code = reach(f, path, &node, err);
    if (code < 0)
        return code;
    assert(node);
    node->is_file = false;
    return 0;
}

static int put_file(struct oci_flatten *f, const struct tar_entry *e, struct err *err)
{
    struct node *node = NULL;
    bool is_kept = f->wants->keeps == NULL || f->wants->keeps(f->wants->ctx, e->path);
    if (++f->files > f->limits->files)
        return err_set(err, ERR_TOO_LARGE, "the package has more than %llu files",
                       (unsigned long long)f->limits->files);
    if (is_kept && e->size > f->limits->file_size)
        return refuse(e->path, ERR_TOO_LARGE, "is larger than a file of a package may be", err);
    int code = reach(f, e->path, &node, err);
    if (code < 0)
        return code;
    assert(node);
    node->is_file = true;
    node->is_kept = is_kept;
    node->layer = node->floor = f->layer; /* what was below it as a directory is gone */
    node->n = is_kept ? (size_t)e->size : 0;
    node->data = node->n ? arena_alloc(f->arena, node->n) : NULL;
    f->filling = node->n ? node : NULL;
    return 0;
}

static int put_wanted(struct oci_flatten *f, const struct tar_entry *e, struct err *err)
{
    if (e->is_absolute)
        return refuse(e->raw_path, ERR_INVALID, "is an absolute path", err);
    if (!str_is_utf8(e->path))
        return refuse(e->path, ERR_INVALID, "is not UTF-8", err);
    switch (e->type) {
    case TAR_FILE:
        return put_file(f, e, err);
    case TAR_DIRECTORY:
        return put_directory(f, e->path, err);
    case TAR_SYMLINK:
    case TAR_HARD_LINK:
        return refuse(e->path, ERR_INVALID, "is a link: a package has none", err);
    case TAR_SPECIAL:
        return refuse(e->path, ERR_INVALID, "is a device or a pipe: a package has none", err);
    }
    abort();
}

static int on_entry(void *ctx, const struct tar_entry *e, struct err *err)
{
    struct oci_flatten *f = ctx;
    str dir, name;
    f->filling = NULL;
    f->filled = 0;
    if (++f->entries > f->limits->entries)
        return err_set(err, ERR_TOO_LARGE, "the image has more than %llu entries",
                       (unsigned long long)f->limits->entries);
    split_last(e->path, &dir, &name);
    if (str_has_prefix(name, WHITEOUT))
        return hide(f, dir, name, err);
    if (is_wanted(f, e->path))
        return put_wanted(f, e, err);
    if (e->type != TAR_DIRECTORY && is_on_the_way(f, e->path))
        return refuse(e->path, ERR_INVALID, "is not a directory, though the package should be in it", err);
    return 0;
}

static int on_data(void *ctx, str piece, struct err *err)
{
    struct oci_flatten *f = ctx;
    (void)err; /* the reader gives no more than the entry's size */
    if (f->filling) {
        memcpy(f->filling->data + f->filled, piece.p, piece.n);
        f->filled += piece.n;
    }
    return 0;
}

const struct tar_reader_ops oci_flatten_ops = {.on_entry = on_entry, .on_data = on_data};

/* ---- The end. ---- */

static int by_path(const void *a, const void *b)
{
    return str_cmp(((const struct oci_file *)a)->path, ((const struct oci_file *)b)->path);
}

struct oci_files oci_flatten_files(struct oci_flatten *f)
{
    struct oci_file *files = ARENA_ARRAY(f->arena, struct oci_file, f->nodes.n);
    size_t n = 0;
    vec_each(&f->nodes, at)
    {
        const struct node *node = *at;
        if (node->is_file && node->is_kept && !is_hidden(node))
            files[n++] = (struct oci_file){node->path, {node->data, node->n}};
    }
    if (n)
        qsort(files, n, sizeof(*files), by_path);
    return (struct oci_files){files, n};
}

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
