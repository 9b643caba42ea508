/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading. ---- */

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* %m, for the path. */
static int failed(struct err *err, str path)
{
    return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO, "open %.*s: %m", STR(path));
}

static int read_all(int fd, str path, size_t max, struct buf *text, struct err *err)
{
    for (;;) {
        buf_grow(text, 4096);
        ssize_t n = read(fd, text->p + text->n, text->cap - text->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(err, path);
        if (n == 0)
            return 0;
        text->n += (size_t)n;
        if (text->n > max)
            return err_set(err, ERR_TOO_LARGE, "%.*s is larger than %zu bytes", STR(path), max);
    }
}

int file_read(struct arena *a, str path, enum file_type type, size_t max, str *ret, struct err *err)
{
    struct buf text = {.arena = a};
    struct stat st;
    struct err mine;
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (type == FILE_REGULAR ? O_NONBLOCK : 0);
    int fd __attribute__((cleanup(close_fd))) = open(str_cstr(a, path), flags);
    err = err ? err : &mine;
    if (fd < 0 || fstat(fd, &st) < 0)
        return failed(err, path);
    if (S_ISDIR(st.st_mode) || (type == FILE_REGULAR && !S_ISREG(st.st_mode)))
        return err_set(err, ERR_INVALID, "%.*s is not a file", STR(path));
    if (read_all(fd, path, max, &text, err) < 0)
        return err->code;
    *ret = buf_str(&text);
    return 0;
}

int file_check_private(const char *path, const struct stat *st, struct err *err)
{
    if (st->st_uid != geteuid())
        return err_set(err, ERR_INVALID, "%s belongs to user %u, not to user %u who runs this", path,
                       (unsigned)st->st_uid, (unsigned)geteuid());
    if (st->st_mode & 077)
        return err_set(err, ERR_INVALID,
                       "%s is open to others (mode %04o)\nhint: if nobody else has used it, run \"chmod %s %s\"", path,
                       (unsigned)(st->st_mode & 07777), S_ISDIR(st->st_mode) ? "700" : "600", path);
    return 0;
}

/* ---- Writing. ---- */

static bool no_space(int code)
{
    return code == ENOSPC || code == EDQUOT;
}

static bool write_all(int fd, str text)
{
    for (size_t done = 0; done < text.n;) {
        ssize_t n = write(fd, text.p + done, text.n - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0;
}

int file_replace(const char *path, str text, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    char *beside = str_cstr(&scratch, str_fmt(&scratch, "%s.XXXXXX", path));
    int fd = mkostemp(beside, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return err_set(err, no_space(errno) ? ERR_NO_SPACE : ERR_IO, "make a file beside %s: %m", path);
    bool is_written = write_all(fd, text);
    int code = is_written ? 0 : err_set(err, no_space(errno) ? ERR_NO_SPACE : ERR_IO, "write %s: %m", beside);
    close(fd);
    if (code == 0 && rename(beside, path) < 0)
        code = err_set(err, ERR_IO, "move %s to %s: %m", beside, path);
    if (code < 0)
        unlink(beside);
    return code;
}

int file_write(const char *path, str text, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    int code = file_replace(path, text, err);
    if (code < 0)
        return code;
    const char *dir = dirname(str_cstr(&scratch, str_of(path)));
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_IO, "open directory %s: %m", dir);
    code = fsync(fd) < 0 ? err_set(err, ERR_IO, "sync directory %s: %m", dir) : 0;
    close(fd);
    return code;
}

int file_update(const char *path, str text, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct stat st;
    str present = {0};
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600 &&
        file_read(&scratch, str_of(path), FILE_REGULAR, text.n, &present, NULL) == 0 && str_eq(present, text))
        return 0;
    return file_write(path, text, err);
}

const char *file_find_program(struct arena *a, str search, const char *name)
{
    str folder, rest = search;
    struct stat st;
    while (rest.n) {
        (void)str_cut(rest, ':', &folder, &rest);
        if (folder.n == 0 || folder.p[0] != '/')
            continue;
        char *path = str_cstr(a, str_fmt(a, "%.*s/%s", STR(folder), name));
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}
