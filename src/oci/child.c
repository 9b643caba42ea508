/* SPDX-License-Identifier: Apache-2.0 */
#include "oci/child.h"
#include "base/arena.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int landlock_version(void)
{
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 && (errno == ENOSYS || errno == EOPNOTSUPP) ? 0 : version;
}

/* Everything is watched at once: what it prints, what it complains about, whether it takes its input, its end (a pidfd is readable
 * then), and whether we are to stop. The end of the process counts, not that of its pipes. */

enum { PIECE = 256 * 1024, PIPE = 4 * PIECE, COMPLAINT_MAX = 300 };

enum { IN, OUT, COMPLAINTS, PROCESS, STOP, WATCHED };

struct run {
    const struct child *c;
    pid_t pid;
    int fd[WATCHED]; /* -1: closed, or not ours */
    size_t sent;
    int64_t deadline;
    struct buf piece;
    char complaint[COMPLAINT_MAX + 1]; /* the beginning of what it printed to standard error */
    size_t complaint_n;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static const char *name_of(const struct run *r)
{
    return r->c->name ? r->c->name : "reeve-fetch";
}

/* ---- Beginning. ---- */

/* Above the standard descriptors, so that moving one of the pair there never hits the other. */
static int lift(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return higher;
}

static bool make_pipe(int *ret_read, int *ret_write)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    *ret_read = lift(ends[0]);
    *ret_write = lift(ends[1]);
    return *ret_read >= 0 && *ret_write >= 0 && fcntl(*ret_read, F_SETFL, O_NONBLOCK) == 0;
}

/* A socket, not a pipe: writing to it raises no signal when the child is gone. */
static bool make_input(int *ret_read, int *ret_write)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    *ret_read = lift(ends[0]);
    *ret_write = lift(ends[1]);
    return *ret_read >= 0 && *ret_write >= 0 && fcntl(*ret_write, F_SETFL, O_NONBLOCK) == 0;
}

/* No descriptors but three, no signals blocked or ignored. */
static int spawn(struct run *r, const int theirs[3])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    char *argv[] = {(char *)(uintptr_t)r->c->program, (char *)(uintptr_t)r->c->argument, NULL}, *none_set[] = {NULL};
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&attr) != 0)
        abort();
    for (int i = 0; i < 3; i++) {
        if (posix_spawn_file_actions_adddup2(&files, theirs[i], i) != 0)
            abort(); /* out of memory */
    }
    if (posix_spawn_file_actions_addclosefrom_np(&files, 3) != 0 ||
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) != 0 ||
        posix_spawnattr_setpgroup(&attr, 0) != 0 || posix_spawnattr_setsigmask(&attr, &none) != 0 ||
        posix_spawnattr_setsigdefault(&attr, &all) != 0)
        abort();
    int failed = posix_spawn(&r->pid, r->c->program, &files, &attr, argv, r->c->env ? r->c->env : none_set);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static int start(struct run *r, struct err *err)
{
    int theirs[3] = {-1, -1, -1};
    int code = 0;
    if (!make_input(&theirs[0], &r->fd[IN]) || !make_pipe(&r->fd[OUT], &theirs[1]) ||
        !make_pipe(&r->fd[COMPLAINTS], &theirs[2]))
        code = err_set(err, ERR_IO, "make a pipe: %m");
    if (code == 0 && (errno = spawn(r, theirs)) != 0) {
        code = err_set(err, ERR_IO, "run %s: %m", r->c->program);
        r->pid = -1;
    }
    for (int i = 0; i < 3; i++)
        close_fd(&theirs[i]);
    if (code < 0)
        return code;
    /* Room for what it prints at once, so that it goes on while we read. Who may have no more has the usual. */
    (void)fcntl(r->fd[OUT], F_SETPIPE_SZ, PIPE);
    r->fd[PROCESS] = (int)syscall(SYS_pidfd_open, r->pid, 0);
    return r->fd[PROCESS] < 0 ? err_set(err, ERR_IO, "watch %s: %m", r->c->program) : 0;
}

/* ---- Meanwhile. ---- */

/* All was sent, or it does not want it: then it says itself what is wrong. */
static void send_input(struct run *r)
{
    while (r->sent < r->c->input.n) {
        ssize_t n = send(r->fd[IN], r->c->input.p + r->sent, r->c->input.n - r->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        r->sent += (size_t)n;
    }
    close_fd(&r->fd[IN]);
}

static int take_output(struct run *r, struct err *err)
{
    while (r->fd[OUT] >= 0) {
        ssize_t n = read(r->fd[OUT], r->piece.p, r->piece.cap);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            close_fd(&r->fd[OUT]);
            return 0;
        }
        int code = r->c->take(r->c->ctx, (str){r->piece.p, (size_t)n}, err);
        if (code < 0)
            return code;
        if (clock_system.mono_ns(NULL) >= r->deadline)
            return 0; /* which the caller sees */
    }
    return 0;
}

