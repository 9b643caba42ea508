/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/map.h"
#include "cli/term.h"
#include "cli/tree_internal.h"

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

/* A view as a picture. Roles and subjects are nodes with numbers; their names stand in labels only. */

/* ---- dot. ---- */

/* Inside of double quotes a backslash begins an escape, and "&" an entity as in HTML. */
static void add_label(struct buf *b, str text)
{
    struct buf shown = {0};
    cli_add_visibly(&shown, text);
    for (size_t i = 0; i < shown.n; i++) {
        char c = shown.p[i];
        if (c == '&') {
            buf_add_str(b, S("&amp;"));
            continue;
        }
        if (c == '"' || c == '\\')
            buf_add_char(b, '\\');
        buf_add_char(b, c);
    }
    buf_done(&shown);
}

struct picture {
    struct buf *out;
    struct arena *arena;
    const struct tree_reach *reach;
    size_t *numbers;     /* of roles, by their place in the graph: those of the picture count from 0 */
    struct map subjects; /* text → number + 1 */
    size_t n_subjects;
};

static void add_role(struct picture *p, const struct tree_role *role)
{
    const struct authz_role *r = role->role;
    buf_fmt(p->out, "  r%zu [label=\"", p->numbers[role->at]);
    add_label(p->out, tree_role_title(p->arena, role));
    buf_fmt(p->out, "\\n%zu rule%s", r->rules.n, r->rules.n == 1 ? "" : "s");
    if (role->package.n) {
        buf_add_str(p->out, S("\\nof "));
        add_label(p->out, role->package);
    }
    buf_fmt(p->out, "\"%s];\n", r->aggregation_rule ? ", style=\"rounded,filled\", fillcolor=\"#dbeafe\"" : "");
}

static size_t subject_number(struct picture *p, str text)
{
    uintptr_t number = (uintptr_t)map_get(&p->subjects, text);
    if (number)
        return number - 1;
    buf_fmt(p->out, "  s%zu [shape=ellipse, style=filled, fillcolor=\"#fef3c7\", label=\"", p->n_subjects);
    add_label(p->out, text);
    buf_add_str(p->out, S("\"];\n"));
    map_set(&p->subjects, text, (void *)(p->n_subjects + 1)); /* NOLINT(performance-no-int-to-ptr): a number is kept */
    return p->n_subjects++;
}

static void add_edges(struct picture *p, const struct tree_role *role)
{
    vec_each(&role->into, link)
    {
        if (p->reach->reached[link->role->at])
            buf_fmt(p->out, "  r%zu -> r%zu;\n", p->numbers[role->at], p->numbers[link->role->at]);
    }
    for (size_t i = 0; p->reach->bound[role->at] && i < role->bound.n; i++) {
        const struct tree_bound *bound = &role->bound.p[i];
        size_t subject = subject_number(p, authz_subject_title(p->arena, &bound->subject));
        buf_fmt(p->out, "  r%zu -> s%zu [style=dashed", p->numbers[role->at], subject);
        if (bound->kind == AUTHZ_ROLE_BINDING) {
            buf_add_str(p->out, S(", label=\"in "));
            add_label(p->out, bound->namespace);
            buf_add_char(p->out, '"');
        }
        buf_add_str(p->out, S("];\n"));
    }
}

void tree_dot(struct buf *b, const struct tree_view *view)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct tree_reach reach = tree_view_reach(&scratch, view);
    struct picture p = {
        .out = b, .arena = &scratch, .reach = &reach, .numbers = ARENA_ARRAY(&scratch, size_t, view->graph->n)};
    for (size_t i = 0; i < reach.roles.n; i++)
        p.numbers[reach.roles.p[i]->at] = i;
    buf_add_str(b, S("digraph reeve {\n"
                     "  graph [rankdir=LR, charset=\"UTF-8\", fontname=\"sans-serif\", label=\""));
    add_label(b, tree_title(&scratch, view));
    buf_add_str(b, S("\"];\n"
                     "  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n"
                     "  edge [color=\"#64748b\", fontname=\"sans-serif\", fontsize=9];\n"));
    vec_each(&reach.roles, role) add_role(&p, *role);
    vec_each(&reach.roles, role) add_edges(&p, *role);
    buf_add_str(b, S("}\n"));
    map_done(&p.subjects);
}

/* ---- HTML. ---- */

static void add_html(struct buf *b, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        switch (text.p[i]) {
        case '&':
            buf_add_str(b, S("&amp;"));
            break;
        case '<':
            buf_add_str(b, S("&lt;"));
            break;
        case '>':
            buf_add_str(b, S("&gt;"));
            break;
        case '"':
            buf_add_str(b, S("&quot;"));
            break;
        default:
            buf_add_char(b, text.p[i]);
        }
    }
}

/* Its own text only: without what stands in front of it in a file of its own. */
static str picture_of(str svg)
{
    ptrdiff_t start = str_find(svg, S("<svg"));
    return start < 0 ? (str){0} : str_from(svg, (size_t)start);
}

/* The policy keeps the page from running or fetching anything, should an escape ever be missed. */
void tree_page(struct buf *b, const struct tree_view *view, str svg)
{
    static const struct term plain = {.has_utf8 = true};
    struct arena scratch ARENA_SCOPE = {0};
    struct buf title = {.arena = &scratch}, drawing = {.arena = &scratch};
    cli_add_visibly(&title, tree_title(&scratch, view));
    tree_draw(&drawing, &plain, view, true);
    buf_add_str(b, S("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\""
                     " content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>"));
    add_html(b, buf_str(&title));
    buf_add_str(b, S("</title>\n<style>body{font-family:sans-serif;margin:2rem}pre{overflow:auto;line-height:1.2}"
                     "svg{max-width:100%;height:auto}</style>\n</head>\n<body>\n<h1>"));
    add_html(b, buf_str(&title));
    buf_add_str(b, S("</h1>\n"));
    buf_add_str(b, picture_of(svg));
    buf_add_str(b, S("<pre>"));
    add_html(b, buf_str(&drawing));
    buf_add_str(b, S("</pre>\n</body>\n</html>\n"));
}
