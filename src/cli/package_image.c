/* SPDX-License-Identifier: Apache-2.0 */
/* reeve package build, push, pull: images of packages between directories, the local store and registries. The work is done by
 * reeve-fetch; here it is told how far it has come. The digest is the only line on standard output. */
#include "cli/package.h"

#include "base/shell.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "oci/fetch_op.h"
#include "oci/layout.h"
#include "oci/reference.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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

int package_build(int argc, char **argv)
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

int package_push(int argc, char **argv)
{
    return transfer("package push", OCI_PUSH, argc, argv);
}

int package_pull(int argc, char **argv)
{
    return transfer("package pull", OCI_COPY, argc, argv);
}