static void take_complaints(struct run *r)
{
    char more[1024];
    while (r->fd[COMPLAINTS] >= 0) {
        ssize_t n = read(r->fd[COMPLAINTS], more, sizeof more);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            close_fd(&r->fd[COMPLAINTS]);
            return;
        }
        for (ssize_t i = 0; i < n && r->complaint_n < COMPLAINT_MAX; i++)
            r->complaint[r->complaint_n++] = more[i] >= ' ' && more[i] < 0x7f ? more[i] : ' ';
    }
}

static int ended(struct run *r, struct err *err)
{
    int status = 0;
    pid_t got;
    while ((got = waitpid(r->pid, &status, 0)) < 0 && errno == EINTR)
        ;
    r->pid = -1;
    const char *sep = r->complaint_n ? ": " : "";
    if (got < 0)
        return err_set(err, ERR_UNAVAILABLE, "%s ended without telling how%s%s", name_of(r), sep, r->complaint);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        return err_set(err, ERR_UNAVAILABLE, "%s tried something that is forbidden to it, and was killed", name_of(r));
    if (WIFSIGNALED(status))
        return err_set(err, ERR_UNAVAILABLE, "%s was ended by signal %d%s%s", name_of(r), WTERMSIG(status), sep,
                       r->complaint);
    if (WEXITSTATUS(status))
        return err_set(err, ERR_UNAVAILABLE, "%s failed with exit code %d%s%s", name_of(r), WEXITSTATUS(status), sep,
                       r->complaint);
    return 0;
}

static int watch(struct run *r, struct err *err)
{
    for (;;) {
        int64_t left = r->deadline - clock_system.mono_ns(NULL);
        if (left <= 0)
            return err_set(err, ERR_TIMEOUT, "%s took longer than %lld seconds", name_of(r),
                           (long long)(r->c->timeout_ns / 1000 / NS_PER_MS));
        struct pollfd p[WATCHED];
        for (int i = 0; i < WATCHED; i++)
            p[i] = (struct pollfd){.fd = r->fd[i], .events = i == IN ? POLLOUT : POLLIN};
        int64_t ms = left / NS_PER_MS + 1;
        if (poll(p, WATCHED, ms > INT_MAX ? INT_MAX : (int)ms) < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "wait for %s: %m", name_of(r));
        if (p[STOP].revents)
            return err_set(err, ERR_GONE, "stopped");
        if (p[IN].revents)
            send_input(r);
        if (p[COMPLAINTS].revents)
            take_complaints(r);
        if (p[OUT].revents && take_output(r, err) < 0)
            return err->code;
        if (p[PROCESS].revents) {
            take_complaints(r);
            return take_output(r, err) < 0 ? err->code : ended(r, err);
        }
    }
}

int child_run(const struct child *c, struct err *err)
{
    struct run r = {
        .c = c, .pid = -1, .fd = {-1, -1, -1, -1, c->stop}, .deadline = clock_system.mono_ns(NULL) + c->timeout_ns};
    struct err mine;
    err = err ? err : &mine;
    buf_grow(&r.piece, PIECE);
    int code = start(&r, err);
    if (code == 0)
        code = watch(&r, err);
    if (r.pid > 0) {
        /* Nothing survives this signal, so there is nothing to wait for but the kernel. */
        (void)kill(r.pid, SIGKILL);
        while (waitpid(r.pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    for (int i = 0; i < STOP; i++)
        close_fd(&r.fd[i]);
    buf_done(&r.piece);
    return code;
}

const char *child_find(struct arena *a, const char *name)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self);
    while (n > 0 && self[n - 1] != '/')
        n--;
    str here = {self, n > 0 ? (size_t)n : 0};
    bool is_fixed = REEVE_LIBEXECDIR[0] == '/'; /* else seen from here */
    const char *beside = str_cstr(a, str_fmt(a, "%.*s%s", STR(here), name));
    const char *inside = str_cstr(a, str_fmt(a, "%.*s%s/%s", STR(is_fixed ? S("") : here), REEVE_LIBEXECDIR, name));
    if (here.n && access(beside, X_OK) == 0)
        return beside;
    return (here.n || is_fixed) && access(inside, X_OK) == 0 ? inside : NULL;
}
