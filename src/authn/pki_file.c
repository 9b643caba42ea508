/* SPDX-License-Identifier: Apache-2.0 */
#include "authn/pki_file.h"

#include "base/file.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define FD_SCOPE __attribute__((cleanup(close_fd)))

int pki_dir_open(const char *path, int *ret_fd, struct err *err)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "make directory %s: %m", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return err_set(err, ERR_IO, "open directory %s: %m", path);
    int code = fstat(fd, &st) < 0 ? err_set(err, ERR_IO, "look at %s: %m", path) : file_check_private(path, &st, err);
    if (code == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        code = errno == EWOULDBLOCK ? err_set(err, ERR_CONFLICT, "%s is in use by another process", path)
                                    : err_set(err, ERR_IO, "lock %s: %m", path);
    if (code < 0)
        close(fd);
    else
        *ret_fd = fd;
    return code;
}

int pki_dir_sync(int fd, const char *path, struct err *err)
{
    return fsync(fd) < 0 ? err_set(err, ERR_IO, "sync directory %s: %m", path) : 0;
}

bool pki_file_exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

int pki_dir_list(struct arena *a, const char *path, str prefix, const str suffixes[static 2], size_t max,
                 struct strs *ret, struct err *err)
{
    DIR *dir = opendir(path);
    VEC(str) names = {0};
    int code = 0;
    if (dir == NULL)
        return err_set(err, ERR_IO, "open directory %s: %m", path);
    while (code == 0) {
        errno = 0;
        const struct dirent *e = readdir(dir); /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        if (e == NULL) {
            code = errno ? err_set(err, ERR_IO, "read directory %s: %m", path) : 0;
            break;
        }
        str name = str_of(e->d_name);
        if (!str_has_prefix(name, prefix) || (!str_has_suffix(name, suffixes[0]) && !str_has_suffix(name, suffixes[1])))
            continue;
        if (names.n == max)
            code = err_set(err, ERR_INVALID, "%s has more than %zu files %.*s*: remove those that are not needed", path,
                           max, STR(prefix));
        else
            *vec_push(a, &names) = str_of(str_cstr(a, name));
    }
    closedir(dir);
    if (code == 0 && names.n)
        qsort(names.p, names.n, sizeof *names.p, compare_names);
    if (code == 0)
        *ret = (struct strs){names.p, names.n};
    return code;
}

static int read_all(struct arena *a, int fd, const char *path, str *ret, struct err *err)
{
    char *text = arena_alloc(a, PKI_FILE_MAX);
    size_t n = 0;
    ssize_t got;
    while ((got = read(fd, text + n, PKI_FILE_MAX - n)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(err, ERR_IO, "read %s: %m", path);
        n += (size_t)got;
        if (n == PKI_FILE_MAX)
            return err_set(err, ERR_INVALID, "%s is too large for a key or certificate", path);
    }
    *ret = (str){text, n};
    return 0;
}

int pki_file_read(struct arena *a, const char *path, str *ret, struct err *err)
{
    struct stat st;
    int fd FD_SCOPE = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "open %s: %m", path);
    if (fstat(fd, &st) < 0)
        return err_set(err, ERR_IO, "look at %s: %m", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is not a file", path);
    int code = file_check_private(path, &st, err);
    return code < 0 ? code : read_all(a, fd, path, ret, err);
}
