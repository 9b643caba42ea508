/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include "load.h"

#include "base/clock.h"
#include "net/loop.h"
#include "net/tls.h"
#include "json/base64.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void bench_die(const char *what)
{
    (void)fprintf(stderr, "bench: %s: %m\n", what);
    exit(1);
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void row_print(const char *what, double figure, const char *unit, const char *target)
{
    printf("%-66s %9.*f %-4s %s\n", what, figure < 10 ? 2 : figure < 100 ? 1 : 0, figure, unit, target);
    (void)fflush(stdout);
}

double bench_median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return values[n / 2];
}

double bench_now(void)
{
    return (double)clock_mono_ns(&clock_system) / 1e9;
}

/* ---- Files. ---- */

static str read_all(struct arena *a, const char *path)
{
    struct buf text = {.arena = a};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bench_must(fd >= 0, path);
    for (ssize_t n = 1; n > 0; text.n += (size_t)n) {
        buf_grow(&text, 4096);
        n = read(fd, text.p + text.n, 4096);
        bench_must(n >= 0, path);
    }
    close(fd);
    return buf_str(&text);
}

/* What stands behind "name:" until the end of the line. */
static str field(str text, str name)
{
    str value = {0}, rest;
    ptrdiff_t at = str_find(text, name);
    bench_must(at >= 0, name.p);
    str_cut(str_from(text, (size_t)at + name.n + 1), '\n', &value, &rest);
    return str_trim(value);
}

static str pem(struct arena *a, str kubeconfig, str name)
{
    str bytes = {0};
    size_t at;
    bench_must(base64_decode(a, field(kubeconfig, name), &bytes, &at) == 0, name.p);
    return bytes;
}

static void read_kubeconfig(struct server *s)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    str text = read_all(&scratch, str_cstr(&scratch, str_fmt(&scratch, "%s/kubeconfig", s->dir)));
    str address = field(text, S("server")), host, port;
    uint64_t number = 0;
    address = str_from(address, strlen("https://"));
    bench_must(str_cut(address, ':', &host, &port) && str_to_uint64(port, &number), "address");
    s->port = (uint16_t)number;
    struct tls_client_options options = {
        .ca_pem = pem(&scratch, text, S("certificate-authority-data")),
        .certificate_pem = pem(&scratch, text, S("client-certificate-data")),
        .key_pem = pem(&scratch, text, S("client-key-data")),
        .server_name = host,
    };
    tls_unref(s->h1);
    tls_unref(s->h2);
    bench_must(tls_client_new(&options, &s->h2, &err) == 0, err.msg);
    options.no_h2 = true;
    bench_must(tls_client_new(&options, &s->h1, &err) == 0, err.msg);
}

/* ---- The process. ---- */

void server_init(struct server *s, const char *binary)
{
    struct err err = {0};
    const char *parent = getenv("TMPDIR");
    *s = (struct server){.binary = binary};
    s->dir = str_cstr(&s->arena, str_fmt(&s->arena, "%s/reeve-bench-XXXXXX", parent ? parent : "/tmp"));
    bench_must(mkdtemp(s->dir) != NULL, "make a directory");
    bench_must(loop_new(&s->loop, &err) == 0, err.msg);
}

/* A benchmark that fails leaves no process behind. */
static pid_t at_work[8];
enum { AT_WORK = COUNT(at_work) };

static void end_all(void)
{
    for (size_t i = 0; i < AT_WORK; i++) {
        if (at_work[i])
            (void)kill(at_work[i], SIGKILL);
    }
}

static void replace(pid_t from, pid_t to)
{
    static bool is_registered;
    if (!is_registered)
        is_registered = atexit(end_all) == 0;
    for (size_t i = 0; i < AT_WORK; i++) {
        if (at_work[i] == from) {
            at_work[i] = to;
            return;
        }
    }
    bench_die("too many processes");
}

/* Its standard output goes to out; what it complains about, to the end of a file. */
static pid_t spawn(const char *binary, const char *const *argv, const char *log, int out)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    errno = posix_spawn(&pid, binary, &files, NULL, (char *const *)argv, environ);
    bench_must(errno == 0, binary);
    posix_spawn_file_actions_destroy(&files);
    replace(0, pid);
    return pid;
}

/* Its standard output ends up in *ret_out. */
static void spawn_server(struct server *s, struct arena *a, int *ret_out)
{
    char *data = str_cstr(a, str_fmt(a, "%s/data", s->dir));
    char *kubeconfig = str_cstr(a, str_fmt(a, "%s/kubeconfig", s->dir));
    const char *argv[] = {"reeve",       "up",           "--data-dir", data,    "--listen",
                          "127.0.0.1:0", "--kubeconfig", kubeconfig,   s->flag, NULL};
    int out[2];
    bench_must(pipe2(out, O_CLOEXEC) == 0, "pipe");
    s->pid = spawn(s->binary, argv, str_cstr(a, str_fmt(a, "%s/log", s->dir)), out[1]);
    close(out[1]);
    *ret_out = out[0];
}

