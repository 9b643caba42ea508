/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/oci_build.h"
#include "base/vec.h"
#include "oci/layout_internal.h"
#include "oci/shown.h"
#include "oci/tar.h"
#include "oci/tar_internal.h"
#include "json/json.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { DEPTH_MAX = 60 };

#define REGISTRY ".registry"
#define PACKAGE_FILE "package.yaml"
#define META_FILE "crossplane.yaml"
#define APP_FILE "app.yaml"

struct walk {
    struct arena *arena;
    struct oci_limits limits;
    uint64_t size;
    VEC(struct oci_file) files; /* paths from the root of the walk on */
    VEC(struct oci_file) parts; /* that were joined */
};

/* Bytes of one file: the one file of an xpkg holds what is many files elsewhere. */
static uint64_t oci_build_file_max(enum oci_format format)
{
    const struct oci_limits limits = OCI_LIMITS_DEFAULT;
    return format == OCI_FORMAT_XPKG ? limits.unpacked : limits.file_size;
}

static int read_file(struct walk *w, int fd, str path, uint64_t size, struct err *err)
{
    if (size > w->limits.file_size || size > w->limits.unpacked - w->size)
        return err_set(err, ERR_TOO_LARGE, "%.*s: it, or all files together, are larger than a package may be",
                       STR(path));
    if (w->files.n == w->limits.files)
        return err_set(err, ERR_TOO_LARGE, "there are more than %llu files", (unsigned long long)w->limits.files);
    char *data = arena_alloc(w->arena, (size_t)size + 1);
    size_t n = 0;
    while (n <= size) {
        ssize_t got = read(fd, data + n, (size_t)size + 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, ERR_IO, "read %.*s: %m", STR(path));
        if (got == 0)
            break;
        n += (size_t)got;
    }
    if (n != size)
        return err_set(err, ERR_IO, "%.*s changes while it is read", STR(path));
    w->size += size;
    *vec_push(w->arena, &w->files) = (struct oci_file){path, {data, n}};
    return 0;
}

static int walk_dir(struct walk *w, int dir_fd, str prefix, int depth, struct err *err);

static int walk_entry(struct walk *w, int dir_fd, str prefix, const char *name, int depth, struct err *err)
{
    struct stat st;
    str path = prefix.n ? str_fmt(w->arena, "%.*s/%s", STR(prefix), name) : str_dup(w->arena, str_of(name));
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, ERR_INVALID, "%.*s: is a link: a package has none", STR(path));
    if (fd < 0 || fstat(fd, &st) < 0) {
        int code = err_set(err, ERR_IO, "open %.*s: %m", STR(path));
        oci_close_fd(&fd);
        return code;
    }
    if (S_ISDIR(st.st_mode))
        return walk_dir(w, fd, path, depth + 1, err); /* takes the descriptor */
    int code = S_ISREG(st.st_mode)
                   ? read_file(w, fd, path, (uint64_t)st.st_size, err)
                   : err_set(err, ERR_INVALID, "%.*s: is not a file: a package has nothing else", STR(path));
    close(fd);
    return code;
}

