/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/layout_internal.h"

#include "base/clock.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEW_PREFIX ".new-"
#define LAYOUT_TEXT "{\"imageLayoutVersion\":\"1.0.0\"}"
#define INDEX_TEXT "{\"schemaVersion\":2,\"mediaType\":\"" OCI_TYPE_INDEX "\",\"manifests\":[]}"

static int failed(struct oci_layout *l, const char *what, struct err *err)
{
    return err_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, "%s in %s: %m", what, l->path);
}

/* ---- Turns. Whoever holds the lock is the only one who changes index.json, and who makes or sweeps away new files. ---- */

static int lock(struct oci_layout *l, struct err *err)
{
    int code;
    do
        code = flock(l->dir, LOCK_EX);
    while (code < 0 && errno == EINTR);
    return code < 0 ? failed(l, "take the lock", err) : 0;
}

static void unlock(struct oci_layout *l)
{
    (void)flock(l->dir, LOCK_UN); /* fails only for what is no file */
}

/* ---- New files: written beside, locked as long as their writer lives, renamed when they are whole. ---- */

struct new_file {
    int fd;
    char name[sizeof(NEW_PREFIX) + 16];
};

/* With the lock held. */
static int new_open(struct oci_layout *l, struct new_file *ret, struct err *err)
{
    struct random random = random_system;
    snprintf(ret->name, sizeof(ret->name), NEW_PREFIX "%016llx", (unsigned long long)random_uint64(&random));
    ret->fd = openat(l->dir, ret->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (ret->fd < 0)
        return failed(l, "make a file", err);
    if (flock(ret->fd, LOCK_EX | LOCK_NB) == 0)
        return 0;
    int code = failed(l, "lock a file", err);
    close(ret->fd);
    (void)unlinkat(l->dir, ret->name, 0);
    return code;
}

static int new_write(struct oci_layout *l, const struct new_file *f, str bytes, struct err *err)
{
    for (size_t done = 0; done < bytes.n;) {
        ssize_t n = write(f->fd, bytes.p + done, bytes.n - done);
        if (n < 0 && errno != EINTR)
            return failed(l, "write a file", err);
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* Under its name, for good; whether that works or not it is closed and gone from here. */
static int new_finish(struct oci_layout *l, const struct new_file *f, int dir, const char *name, struct err *err)
{
    int code = fsync(f->fd) < 0 ? failed(l, "sync a file", err) : 0;
    if (code == 0 && renameat(l->dir, f->name, dir, name) < 0)
        code = failed(l, "rename a file", err);
    if (code == 0 && fsync(dir) < 0)
        code = failed(l, "sync a directory", err);
    if (code < 0)
        (void)unlinkat(l->dir, f->name, 0);
    close(f->fd);
    return code;
}

static void new_drop(struct oci_layout *l, const struct new_file *f)
{
    (void)unlinkat(l->dir, f->name, 0);
    close(f->fd);
}

/* Replaces a file of the top directory. With the lock held. */
static int replace(struct oci_layout *l, const char *name, str text, struct err *err)
{
    struct new_file f;
    int code = new_open(l, &f, err);
    if (code < 0)
        return code;
    if ((code = new_write(l, &f, text, err)) < 0) {
        new_drop(l, &f);
        return code;
    }
    return new_finish(l, &f, l->dir, name, err);
}

/* What writers that died have left: nobody holds its lock. With the lock held. */
static void sweep(struct oci_layout *l)
{
    int fd = openat(l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    if (dir == NULL) {
        oci_close_fd(&fd);
        return; /* it is only garbage */
    }
    while ((entry = readdir(dir))) {
        if (!str_has_prefix(str_of(entry->d_name), S(NEW_PREFIX)))
            continue;
        int left OCI_FD_SCOPE = openat(l->dir, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (left >= 0 && flock(left, LOCK_EX | LOCK_NB) == 0)
            (void)unlinkat(l->dir, entry->d_name, 0);
    }
    closedir(dir);
}

/* ---- Making a layout. ---- */

static int make_dir(struct oci_layout *l, int at, const char *name, struct err *err)
{
    if (mkdirat(at, name, 0755) == 0)
        return fsync(at) < 0 ? failed(l, "sync a directory", err) : 0;
    return errno == EEXIST ? 0 : failed(l, "make a directory", err);
}

static int make_file(struct oci_layout *l, const char *name, str text, struct err *err)
{
    struct stat st;
    return fstatat(l->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : replace(l, name, text, err);
}

static int make_parts(struct oci_layout *l, struct err *err)
{
    int code = make_dir(l, l->dir, "blobs", err);
    if (code < 0)
        return code;
    int blobs OCI_FD_SCOPE = openat(l->dir, "blobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (blobs < 0)
        return failed(l, "open blobs", err);
    if ((code = make_dir(l, blobs, "sha256", err)) < 0 || (code = make_dir(l, blobs, "sha512", err)) < 0)
        return code;
    sweep(l);
    if ((code = make_file(l, OCI_INDEX_FILE, S(INDEX_TEXT), err)) < 0)
        return code;
    return make_file(l, OCI_LAYOUT_FILE, S(LAYOUT_TEXT), err);
}

int oci_layout_create(const char *path, struct oci_layout **ret, struct err *err)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return err_set(err, errno == ENOSPC || errno == EDQUOT ? ERR_NO_SPACE : ERR_IO, "make directory %s: %m", path);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_set(err, ERR_IO, "open %s: %m", path);
    struct oci_layout *l = oci_layout_of(dir, path);
    int code = lock(l, err);
    if (code == 0) {
        code = make_parts(l, err);
        unlock(l);
    }
    oci_layout_free(l);
    return code < 0 ? code : oci_layout_open(path, ret, err); /* it may have been there, and be of another version */
}

/* It may be none yet: the first file of it is written beside, too. */
void oci_layout_sweep(const char *path)
{
    struct err ignored;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return;
    struct oci_layout *l = oci_layout_of(dir, path);
    if (lock(l, &ignored) == 0) {
        sweep(l);
        unlock(l);
    }
    oci_layout_free(l);
}

/* ---- Blobs. ---- */

struct oci_blob_writer {
    struct oci_layout *layout;
    struct new_file file;
    struct oci_hash *hash;
    uint64_t size;
    bool is_finished;
};

int oci_blob_writer_open(struct oci_layout *l, enum oci_algorithm algorithm, struct oci_blob_writer **ret,
                         struct err *err)
{
    struct new_file file;
    int code = lock(l, err);
    if (code < 0)
        return code;
    code = new_open(l, &file, err);
    unlock(l);
    if (code < 0)
        return code;
    struct oci_blob_writer *w = xmalloc(sizeof(*w));
    *w = (struct oci_blob_writer){.layout = l, .file = file, .hash = oci_hash_new(algorithm)};
    *ret = w;
    return 0;
}

int oci_blob_writer_add(struct oci_blob_writer *w, str piece, struct err *err)
{
    assert(!w->is_finished);
    int code = new_write(w->layout, &w->file, piece, err);
    if (code < 0)
        return code;
    oci_hash_add(w->hash, piece);
    w->size += piece.n;
    return 0;
}

int oci_blob_writer_finish(struct oci_blob_writer *w, struct oci_digest *ret_digest, uint64_t *ret_size,
                           struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    assert(!w->is_finished);
    struct oci_digest digest = oci_hash_finish(w->hash);
    int dir OCI_FD_SCOPE = oci_layout_blob_dir(w->layout, &digest);
    if (dir < 0)
        return failed(w->layout, "open blobs", err);
    w->is_finished = true;
    int code = new_finish(w->layout, &w->file, dir, str_cstr(&scratch, oci_digest_hex(&scratch, &digest)), err);
    if (code < 0)
        return code;
    *ret_digest = digest;
    if (ret_size)
        *ret_size = w->size;
    return 0;
}

void oci_blob_writer_free(struct oci_blob_writer *w)
{
    if (w == NULL)
        return;
    if (!w->is_finished)
        new_drop(w->layout, &w->file);
    oci_hash_free(w->hash);
    free(w);
}

int oci_layout_put_bytes(struct oci_layout *l, enum oci_algorithm algorithm, str bytes, struct oci_digest *ret,
                         struct err *err)
{
    struct oci_digest digest = oci_digest_of(algorithm, bytes);
    struct oci_blob_writer *w = NULL;
    int code = 0;
    if (!oci_layout_has_blob(l, &digest, bytes.n) && (code = oci_blob_writer_open(l, algorithm, &w, err)) == 0 &&
        (code = oci_blob_writer_add(w, bytes, err)) == 0)
        code = oci_blob_writer_finish(w, &digest, NULL, err);
    oci_blob_writer_free(w);
    if (code == 0)
        *ret = digest;
    return code;
}

/* ---- Names. ---- */

static int set_locked(struct oci_layout *l, const struct oci_reference *ref, const struct oci_descriptor *what,
                      struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    str text = {0}, changed = {0};
    int code;
    if ((code = oci_layout_read_file(l, &scratch, OCI_INDEX_FILE, OCI_DOCUMENT_MAX, &text, err)) < 0)
        return code;
    if (oci_index_with(&scratch, text, ref, what, &changed, err) < 0)
        return err_wrap(err, "%s", l->path);
    return replace(l, OCI_INDEX_FILE, changed, err);
}

int oci_layout_set(struct oci_layout *l, const struct oci_reference *ref, const struct oci_descriptor *what,
                   struct err *err)
{
    int code = lock(l, err);
    if (code < 0)
        return code;
    code = set_locked(l, ref, what, err);
    unlock(l);
    return code;
}
