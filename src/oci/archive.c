/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/archive.h"
#include "base/map.h"
#include "base/vec.h"
#include "oci/layout_internal.h"
#include "oci/shown.h"
#include "oci/tar.h"
#include "oci/tar_internal.h"
#include "json/json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The inside of an archive of images, for the files that read it. */

/* A file inside: where it is. */
struct archive_member {
    uint64_t at, size;
    str digest; /* of a docker archive, once it was needed */
    bool is_gzip;
};

/* An image of a manifest.json: the manifest a registry would have. */
struct archive_saved {
    struct oci_digest digest;
    str manifest;
    const str *tags;
    size_t n_tags;
};

struct archive {
    struct oci_source source; /* first */
    struct arena arena;
    int fd;
    str path;
    struct map members;   /* struct archive_member by path */
    struct map by_digest; /* struct archive_member by "sha256:…": of a docker archive */
    bool is_layout;
    struct oci_manifest index;       /* of a layout */
    VEC(struct archive_saved) saved; /* of a docker archive */
};

static int archive_give(struct archive *ar, const struct archive_member *m, struct oci_sink sink, struct err *err);
static int archive_bytes(struct archive *ar, struct arena *a, const struct archive_member *m, str *ret,
                         struct err *err);

enum {
    IMAGES_MAX = 256,
    TAGS_MAX = 1024,
    MAGIC = 2,
};

/*   manifest.json   [{"Config":"sha256:…" or "….json","RepoTags":["acme/wp:1.1"],"Layers":["….tar.gz",…]},…]
 *
 * The files are named as their writers liked; digests are computed. */

/* Hashes a member, and keeps its first bytes. */
struct look {
    struct oci_hash *hash;
    size_t seen;
    char magic[MAGIC];
};

static int take_look(void *ctx, str piece, struct err *err)
{
    struct look *k = ctx;
    (void)err;
    for (size_t i = 0; i < piece.n && k->seen < MAGIC; i++)
        k->magic[k->seen++] = piece.p[i];
    oci_hash_add(k->hash, piece);
    return 0;
}

static int find_member(struct archive *ar, const struct json *name, struct archive_member **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf path = {.arena = &scratch};
    int code;
    if (!json_is_str(name) || json_text(name).n == 0)
        return err_set(err, ERR_INVALID, "manifest.json: the name of a file is missing");
    if ((code = tar_path_clean(json_text(name), &path, err)) < 0)
        return code;
    *ret = map_get(&ar->members, buf_str(&path));
    if (*ret == NULL)
        return err_set(err, ERR_INVALID, "manifest.json: %.*s is not in the archive, or is a link",
                       STR(oci_shown(&scratch, buf_str(&path))));
    return 0;
}

/* Once for each file, however many images name it. */
static int compute_digest(struct archive *ar, struct archive_member *m, struct err *err)
{
    if (m->digest.n)
        return 0;
    struct look look = {.hash = oci_hash_new(OCI_SHA256)};
    int code = archive_give(ar, m, (struct oci_sink){take_look, &look}, err);
    struct oci_digest digest = oci_hash_finish(look.hash);
    oci_hash_free(look.hash);
    if (code < 0)
        return code;
    m->digest = oci_digest_format(&ar->arena, &digest);
    m->is_gzip = str_eq((str){look.magic, look.seen}, S("\x1f\x8b"));
    map_set(&ar->by_digest, m->digest, m);
    return 0;
}

static int describe(struct archive *ar, const struct json *name, bool is_config, struct json *ret, struct err *err)
{
    struct archive_member *m = NULL;
    int code;
    if ((code = find_member(ar, name, &m, err)) < 0)
        return code;
    assert(m);
    if ((code = compute_digest(ar, m, err)) < 0)
        return code;
    str layer = m->is_gzip ? S(DOCKER_TYPE_LAYER_GZIP) : S(DOCKER_TYPE_LAYER);
    *ret = json_obj();
    json_add(&ar->arena, ret, S("mediaType"), json_str(is_config ? S(DOCKER_TYPE_CONFIG) : layer));
    json_add(&ar->arena, ret, S("digest"), json_str(m->digest));
    json_add(&ar->arena, ret, S("size"), json_uint(m->size));
    return 0;
}