static int walk_dir(struct walk *w, int dir_fd, str prefix, int depth, struct err *err)
{
    DIR *dir = fdopendir(dir_fd);
    struct dirent *entry;
    int code = depth > DEPTH_MAX ? err_set(err, ERR_TOO_LARGE, "%.*s: lies too deep", STR(prefix)) : 0;
    if (dir == NULL)
        abort(); /* out of memory */
    while (code == 0 && (errno = 0, entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            code = walk_entry(w, dirfd(dir), prefix, entry->d_name, depth, err);
    if (code == 0 && errno)
        code = err_set(err, ERR_IO, "read directory %.*s: %m", STR(prefix));
    closedir(dir);
    return code;
}

static int by_path(const void *a, const void *b)
{
    return str_cmp(((const struct oci_file *)a)->path, ((const struct oci_file *)b)->path);
}

/* ---- .registry/ ---- */

/* A directory may be what .registry is elsewhere. Anything else is none of a package: what lies there is nobody's to publish. */
static int collect_bare(struct walk *w, int fd, struct err *err)
{
    int app = openat(fd, APP_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    bool is_missing = app < 0 && errno == ENOENT;
    oci_close_fd(&app);
    if (is_missing) {
        close(fd);
        return err_set(err, ERR_INVALID,
                       "there is nothing to build a package from: no " REGISTRY ", " META_FILE " or " APP_FILE);
    }
    int code = walk_dir(w, fd, (str){0}, 0, err);
    vec_each(&w->files, file) file->path = str_fmt(w->arena, REGISTRY "/%.*s", STR(file->path));
    return code;
}

/* Files are called as in the image; only while they are looked for, as the author calls them. */
static int collect_registry(struct walk *w, int fd, struct err *err)
{
    int inner = openat(fd, REGISTRY, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0 && errno == ENOENT)
        return collect_bare(w, fd, err);
    close(fd);
    if (inner < 0 && (errno == ELOOP || errno == ENOTDIR))
        return err_set(err, ERR_INVALID, REGISTRY ": must be a directory, and no link");
    return inner < 0 ? err_set(err, ERR_IO, "open " REGISTRY ": %m") : walk_dir(w, inner, S(REGISTRY), 0, err);
}

/* ---- package.yaml ---- */

static bool is_part(str path)
{
    return !str_has_prefix(path, S("examples/")) &&
           (str_has_suffix(path, S(".yaml")) || str_has_suffix(path, S(".yml")));
}

/* One stream of all: each file is a document of its own, or several. What may only stand at the beginning of a stream is cut off or
 * refused, so that a file means the same alone and among others. */
static int append(struct walk *w, struct buf *out, const struct oci_file *file, struct err *err)
{
    struct oci_file part = *file;
    if (str_has_prefix(part.data, S("\xef\xbb\xbf")))
        part.data = str_from(part.data, 3);
    if (str_has_prefix(part.data, S("%")))
        return err_set(err, ERR_INVALID, "%.*s: begins with a directive of YAML: a package has none", STR(part.path));
    if (part.data.n == 0)
        return 0;
    *vec_push(w->arena, &w->parts) = part;
    if (!str_has_prefix(part.data, S("---")))
        buf_add_str(out, S("---\n"));
    buf_add_str(out, part.data);
    if (part.data.p[part.data.n - 1] != '\n')
        buf_add_char(out, '\n');
    return 0;
}

static int join(struct walk *w, struct err *err)
{
    struct buf stream = {.arena = w->arena};
    int code = 0;
    for (int round = 0; round < 2; round++) /* who it is comes first */
        vec_each(&w->files, file)
        {
            if (code == 0 && is_part(file->path) && str_eq(file->path, S(META_FILE)) == (round == 0))
                code = append(w, &stream, file, err);
        }
    w->files.n = 0;
    if (stream.n)
        *vec_push(w->arena, &w->files) = (struct oci_file){S(PACKAGE_FILE), buf_str(&stream)};
    return code;
}

static int collect_xpkg(struct walk *w, int fd, struct err *err)
{
    int code = walk_dir(w, fd, (str){0}, 0, err);
    if (code < 0)
        return code;
    if (w->files.n)
        qsort(w->files.p, w->files.n, sizeof(*w->files.p), by_path);
    vec_each(&w->files, file)
    {
        if (str_eq(file->path, S(PACKAGE_FILE))) {
            w->files.p[0] = *file;
            w->files.n = 1;
            return 0;
        }
    }
    return join(w, err);
}

int oci_build_collect(struct arena *a, const char *path, enum oci_format format, struct oci_build *ret, struct err *err)
{
    struct walk w = {.arena = a, .limits = OCI_LIMITS_DEFAULT};
    w.limits.file_size = oci_build_file_max(format);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "open %s: %m", path);
    int code = format == OCI_FORMAT_REGISTRY ? collect_registry(&w, fd, err) : collect_xpkg(&w, fd, err);
    if (code < 0)
        return err_wrap(err, "%s", path);
    if (w.files.n == 0)
        return err_set(err, ERR_INVALID, "%s: there is nothing to build a package from", path);
    if (w.files.n)
        qsort(w.files.p, w.files.n, sizeof(*w.files.p), by_path);
    *ret = (struct oci_build){
        .format = format, .files = w.files.p, .n_files = w.files.n, .parts = w.parts.p, .n_parts = w.parts.n};
    return 0;
}

enum {
    ROOM = 64 * 1024,
    GZIP_WINDOW = 15 + 16,
    GZIP_MEMORY = 8,
    GZIP_UNKNOWN_OS = 255,
};

/* ---- A layer: tar ─┬─► hash: the diff_id
 *                    └─► gzip ─► blob of the layout, or only its digest ---- */

struct layer {
    struct oci_hash *hash;
    z_stream gzip;
    struct oci_blob_writer *writer; /* NULL: nothing is written */
    struct oci_hash *measured;      /* then, of the blob there would be */
    uint64_t size;
    char out[ROOM];
};

static int take_packed(struct layer *y, str piece, struct err *err)
{
    if (y->writer)
        return oci_blob_writer_add(y->writer, piece, err);
    oci_hash_add(y->measured, piece);
    y->size += piece.n;
    return 0;
}

static int deflate_all(struct layer *y, str piece, int flush, struct err *err)
{
    y->gzip.next_in = (unsigned char *)(uintptr_t)piece.p; /* zlib does not write there */
    y->gzip.avail_in = (unsigned)piece.n;
    do {
        y->gzip.next_out = (unsigned char *)y->out;
        y->gzip.avail_out = ROOM;
        int code = deflate(&y->gzip, flush);
        assert(code != Z_STREAM_ERROR);
        if ((code = take_packed(y, (str){y->out, ROOM - y->gzip.avail_out}, err)) < 0)
            return code;
    } while (y->gzip.avail_out == 0);
    return 0;
}

static int take_tar(void *ctx, str piece, struct err *err)
{
    struct layer *y = ctx;
    oci_hash_add(y->hash, piece);
    return deflate_all(y, piece, Z_NO_FLUSH, err);
}

/* The directories of path that the path before it is not in. */
static int write_parents(struct oci_sink sink, str path, str before, struct err *err)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] != '/' || str_has_prefix(before, str_upto(path, i + 1)))
            continue;
        int code = tar_write_entry(sink, str_upto(path, i), NULL, err);
        if (code < 0)
            return code;
    }
    return 0;
}

