/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_package.h"
#include "base/shell.h"
#include "cli/cli_output.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/term.h"
#include "oci/fetch_op.h"
#include "oci/layout.h"
#include "oci/reference.h"
#include "package/lint.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* reeve package lint: what an author should know before others find out. Findings are the data, so they go to standard output. */

struct linting {
    struct command *command;
    struct package_flags images;
    str tag;
    bool is_strict, pass_full_deployment;
    int output;
    const char *what;
    str root; /* in front of the files of a directory, so that they can be opened; empty for an image */
};

static const char *const outputs[] = {"text", "json", "yaml", NULL};
enum { TEXT, JSON, YAML };

/* ---- Text: "FILE: finding", as compilers have it. ---- */

/* A package may have its files in the directory itself, without .registry in between. */
static void find_root(struct linting *l)
{
    struct arena *a = &l->command->arena;
    if (l->what && package_is_directory(l->what))
        l->root = str_fmt(a, "%s%s", l->what, l->what[strlen(l->what) - 1] == '/' ? "" : "/");
}

static str file_of(struct linting *l, str file)
{
    struct arena *a = &l->command->arena;
    if (file.n == 0)
        return str_of(l->what);
    if (l->root.n == 0)
        return file;
    str outer = str_fmt(a, "%.*s.registry", STR(l->root)), inner = file;
    if (str_has_prefix(file, S(".registry/")) && access(str_cstr(a, outer), F_OK) != 0)
        inner = str_from(file, sizeof ".registry/" - 1);
    return str_fmt(a, "%.*s%.*s", STR(l->root), STR(inner));
}

static void add_text(struct buf *out, struct linting *l, const struct lint *lint, bool only_errors)
{
    vec_each(&lint->list, f)
    {
        if ((f->is_warning || f->is_note) && only_errors)
            continue;
        term_add(out, &l->command->term, STYLE_NAME, file_of(l, f->file));
        buf_add_str(out, S(": "));
        if (f->is_warning)
            term_add(out, &l->command->term, STYLE_WARN, S("warning: "));
        else if (f->is_note)
            term_add(out, &l->command->term, STYLE_FAINT, S("note: "));
        cli_add_visibly(out, f->message);
        buf_add_char(out, '\n');
    }
    if (lint->more)
        buf_fmt(out, "%s: and %zu more\n", l->what, lint->more);
}

static void print_text(struct linting *l, const struct lint *lint)
{
    struct buf out = {0};
    add_text(&out, l, lint, false);
    output_text(buf_str(&out));
    buf_done(&out);
}

/* ---- For programs. ---- */

static str severity_of(const struct lint_finding *f)
{
    return f->is_note ? S("note") : f->is_warning ? S("warning") : S("error");
}

static struct json tree_of(struct linting *l, const struct lint *lint)
{
    struct arena *a = &l->command->arena;
    struct json tree = document_new(a, "PackageLint"), list = json_arr();
    vec_each(&lint->list, f)
    {
        struct json item = json_obj();
        json_add(a, &item, S("severity"), json_str(severity_of(f)));
        if (f->file.n)
            json_add(a, &item, S("file"), json_str(file_of(l, f->file)));
        document_add_text(a, &item, "reason", f->reason);
        json_add(a, &item, S("message"), json_str(f->message));
        json_push(a, &list, item);
    }
    json_add(a, &tree, S("package"), json_str(str_of(l->what)));
    json_add(a, &tree, S("errors"), json_uint(lint->wrong));
    json_add(a, &tree, S("warnings"), json_uint(lint->warnings));
    json_add(a, &tree, S("findings"), list);
    return tree;
}

/* ---- The command. ---- */

/* Errors begin with the directory or image, which findings do not. */
static str without_name(struct linting *l, const struct err *err)
{
    struct arena *a = &l->command->arena;
    str message = str_dup(a, str_of(err->msg)), name = str_fmt(a, "%s: ", l->what);
    return str_has_prefix(message, name) ? str_from(message, name.n) : message;
}

