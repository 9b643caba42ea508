/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/fetch_cache.h"

#include "json/json.h"

#include <errno.h>
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

uint64_t fetch_entry_size(const struct fetch_entry *e)
{
    return e->size;
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

str fetch_entry_end(struct arena *a, size_t lines, uint64_t bytes, const struct oci_digest *sha256)
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

int fetch_entry_verify(int fd, uint64_t *ret_size, struct err *err)
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
