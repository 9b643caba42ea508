/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/archive.h"

#include "oci/archive_inside.h"
#include "oci/layout_index.h"
#include "oci/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

int archive_give(struct archive *ar, const struct archive_member *m, struct oci_sink sink, struct err *err)
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

int archive_bytes(struct archive *ar, struct arena *a, const struct archive_member *m, str *ret, struct err *err)
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
