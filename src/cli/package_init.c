/* SPDX-License-Identifier: Apache-2.0 */
/* reeve package init: writes a package to begin with. All of it or nothing: it is written aside and then moved into place, and what
 * is there stays as it is. */
#include "cli/package.h"

#include "base/shell.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/package_scaffold.h"
#include "cli/read.h"
#include "object/name.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/crd_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const scopes[] = {[PACKAGE_NAMESPACED] = "Namespaced", [PACKAGE_CLUSTER] = "Cluster", NULL};
static const char *const formats[] = {[PACKAGE_FORMAT_REGISTRY] = "registry", [PACKAGE_FORMAT_XPKG] = "xpkg", NULL};

struct initing {
    struct command command;
    str name, image;
    int scope, format;
    bool has_scope;
    flag_texts crd_files;
    const char *directory;
    VEC(struct json) crds;
};

/* ---- What is asked for. ---- */

static int check_name(struct initing *it, struct err *err)
{
    struct oci_reference ref;
    bool is_told = it->name.n > 0;
    if (!is_told)
        it->name = package_directory_name(&it->command.arena, it->directory);
    if (!name_is(NAME_DNS1035_LABEL, it->name))
        return err_set(err, ERR_BAD_REQUEST,
                       "%s \"%.*s\": say --name with small letters, digits and dashes, a letter first",
                       is_told ? "--name" : "the directory's name", STR(it->name));
    if (it->image.n && oci_reference_parse(it->image, &ref, err) < 0) {
        err->code = ERR_BAD_REQUEST;
        return err_wrap(err, "--image");
    }
    return 0;
}

static int check_scope(struct initing *it, struct err *err)
{
    bool is_stream = it->format == PACKAGE_FORMAT_XPKG;
    if (is_stream && it->has_scope && it->scope == PACKAGE_NAMESPACED)
        return err_set(err, ERR_BAD_REQUEST, "--scope Namespaced: an xpkg is for the whole cluster");
    it->scope = is_stream ? PACKAGE_CLUSTER : it->scope;
    return 0;
}

/* Only what a package may bring, so that lint has nothing to say. */
static int take_crd(struct initing *it, const struct read_object *o, struct err *err)
{
    struct arena *a = &it->command.arena;
    struct findings findings = {.arena = a}, warnings = {.arena = a};
    struct crd_checked checked;
    if (!crd_check(a, &o->object, &checked, &findings, &warnings))
        return err_set(err, ERR_INVALID, "%.*s: document %zu: %.*s", STR(o->file), o->document,
                       STR(findings_text(a, &findings)));
    if (!checked.info.is_namespaced && it->scope == PACKAGE_NAMESPACED)
        return err_set(err, ERR_INVALID, "%.*s: CRD %.*s is of cluster scope: say --scope Cluster", STR(o->file),
                       STR(checked.info.name));
    vec_each(&it->crds, other)
    {
        if (str_eq(object_name(other), checked.info.name))
            return err_set(err, ERR_INVALID, "%.*s: CRD %.*s is there twice", STR(o->file), STR(checked.info.name));
    }
    *vec_push(a, &it->crds) = checked.crd;
    return 0;
}

static int read_crds(struct initing *it, struct err *err)
{
    vec_each(&it->crd_files, file)
    {
        read_objects objects = {0};
        if (read_path(&it->command.arena, str_cstr(&it->command.arena, *file), &objects, err) < 0)
            return err->code == ERR_BAD_REQUEST ? (err->code = ERR_INVALID) : err->code;
        vec_each(&objects, o)
        {
            if (take_crd(it, o, err) < 0)
                return err->code;
        }
        if (objects.n == 0)
            return err_set(err, ERR_INVALID, "%.*s: has no CRD", STR(*file));
    }
    return 0;
}

/* ---- Files. ---- */

/* Where the files are while they are written: a directory in the one they are for. */
struct stage {
    struct arena *arena;
    int top; /* the directory they are for */
    const char *path;
    const scaffold_files *files;
    char name[32]; /* of the stage; empty: not made */
    bool is_made;  /* the directory was, too */
};

static str first_part(str path)
{
    str first, rest;
    str_cut(path, '/', &first, &rest);
    return first;
}

static int open_top(struct stage *s, struct err *err)
{
    if (mkdir(s->path, 0777) == 0)
        s->is_made = true;
    else if (errno != EEXIST)
        return err_set(err, ERR_IO, "make directory %s: %m", s->path);
    s->top = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return s->top < 0 ? err_set(err, ERR_IO, "open directory %s: %m", s->path) : 0;
}

