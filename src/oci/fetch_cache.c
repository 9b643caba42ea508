/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 20000, REPOSITORY_DIGITS = 16 };

#define SUFFIX ".jsonl"

struct fetch_cache {
    char *path;
    int dir; /* the same number for good, see find_again */
    uint64_t max_bytes;
    pthread_mutex_t lock; /* of what follows */
    uint64_t bytes;
    size_t files;
    uint64_t serial; /* of temporary files */
};

struct fetch_writer {
    struct fetch_cache *cache;
    int fd;
    char name[32]; /* of the temporary file; empty: renamed */
    struct oci_hash *hash;
    struct buf pending;
    uint64_t bytes;
    size_t lines;
};

enum { PENDING_MAX = 256 * 1024 };

/* ---- Names. ---- */

static str prefix_of(struct arena *a, str repository)
{
    struct oci_digest d = oci_digest_of(OCI_SHA256, repository);
    return str_upto(oci_digest_hex(a, &d), REPOSITORY_DIGITS);
}

static char *name_of(struct arena *a, str repository, const struct oci_digest *digest)
{
    return str_cstr(a, str_fmt(a, "%.*s-%.*s-%.*s" SUFFIX, STR(prefix_of(a, repository)),
                               STR(oci_digest_algorithm_name(digest)), STR(oci_digest_hex(a, digest))));
}

/* ---- The directory. ---- */

static int make_directory(const char *path, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    char *copy = str_cstr(&scratch, str_of(path));
    for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "make directory %s: %m", copy);
        *slash = '/';
    }
    if (mkdir(copy, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "make directory %s: %m", copy);
    return 0;
}

struct found {
    char *name;
    int64_t used; /* nanoseconds */
    uint64_t bytes;
};

typedef VEC(struct found) found_files;

/* All entries there are; leftovers of writers are removed on the way if asked to. */
static void look(struct fetch_cache *c, struct arena *a, bool tidy, found_files *ret)
{
    int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) { /* NOLINT(concurrency-mt-unsafe): no other thread has this one */
        struct stat st;
        str name = str_of(e->d_name);
        if (tidy && str_has_suffix(name, S(".tmp")))
            (void)unlinkat(c->dir, e->d_name, 0);
        if (!str_has_suffix(name, S(SUFFIX)) || fstatat(c->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        *vec_push(a, ret) = (struct found){
            str_cstr(a, name), (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec, (uint64_t)st.st_size};
    }
    closedir(d);
}

static int open_directory(const char *path, int *ret, struct err *err)
{
    struct stat st;
    int code = make_directory(path, err);
    if (code < 0)
        return code;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) < 0)
        code = err_set(err, ERR_IO, "open directory %s: %m", path);
    else if (st.st_uid != geteuid())
        code = err_set(err, ERR_INVALID, "directory %s belongs to another user", path);
    else if ((st.st_mode & 077) && fchmod(dir, 0700) < 0)
        code = err_set(err, ERR_IO, "close directory %s to others: %m", path);
    if (code < 0) {
        if (dir >= 0)
            close(dir);
        return code;
    }
    *ret = dir;
    return 0;
}

int fetch_cache_open(const char *path, uint64_t max_bytes, struct fetch_cache **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    found_files found = {0};
    int dir, code = open_directory(path, &dir, err);
    if (code < 0)
        return code;
    struct fetch_cache *c = calloc(1, sizeof *c);
    char *copy = strdup(path);
    if (c == NULL || copy == NULL)
        abort();
    *c = (struct fetch_cache){.path = copy, .dir = dir, .max_bytes = max_bytes};
    pthread_mutex_init(&c->lock, NULL);
    look(c, &scratch, true, &found);
    c->files = found.n;
    vec_each(&found, it) c->bytes += it->bytes;
    *ret = c;
    return 0;
}

/* Somebody removed the directory: it is made anew. Its descriptor keeps its number, so nobody who uses it need know. */
static int find_again(struct fetch_cache *c, struct err *err)
{
    int dir, code = open_directory(c->path, &dir, err);
    if (code < 0)
        return code;
    pthread_mutex_lock(&c->lock);
    if (dup3(dir, c->dir, O_CLOEXEC) < 0)
        code = err_set(err, ERR_IO, "open directory %s: %m", c->path);
    c->bytes = 0;
    c->files = 0;
    pthread_mutex_unlock(&c->lock);
    close(dir);
    return code;
}

