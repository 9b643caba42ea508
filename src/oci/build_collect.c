/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/build.h"

#include "base/vec.h"
#include "oci/layout_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