double server_start(struct server *s)
{
    struct arena scratch ARENA_SCOPE = {0};
    double start = bench_now();
    char greeting[16];
    int out;
    spawn_server(s, &scratch, &out);
    bench_must(read(out, greeting, sizeof greeting) > 0, "the server did not start");
    read_kubeconfig(s);
    loop_turn(s->loop, 0); /* it may not have looked at the clock for long, and there are time limits */
    struct links *link = links_open(s, 1, false);
    links_ask(link, &scratch, &(struct question){.target = S("/readyz")});
    double took = bench_now() - start;
    links_close(link);
    close(out);
    return took;
}

static void stop(pid_t pid)
{
    int status = 0;
    replace(pid, 0);
    bench_must(kill(pid, SIGTERM) == 0 && waitpid(pid, &status, 0) == pid, "end a process");
    bench_must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process did not end well");
}

void server_stop(struct server *s)
{
    stop(s->pid);
    s->pid = 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void server_done(struct server *s)
{
    if (s->pid)
        server_stop(s);
    (void)nftw(s->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    tls_unref(s->h1);
    tls_unref(s->h2);
    loop_free(s->loop);
    arena_done(&s->arena);
}

static double cpu_of(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    bench_must(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0, "CPU time");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double kilobytes(str status, str name)
{
    str number, unit;
    uint64_t n = 0;
    bench_must(str_cut(field(status, name), ' ', &number, &unit) && str_to_uint64(number, &n), name.p);
    return (double)n * 1024;
}

static str status_of(struct arena *a, pid_t pid)
{
    return read_all(a, str_cstr(a, str_fmt(a, "/proc/%d/status", (int)pid)));
}

static struct server_memory memory_of(pid_t pid)
{
    struct arena scratch ARENA_SCOPE = {0};
    str status = status_of(&scratch, pid);
    return (struct server_memory){kilobytes(status, S("RssAnon")), kilobytes(status, S("RssFile"))};
}

/* Of one thread, from a file such as /proc/1/task/1/status. */
static double switches_of(const char *path)
{
    double sum = 0;
    char line[256];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        str name = {0}, number = {0};
        uint64_t n;
        if (str_cut(str_of(line), ':', &name, &number) && str_has_suffix(name, S("ctxt_switches")) &&
            str_to_uint64(str_trim(number), &n))
            sum += (double)n;
    }
    if (f)
        (void)fclose(f);
    return sum;
}

double server_switches(const struct server *s)
{
    struct arena scratch ARENA_SCOPE = {0};
    double sum = 0;
    const char *tasks = str_cstr(&scratch, str_fmt(&scratch, "/proc/%ld/task", (long)s->pid));
    DIR *d = opendir(tasks);
    bench_must(d != NULL, "list threads");
    for (struct dirent *e; (e = readdir(d));) /* NOLINT(concurrency-mt-unsafe): no other thread has this one */
        sum += switches_of(str_cstr(&scratch, str_fmt(&scratch, "%s/%s/status", tasks, e->d_name)));
    closedir(d);
    return sum;
}

double server_cpu(const struct server *s)
{
    return cpu_of(s->pid);
}

struct server_memory server_memory(const struct server *s)
{
    return memory_of(s->pid);
}

size_t server_threads(const struct server *s)
{
    struct arena scratch ARENA_SCOPE = {0};
    uint64_t n = 0;
    bench_must(str_to_uint64(field(status_of(&scratch, s->pid), S("Threads")), &n), "threads");
    return n;
}

double server_peak(const struct server *s)
{
    struct arena scratch ARENA_SCOPE = {0};
    return kilobytes(status_of(&scratch, s->pid), S("VmHWM"));
}

/* ---- Helpers. ---- */

enum { WORDS_MAX = 16 };

struct helper helper_start(struct server *s, const char *const *words)
{
    struct helper h = {.log = str_cstr(&s->arena, str_fmt(&s->arena, "%s/log-%s", s->dir, words[0]))};
    const char *argv[WORDS_MAX + 4] = {"reeve"};
    size_t n = 1;
    for (; words[n - 1]; n++) {
        bench_must(n <= WORDS_MAX, "too many words");
        argv[n] = words[n - 1];
    }
    argv[n++] = "--kubeconfig";
    argv[n] = str_cstr(&s->arena, str_fmt(&s->arena, "%s/kubeconfig", s->dir));
    h.pid = spawn(s->binary, argv, h.log, STDOUT_FILENO);
    return h;
}

str helper_said(struct helper *h, struct arena *a, str name)
{
    static const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        struct arena scratch ARENA_SCOPE = {0};
        str text = access(h->log, R_OK) == 0 ? read_all(&scratch, h->log) : (str){0}, value = {0}, rest;
        ptrdiff_t at = str_find(text, name);
        if (at >= 0 && str_cut(str_from(text, (size_t)at + name.n), '\n', &value, &rest)) {
            str_cut(value, ' ', &value, &rest);
            return str_dup(a, value);
        }
        bench_must(waitpid(h->pid, NULL, WNOHANG) == 0, text.n ? str_cstr(&scratch, text) : "a process ended early");
        nanosleep(&pause, NULL);
    }
}

double helper_cpu(const struct helper *h)
{
    return cpu_of(h->pid);
}

struct server_memory helper_memory(const struct helper *h)
{
    return memory_of(h->pid);
}

void helper_stop(struct helper *h)
{
    stop(h->pid);
}
