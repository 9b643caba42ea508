/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_file.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MODE = 0600, DIR_MODE = 0700, READERS = 8, NAMED_DBS = 3 };

int store_file_error(const struct store_file *f, int rc, struct err *err)
{
    switch (rc) {
    case MDB_MAP_FULL:
        return err_set(err, ERR_NO_SPACE, "no room in the store %s: it has reached the size it may have, %zu bytes",
                       f->dir, f->map_bytes);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        errno = rc;
        return err_set(err, ERR_NO_SPACE, "no room for the store %s: %m", f->dir);
    case MDB_PANIC:
        return err_set(err, ERR_IO, "store %s: an earlier failure of the disk left the file in doubt", f->dir);
    default:
        if (rc < 0)
            return err_set(err, ERR_IO, "store %s: %s", f->dir, mdb_strerror(rc));
        errno = rc;
        return err_set(err, ERR_IO, "store %s: %m", f->dir);
    }
}

/* After a write that was cut short, which LMDB reports as EIO: is there room for one page more behind the end of the file?
 * Nothing of the file refers to what is there. */
static int why_cut(const struct store_file *f)
{
    struct stat st;
    int fd;
    if (mdb_env_get_fd(f->env, &fd) != 0 || fstat(fd, &st) < 0)
        return EIO;
    char *page = xcalloc(1, f->page_bytes);
    ssize_t n = pwrite(fd, page, f->page_bytes, st.st_size);
    int rc = n < 0 ? errno : (size_t)n < f->page_bytes ? ENOSPC : EIO;
    free(page);
    return rc;
}

int store_file_commit(const struct store_file *f, MDB_txn *txn)
{
    int rc = mdb_txn_commit(txn);
    return rc == EIO ? why_cut(f) : rc;
}

static int fail(const char *what, const char *path, struct err *err)
{
    return err_set(err, ERR_IO, "%s %s: %m", what, path);
}

static char *path_in(const char *dir, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        abort();
    return path;
}

/* The new names must be on disk before anything is reported as written. */
static int sync_dir(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail("open", path, err);
    int rc = fsync(fd) == 0 ? 0 : fail("sync", path, err);
    close(fd);
    return rc;
}

static int make_dir(const char *dir, struct err *err)
{
    if (mkdir(dir, DIR_MODE) < 0)
        return errno == EEXIST ? 0 : fail("make directory", dir, err);
    char *parent = path_in(dir, "..");
    int rc = sync_dir(parent, err);
    free(parent);
    return rc;
}

/* Everything that is stored is in these. The directory comes first: then no other user can replace the files. */
static int check_private(const char *dir, struct err *err)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "lock"};
    struct stat st;
    int rc = stat(dir, &st) < 0 ? fail("stat", dir, err) : file_check_private(dir, &st, err);
    for (size_t i = 0; rc == 0 && i < COUNT(files); i++) {
        char *path = path_in(dir, files[i]);
        if (lstat(path, &st) < 0)
            rc = errno == ENOENT ? 0 : fail("stat", path, err);
        else if (!S_ISREG(st.st_mode))
            rc = err_set(err, ERR_INVALID, "%s is not a regular file", path);
        else
            rc = file_check_private(path, &st, err);
        free(path);
    }
    return rc;
}

static int taken(const char *dir, int fd, struct err *err)
{
    char text[24];
    ssize_t n = pread(fd, text, sizeof text, 0);
    int64_t pid;
    str line = str_trim((str){text, n > 0 ? (size_t)n : 0});
    if (str_to_int64(line, &pid))
        return err_set(err, ERR_CONFLICT, "the store %s is in use by process %.*s", dir, STR(line));
    return err_set(err, ERR_CONFLICT, "the store %s is in use by another process", dir);
}

