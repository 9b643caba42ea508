/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 16, TIMES_MAX = 99 };

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static size_t read_to_end(int fd)
{
    static char bytes[65536];
    size_t total = 0;
    for (ssize_t n = 1; n > 0; total += (size_t)n) {
        n = read(fd, bytes, sizeof bytes);
        bench_must(n >= 0, "read what a command says");
    }
    return total;
}

static pid_t start(const char *binary, const char *const *argv, int out)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    errno = posix_spawn(&pid, binary, &files, NULL, (char *const *)argv, environ);
    bench_must(errno == 0, binary);
    posix_spawn_file_actions_destroy(&files);
    return pid;
}

/* Somebody reads what it says, as a pager or a terminal does. */
static struct run_cost run_once(const char *binary, const char *const *argv, int code)
{
    struct rusage used;
    int out[2], status = 0;
    bench_must(pipe2(out, O_CLOEXEC) == 0, "pipe");
    double begin = bench_now();
    pid_t pid = start(binary, argv, out[1]);
    close(out[1]);
    size_t bytes = read_to_end(out[0]);
    bench_must(wait4(pid, &status, 0, &used) == pid, "wait for a command");
    double took = bench_now() - begin;
    close(out[0]);
    errno = 0;
    bench_must(WIFEXITED(status) && WEXITSTATUS(status) == code, argv[1]);
    return (struct run_cost){.seconds = took,
                             .cpu = seconds_of(used.ru_utime) + seconds_of(used.ru_stime),
                             .peak = (double)used.ru_maxrss * 1024,
                             .bytes = bytes};
}

struct run_cost run_command(const char *binary, const struct server *s, const struct run *run)
{
    struct arena scratch ARENA_SCOPE = {0};
    const char *argv[WORDS_MAX + 4] = {"reeve"};
    double seconds[TIMES_MAX], cpu[TIMES_MAX];
    struct run_cost cost = {0};
    size_t n = 1;
    for (; run->words[n - 1]; n++) {
        bench_must(n <= WORDS_MAX, "too many words");
        argv[n] = run->words[n - 1];
    }
    if (s) {
        argv[n++] = "--kubeconfig";
        argv[n++] = str_cstr(&scratch, str_fmt(&scratch, "%s/kubeconfig", s->dir));
    }
    bench_must(run->times && run->times <= TIMES_MAX, "how often?");
    for (size_t i = 0; i < run->times; i++) {
        struct run_cost one = run_once(binary, argv, run->code);
        seconds[i] = one.seconds;
        cpu[i] = one.cpu;
        cost.bytes = one.bytes;
        cost.peak = one.peak > cost.peak ? one.peak : cost.peak;
    }
    cost.seconds = bench_median(seconds, run->times);
    cost.cpu = bench_median(cpu, run->times);
    return cost;
}