/* Nothing is written over. */
static int check_free(const struct stage *s, struct err *err)
{
    static const char *const manifests[] = {".registry", "crossplane.yaml", "package.yaml"};
    struct stat st;
    for (size_t i = 0; i < COUNT(manifests); i++) {
        if (fstatat(s->top, manifests[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
            return err_set(err, ERR_CONFLICT, "%s is a package already: it has %s", s->path, manifests[i]);
    }
    vec_each(s->files, f)
    {
        const char *first = str_cstr(s->arena, first_part(f->path));
        if (fstatat(s->top, first, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return err_set(err, ERR_CONFLICT, "%s/%s is there already, and stays as it is", s->path, first);
    }
    return 0;
}

static int make_stage(struct stage *s, struct err *err)
{
    (void)snprintf(s->name, sizeof s->name, ".reeve-init-%ld", (long)getpid());
    if (mkdirat(s->top, s->name, 0777) == 0)
        return 0;
    s->name[0] = 0;
    return err_set(err, ERR_IO, "make a directory in %s: %m", s->path);
}

static int write_file(const struct stage *s, const struct scaffold_file *f, struct err *err)
{
    str path = str_fmt(s->arena, "%s/%.*s", s->name, STR(f->path));
    char *whole = str_cstr(s->arena, path);
    for (char *slash = strchr(whole + strlen(s->name) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdirat(s->top, whole, 0777) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "make directory %s: %m", whole);
        *slash = '/';
    }
    int fd = openat(s->top, whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (file == NULL)
        return err_set(err, ERR_IO, "write %.*s: %m", STR(f->path));
    bool is_whole = fwrite(f->text.p, 1, f->text.n, file) == f->text.n;
    if (fclose(file) != 0 || !is_whole)
        return err_set(err, ERR_IO, "write %.*s: %m", STR(f->path));
    return 0;
}

/* What is called alike inside and outside of the stage, file by file in the order of their paths. */
static int move_out(const struct stage *s, struct err *err)
{
    str moved = {0};
    vec_each(s->files, f)
    {
        str first = first_part(f->path);
        if (str_eq(first, moved))
            continue;
        const char *from = str_cstr(s->arena, str_fmt(s->arena, "%s/%.*s", s->name, STR(first)));
        if (renameat2(s->top, from, s->top, str_cstr(s->arena, first), RENAME_NOREPLACE) == 0) {
            moved = first;
            continue;
        }
        int code = err_set(err, ERR_IO, "put %.*s into %s: %m", STR(first), s->path);
        if (moved.n) /* there are two at most: what was moved goes back */
            (void)renameat(s->top, str_cstr(s->arena, moved), s->top,
                           str_cstr(s->arena, str_fmt(s->arena, "%s/%.*s", s->name, STR(moved))));
        return code;
    }
    return 0;
}

/* The stage with what is still in it; and the directory, if it is ours and nothing came of it. */
static void clear(struct stage *s, bool has_failed)
{
    for (size_t i = s->files->n; s->name[0] && i-- > 0;) {
        char *path = str_cstr(s->arena, str_fmt(s->arena, "%s/%.*s", s->name, STR(s->files->p[i].path)));
        (void)unlinkat(s->top, path, 0);
        for (char *slash; (slash = strrchr(path, '/'));) {
            *slash = 0;
            (void)unlinkat(s->top, path, AT_REMOVEDIR); /* while others are in it, it stays */
        }
    }
    if (s->name[0])
        (void)unlinkat(s->top, s->name, AT_REMOVEDIR);
    if (s->top >= 0)
        close(s->top);
    if (s->is_made && has_failed)
        (void)rmdir(s->path);
}

/* Signals wait meanwhile: it takes no time. */
static int write_all(struct command *c, const char *path, const scaffold_files *files, struct err *err)
{
    struct stage s = {.arena = &c->arena, .top = -1, .path = path, .files = files};
    struct interrupt interrupt;
    interrupt_hold(&interrupt);
    int code = open_top(&s, err);
    code = code < 0 ? code : check_free(&s, err);
    code = code < 0 ? code : make_stage(&s, err);
    for (size_t i = 0; code == 0 && i < files->n; i++)
        code = write_file(&s, &files->p[i], err);
    code = code < 0 ? code : move_out(&s, err);
    clear(&s, code < 0);
    interrupt_close(&interrupt);
    return code;
}

/* ---- The command. ---- */

static int init(struct initing *it)
{
    struct command *c = &it->command;
    scaffold_files files = {0};
    struct err err;
    if (check_name(it, &err) < 0 || check_scope(it, &err) < 0)
        return command_misused(c, "%s", err.msg);
    if (read_crds(it, &err) < 0)
        return command_fail(c, &err);
    const struct scaffold scaffold = {.name = it->name,
                                      .format = (enum package_format)it->format,
                                      .scope = (enum package_scope)it->scope,
                                      .image = it->image,
                                      .crds = it->crds.p,
                                      .n_crds = it->crds.n};
    package_scaffold(&c->arena, &scaffold, &files);
    if (write_all(c, it->directory, &files, &err) < 0)
        return command_fail(c, &err);
    struct buf out = {0};
    vec_each(&files, f) buf_fmt(&out, "%s/%.*s\n", it->directory, STR(f->path));
    output_text(buf_str(&out));
    buf_done(&out);
    str folder = shell_word(&c->arena, str_of(it->directory));
    term_say(&c->term,
             "Next, when the words in it are yours:\n"
             "  %s package lint %.*s\n"
             "  %s package build %.*s --tag registry.example.org/acme/%.*s:0.1.0",
             help_program(), STR(folder), help_program(), STR(folder), STR(it->name));
    return CLI_OK;
}

/* Paths are shown with one slash behind it. */
static const char *without_slash(struct arena *a, const char *path)
{
    str s = str_of(path);
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    return str_cstr(a, s);
}

int package_init(int argc, char **argv)
{
    struct initing it = {.command = {.name = "package init"}};
    const struct flag flags[] = {
        {.name = "name", .kind = FLAG_TEXT, .into = &it.name},
        {.name = "scope", .kind = FLAG_WORD, .into = &it.scope, .words = scopes, .is_given = &it.has_scope},
        {.name = "format", .kind = FLAG_WORD, .into = &it.format, .words = formats},
        {.name = "crd", .kind = FLAG_TEXTS, .into = &it.crd_files},
        {.name = "image", .kind = FLAG_TEXT, .into = &it.image},
    };
    struct flag_words words;
    int code = command_start(&it.command, flags, COUNT(flags), argc, argv, &words);
    if (!it.command.is_over && words.n != 1) {
        code = command_misused(&it.command, "name one directory");
    } else if (!it.command.is_over) {
        it.directory = without_slash(&it.command.arena, words.p[0]);
        code = init(&it);
    }
    return command_end(&it.command, code);
}
