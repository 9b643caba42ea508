/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of libc this file defines are taken by the dynamic linker for all libraries of the program. They are defined by
 * their names in the object file, since the headers may give pwrite another one (pwrite64). */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t disk_pwrite(int fd, const void *p, size_t n, off_t at) __asm__("pwrite");
ssize_t disk_pwrite64(int fd, const void *p, size_t n, off_t at) __asm__("pwrite64");
ssize_t disk_writev(int fd, const struct iovec *iov, int n) __asm__("writev");
int disk_fdatasync(int fd) __asm__("fdatasync");
int disk_fsync(int fd) __asm__("fsync");

static struct {
    pthread_mutex_t mutex;
    bool on;
    dev_t dev;
    ino_t ino;
    struct arena arena;
    struct disk_steps steps;
    atomic_int fail_durable, fail_sync;
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void disk_watch(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        abort();
    pthread_mutex_lock(&disk.mutex);
    disk.dev = st.st_dev;
    disk.ino = st.st_ino;
    disk.on = true;
    pthread_mutex_unlock(&disk.mutex);
}

void disk_forget(void)
{
    pthread_mutex_lock(&disk.mutex);
    arena_done(&disk.arena);
    disk.steps = (struct disk_steps){0};
    disk.on = false;
    pthread_mutex_unlock(&disk.mutex);
}

const struct disk_steps *disk_steps(void)
{
    return &disk.steps;
}

void disk_fail_durable(int code)
{
    atomic_store(&disk.fail_durable, code);
}

void disk_fail_sync(int code)
{
    atomic_store(&disk.fail_sync, code);
}

static bool is_watched(int fd)
{
    struct stat st;
    return disk.on && fstat(fd, &st) == 0 && st.st_dev == disk.dev && st.st_ino == disk.ino;
}

static void add(enum disk_kind kind, uint64_t at, const void *p, size_t n)
{
    char *bytes = n ? arena_alloc(&disk.arena, n) : NULL;
    if (n)
        memcpy(bytes, p, n);
    *vec_push(&disk.arena, &disk.steps.list) = (struct disk_step){kind, at, n, bytes};
}

void disk_note(uint64_t what)
{
    pthread_mutex_lock(&disk.mutex);
    if (disk.on)
        add(DISK_NOTE, what, NULL, 0);
    pthread_mutex_unlock(&disk.mutex);
}

static ssize_t write_at(int fd, const void *p, size_t n, off_t at)
{
    pthread_mutex_lock(&disk.mutex);
    bool watched = is_watched(fd), durable = watched && (fcntl(fd, F_GETFL) & O_DSYNC);
    int fail = durable ? atomic_load(&disk.fail_durable) : 0;
    ssize_t done = -1;
    if (fail)
        errno = fail;
    else
        done = syscall(SYS_pwrite64, fd, p, n, at);
    if (watched && done > 0)
        add(durable ? DISK_WRITE_DURABLE : DISK_WRITE, (uint64_t)at, p, (size_t)done);
    pthread_mutex_unlock(&disk.mutex);
    return done;
}

ssize_t disk_pwrite(int fd, const void *p, size_t n, off_t at)
{
    return write_at(fd, p, n, at);
}

ssize_t disk_pwrite64(int fd, const void *p, size_t n, off_t at)
{
    return write_at(fd, p, n, at);
}

ssize_t disk_writev(int fd, const struct iovec *iov, int n)
{
    pthread_mutex_lock(&disk.mutex);
    bool watched = is_watched(fd);
    off_t at = watched ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = syscall(SYS_writev, fd, iov, n), left = done;
    for (int i = 0; watched && left > 0; i++) {
        size_t piece = iov[i].iov_len < (size_t)left ? iov[i].iov_len : (size_t)left;
        add(DISK_WRITE, (uint64_t)at, iov[i].iov_base, piece);
        at += (off_t)piece;
        left -= (ssize_t)piece;
    }
    pthread_mutex_unlock(&disk.mutex);
    return done;
}

static int sync_fd(int fd, long call)
{
    pthread_mutex_lock(&disk.mutex);
    bool watched = is_watched(fd);
    int fail = watched ? atomic_load(&disk.fail_sync) : 0, rc = -1;
    if (fail)
        errno = fail;
    else
        rc = (int)syscall(call, fd);
    if (watched && rc == 0)
        add(DISK_SYNC, 0, NULL, 0);
    pthread_mutex_unlock(&disk.mutex);
    return rc;
}

int disk_fdatasync(int fd)
{
    return sync_fd(fd, SYS_fdatasync);
}

int disk_fsync(int fd)
{
    return sync_fd(fd, SYS_fsync);
}
