/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_read.h"

#include "object/object.h"
#include "json/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_fd(struct arena *a, int fd, const char *path, str *ret, struct err *err)
{
    struct buf b = {.arena = a};
    for (;;) {
        buf_grow(&b, 65536);
        ssize_t n = read(fd, b.p + b.n, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "%s: %m", path);
        b.n += (size_t)n;
        if (b.n > READ_MAX_FILE)
            return err_set(err, ERR_TOO_LARGE, "%s: more than %d bytes", path, READ_MAX_FILE);
        if (n == 0)
            break;
    }
    *ret = buf_str(&b);
    return 0;
}

static void add_object(struct arena *a, str file, size_t document, const struct json *v, read_objects *objects)
{
    const struct json *items = json_get(v, S("items"));
    if (!json_is_arr(items) || !str_eq(object_kind(v), S("List"))) {
        *vec_push(a, objects) = (struct read_object){file, document, *v};
        return;
    }
    json_each_item(items, item) * vec_push(a, objects) = (struct read_object){file, document, *item};
}

static int read_file(struct arena *a, int fd, const char *path, read_objects *objects, struct err *err)
{
    str text = {0};
    json_vec documents = {0};
    struct json_limits limits = {.bytes = READ_MAX_FILE};
    int r = read_fd(a, fd, path, &text, err);
    if (r < 0)
        return r;
    r = yaml_decode_all(a, text, &limits, &documents, err);
    if (r < 0)
        return err_wrap(err, "%s", path);
    str file = str_dup(a, str_of(path));
    for (size_t i = 0; i < documents.n; i++)
        add_object(a, file, i + 1, &documents.p[i], objects);
    return 0;
}

static bool is_manifest(const char *path)
{
    str name = str_of(path);
    return str_has_suffix(name, S(".yaml")) || str_has_suffix(name, S(".yml")) || str_has_suffix(name, S(".json"));
}

/* Some file systems do not tell what an entry is; then read_at finds out. */
static int is_wanted(const struct dirent *e)
{
    return e->d_name[0] != '.' && (is_manifest(e->d_name) || e->d_type == DT_DIR || e->d_type == DT_UNKNOWN);
}

static int read_at(struct arena *a, const char *path, int depth, read_objects *objects, struct err *err);

static int read_directory(struct arena *a, const char *path, int depth, read_objects *objects, struct err *err)
{
    struct dirent **names;
    if (depth == READ_MAX_DEPTH)
        return err_set(err, ERR_IO, "%s: directories nested deeper than %d", path, READ_MAX_DEPTH);
    int n = scandir(path, &names, is_wanted, alphasort), r = 0;
    if (n < 0)
        return err_set(err, ERR_IO, "%s: %m", path);
    for (int i = 0; i < n; i++) {
        str child = str_fmt(a, "%s/%s", path, names[i]->d_name);
        if (r == 0)
            r = read_at(a, str_cstr(a, child), depth + 1, objects, err);
        free(names[i]);
    }
    free(names);
    return r;
}

static int read_at(struct arena *a, const char *path, int depth, read_objects *objects, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
    if (fd < 0 || fstat(fd, &st) < 0)
        r = err_set(err, ERR_IO, "%s: %m", path);
    else if (S_ISDIR(st.st_mode))
        r = read_directory(a, path, depth, objects, err);
    else if (depth == 0 || is_manifest(path)) /* a file named on the command line may have any name */
        r = read_file(a, fd, path, objects, err);
    if (fd >= 0)
        (void)close(fd);
    return r;
}

int read_path(struct arena *a, const char *path, read_objects *objects, struct err *err)
{
    if (strcmp(path, "-") == 0)
        return read_file(a, STDIN_FILENO, "standard input", objects, err);
    return read_at(a, path, 0, objects, err);
}