void fetch_cache_close(struct fetch_cache *c)
{
    if (c == NULL)
        return;
    close(c->dir);
    free(c->path);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- Reading. ---- */

static void forget(struct fetch_cache *c, const char *name)
{
    struct stat st;
    pthread_mutex_lock(&c->lock);
    if (fstatat(c->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(c->dir, name, 0) == 0) {
        c->bytes -= (uint64_t)st.st_size < c->bytes ? (uint64_t)st.st_size : c->bytes;
        c->files -= c->files > 0;
    }
    pthread_mutex_unlock(&c->lock);
}

int fetch_cache_get(struct fetch_cache *c, str repository, const struct oci_digest *digest, struct fetch_entry **ret,
                    struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    const char *name = name_of(&scratch, repository, digest);
    uint64_t size = 0;
    int fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno != ENOENT && errno != ELOOP)
        return err_set(err, ERR_IO, "open package in cache: %m");
    int code = fd < 0 ? err_set(err, ERR_NOT_FOUND, "package is not in the cache") : fetch_entry_verify(fd, &size, err);
    if (code == 0) {
        (void)futimens(fd, NULL); /* used now */
        *ret = fetch_entry_new(fd, size);
        return 0;
    }
    if (fd >= 0)
        close(fd);
    if (code == ERR_NOT_FOUND)
        forget(c, name);
    return code;
}

void fetch_cache_list(struct fetch_cache *c, struct arena *a, str repository, size_t max, fetch_digests *list)
{
    found_files found = {0};
    str prefix = prefix_of(a, repository);
    look(c, a, false, &found);
    for (size_t i = 0; i < found.n && list->n < max; i++) {
        str name = str_of(found.p[i].name), algorithm, hex;
        if (!str_has_prefix(name, prefix))
            continue;
        name = str_upto(name, name.n - strlen(SUFFIX));
        if (str_cut(str_from(name, prefix.n + 1), '-', &algorithm, &hex))
            *vec_push(a, list) = str_fmt(a, "%.*s:%.*s", STR(algorithm), STR(hex));
    }
}

/* ---- Room. ---- */

static int by_use(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return (x->used > y->used) - (x->used < y->used);
}

/* The entries that were not used for longest go until the rest fits, but for the one just made. Under the lock. */
static void make_room(struct fetch_cache *c, const char *keep)
{
    struct arena scratch ARENA_SCOPE = {0};
    found_files found = {0};
    if (c->bytes <= c->max_bytes && c->files <= FILES_MAX)
        return;
    look(c, &scratch, false, &found);
    c->bytes = 0;
    c->files = found.n;
    vec_each(&found, it) c->bytes += it->bytes;
    if (found.n)
        qsort(found.p, found.n, sizeof *found.p, by_use);
    for (size_t i = 0; i < found.n && (c->bytes > c->max_bytes || c->files > FILES_MAX); i++) {
        if (strcmp(found.p[i].name, keep) == 0 || unlinkat(c->dir, found.p[i].name, 0) < 0)
            continue;
        c->bytes -= found.p[i].bytes;
        c->files--;
    }
}

/* ---- Writing. ---- */

static int write_failed(struct err *err)
{
    return err_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, "keep package in cache: %m");
}

int fetch_writer_open(struct fetch_cache *c, struct fetch_writer **ret, struct err *err)
{
    struct fetch_writer *w = xcalloc(1, sizeof *w);
    w->cache = c;
    struct buf name = {0};
    pthread_mutex_lock(&c->lock);
    buf_fmt(&name, "%llu.tmp", (unsigned long long)c->serial++);
    pthread_mutex_unlock(&c->lock);
    memcpy(w->name, name.p, name.n); /* of at most 24 bytes */
    buf_done(&name);
    int code = 0, flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    w->fd = openat(c->dir, w->name, flags, 0600);
    if (w->fd < 0 && errno == ENOENT && (code = find_again(c, err)) == 0)
        w->fd = openat(c->dir, w->name, flags, 0600);
    if (w->fd < 0) {
        code = code < 0 ? code : write_failed(err);
        w->name[0] = 0;
        fetch_writer_free(w);
        return code;
    }
    w->hash = oci_hash_new(OCI_SHA256);
    *ret = w;
    return 0;
}

static int flush(struct fetch_writer *w, struct err *err)
{
    for (size_t at = 0; at < w->pending.n;) {
        ssize_t n = write(w->fd, w->pending.p + at, w->pending.n - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return write_failed(err);
        at += (size_t)n;
    }
    w->pending.n = 0;
    return 0;
}

int fetch_writer_add(struct fetch_writer *w, str line, struct err *err)
{
    oci_hash_add(w->hash, line);
    buf_add_str(&w->pending, line);
    w->bytes += line.n;
    w->lines++;
    return w->pending.n < PENDING_MAX ? 0 : flush(w, err);
}

/* The file is whole: it gets its name. */
static int publish(struct fetch_writer *w, const char *name, struct err *err)
{
    struct fetch_cache *c = w->cache;
    struct stat st;
    if (fsync(w->fd) < 0 || fstat(w->fd, &st) < 0)
        return write_failed(err);
    forget(c, name);
    pthread_mutex_lock(&c->lock);
    int code = renameat(c->dir, w->name, c->dir, name) < 0 || fsync(c->dir) < 0 ? write_failed(err) : 0;
    if (code == 0) {
        w->name[0] = 0;
        c->bytes += (uint64_t)st.st_size;
        c->files++;
        make_room(c, name);
    }
    pthread_mutex_unlock(&c->lock);
    return code;
}

int fetch_writer_commit(struct fetch_writer *w, str repository, const struct oci_digest *digest,
                        struct fetch_entry **ret, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct oci_digest sha256 = oci_hash_finish(w->hash);
    buf_add_str(&w->pending, fetch_entry_end(&scratch, w->lines, w->bytes, &sha256));
    int code = flush(w, err);
    code = code < 0 ? code : publish(w, name_of(&scratch, repository, digest), err);
    if (code == 0) {
        *ret = fetch_entry_new(w->fd, w->bytes);
        w->fd = -1;
    }
    return code;
}

void fetch_writer_free(struct fetch_writer *w)
{
    if (w == NULL)
        return;
    if (w->fd >= 0)
        close(w->fd);
    if (w->name[0])
        (void)unlinkat(w->cache->dir, w->name, 0);
    oci_hash_free(w->hash);
    buf_done(&w->pending);
    free(w);
}
