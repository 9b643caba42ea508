/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/layout.h"
#include "oci/layout_internal.h"
#include "oci/shown.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_ANNOTATION "org.opencontainers.image.ref.name"
#define FULL_NAME_ANNOTATION "io.containerd.image.name"

static const struct json_limits limits = {.bytes = OCI_DOCUMENT_MAX, .depth = 32};

static int decode(struct arena *a, str text, struct json *ret, struct err *err)
{
    struct err why;
    if (json_decode(a, text, &limits, NULL, ret, &why) < 0)
        return err_set(err, why.code == ERR_TOO_LARGE ? ERR_TOO_LARGE : ERR_INVALID, "%s", why.msg);
    return 0;
}

int oci_layout_check(str text, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json doc;
    int code = decode(&scratch, text, &doc, err);
    if (code < 0)
        return err_wrap(err, OCI_LAYOUT_FILE);
    str version = json_get_text(&doc, S("imageLayoutVersion"));
    if (!str_eq(version, S("1.0.0")))
        return err_set(err, ERR_INVALID, OCI_LAYOUT_FILE ": imageLayoutVersion is %.*s, not \"1.0.0\"",
                       STR(oci_shown(&scratch, version)));
    return 0;
}

int oci_index_parse(struct arena *a, str text, struct oci_manifest *ret, struct err *err)
{
    int code = oci_manifest_parse(a, text, S(OCI_TYPE_INDEX), ret, err);
    return code < 0 ? err_wrap(err, OCI_INDEX_FILE) : 0;
}

/* The name of an image of an index.json, as written; empty: it has none. */
static str oci_layout_name_of(const struct oci_descriptor *d)
{
    str full = oci_pairs_get(&d->annotations, S(FULL_NAME_ANNOTATION));
    return full.n ? full : oci_pairs_get(&d->annotations, S(NAME_ANNOTATION));
}

static bool is_name_of(str name, const struct oci_reference *ref)
{
    struct oci_reference parsed;
    if (name.n == 0 || oci_reference_parse(name, &parsed, NULL) < 0)
        return false;
    return oci_reference_same(&parsed, ref);
}

const struct oci_descriptor *oci_index_find(const struct oci_manifest *index, const struct oci_reference *ref)
{
    for (size_t i = index->n_layers; i-- > 0;)
        if (is_name_of(oci_layout_name_of(&index->layers[i]), ref))
            return &index->layers[i];
    return NULL;
}

static str name_in(const struct json *item)
{
    const struct json *annotations = json_get(item, S("annotations"));
    str full = json_get_text(annotations, S(FULL_NAME_ANNOTATION));
    return full.n ? full : json_get_text(annotations, S(NAME_ANNOTATION));
}

static struct json describe(struct arena *a, const struct oci_reference *ref, const struct oci_descriptor *what)
{
    struct json item = json_obj(), annotations = json_obj();
    json_add(a, &annotations, S(NAME_ANNOTATION), json_str(oci_reference_normalize(a, ref).text));
    json_add(a, &item, S("mediaType"), json_str(what->media_type));
    json_add(a, &item, S("digest"), json_str(oci_digest_format(a, &what->digest)));
    json_add(a, &item, S("size"), json_uint(what->size));
    json_add(a, &item, S("annotations"), annotations);
    return item;
}

int oci_index_with(struct arena *a, str text, const struct oci_reference *ref, const struct oci_descriptor *what,
                   str *ret, struct err *err)
{
    struct oci_manifest checked;
    struct json doc, list = json_arr();
    struct buf out = {.arena = a};
    int code;
    if ((code = oci_index_parse(a, text, &checked, err)) < 0 || (code = decode(a, text, &doc, err)) < 0)
        return code;
    json_each_item(json_get(&doc, S("manifests")), item)
    {
        if (!is_name_of(name_in(item), ref))
            json_push(a, &list, *item);
    }
    json_push(a, &list, describe(a, ref, what));
    json_set(a, &doc, S("manifests"), list);
    json_encode(&out, &doc, 0);
    if (json_len(&list) > OCI_INDEX_MAX || out.n > OCI_DOCUMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, OCI_INDEX_FILE ": there is no room for another name");
    *ret = buf_str(&out);
    return 0;
}

enum {
    LAYOUT_FILE_MAX = 4096,
    PIECE = 64 * 1024,
};

