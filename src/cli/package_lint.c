/* SPDX-License-Identifier: Apache-2.0 */
/* reeve package lint: what an author should know before others find out. Findings are the data, so they go to standard output. */
#include "cli/package.h"

#include "cli/document.h"
#include "cli/visible.h"
#include "package/lint.h"

#include <unistd.h>

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
    if (package_is_directory(l->what))
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

int package_lint_directory(struct command *c, const struct package_flags *images, const char *directory, str tag,
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

int package_lint_files(int argc, char **argv)
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