static int read_tags(struct archive *ar, const struct json *tags, struct archive_saved *saved, struct err *err)
{
    if (json_len(tags) > TAGS_MAX)
        return err_set(err, ERR_TOO_LARGE, "manifest.json: an image has more than %d tags", TAGS_MAX);
    str *list = ARENA_ARRAY(&ar->arena, str, json_len(tags));
    json_each_item(tags, tag) list[saved->n_tags++] = json_text(tag);
    saved->tags = list;
    return 0;
}

/* The manifest a registry would have. */
static int make_up(struct archive *ar, const struct json *image, struct archive_saved *saved, struct err *err)
{
    struct arena *a = &ar->arena;
    const struct json *names = json_get(image, S("Layers"));
    struct json doc = json_obj(), config = json_null(), layers = json_arr(), layer = json_null();
    struct buf text = {.arena = a};
    int code = read_tags(ar, json_get(image, S("RepoTags")), saved, err);
    if (code == 0 && json_len(names) > OCI_LAYERS_MAX)
        code = err_set(err, ERR_TOO_LARGE, "it has %zu layers, more than %d", json_len(names), OCI_LAYERS_MAX);
    if (code == 0)
        code = describe(ar, json_get(image, S("Config")), true, &config, err);
    json_each_item(names, name)
    {
        if (code == 0 && (code = describe(ar, name, false, &layer, err)) == 0)
            json_push(a, &layers, layer);
    }
    if (code < 0)
        return code;
    json_add(a, &doc, S("schemaVersion"), json_int(2));
    json_add(a, &doc, S("mediaType"), json_str(S(DOCKER_TYPE_MANIFEST)));
    json_add(a, &doc, S("config"), config);
    json_add(a, &doc, S("layers"), layers);
    json_encode(&text, &doc, 0);
    saved->manifest = buf_str(&text);
    saved->digest = oci_digest_of(OCI_SHA256, saved->manifest);
    return 0;
}

/* Reads a manifest.json, and makes up the manifests. */
static int archive_read_docker(struct archive *ar, const struct archive_member *m, struct err *err)
{
    const struct json_limits limits = {.bytes = OCI_DOCUMENT_MAX, .depth = 32};
    struct json list;
    struct err why;
    str text = {0};
    int code = archive_bytes(ar, &ar->arena, m, &text, err);
    if (code < 0)
        return code;
    if (json_decode(&ar->arena, text, &limits, NULL, &list, &why) < 0)
        return err_set(err, ERR_INVALID, "manifest.json: %s", why.msg);
    if (!json_is_arr(&list) || json_len(&list) == 0 || json_len(&list) > IMAGES_MAX)
        return err_set(err, ERR_INVALID, "manifest.json: it is not a list of 1 to %d images", IMAGES_MAX);
    json_each_item(&list, image)
    {
        struct archive_saved saved = {0};
        if ((code = make_up(ar, image, &saved, err)) < 0)
            return code;
        *vec_push(&ar->arena, &ar->saved) = saved;
    }
    return 0;
}

enum {
    ENTRIES_MAX = 10000,
    PIECE = 64 * 1024,
};
#define FILE_SIZE_MAX (INT64_C(2) << 30)

/* ---- What is where. ---- */

static ssize_t read_at(struct archive *ar, char *p, size_t n, uint64_t at)
{
    ssize_t got;
    do
        got = pread(ar->fd, p, n, (off_t)at);
    while (got < 0 && errno == EINTR);
    return got;
}

static int archive_give(struct archive *ar, const struct archive_member *m, struct oci_sink sink, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    char *piece = arena_alloc(&scratch, PIECE);
    for (uint64_t done = 0; done < m->size;) {
        uint64_t left = m->size - done;
        ssize_t n = read_at(ar, piece, left < PIECE ? (size_t)left : PIECE, m->at + done);
        if (n < 0)
            return err_set(err, ERR_IO, "read %.*s: %m", STR(ar->path));
        if (n == 0)
            return err_set(err, ERR_IO, "%.*s became shorter", STR(ar->path));
        int code = sink.take(sink.ctx, (str){piece, (size_t)n}, err);
        if (code < 0)
            return code;
        done += (uint64_t)n;
    }
    return 0;
}