static int check_file(const struct oci_file *file, str before, uint64_t max, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct buf clean = {.arena = &scratch};
    str shown = oci_shown(&scratch, file->path);
    int code = tar_path_clean(file->path, &clean, err);
    if (code < 0)
        return code;
    if (file->path.n == 0 || !str_eq(buf_str(&clean), file->path) || !str_is_utf8(file->path))
        return err_set(err, ERR_INVALID, "%.*s is no path of a file", STR(shown));
    if (str_eq(file->path, before))
        return err_set(err, ERR_INVALID, "%.*s is there twice", STR(shown));
    if (file->data.n > max)
        return err_set(err, ERR_TOO_LARGE, "%.*s is larger than %llu bytes", STR(shown), (unsigned long long)max);
    return 0;
}

/* The order is that of whole paths: all of a directory is together, so that its entry is needed once. */
static int write_files(struct oci_sink sink, const struct oci_build *build, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_file *files = ARENA_ARRAY(&scratch, struct oci_file, build->n_files);
    str before = {0};
    for (size_t i = 0; i < build->n_files; i++)
        files[i] = build->files[i];
    if (build->n_files)
        qsort(files, build->n_files, sizeof(*files), by_path);
    for (size_t i = 0; i < build->n_files; i++) {
        int code;
        if ((code = check_file(&files[i], before, oci_build_file_max(build->format), err)) < 0 ||
            (code = write_parents(sink, files[i].path, before, err)) < 0 ||
            (code = tar_write_entry(sink, files[i].path, &files[i].data, err)) < 0)
            return code;
        before = files[i].path;
    }
    return tar_write_end(sink, err);
}

static int pack(struct layer *y, const struct oci_build *build, struct err *err)
{
    gz_header header = {.os = GZIP_UNKNOWN_OS};
    if (deflateInit2(&y->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) !=
            Z_OK ||
        deflateSetHeader(&y->gzip, &header) != Z_OK)
        abort(); /* out of memory */
    int code = write_files((struct oci_sink){take_tar, y}, build, err);
    if (code == 0)
        code = deflate_all(y, (str){0}, Z_FINISH, err);
    deflateEnd(&y->gzip);
    return code;
}

static int finish_layer(struct layer *y, struct oci_descriptor *ret, struct err *err)
{
    if (y->writer)
        return oci_blob_writer_finish(y->writer, &ret->digest, &ret->size, err);
    ret->digest = oci_hash_finish(y->measured);
    ret->size = y->size;
    return 0;
}

static int put_layer(struct oci_layout *l, const struct oci_build *build, struct oci_descriptor *ret,
                     struct oci_digest *ret_diff_id, struct err *err)
{
    struct layer *y = xcalloc(1, sizeof(*y));
    ret->media_type = S(OCI_TYPE_LAYER_GZIP);
    y->hash = oci_hash_new(OCI_SHA256);
    y->measured = l ? NULL : oci_hash_new(OCI_SHA256);
    int code = l ? oci_blob_writer_open(l, OCI_SHA256, &y->writer, err) : 0;
    if (code == 0 && (code = pack(y, build, err)) == 0)
        code = finish_layer(y, ret, err);
    if (code == 0)
        *ret_diff_id = oci_hash_finish(y->hash);
    oci_blob_writer_free(y->writer);
    oci_hash_free(y->hash);
    oci_hash_free(y->measured);
    free(y);
    return code;
}

/* ---- Documents. ---- */

static struct json describe(struct arena *a, const struct oci_descriptor *d)
{
    struct json v = json_obj();
    json_add(a, &v, S("mediaType"), json_str(d->media_type));
    json_add(a, &v, S("digest"), json_str(oci_digest_format(a, &d->digest)));
    json_add(a, &v, S("size"), json_uint(d->size));
    return v;
}

