/* SPDX-License-Identifier: Apache-2.0 */
/* Two descriptors are watched: the pipe of its output, and the process itself (a pidfd is readable once it has ended). The end
 * of the process counts, not that of the pipe: a helper that a plugin leaves behind may hold that open for ever. */
#include "client/plugin.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct plugin {
    struct loop *loop;
    struct plugin_options options;
    char *name; /* for messages */
    pid_t pid;
    bool has_ended;
    struct loop_fd output, process;
    struct loop_timer timer;
    struct buf text;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void stop_watching(struct plugin *p)
{
    loop_timer_cancel(p->loop, &p->timer);
    if (p->output.is_added)
        loop_fd_remove(p->loop, &p->output);
    if (p->process.is_added)
        loop_fd_remove(p->loop, &p->process);
    close_fd(&p->output.fd);
    close_fd(&p->process.fd);
}

/* The last thing that happens here: p may be gone after it. */
static void finish(struct plugin *p, const struct err *err)
{
    stop_watching(p);
    p->options.done(p->options.ctx, err ? (str){0} : buf_str(&p->text), err);
}

static void fail(struct plugin *p, enum err_code code, const char *what)
{
    struct err err;
    err_set(&err, code, "exec: executable %s %s", p->name, what);
    finish(p, &err);
}

/* All that is there now. False: it printed too much. */
static bool drain(struct plugin *p)
{
    while (p->output.fd >= 0) {
        buf_grow(&p->text, 4096);
        ssize_t n = read(p->output.fd, p->text.p + p->text.n, p->text.cap - p->text.n);
        if (n > 0) {
            p->text.n += (size_t)n;
            if (p->text.n > p->options.max_bytes)
                return false;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return true;
        } else {
            loop_fd_remove(p->loop, &p->output);
            close_fd(&p->output.fd);
        }
    }
    return true;
}

static void on_output(void *ctx, unsigned events)
{
    struct plugin *p = ctx;
    (void)events;
    if (!drain(p))
        fail(p, ERR_TOO_LARGE, "printed too much");
}

static void on_end(void *ctx, unsigned events)
{
    struct plugin *p = ctx;
    struct err err;
    int status = 0;
    (void)events;
    pid_t got = waitpid(p->pid, &status, WNOHANG);
    if (got == 0)
        return;
    p->has_ended = true;
    if (got < 0) {
        fail(p, ERR_IO, "ended without telling how");
    } else if (!drain(p)) {
        fail(p, ERR_TOO_LARGE, "printed too much");
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        finish(p, NULL);
    } else if (WIFSIGNALED(status)) {
        err_set(&err, ERR_UNAUTHORIZED, "exec: executable %s was ended by signal %d", p->name, WTERMSIG(status));
        finish(p, &err);
    } else {
        err_set(&err, ERR_UNAUTHORIZED, "exec: executable %s failed with exit code %d", p->name, WEXITSTATUS(status));
        finish(p, &err);
    }
}

static void on_timeout(void *ctx)
{
    fail(ctx, ERR_TIMEOUT, "took too long");
}

/* A group of its own, so that it can be ended together with what it started; no signals of ours blocked or ignored. */
static int spawn(struct plugin *p, const char *path, int write_end)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    static const int signals[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    for (size_t i = 0; i < COUNT(signals); i++)
        sigaddset(&usual, signals[i]);
    if (posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&attr) != 0 ||
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&files, write_end, STDOUT_FILENO) != 0 ||
        posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) != 0 ||
        posix_spawnattr_setpgroup(&attr, 0) != 0 || posix_spawnattr_setsigmask(&attr, &none) != 0 ||
        posix_spawnattr_setsigdefault(&attr, &usual) != 0)
        abort(); /* out of memory, or a mistake of ours */
    int r = posix_spawn(&p->pid, path, &files, &attr, (char *const *)(uintptr_t)p->options.argv,
                        (char *const *)(uintptr_t)p->options.env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return r;
}

static int start(struct plugin *p, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct plugin_options *o = &p->options;
    const char *path = strchr(o->command, '/') ? o->command : file_find_program(&scratch, o->search, o->command);
    int ends[2];
    p->has_ended = true; /* until it runs */
    if (path == NULL)
        return err_set(err, ERR_NOT_FOUND, "exec: executable %s not found", p->name);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(err, ERR_IO, "exec: make a pipe: %m");
    p->output.fd = ends[0];
    int failed = spawn(p, path, ends[1]);
    close(ends[1]);
    errno = failed;
    if (failed)
        return err_set(err, failed == ENOENT ? ERR_NOT_FOUND : ERR_IO, "exec: fork/exec %s: %m", path);
    p->has_ended = false;
    p->process.fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->process.fd < 0 || fcntl(p->output.fd, F_SETFL, O_NONBLOCK) < 0)
        return err_set(err, ERR_IO, "exec: watch %s: %m", p->name);
    if (loop_fd_add(p->loop, &p->output, LOOP_READ, err) < 0 || loop_fd_add(p->loop, &p->process, LOOP_READ, err) < 0)
        return err->code;
    loop_timer_set(p->loop, &p->timer, p->options.timeout_ns);
    return 0;
}

int plugin_start(struct loop *l, const struct plugin_options *options, struct plugin **ret, struct err *err)
{
    struct err mine;
    struct plugin *p = calloc(1, sizeof *p);
    char *name = strdup(options->command);
    if (p == NULL || name == NULL)
        abort();
    *p = (struct plugin){
        .loop = l,
        .options = *options,
        .name = name,
        .output = {.fd = -1, .fn = on_output, .ctx = p},
        .process = {.fd = -1, .fn = on_end, .ctx = p},
        .timer = {.fn = on_timeout, .ctx = p},
    };
    err = err ? err : &mine;
    if (start(p, err) < 0) {
        plugin_free(p);
        return err->code;
    }
    p->options.command = NULL; /* the caller's, and used up */
    p->options.argv = p->options.env = NULL;
    p->options.search = (str){0};
    *ret = p;
    return 0;
}

void plugin_free(struct plugin *p)
{
    if (p == NULL)
        return;
    stop_watching(p);
    if (!p->has_ended) {
        /* Nothing survives this signal, so there is nothing to wait for but the kernel. */
        (void)kill(-p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    /* It was a secret, or part of one. */
    if (p->text.p)
        explicit_bzero(p->text.p, p->text.cap);
    buf_done(&p->text);
    free(p->name);
    free(p);
}
