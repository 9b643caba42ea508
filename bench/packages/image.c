/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"

#include "../server/rows.h"
#include "oci/fetch_protocol.h"
#include "json/json.h"

#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Files of YAML, in the block style that generators of CRDs write. ---- */

static bool is_plain(str s)
{
    if (s.n == 0 || !((s.p[0] >= 'a' && s.p[0] <= 'z') || (s.p[0] >= 'A' && s.p[0] <= 'Z')))
        return false;
    return str_find(s, S(": ")) < 0 && str_find(s, S(" #")) < 0;
}

static void add_value(struct buf *b, const struct json *v, size_t depth, bool is_item);

static void indent(struct buf *b, size_t depth)
{
    buf_add_char(b, '\n');
    for (size_t i = 0; i < depth; i++)
        buf_add_str(b, S("  "));
}

static void add_scalar(struct buf *b, const struct json *v, size_t depth)
{
    enum { LINE = 100 };
    buf_add_char(b, ' ');
    if (json_is_str(v) && v->n > LINE) {
        buf_add_str(b, S("|-"));
        indent(b, depth);
        buf_add_str(b, json_text(v));
    } else if (json_is_str(v) && is_plain(json_text(v))) {
        buf_add_str(b, json_text(v));
    } else {
        json_encode(b, v, 0);
    }
}

static void add_members(struct buf *b, const struct json *v, size_t depth, bool is_item)
{
    json_each_member(v, m)
    {
        if (is_item)
            buf_add_char(b, ' ');
        else
            indent(b, depth);
        is_item = false;
        buf_fmt(b, "%.*s:", STR(json_key(m)));
        add_value(b, &m->val, depth + 1, false);
    }
}

static void add_value(struct buf *b, const struct json *v, size_t depth, bool is_item)
{
    if (json_is_obj(v) && v->n) {
        add_members(b, v, depth, is_item);
    } else if (json_is_arr(v) && v->n) {
        json_each_item(v, it)
        {
            indent(b, depth - 1);
            buf_add_char(b, '-');
            add_value(b, it, depth, true);
        }
    } else {
        add_scalar(b, v, depth);
    }
}

static void write_file(struct arena *a, str path, str text)
{
    int fd = open(str_cstr(a, path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bench_must(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n && close(fd) == 0, path.p);
}

static void write_crd(str folder, size_t i, const struct image *image)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json crd;
    struct err err = {0};
    struct buf text = {.arena = &scratch};
    /* Those with even numbers are of namespace scope. */
    str sample = sample_crd(&scratch, image->scope[0] == 'N' ? 2 * i : i, image->crd_bytes);
    bench_must(json_decode(&scratch, sample, NULL, NULL, &crd, &err) == 0, err.msg);
    add_members(&text, &crd, 0, false);
    buf_add_char(&text, '\n');
    write_file(&scratch, str_fmt(&scratch, "%.*s/kind%zu.crd.yaml", STR(folder), i), buf_str(&text));
}

static str write_all(struct server *s, const struct image *image)
{
    struct arena *a = &s->arena;
    str folder = str_fmt(a, "%s/image-%s", s->dir, image->name), registry = str_fmt(a, "%.*s/.registry", STR(folder)),
        resources = str_fmt(a, "%.*s/resources", STR(registry));
    bench_must(mkdir(str_cstr(a, folder), 0700) == 0 && mkdir(str_cstr(a, registry), 0700) == 0 &&
                   mkdir(str_cstr(a, resources), 0700) == 0,
               "make a folder");
    write_file(a, str_fmt(a, "%.*s/app.yaml", STR(registry)),
               str_fmt(a, "title: %s\nversion: \"1.0\"\npermissionScope: %s\n", image->name, image->scope));
    write_file(a, str_fmt(a, "%.*s/group.yaml", STR(resources)),
               S("title: Bench\noverviewShort: What is measured.\nreadme: Nothing to read.\n"));
    for (size_t i = 0; i < image->crds; i++)
        write_crd(resources, i, image);
    return folder;
}

/* ---- Programs. ---- */

/* Standard input as given, -1: ours; standard output to a pipe, whose other end is returned. */
static pid_t start(const char *program, const char *const *argv, int in, int *ret_out)
{
    posix_spawn_file_actions_t files;
    pid_t pid;
    int out[2];
    bench_must(pipe2(out, O_CLOEXEC) == 0, "pipe");
    posix_spawn_file_actions_init(&files);
    if (in >= 0)
        posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    bench_must(posix_spawn(&pid, program, &files, NULL, (char *const *)argv, environ) == 0, program);
    posix_spawn_file_actions_destroy(&files);
    close(out[1]);
    *ret_out = out[0];
    return pid;
}

/* Reads what it says, and waits for its end. */
static struct image_cost run(const char *program, const char *const *argv, int in)
{
    static char piece[1 << 16];
    struct image_cost cost = {.seconds = bench_now()};
    struct rusage usage;
    int out, status;
    pid_t pid = start(program, argv, in, &out);
    ssize_t n;
    do {
        bench_must((n = read(out, piece, sizeof piece)) >= 0, program);
        cost.bytes += (double)n;
    } while (n > 0);
    close(out);
    bench_must(wait4(pid, &status, 0, &usage) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0, program);
    cost.seconds = bench_now() - cost.seconds;
    cost.cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    cost.peak = (double)usage.ru_maxrss * 1024;
    return cost;
}

static const char *store_of(struct server *s)
{
    return str_cstr(&s->arena, str_fmt(&s->arena, "%s/data/packages/store", s->dir));
}

static str tag_of(struct server *s, const struct image *image)
{
    return str_fmt(&s->arena, "bench/%s:1.0", image->name);
}

void image_build(struct server *s, const struct image *image)
{
    struct arena *a = &s->arena;
    const char *argv[] = {
        "reeve",   "package",   "build", str_cstr(a, write_all(s, image)), "-t", str_cstr(a, tag_of(s, image)),
        "--store", store_of(s), NULL};
    (void)run(s->binary, argv, -1);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void image_remove_cache(struct server *s)
{
    char *cache = str_cstr(&s->arena, str_fmt(&s->arena, "%s/data/packages/cache", s->dir));
    (void)nftw(cache, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct image_cost image_fetch(struct server *s, const struct image *image)
{
    struct arena *a = &s->arena;
    struct buf request = {.arena = a};
    oci_request_encode(&request, &(struct oci_request){.op = OCI_PULL,
                                                       .policy = FETCH_NEVER,
                                                       .reference = tag_of(s, image),
                                                       .store = str_of(store_of(s)),
                                                       .timeout_ns = INT64_C(60000000000)});
    str path = str_fmt(a, "%s/request-%s", s->dir, image->name);
    write_file(a, path, buf_str(&request));
    int in = open(str_cstr(a, path), O_RDONLY | O_CLOEXEC);
    bench_must(in >= 0, "open a request");
    const char *beside = dirname(str_cstr(a, str_of(s->binary)));
    const char *program = str_cstr(a, str_fmt(a, "%s/reeve-fetch", beside));
    struct image_cost cost = run(program, (const char *const[]){"reeve-fetch", NULL}, in);
    close(in);
    return cost;
}