/* What cannot be read as a package at all is a finding, too. */
static int look(struct linting *l, struct package_source *source, struct lint *ret, struct err *err)
{
    struct command *c = l->command;
    *ret = (struct lint){.arena = &c->arena};
    if (package_source_open(c, &l->images, l->what, l->tag, source, err) == 0)
        package_lint(&c->arena, source->package, (struct plan_options){.pass_full_deployment = l->pass_full_deployment},
                     ret);
    else if (err->code == ERR_INVALID)
        package_lint_add(ret, S("InvalidPackage"), without_name(l, err));
    else
        return err->code;
    return 0;
}

static int lint(struct linting *l)
{
    struct command *c = l->command;
    struct package_source source = {0};
    struct lint found;
    struct err err;
    find_root(l);
    if (look(l, &source, &found, &err) < 0)
        return err.code == ERR_BAD_REQUEST ? command_misused(c, "%s", err.msg) : command_fail(c, &err);
    if (l->output == TEXT) {
        print_text(l, &found);
    } else {
        struct json tree = tree_of(l, &found);
        output_tree(&tree, l->output == YAML);
    }
    term_say(&c->term, "%s: %zu error%s, %zu warning%s", l->what, found.wrong, found.wrong == 1 ? "" : "s",
             found.warnings, found.warnings == 1 ? "" : "s");
    package_source_close(&source);
    return found.wrong || (l->is_strict && found.warnings) ? CLI_FAILED : CLI_OK;
}

/* Whether an install would accept the package in a directory; else all that is wrong is printed on standard error and the exit code is
 * CLI_FAILED. CLI_OK: it would. */
static int package_lint_directory(struct command *c, const struct package_flags *images, const char *directory, str tag,
                                  bool pass_full_deployment)
{
    struct linting l = {
        .command = c, .images = *images, .tag = tag, .pass_full_deployment = pass_full_deployment, .what = directory};
    struct package_source source = {0};
    struct lint found;
    struct buf text = {.arena = &c->arena};
    struct err err;
    l.images.is_quick = true;
    find_root(&l);
    if (package_source_open(c, &l.images, directory, tag, &source, &err) < 0)
        return err.code == ERR_BAD_REQUEST ? command_misused(c, "%s", err.msg) : command_fail(c, &err);
    package_lint(&c->arena, source.package, (struct plan_options){.pass_full_deployment = pass_full_deployment},
                 &found);
    package_source_close(&source);
    if (found.wrong == 0)
        return CLI_OK;
    add_text(&text, &l, &found, true);
    term_complain(c->name, "%s: %zu error%s: no install would accept this package; nothing was built\n%.*s", directory,
                  found.wrong, found.wrong == 1 ? "" : "s", STR(str_upto(buf_str(&text), text.n - 1)));
    return CLI_FAILED;
}

static int package_lint_files(int argc, char **argv)
{
    struct command command = {
        .name = "package lint", .takes = TAKES_TIMEOUT, .timeout_ns = PACKAGE_TIMEOUT_SECONDS * NS_PER_S};
    struct linting l = {.command = &command, .images = {.is_quick = true}};
    const struct flag flags[] = {
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &l.output, .words = outputs},
        {.name = "strict", .kind = FLAG_YES, .into = &l.is_strict},
        {.name = "insecure-pass-full-deployment", .kind = FLAG_YES, .into = &l.pass_full_deployment},
        {.letter = 't', .name = "tag", .kind = FLAG_TEXT, .into = &l.tag},
        PACKAGE_FLAGS(&l.images),
    };
    struct flag_words words;
    int code = command_start(&command, flags, COUNT(flags), argc, argv, &words);
    if (!command.is_over && words.n != 1) {
        code = command_misused(&command, "name one directory or image");
    } else if (!command.is_over) {
        l.what = words.p[0];
        code = lint(&l);
    }
    return command_end(&command, code);
}

/* reeve package build, push, pull: images of packages between directories, the local store and registries. The work is done by
 * reeve-fetch; here it is told how far it has come. The digest is the only line on standard output. */

enum { DIGITS_TOLD = 12 };

struct moving {
    struct command command;
    struct package_flags images;
    str tag;
    struct oci_request request;
    struct progress_step steps[2]; /* what is moved, and the image as a whole */
    struct progress progress;
};

/* ---- How far it has come. ---- */