void oci_close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static bool is_absent(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

static ssize_t read_some(int fd, char *p, size_t n)
{
    ssize_t got;
    do
        got = read(fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* A regular file; never waits for a peer, as a pipe would. Negative with errno. */
static int open_regular(int dir, const char *name, struct stat *st)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/* The whole file in a; size is what it had when opened, and it may not be larger. */
static int read_whole(int fd, struct arena *a, size_t size, str *ret, struct err *err)
{
    char *p = arena_alloc(a, size + 1);
    size_t n = 0;
    ssize_t got;
    while ((got = read_some(fd, p + n, size + 1 - n)) > 0)
        n += (size_t)got;
    if (got < 0)
        return err_set(err, ERR_IO, "read: %m");
    if (n > size)
        return err_set(err, ERR_IO, "it grows while it is read");
    *ret = (str){p, n};
    return 0;
}

int oci_layout_read_file(struct oci_layout *l, struct arena *a, const char *name, size_t max, str *ret, struct err *err)
{
    struct stat st;
    int fd OCI_FD_SCOPE = open_regular(l->dir, name, &st);
    if (fd < 0)
        return err_set(err, is_absent(errno) ? ERR_NOT_FOUND : ERR_IO, "open %s/%s: %m", l->path, name);
    if ((uint64_t)st.st_size > max)
        return err_set(err, ERR_TOO_LARGE, "%s/%s is larger than %zu bytes", l->path, name, max);
    int code = read_whole(fd, a, (size_t)st.st_size, ret, err);
    return code < 0 ? err_wrap(err, "%s/%s", l->path, name) : 0;
}

/* ---- Blobs: every step beneath the one before, no links. ---- */

int oci_layout_blob_dir(struct oci_layout *l, const struct oci_digest *digest)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int blobs OCI_FD_SCOPE = openat(l->dir, "blobs", flags);
    return blobs < 0 ? -1 : openat(blobs, oci_digest_algorithm_name(digest).p, flags);
}

static int open_blob(struct oci_layout *l, const struct oci_digest *digest, struct stat *st)
{
    struct arena scratch ARENA_SCOPE = {0};
    int dir OCI_FD_SCOPE = oci_layout_blob_dir(l, digest);
    return dir < 0 ? -1 : open_regular(dir, str_cstr(&scratch, oci_digest_hex(&scratch, digest)), st);
}

static int blob_failed(struct oci_layout *l, const struct oci_digest *digest, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int error = errno;
    str shown = oci_digest_format(&scratch, digest);
    errno = error;
    if (is_absent(error))
        return err_set(err, ERR_NOT_FOUND, "%.*s is not in %s", STR(shown), l->path);
    return err_set(err, ERR_IO, "open %.*s in %s: %m", STR(shown), l->path);
}

bool oci_layout_has_blob(struct oci_layout *l, const struct oci_digest *digest, uint64_t size)
{
    struct stat st;
    int fd OCI_FD_SCOPE = open_blob(l, digest, &st);
    return fd >= 0 && (uint64_t)st.st_size == size;
}

static int is_broken(struct err *err)
{
    err->code = ERR_IO;
    return err_wrap(err, "the local store is broken");
}

/* Is what ref names there, by its digest or by its name? Whether it is sound is another question. ERR_IO when the names cannot be
 * read: then nobody can say, and no is the wrong answer, as an image of that name may be had elsewhere, and be another one. */
static int oci_layout_has(struct oci_layout *l, const struct oci_reference *ref, bool *ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_manifest index;
    struct oci_digest digest;
    struct stat st;
    if (oci_digest_parse(ref->digest, &digest)) {
        int fd OCI_FD_SCOPE = open_blob(l, &digest, &st);
        *ret = fd >= 0;
        return 0;
    }
    if (oci_layout_list(l, &scratch, &index, err) < 0)
        return is_broken(err); /* also without a list: a layout is made with one */
    *ret = oci_index_find(&index, ref) != NULL;
    return 0;
}

int oci_layout_at_has(const char *path, const struct oci_reference *ref, bool *ret, struct err *err)
{
    struct oci_layout *l = NULL;
    int code = oci_layout_open(path, &l, err);
    if (code == ERR_NOT_FOUND) {
        *ret = false;
        return 0;
    }
    if (l == NULL)
        return is_broken(err);
    code = oci_layout_has(l, ref, ret, err);
    oci_layout_free(l);
    return code;
}

static int read_document(struct oci_layout *l, struct arena *a, const struct oci_digest *digest, str *ret,
                         struct err *err)
{
    struct stat st;
    int fd OCI_FD_SCOPE = open_blob(l, digest, &st);
    if (fd < 0)
        return blob_failed(l, digest, err);
    if (st.st_size > OCI_DOCUMENT_MAX)
        return err_set(err, ERR_TOO_LARGE, "manifest: it is larger than %d bytes", OCI_DOCUMENT_MAX);
    return read_whole(fd, a, (size_t)st.st_size, ret, err);
}

/* ---- As a source. ---- */

static int source_resolve(struct oci_source *s, struct arena *a, const struct oci_reference *ref,
                          struct oci_document *ret, struct err *err)
{
    struct oci_layout *l = (struct oci_layout *)s;
    struct oci_manifest index;
    struct oci_digest digest;
    int code;
    if (oci_digest_parse(ref->digest, &digest))
        return read_document(l, a, &digest, &ret->bytes, err);
    if ((code = oci_layout_list(l, a, &index, err)) < 0)
        return code;
    const struct oci_descriptor *found = oci_index_find(&index, ref);
    if (found == NULL)
        return err_set(err, ERR_NOT_FOUND, "%.*s is not in %s", STR(ref->text), l->path);
    ret->media_type = found->media_type;
    ret->digest = found->digest;
    return read_document(l, a, &found->digest, &ret->bytes, err);
}

static int source_document(struct oci_source *s, struct arena *a, const struct oci_descriptor *want,
                           struct oci_document *ret, struct err *err)
{
    ret->media_type = want->media_type;
    return read_document((struct oci_layout *)s, a, &want->digest, &ret->bytes, err);
}

static int source_blob(struct oci_source *s, const struct oci_descriptor *want, struct oci_sink sink, struct err *err)
{
    struct oci_layout *l = (struct oci_layout *)s;
    struct arena scratch ARENA_SCOPE = {0};
    struct stat st;
    ssize_t n;
    int fd OCI_FD_SCOPE = open_blob(l, &want->digest, &st);
    if (fd < 0)
        return blob_failed(l, &want->digest, err);
    char *piece = arena_alloc(&scratch, PIECE);
    while ((n = read_some(fd, piece, PIECE)) > 0) {
        int code = sink.take(sink.ctx, (str){piece, (size_t)n}, err);
        if (code < 0)
            return code;
    }
    return n < 0 ? err_set(err, ERR_IO, "read %s: %m", l->path) : 0;
}

static void source_free(struct oci_source *s)
{
    (void)s; /* oci_layout_free does it */
}

static const struct oci_source_ops source_ops = {source_resolve, source_document, source_blob, source_free};

struct oci_source *oci_layout_source(struct oci_layout *l)
{
    return &l->source;
}

struct oci_layout *oci_layout_of(int dir, const char *path)
{
    struct oci_layout *l = malloc(sizeof(*l));
    char *copy = strdup(path);
    if (l == NULL || copy == NULL)
        abort();
    *l = (struct oci_layout){.source = {&source_ops}, .dir = dir, .path = copy};
    return l;
}

int oci_layout_open(const char *path, struct oci_layout **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    str text = {0};
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_set(err, is_absent(errno) ? ERR_NOT_FOUND : ERR_IO, "open %s: %m", path);
    struct oci_layout *l = oci_layout_of(dir, path);
    int code = oci_layout_read_file(l, &scratch, OCI_LAYOUT_FILE, LAYOUT_FILE_MAX, &text, err);
    if (code == 0 && (code = oci_layout_check(text, err)) < 0)
        code = err_wrap(err, "%s", path);
    if (code < 0)
        oci_layout_free(l);
    else
        *ret = l;
    return code;
}

void oci_layout_free(struct oci_layout *l)
{
    if (l == NULL)
        return;
    close(l->dir);
    free(l->path);
    free(l);
}

int oci_layout_list(struct oci_layout *l, struct arena *a, struct oci_manifest *ret, struct err *err)
{
    str text = {0};
    int code = oci_layout_read_file(l, a, OCI_INDEX_FILE, OCI_DOCUMENT_MAX, &text, err);
    if (code < 0)
        return code;
    code = oci_index_parse(a, text, ret, err);
    return code < 0 ? err_wrap(err, "%s", l->path) : 0;
}

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
