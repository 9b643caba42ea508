/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up_place.h"

#include "authn/pki.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE = 0700 };

/* Each part of the path in turn; what exists is left as it is. */
static int make_all(const char *path, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    char *copy = str_cstr(&scratch, str_of(path));
    for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(copy, MODE) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "make directory %s: %m", copy);
        *slash = '/';
    }
    if (mkdir(copy, MODE) < 0 && errno != EEXIST)
        return err_set(err, ERR_IO, "make directory %s: %m", copy);
    return 0;
}

enum contents { CONTENTS_NONE, CONTENTS_OURS, CONTENTS_FOREIGN, CONTENTS_UNREADABLE };

static enum contents look_into(const char *path)
{
    enum contents found = CONTENTS_NONE;
    DIR *d = opendir(path);
    if (d == NULL)
        return CONTENTS_UNREADABLE;
    for (struct dirent *e; (e = readdir(d));) { /* NOLINT(concurrency-mt-unsafe): no other thread has this one */
        str name = str_of(e->d_name);
        if (str_eq(name, S("pki"))) {
            found = CONTENTS_OURS;
            break;
        }
        /* packages: "reeve package build" may come before the first start. */
        if (!str_eq(name, S(".")) && !str_eq(name, S("..")) && !str_eq(name, S("lost+found")) &&
            !str_eq(name, S("packages")))
            found = CONTENTS_FOREIGN;
    }
    closedir(d);
    return found;
}

int place_data_dir(const char *path, struct err *err)
{
    struct stat st;
    int code = make_all(path, err);
    if (code < 0)
        return code;
    if (stat(path, &st) < 0)
        return err_set(err, ERR_IO, "look at %s: %m", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is not a directory", path);
    if (access(path, R_OK | W_OK | X_OK) < 0)
        return err_set(err, ERR_IO, "use directory %s: %m", path);
    enum contents contents = look_into(path);
    if (contents == CONTENTS_UNREADABLE)
        return err_set(err, ERR_IO, "read directory %s: %m", path);
    if (contents == CONTENTS_FOREIGN)
        return err_set(err, ERR_INVALID, "%s has other things in it: choose a directory that is empty or new", path);
    if (contents == CONTENTS_OURS)
        return file_check_private(path, &st, err);
    if ((st.st_mode & 077) && chmod(path, MODE) < 0)
        return err_set(err, ERR_IO, "close directory %s to others: %m", path);
    return 0;
}

int place_kubeconfig(const char *path, struct err *err)
{
    char head[PKI_KUBECONFIG_MARK_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, ERR_IO, "look at %s: %m", path);
    ssize_t n = read(fd, head, sizeof head);
    int code = n < 0 ? err_set(err, ERR_IO, "read %s: %m", path) : 0;
    close(fd);
    if (code < 0 || n == 0 || str_eq((str){head, (size_t)n}, S(PKI_KUBECONFIG_MARK)))
        return code;
    return err_set(err, ERR_INVALID,
                   "%s is there already and was not written by reeve: choose another file, or remove it", path);
}