static int put_json(struct oci_layout *l, struct arena *a, const struct json *v, struct oci_descriptor *ret,
                    struct err *err)
{
    struct buf text = {.arena = a};
    json_encode(&text, v, 0);
    ret->size = text.n;
    if (l == NULL) {
        ret->digest = oci_digest_of(OCI_SHA256, buf_str(&text));
        return 0;
    }
    return oci_layout_put_bytes(l, OCI_SHA256, buf_str(&text), &ret->digest, err);
}

/* A layer is marked as package in two ways: the annotation is what counts, but is lost when the image becomes one of docker's. */
static struct json config_of(struct arena *a, const struct oci_build *build, const struct oci_descriptor *layer,
                             const struct oci_digest *diff_id)
{
    struct json doc = json_obj(), config = json_obj(), labels = json_obj(), rootfs = json_obj(), ids = json_arr();
    if (build->format == OCI_FORMAT_XPKG) {
        json_add(a, &labels, str_fmt(a, OCI_XPKG_ANNOTATION ":%.*s", STR(oci_digest_format(a, &layer->digest))),
                 json_str(S("base")));
        json_add(a, &config, S("Labels"), labels);
    }
    json_push(a, &ids, json_str(oci_digest_format(a, diff_id)));
    json_add(a, &rootfs, S("type"), json_str(S("layers")));
    json_add(a, &rootfs, S("diff_ids"), ids);
    json_add(a, &doc, S("architecture"), json_str(S("amd64")));
    json_add(a, &doc, S("os"), json_str(S("linux")));
    json_add(a, &doc, S("config"), config);
    json_add(a, &doc, S("rootfs"), rootfs);
    return doc;
}

static struct json manifest_of(struct arena *a, const struct oci_build *build, const struct oci_descriptor *config,
                               const struct oci_descriptor *layer)
{
    struct json doc = json_obj(), layers = json_arr(), item = describe(a, layer), marks = json_obj();
    if (build->format == OCI_FORMAT_XPKG) {
        json_add(a, &marks, S(OCI_XPKG_ANNOTATION), json_str(S("base")));
        json_add(a, &item, S("annotations"), marks);
    }
    json_push(a, &layers, item);
    json_add(a, &doc, S("schemaVersion"), json_int(2));
    json_add(a, &doc, S("mediaType"), json_str(S(OCI_TYPE_MANIFEST)));
    json_add(a, &doc, S("config"), describe(a, config));
    json_add(a, &doc, S("layers"), layers);
    return doc;
}

static int check_limits(const struct oci_build *build, struct err *err)
{
    const struct oci_limits limits = OCI_LIMITS_DEFAULT;
    uint64_t sum = 0;
    for (size_t i = 0; i < build->n_files; i++)
        sum += build->files[i].data.n;
    if (build->n_files == 0)
        return err_set(err, ERR_INVALID, "there is nothing to build a package from");
    if (build->n_files > limits.files)
        return err_set(err, ERR_TOO_LARGE, "the package has more than %llu files", (unsigned long long)limits.files);
    if (sum > limits.unpacked)
        return err_set(err, ERR_TOO_LARGE, "the package has more than %llu bytes", (unsigned long long)limits.unpacked);
    return 0;
}

/* l: NULL, nothing is put anywhere. ret_size: bytes of config and layer. */
static int make(struct oci_layout *l, const struct oci_build *build, struct oci_descriptor *ret, uint64_t *ret_size,
                struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_descriptor layer = {0}, config = {.media_type = S(OCI_TYPE_CONFIG)};
    struct oci_digest diff_id;
    int code;
    if ((code = check_limits(build, err)) < 0 || (code = put_layer(l, build, &layer, &diff_id, err)) < 0)
        return code;
    struct json doc = config_of(&scratch, build, &layer, &diff_id);
    if ((code = put_json(l, &scratch, &doc, &config, err)) < 0)
        return code;
    doc = manifest_of(&scratch, build, &config, &layer);
    *ret = (struct oci_descriptor){.media_type = S(OCI_TYPE_MANIFEST)};
    *ret_size = config.size + layer.size;
    return put_json(l, &scratch, &doc, ret, err);
}

int oci_build_image(struct oci_layout *l, const struct oci_build *build, const struct oci_reference *ref,
                    struct oci_digest *ret, struct err *err)
{
    struct oci_descriptor manifest;
    uint64_t size;
    int code = make(l, build, &manifest, &size, err);
    if (code < 0 || (code = oci_layout_set(l, ref, &manifest, err)) < 0)
        return code;
    *ret = manifest.digest;
    return 0;
}

int oci_build_measure(const struct oci_build *build, struct oci_digest *ret, uint64_t *ret_size, struct err *err)
{
    struct oci_descriptor manifest;
    int code = make(NULL, build, &manifest, ret_size, err);
    if (code == 0)
        *ret = manifest.digest;
    return code;
}
