/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/graphviz.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 65536 };

/* In folders of $PATH that are named as a whole: what is found by "." depends on where somebody stands. */
static const char *find_program(struct arena *a)
{
    const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe): nobody changes it */
    bool more = path != NULL;
    for (str rest = str_of(path), folder; more;) {
        more = str_cut(rest, ':', &folder, &rest);
        char *file = str_cstr(a, str_fmt(a, "%.*s/dot", STR(folder)));
        if (str_has_prefix(folder, S("/")) && access(file, X_OK) == 0)
            return file;
    }
    return NULL;
}

/* As a file in memory: the child may read as it likes, and nobody waits for anybody. */
static int file_of(str text, struct err *err)
{
    int fd = memfd_create("dot", MFD_CLOEXEC);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot make a file in memory: %m");
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_set(err, ERR_IO, "cannot write a file in memory: %m");
            (void)close(fd);
            return ERR_IO;
        }
        text = str_from(text, (size_t)n);
    }
    (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

static int start(const char *program, int input, int output, pid_t *ret, struct err *err)
{
    char name[] = "dot", format[] = "-Tsvg", *argv[] = {name, format, NULL};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    errno = posix_spawn(ret, program, &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return errno ? err_set(err, ERR_IO, "cannot run %s: %m", program) : 0;
}

static int64_t now(void)
{
    return clock_mono_ns(&clock_system);
}

/* Until there is something to read, or the child of a pidfd has ended. */
static int await(int fd, int64_t end_at, struct err *err)
{
    for (;;) {
        int64_t left = end_at - now();
        struct timespec time = {left / NS_PER_S, left % NS_PER_S};
        struct pollfd one = {.fd = fd, .events = POLLIN};
        if (left <= 0)
            return err_set(err, ERR_TIMEOUT, "dot took too long for the picture and was ended");
        int n = ppoll(&one, 1, &time, NULL);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return err_set(err, ERR_IO, "cannot wait for dot: %m");
    }
}

/* All that it prints. */
static int read_all(struct arena *a, int fd, int64_t end_at, str *ret, struct err *err)
{
    struct buf text = {.arena = a};
    for (;;) {
        if (await(fd, end_at, err) < 0)
            return err->code;
        buf_grow(&text, CHUNK);
        ssize_t n = read(fd, text.p + text.n, CHUNK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_IO, "cannot read what dot draws: %m");
        text.n += (size_t)n;
        *ret = buf_str(&text);
        if (n == 0)
            return 0;
        if (text.n > GRAPHVIZ_MAX_BYTES)
            return err_set(err, ERR_TOO_LARGE, "the picture has more than %d bytes", GRAPHVIZ_MAX_BYTES);
    }
}

/* It may have closed its output and stay. */
static int await_end(pid_t child, int64_t end_at, struct err *err)
{
    int fd = (int)syscall(SYS_pidfd_open, child, 0);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot wait for dot: %m");
    int code = await(fd, end_at, err);
    (void)close(fd);
    return code;
}

/* code: what became of reading it. */
static int finish(pid_t child, int code, int64_t end_at, struct err *err)
{
    int status;
    if (code == 0)
        code = await_end(child, end_at, err);
    if (code < 0)
        (void)kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(err, ERR_IO, "cannot wait for dot: %m");
    if (code == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
        return err_set(err, ERR_IO, "dot failed");
    return code;
}

static int draw(struct arena *a, const char *program, int input, int64_t end_at, str *ret, struct err *err)
{
    int ends[2];
    pid_t child;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, ERR_IO, "cannot make a pipe: %m");
    int code = start(program, input, ends[1], &child, err);
    (void)close(ends[1]);
    if (code == 0)
        code = finish(child, read_all(a, ends[0], end_at, ret, err), end_at, err);
    (void)close(ends[0]);
    return code;
}

int graphviz_draw(struct arena *a, str dot, int64_t limit_ns, str *ret, struct err *err)
{
    const char *program = find_program(a);
    if (!program)
        return err_set(err, ERR_NOT_FOUND, "there is no program \"dot\" (Graphviz) on $PATH");
    int input = file_of(dot, err);
    if (input < 0)
        return input;
    str svg;
    int code = draw(a, program, input, now() + limit_ns, &svg, err);
    (void)close(input);
    if (code == 0)
        *ret = svg;
    return code;
}
