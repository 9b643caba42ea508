/* SPDX-License-Identifier: Apache-2.0 */
#include "client/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

int client_file_read(struct arena *a, str path, enum client_file_type type, size_t max, str *ret, struct err *err)
{
    struct buf text = {.arena = a};
    struct stat st;
    struct err mine;
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (type == CLIENT_FILE_REGULAR ? O_NONBLOCK : 0);
    int fd __attribute__((cleanup(close_fd))) = open(str_cstr(a, path), flags);
    err = err ? err : &mine;
    if (fd < 0 || fstat(fd, &st) < 0)
        return failed(err, path);
    if (S_ISDIR(st.st_mode) || (type == CLIENT_FILE_REGULAR && !S_ISREG(st.st_mode)))
        return err_set(err, ERR_INVALID, "%.*s is not a file", STR(path));
    if (read_all(fd, path, max, &text, err) < 0)
        return err->code;
    *ret = buf_str(&text);
    return 0;
}
