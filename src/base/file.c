/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
        return err_set(err, ERR_IO, "make a file beside %s: %m", path);
    bool is_written = write_all(fd, text);
    int code = is_written
                   ? 0
                   : err_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, "write %s: %m", beside);
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