/* flock, so that a process that dies lets go. The number in the file is for people. */
static int take_lock(struct store_file *f, struct err *err)
{
    char *path = path_in(f->dir, "lock");
    int rc = 0;
    f->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (f->lock < 0)
        rc = fail("open", path, err);
    else if (flock(f->lock, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK ? taken(f->dir, f->lock, err) : fail("lock", path, err);
    else if (ftruncate(f->lock, 0) < 0 || dprintf(f->lock, "%ld\n", (long)getpid()) < 0)
        rc = errno == ENOSPC || errno == EDQUOT ? 0 : fail("write", path, err);
    free(path);
    return rc;
}

int store_file_get(MDB_txn *txn, MDB_dbi dbi, const void *key, size_t n, MDB_val *ret)
{
    MDB_val k = {n, (void *)key};
    return mdb_get(txn, dbi, &k, ret);
}

int store_file_state(const struct store_file *f, MDB_txn *txn, struct store_state *ret, struct err *err)
{
    MDB_val v;
    int rc = store_file_get(txn, f->meta, "state", 5, &v);
    return rc ? store_file_error(f, rc, err) : store_state_read(v, ret, err);
}

static int put(MDB_txn *txn, MDB_dbi dbi, const char *key, void *p, size_t n)
{
    MDB_val k = {strlen(key), (void *)key}, v = {n, p};
    return mdb_put(txn, dbi, &k, &v, 0);
}

/* A store that holds nothing. Its revision is 1, as in etcd: "0" means something else to clients. */
static int fill(struct store_file *f, MDB_txn *txn)
{
    uint32_t format = STORE_FORMAT;
    char state[STORE_STATE_SIZE];
    store_state_write(&(struct store_state){.revision = 1, .compacted = 1}, state);
    int rc = mdb_dbi_open(txn, "meta", MDB_CREATE, &f->meta);
    if (rc == 0)
        rc = mdb_dbi_open(txn, "idx", MDB_CREATE, &f->idx);
    if (rc == 0)
        rc = mdb_dbi_open(txn, "log", MDB_CREATE, &f->log);
    if (rc == 0)
        rc = put(txn, f->meta, "format", &format, sizeof format);
    if (rc == 0)
        rc = put(txn, f->meta, "state", state, sizeof state);
    f->format = format;
    return rc;
}

static int create(struct store_file *f, struct err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(f->env, NULL, 0, &txn);
    if (rc)
        return store_file_error(f, rc, err);
    rc = fill(f, txn);
    if (rc == 0)
        rc = store_file_commit(f, txn);
    else
        mdb_txn_abort(txn);
    return rc ? store_file_error(f, rc, err) : sync_dir(f->dir, err);
}

static int check_format(struct store_file *f, MDB_txn *txn, struct err *err)
{
    MDB_val v;
    uint32_t format;
    if (store_file_get(txn, f->meta, "format", 6, &v) != 0 || v.mv_size != sizeof format)
        return err_set(err, ERR_INVALID, "%s holds no store: it does not say which format it has", f->dir);
    memcpy(&format, v.mv_data, sizeof format);
    if (format > STORE_FORMAT)
        return err_set(err, ERR_INVALID,
                       "the store %s was written by a newer version: it has format %u, this one knows formats up to %d",
                       f->dir, format, STORE_FORMAT);
    f->format = format;
    return 0;
}

/* A file that was cut would end the process at the first access behind its end: look before. */
static int check_length(const struct store_file *f, struct err *err)
{
    MDB_envinfo info;
    struct stat st;
    int fd;
    if (mdb_env_get_fd(f->env, &fd) != 0 || fstat(fd, &st) < 0)
        return err_set(err, ERR_IO, "store %s: look at its file: %m", f->dir);
    mdb_env_info(f->env, &info);
    uint64_t need = (uint64_t)(info.me_last_pgno + 1) * f->page_bytes;
    if ((uint64_t)st.st_size < need)
        return err_set(err, ERR_IO, "the file of the store %s was cut: it has %llu of %llu bytes", f->dir,
                       (unsigned long long)st.st_size, (unsigned long long)need);
    return 0;
}

/* The handles stay valid only if the transaction that opened them commits, be it one that only reads. */
static int open_dbs(struct store_file *f, struct err *err)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(f->env, NULL, MDB_RDONLY, &txn);
    if (rc)
        return store_file_error(f, rc, err);
    rc = mdb_dbi_open(txn, "meta", 0, &f->meta);
    if (rc == MDB_NOTFOUND) {
        mdb_txn_abort(txn);
        return create(f, err);
    }
    int code = rc ? store_file_error(f, rc, err) : check_format(f, txn, err);
    if (code == 0 &&
        ((rc = mdb_dbi_open(txn, "idx", 0, &f->idx)) != 0 || (rc = mdb_dbi_open(txn, "log", 0, &f->log)) != 0))
        code = store_file_error(f, rc, err);
    if (code < 0)
        mdb_txn_abort(txn);
    else if ((rc = mdb_txn_commit(txn)) != 0)
        code = store_file_error(f, rc, err);
    return code;
}

static int open_env(struct store_file *f, struct err *err)
{
    MDB_stat st;
    int fd, rc = mdb_env_create(&f->env);
    if (rc == 0)
        rc = mdb_env_set_maxdbs(f->env, NAMED_DBS);
    if (rc == 0)
        rc = mdb_env_set_maxreaders(f->env, READERS);
    if (rc == 0)
        rc = mdb_env_set_mapsize(f->env, f->map_bytes);
    if (rc == 0)
        rc = mdb_env_open(f->env, f->dir, MDB_NOTLS, FILE_MODE);
    if (rc == MDB_INVALID || rc == MDB_VERSION_MISMATCH)
        return err_set(err, ERR_INVALID, "%s holds no store: %s", f->dir, mdb_strerror(rc));
    if (rc == 0)
        rc = mdb_env_stat(f->env, &st);
    if (rc == 0)
        rc = mdb_env_get_fd(f->env, &fd);
    if (rc == 0 && fchmod(fd, FILE_MODE) < 0)
        rc = errno;
    if (rc)
        return store_file_error(f, rc, err);
    f->page_bytes = st.ms_psize;
    return 0;
}

static int open_all(struct store_file *f, struct err *err)
{
    int rc = open_env(f, err);
    if (rc == 0)
        rc = check_length(f, err);
    return rc ? rc : open_dbs(f, err);
}

int store_file_open(struct store_file *f, const char *dir, size_t map_bytes, struct err *err)
{
    *f = (struct store_file){.dir = strdup(dir), .lock = -1, .map_bytes = map_bytes};
    if (f->dir == NULL)
        abort();
    int rc = make_dir(dir, err);
    if (rc == 0)
        rc = check_private(dir, err);
    if (rc == 0)
        rc = take_lock(f, err);
    if (rc == 0)
        rc = open_all(f, err);
    if (rc < 0)
        store_file_close(f);
    return rc;
}

bool store_file_is_stuck(const struct store_file *f)
{
    MDB_txn *txn;
    int rc = mdb_txn_begin(f->env, NULL, MDB_RDONLY, &txn);
    if (rc == 0)
        mdb_txn_abort(txn);
    return rc == MDB_PANIC;
}

int store_file_reopen(struct store_file *f, struct err *err)
{
    mdb_env_close(f->env);
    f->env = NULL;
    return open_all(f, err);
}

void store_file_close(struct store_file *f)
{
    if (f->env)
        mdb_env_close(f->env);
    if (f->lock >= 0)
        close(f->lock);
    free(f->dir);
    *f = (struct store_file){.lock = -1};
}