/* Files are told when they all are read. There may always be another layer: an index is pushed manifest by manifest. */
static void see(void *ctx, const struct oci_progress *now)
{
    struct moving *m = ctx;
    bool is_over = now->step == OCI_STEP_FILES;
    m->steps[0].state = is_over ? PROGRESS_DONE : PROGRESS_RUNNING;
    m->steps[1].state = is_over ? PROGRESS_RUNNING : PROGRESS_AHEAD;
    m->steps[0].at = now->at;
    m->steps[0].of = now->of;
    m->steps[0].bytes = now->bytes;
    m->steps[0].bytes_of = now->bytes_of;
    progress_show(&m->progress);
}

/* digest: its beginning is told; all of it is the output. */
static void see_end(struct moving *m, int code, str digest)
{
    for (size_t i = 0; i < 2 && code < 0; i++) {
        if (m->steps[i].state == PROGRESS_RUNNING)
            m->steps[i].state = PROGRESS_FAILED;
    }
    if (code == 0) {
        m->steps[0].state = m->steps[1].state = PROGRESS_DONE;
        m->steps[1].note = str_upto(digest, sizeof "sha256:" - 1 + DIGITS_TOLD);
    }
    progress_show(&m->progress);
    progress_end(&m->progress);
}

/* ---- The work. ---- */

/* The store's parents; reeve-fetch makes the store itself. */
static int make_parents(struct arena *a, str path, struct err *err)
{
    char *copy = str_cstr(a, path);
    for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            return err_set(err, ERR_IO, "make directory %s: %m", copy);
        *slash = '/';
    }
    return 0;
}

/* What is not there cannot be pushed: no registry and no credential helper is asked. */
static int check_store(struct moving *m, const struct oci_reference *ref, struct err *err)
{
    struct arena *a = &m->command.arena;
    bool has;
    if (oci_layout_at_has(str_cstr(a, m->request.store), ref, &has, err) < 0)
        return err_wrap(err, "read the local store");
    if (has)
        return 0;
    return err_set(err, ERR_NOT_FOUND,
                   "\"%.*s\" is not in the local store %.*s\n"
                   "hint: build it with \"%s package build DIRECTORY --tag %.*s\"",
                   STR(m->request.reference), STR(m->request.store), help_program(),
                   STR(shell_word(a, m->request.reference)));
}

static int prepare(struct moving *m, enum oci_op op, struct oci_reference *ret, struct err *err)
{
    struct oci_request told = m->request;
    if (oci_reference_parse(told.reference, ret, err) < 0)
        return err->code = ERR_BAD_REQUEST;
    if (package_request(&m->command, &m->images, &m->request, err) < 0)
        return err->code;
    m->request.op = op;
    m->request.reference = told.reference;
    m->request.directory = told.directory;
    int code = op == OCI_PUSH ? check_store(m, ret, err) : make_parents(&m->command.arena, m->request.store, err);
    return code < 0 ? code : package_add_auth(&m->command, &m->images, &m->request, err);
}

/* number: of the signal that was the reason, or 0. What was written on the way to an image is of no use to anybody: the image is
 * whole, or not there. */
static int tell_failed(struct moving *m, int number, struct err *err)
{
    struct command *c = &m->command;
    if (number == 0) {
        (void)package_explain(c, &m->request, err);
        return command_fail(c, err);
    }
    if (m->request.op != OCI_PUSH)
        oci_layout_sweep(str_cstr(&c->arena, m->request.store));
    term_complain(c->name, "interrupted; the same command finishes it");
    return CLI_SIGNALLED + number;
}

static int move(struct moving *m, enum oci_op op)
{
    struct command *c = &m->command;
    struct interrupt interrupt;
    struct oci_reference ref;
    struct oci_digest digest;
    struct fetch_failure failure;
    struct err err;
    if (prepare(m, op, &ref, &err) < 0)
        return err.code == ERR_BAD_REQUEST ? command_misused(c, "%s", err.msg) : command_fail(c, &err);
    m->steps[0].name = op == OCI_BUILD ? "files" : "layers";
    m->steps[1].name = op == OCI_BUILD ? "image" : "manifest";
    m->progress = (struct progress){.term = &c->term, .steps = m->steps, .n = 2};
    interrupt_open(&interrupt);
    const struct fetch_watch watch = {see, m, interrupt.fd};
    int code = fetch_op(NULL, &m->request, &watch, &digest, &failure, &err);
    see_end(m, code, code < 0 ? (str){0} : oci_digest_format(&c->arena, &digest));
    if (code < 0)
        code = tell_failed(m, interrupt_take(&interrupt), &err);
    interrupt_close(&interrupt);
    if (code)
        return code;
    ref = oci_reference_normalize(&c->arena, &ref);
    (void)printf("%.*s/%.*s@%.*s\n", STR(ref.registry), STR(ref.path), STR(oci_digest_format(&c->arena, &digest)));
    return CLI_OK;
}