static int take_bytes(void *ctx, str piece, struct err *err)
{
    (void)err;
    buf_add_str(ctx, piece);
    return 0;
}

/* All bytes of a document. */
static int archive_bytes(struct archive *ar, struct arena *a, const struct archive_member *m, str *ret, struct err *err)
{
    struct buf b = {.arena = a};
    if (m->size > OCI_DOCUMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, "a document in %.*s is larger than %d bytes", STR(ar->path),
                       OCI_DOCUMENT_MAX);
    int code = archive_give(ar, m, (struct oci_sink){take_bytes, &b}, err);
    if (code == 0)
        *ret = buf_str(&b);
    return code;
}

/* Links are not followed: whoever needs one will not find it. */
static int on_entry(void *ctx, const struct tar_entry *e, struct err *err)
{
    struct archive *ar = ctx;
    (void)err;
    if (e->type != TAR_FILE)
        return 0;
    struct archive_member *m = ARENA_NEW(&ar->arena, struct archive_member);
    *m = (struct archive_member){.at = e->offset, .size = e->size};
    map_set(&ar->members, str_dup(&ar->arena, e->path), m);
    return 0;
}

static const struct tar_reader_ops reader_ops = {.on_entry = on_entry};

static int take_tar(void *ctx, str piece, struct err *err)
{
    return tar_feed(ctx, piece, err);
}

static int read_through(struct archive *ar, uint64_t size, struct err *err)
{
    const struct archive_member all = {.size = size};
    struct tar_reader *r = tar_reader_new(&reader_ops, ar, ENTRIES_MAX);
    int code = archive_give(ar, &all, (struct oci_sink){take_tar, r}, err);
    if (code == 0)
        code = tar_finish(r, err);
    tar_reader_free(r);
    return code;
}

/* ---- As a source. ---- */

static const struct archive_member *find_blob(struct archive *ar, const struct oci_digest *digest)
{
    struct arena scratch ARENA_SCOPE = {0};
    if (!ar->is_layout)
        return map_get(&ar->by_digest, oci_digest_format(&scratch, digest));
    return map_get(&ar->members, str_fmt(&scratch, "blobs/%.*s/%.*s", STR(oci_digest_algorithm_name(digest)),
                                         STR(oci_digest_hex(&scratch, digest))));
}

static int not_found(struct archive *ar, const struct oci_digest *digest, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    return err_set(err, ERR_NOT_FOUND, "%.*s is not in %.*s", STR(oci_digest_format(&scratch, digest)), STR(ar->path));
}

static int read_document(struct archive *ar, struct arena *a, const struct oci_digest *digest, str *ret,
                         struct err *err)
{
    vec_each(&ar->saved, saved)
    {
        if (oci_digest_eq(&saved->digest, digest)) {
            *ret = saved->manifest;
            return 0;
        }
    }
    const struct archive_member *m = find_blob(ar, digest);
    return m ? archive_bytes(ar, a, m, ret, err) : not_found(ar, digest, err);
}

/* By name: of a layout its names, of a docker archive the tags. */
static const struct oci_digest *find_name(struct archive *ar, const struct oci_reference *ref, str *ret_type)
{
    struct oci_reference tag;
    if (ar->is_layout) {
        const struct oci_descriptor *d = oci_index_find(&ar->index, ref);
        *ret_type = d ? d->media_type : (str){0};
        return d ? &d->digest : NULL;
    }
    vec_each(&ar->saved, saved)
    {
        for (size_t i = 0; i < saved->n_tags; i++)
            if (oci_reference_parse(saved->tags[i], &tag, NULL) == 0 && oci_reference_same(&tag, ref))
                return &saved->digest;
    }
    return NULL;
}

