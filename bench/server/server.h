/* SPDX-License-Identifier: Apache-2.0 */
/* What: the program under measurement, in a process and a data directory of its own: started, looked at, ended.
 * Owns: the process, its directory, and the credentials to talk to it.
 * Threads: one.
 * Errors: what fails ends the benchmark, in words. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#include <sys/types.h>

struct loop;
struct tls_context;

struct server {
    const char *binary;
    const char *flag; /* one more for reeve up; NULL: none */
    struct arena arena;
    struct loop *loop;
    char *dir;
    pid_t pid; /* 0: not running */
    uint16_t port;
    struct tls_context *h1, *h2; /* an administrator's */
};

struct server_memory {
    double anon,
        file; /* resident bytes: of its own, and of mapped files, which the system takes back when it wants them */
};

_Noreturn void bench_die(const char *what);
static inline void bench_must(bool ok, const char *what)
{
    if (!ok)
        bench_die(what);
}

/* "what    figure unit    (target)". */
void row_print(const char *what, double figure, const char *unit, const char *target);

/* Sorts. */
double bench_median(double *values, size_t n);
double bench_now(void);

/* An empty directory; nothing runs yet. */
void server_init(struct server *s, const char *binary);
/* Seconds until GET /readyz was answered with 200. */
double server_start(struct server *s);
/* With SIGTERM, and waits. */
void server_stop(struct server *s);
void server_done(struct server *s);

/* Seconds of CPU time since it began, of all its threads, the kernel's share included. */
double server_cpu(const struct server *s);
/* Context switches of all its threads that are still there. */
double server_switches(const struct server *s);
struct server_memory server_memory(const struct server *s);
size_t server_threads(const struct server *s);
/* The most that was ever resident, mapped files included. */
double server_peak(const struct server *s);

/* ---- Another process of the same program, with the server's kubeconfig. ---- */

struct helper {
    pid_t pid;
    char *log; /* a file */
};

/* words: what follows "reeve"; NULL at the end. --kubeconfig is added. */
struct helper helper_start(struct server *s, const char *const *words);
/* What stands behind "name" in its log, up to the next blank; waits for it. In the arena. */
str helper_said(struct helper *h, struct arena *a, str name);
double helper_cpu(const struct helper *h);
struct server_memory helper_memory(const struct helper *h);
void helper_stop(struct helper *h);