/* ---- The commands. ---- */

static int start(struct moving *m, const char *name, const struct flag *flags, size_t n, struct flag_words *words,
                 int argc, char **argv)
{
    m->command.name = name;
    m->command.takes = TAKES_TIMEOUT;
    m->command.timeout_ns = PACKAGE_TIMEOUT_SECONDS * NS_PER_S;
    return command_start(&m->command, flags, n, argc, argv, words);
}

/* argv[0] is the verb. */
static int package_build(int argc, char **argv)
{
    struct moving m = {0};
    struct flag_words words;
    bool pass_full_deployment = false;
    const struct flag flags[] = {
        {.name = "insecure-pass-full-deployment", .kind = FLAG_YES, .into = &pass_full_deployment},
        {.letter = 't', .name = "tag", .kind = FLAG_TEXT, .into = &m.tag},
        PACKAGE_FLAGS(&m.images),
    };
    int code = start(&m, "package build", flags, COUNT(flags), &words, argc, argv);
    if (m.command.is_over)
        return command_end(&m.command, code);
    if (words.n != 1) {
        code = command_misused(&m.command, "name one directory");
    } else if (m.tag.n == 0) {
        code = command_misused(&m.command, "missing --tag: use --tag REFERENCE to name the image");
    } else {
        m.request.reference = m.tag;
        m.request.directory = str_of(words.p[0]);
        code = package_lint_directory(&m.command, &m.images, words.p[0], m.tag, pass_full_deployment);
        if (code == CLI_OK)
            code = move(&m, OCI_BUILD);
    }
    return command_end(&m.command, code);
}

static int transfer(const char *name, enum oci_op op, int argc, char **argv)
{
    struct moving m = {0};
    struct flag_words words;
    const struct flag flags[] = {PACKAGE_FLAGS(&m.images)};
    int code = start(&m, name, flags, COUNT(flags), &words, argc, argv);
    if (!m.command.is_over && words.n != 1) {
        code = command_misused(&m.command, "name one image");
    } else if (!m.command.is_over) {
        m.request.reference = str_of(words.p[0]);
        code = move(&m, op);
    }
    return command_end(&m.command, code);
}

static int package_push(int argc, char **argv)
{
    return transfer("package push", OCI_PUSH, argc, argv);
}

static int package_pull(int argc, char **argv)
{
    return transfer("package pull", OCI_COPY, argc, argv);
}

/* reeve package: for those who write packages. */

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"build", package_build},     {"init", package_init}, {"inspect", package_inspect},
    {"lint", package_lint_files}, {"pull", package_pull}, {"push", package_push},
};

enum { VERBS = COUNT(verbs) };

static int unknown(struct command *c, const char *word)
{
    const char *list[VERBS + 1] = {0};
    for (size_t i = 0; i < VERBS; i++)
        list[i] = verbs[i].name;
    const char *nearest = flags_nearest(word, list);
    if (nearest)
        return command_misused(c, "unknown command \"%s\", did you mean \"%s\"?", word, nearest);
    return command_misused(c, "unknown command \"%s\": say build, init, inspect, lint, pull or push", word);
}

int cli_package(int argc, char **argv)
{
    struct command c = {.name = "package"};
    struct flag_words words;
    for (size_t i = 0; argc > 1 && i < VERBS; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    }
    if (argc > 1 && argv[1][0] != '-')
        return command_end(&c, unknown(&c, argv[1]));
    int code = command_start(&c, NULL, 0, argc, argv, &words);
    if (!c.is_over)
        code = command_misused(&c, "say first what to do: build, init, inspect, lint, pull or push");
    return command_end(&c, code);
}
