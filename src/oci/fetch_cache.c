/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_internal.h"
#include "json/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WINDOW = 256 * 1024, /* bytes read at once */
    END_MAX = 512,       /* of the last line */
};

struct fetch_entry {
    int fd;
    uint64_t size; /* of the lines; the end is behind them */
    uint64_t at;   /* where the next line begins */
    struct buf window;
    uint64_t window_at; /* where in the file its first byte is */
};

struct fetch_entry *fetch_entry_new(int fd, uint64_t size)
{
    struct fetch_entry *e = xcalloc(1, sizeof *e);
    e->fd = fd;
    e->size = size;
    return e;
}

void fetch_entry_close(struct fetch_entry *e)
{
    if (e == NULL)
        return;
    close(e->fd);
    buf_done(&e->window);
    free(e);
}

void fetch_entry_rewind(struct fetch_entry *e)
{
    e->at = 0;
}

/* Exactly n bytes at offset. */
static int read_at(int fd, char *p, size_t n, uint64_t offset, struct err *err)
{
    while (n) {
        ssize_t got = pread(fd, p, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? err_set(err, ERR_IO, "read package from cache: %m")
                           : err_set(err, ERR_IO, "read package from cache: it was cut meanwhile");
        p += got;
        n -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

/* ---- Lines. ---- */

int fetch_entry_read(struct fetch_entry *e, struct arena *a, uint64_t offset, str *ret_line, struct err *err)
{
    struct buf line = {.arena = a};
    if (offset >= e->size)
        return err_set(err, ERR_INTERNAL, "read package from cache: no line begins there");
    for (size_t more = 32768;; more *= 2) {
        uint64_t left = e->size - offset - line.n;
        size_t before = line.n, n = left < more ? (size_t)left : more;
        if (n == 0 || line.n > FETCH_MAX_LINE)
            return err_set(err, ERR_IO, "read package from cache: a line does not end");
        buf_grow(&line, n);
        int code = read_at(e->fd, line.p + before, n, offset + before, err);
        if (code < 0)
            return code;
        line.n += n;
        const char *end = memchr(line.p + before, '\n', n);
        if (end) {
            *ret_line = (str){line.p, (size_t)(end - line.p)};
            return 0;
        }
    }
}

int fetch_entry_next(struct fetch_entry *e, struct arena *a, str *ret_line, uint64_t *ret_offset, struct err *err)
{
    if (e->at >= e->size)
        return 0;
    struct buf *w = &e->window;
    const char *end = NULL;
    int code = 0;
    size_t from = (size_t)(e->at - e->window_at);
    if (e->at >= e->window_at && from < w->n)
        end = memchr(w->p + from, '\n', w->n - from);
    if (end == NULL) { /* the window moves, or the line is longer than it */
        uint64_t left = e->size - e->at;
        size_t n = left < WINDOW ? (size_t)left : WINDOW;
        w->n = 0;
        buf_grow(w, WINDOW);
        code = read_at(e->fd, w->p, n, e->at, err);
        if (code < 0)
            return code;
        w->n = n;
        e->window_at = e->at;
        from = 0;
        end = memchr(w->p, '\n', n);
    }
    if (end)
        *ret_line = str_dup(a, (str){w->p + from, (size_t)(end - w->p) - from});
    else
        code = fetch_entry_read(e, a, e->at, ret_line, err);
    if (code < 0)
        return code;
    *ret_offset = e->at;
    e->at += ret_line->n + 1;
    return 1;
}

/* ---- The end. ---- */

static str fetch_entry_end(struct arena *a, size_t lines, uint64_t bytes, const struct oci_digest *sha256)
{
    return str_fmt(a, "{\"end\":{\"lines\":%zu,\"bytes\":%llu,\"sha256\":\"%.*s\"}}\n", lines,
                   (unsigned long long)bytes, STR(oci_digest_hex(a, sha256)));
}

static int damaged(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "package in the cache is damaged");
}

/* The last line begins after the last newline but one. */
static int find_end(int fd, uint64_t size, struct arena *a, uint64_t *ret_at, str *ret_line, struct err *err)
{
    size_t n = size < END_MAX ? (size_t)size : END_MAX;
    if (n == 0)
        return damaged(err);
    char *tail = arena_alloc(a, n);
    int code = read_at(fd, tail, n, size - n, err);
    if (code < 0)
        return code;
    const char *before = tail[n - 1] == '\n' ? memrchr(tail, '\n', n - 1) : NULL;
    if (before == NULL)
        return damaged(err);
    *ret_line = (str){before + 1, (size_t)(tail + n - before - 1)};
    *ret_at = size - ret_line->n;
    return 0;
}

/* Reads all of a file and compares it with its last line. */
static int fetch_entry_verify(int fd, uint64_t *ret_size, struct err *err)
{
    struct arena a ARENA_SCOPE = {0};
    struct stat st;
    uint64_t bytes = 0;
    size_t lines = 0;
    str end = {0};
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0)
        return damaged(err);
    int code = find_end(fd, (uint64_t)st.st_size, &a, &bytes, &end, err);
    if (code < 0)
        return code;
    struct oci_hash *hash = oci_hash_new(OCI_SHA256);
    char *piece = arena_alloc(&a, WINDOW);
    for (uint64_t at = 0; code == 0 && at < bytes;) {
        size_t n = bytes - at < WINDOW ? (size_t)(bytes - at) : WINDOW;
        code = read_at(fd, piece, n, at, err);
        if (code == 0)
            oci_hash_add(hash, (str){piece, n});
        for (const char *p = piece, *stop = piece + n; code == 0 && (p = memchr(p, '\n', (size_t)(stop - p))); p++)
            lines++;
        at += n;
    }
    struct oci_digest sha256 = oci_hash_finish(hash);
    oci_hash_free(hash);
    if (code == 0 && !str_eq(end, fetch_entry_end(&a, lines, bytes, &sha256)))
        code = damaged(err);
    if (code == 0)
        *ret_size = bytes;
    return code;
}

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