static int source_resolve(struct oci_source *s, struct arena *a, const struct oci_reference *ref,
                          struct oci_document *ret, struct err *err)
{
    struct archive *ar = (struct archive *)s;
    struct oci_digest by_digest;
    const struct oci_digest *digest = &by_digest;
    if (!oci_digest_parse(ref->digest, &by_digest))
        digest = find_name(ar, ref, &ret->media_type);
    if (digest == NULL)
        return err_set(err, ERR_NOT_FOUND, "%.*s is not in %.*s", STR(ref->text), STR(ar->path));
    ret->digest = *digest;
    return read_document(ar, a, digest, &ret->bytes, err);
}

static int source_document(struct oci_source *s, struct arena *a, const struct oci_descriptor *want,
                           struct oci_document *ret, struct err *err)
{
    return read_document((struct archive *)s, a, &want->digest, &ret->bytes, err);
}

static int source_blob(struct oci_source *s, const struct oci_descriptor *want, struct oci_sink sink, struct err *err)
{
    struct archive *ar = (struct archive *)s;
    const struct archive_member *m = find_blob(ar, &want->digest);
    return m ? archive_give(ar, m, sink, err) : not_found(ar, &want->digest, err);
}

static void source_free(struct oci_source *s)
{
    struct archive *ar = (struct archive *)s;
    close(ar->fd);
    map_done(&ar->members);
    map_done(&ar->by_digest);
    arena_done(&ar->arena);
    free(ar);
}

static const struct oci_source_ops source_ops = {source_resolve, source_document, source_blob, source_free};

/* ---- Opening. ---- */

static int read_layout(struct archive *ar, const struct archive_member *layout, const struct archive_member *index,
                       struct err *err)
{
    str text = {0};
    int code;
    ar->is_layout = true;
    if ((code = archive_bytes(ar, &ar->arena, layout, &text, err)) < 0 || (code = oci_layout_check(text, err)) < 0 ||
        (code = archive_bytes(ar, &ar->arena, index, &text, err)) < 0)
        return code;
    return oci_index_parse(&ar->arena, text, &ar->index, err);
}

static int read_archive(struct archive *ar, struct err *err)
{
    struct stat st;
    if (fstat(ar->fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "it is not a file");
    if (st.st_size > FILE_SIZE_MAX)
        return err_set(err, ERR_TOO_LARGE, "it is larger than %lld bytes", (long long)FILE_SIZE_MAX);
    int code = read_through(ar, (uint64_t)st.st_size, err);
    if (code < 0)
        return code;
    const struct archive_member *layout = map_get(&ar->members, S(OCI_LAYOUT_FILE)),
                                *index = map_get(&ar->members, S(OCI_INDEX_FILE)),
                                *docker = map_get(&ar->members, S("manifest.json"));
    if (layout && index)
        return read_layout(ar, layout, index, err);
    return docker
               ? archive_read_docker(ar, docker, err)
               : err_set(err, ERR_INVALID, "it is no archive of images: it has neither index.json nor manifest.json");
}

int oci_archive_open(const char *path, struct oci_source **ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "open %s: %m", path);
    struct archive *ar = xcalloc(1, sizeof(*ar));
    ar->source.ops = &source_ops;
    ar->fd = fd;
    ar->path = str_dup(&ar->arena, str_of(path));
    int code = read_archive(ar, err);
    if (code < 0) {
        code = err_wrap(err, "%s", path);
        source_free(&ar->source);
        return code;
    }
    *ret = &ar->source;
    return 0;
}

int oci_archive_only(struct oci_source *archive, struct arena *a, struct oci_reference *ret, struct err *err)
{
    struct archive *ar = (struct archive *)archive;
    size_t n = ar->is_layout ? ar->index.n_layers : ar->saved.n;
    if (n != 1)
        return err_set(err, ERR_INVALID, "%.*s holds %zu images, not one: say which", STR(ar->path), n);
    const struct oci_digest *digest = ar->is_layout ? &ar->index.layers[0].digest : &ar->saved.p[0].digest;
    return oci_reference_parse(str_fmt(a, "image@%.*s", STR(oci_digest_format(a, digest))), ret, err);
}
