/* SPDX-License-Identifier: Apache-2.0 */
/* reeve install: asks for a package by an install object, and waits for it if that is wanted.
 *
 *   what is asked for ─► the object: created, changed, unchanged ─► [--wait] until it is ready ─► who may use it now */
#include "cli/install_parts.h"

#include "base/shell.h"
#include "cli/document.h"
#include "cli/help.h"
#include "cli/package_source.h"
#include "object/name.h"
#include "oci/reference.h"

#include <stdio.h>

enum { MINUTES = 5 };

static const int64_t minute = INT64_C(60000000000);

str cli_install_command(struct install *i, str package, const struct installs_target *target)
{
    return str_fmt(&i->c.arena, "%s install %.*s%s%.*s%.*s", help_program(), STR(shell_word(&i->c.arena, package)),
                   i->is_named ? " --name " : "", STR(i->is_named ? i->target.name : (str){0}),
                   STR(cli_installs_flags(&i->c, target)));
}

/* ---- What is asked for. ---- */

static int read_package(struct install *i, const char *word)
{
    struct arena *a = &i->c.arena;
    struct oci_reference ref;
    struct err err;
    i->package = str_of(word);
    str folder = shell_word(a, i->package);
    if (package_is_directory(word)) /* people who have just written one try it first */
        return command_misused(&i->c,
                               "%s is a directory. Make an image of it first, and install that:\n"
                               "  %s package build %.*s -t NAME:VERSION\n  %s install NAME:VERSION",
                               word, help_program(), STR(folder), help_program());
    if (oci_reference_parse(oci_reference_with_source(a, i->package, i->source), &ref, &err) < 0)
        return command_misused(&i->c, "%s: %s", word, err.msg);
    str own = oci_reference_identity(a, &ref, S("-"), NULL).name;
    i->is_named = i->target.name.n && !str_eq(i->target.name, own);
    if (!i->is_named)
        i->target.name = own;
    struct name_faults faults = name_check(NAME_DNS_SUBDOMAIN, i->target.name);
    if (faults.n)
        return command_misused(&i->c, "\"%.*s\" cannot be the name of an install: %s; --name gives it another",
                               STR(i->target.name), faults.texts[0]);
    return CLI_OK;
}

static int read_words(struct install *i, const struct flag_words *words)
{
    if (words->n != 1)
        return command_misused(&i->c, words->n ? "one package at a time" : "which package?");
    if (i->target.is_cluster && i->c.has_namespace)
        return command_misused(&i->c, "-n and --cluster contradict each other: it is for one namespace, or for all");
    if (i->dry_run != DRY_RUN_NONE && i->is_waiting)
        return command_misused(&i->c, "--wait has nothing to wait for with --dry-run");
    i->target.resource = cli_installs_resource(i->target.dialect, i->target.is_cluster);
    return read_package(i, words->p[0]);
}

/* ---- What was done. ---- */

static void print_done(struct install *i)
{
    static const char *const words[] = {
        [INSTALL_CREATED] = "created", [INSTALL_CHANGED] = "configured", [INSTALL_UNCHANGED] = "unchanged"};
    struct arena *a = &i->c.arena;
    str path = cli_installs_path(a, &i->target);
    if (i->output == OUTPUT_NAME)
        output_text(str_fmt(a, "%.*s\n", STR(path)));
    else if (i->output != OUTPUT_JSON && i->output != OUTPUT_YAML)
        output_text(str_fmt(a, "%.*s %s%s\n", STR(path), words[i->done], cli_installs_dry_words[i->dry_run]));
    (void)fflush(stdout); /* before what is said of it */
    if (i->change.n && i->done == INSTALL_CHANGED)
        term_say(&i->c.term, "%.*s.", STR(i->change));
}

/* What a dry run would make is given another uid and time by each: they say nothing, and the same command prints the same. */
static void print_object(struct install *i)
{
    struct json *meta = json_get_mut(&i->object, S("metadata"));
    if (i->output != OUTPUT_JSON && i->output != OUTPUT_YAML)
        return;
    document_trim(&i->object);
    if (i->dry_run == DRY_RUN_SERVER && i->done == INSTALL_CREATED && meta) {
        json_remove(meta, S("uid"));
        json_remove(meta, S("creationTimestamp"));
    }
    output_tree(&i->object, i->output == OUTPUT_YAML);
}

static int ask(struct install *i)
{
    struct err err;
    if (i->dry_run == DRY_RUN_CLIENT) {
        i->object = cli_install_object(i);
        print_done(i);
        return CLI_OK;
    }
    int code = cli_install_write(i, &err);
    if (code < 0 && follow_signal(&i->follow)) {
        term_complain("install", "interrupted before the server answered; this finds out, and goes on:\n  %.*s",
                      STR(cli_install_command(i, i->package, &i->target)));
        return CLI_SIGNALLED + follow_signal(&i->follow);
    }
    if (code < 0) {
        (void)cli_installs_explain(&i->c.arena, &i->target, &err);
        return command_fail(&i->c, &err);
    }
    print_done(i);
    if (i->is_waiting)
        return cli_install_wait(i);
    if (i->dry_run == DRY_RUN_NONE)
        term_say(&i->c.term, "See it through:  %.*s --wait", STR(cli_install_command(i, i->package, &i->target)));
    return CLI_OK;
}

static int run(struct install *i, const struct flag_words *words)
{
    struct err err;
    int code = read_words(i, words);
    if (code != CLI_OK)
        return code;
    if (i->is_waiting)
        follow_catch();
    if (command_connect(&i->c, &err) < 0 || (i->is_waiting && follow_open(&i->follow, &i->c.session, &err) < 0))
        return command_fail(&i->c, &err);
    if (!i->target.is_cluster)
        i->target.namespace = command_namespace(&i->c);
    code = ask(i);
    if (code == CLI_OK)
        print_object(i);
    follow_close(&i->follow);
    return code;
}

int cli_install(int argc, char **argv)
{
    static const char *const policies[] = {"Always", "IfNotPresent", "Never", NULL};
    struct install i = {
        .c = {.name = "install",
              .takes = TAKES_SERVER | TAKES_NAMESPACE | TAKES_TIMEOUT,
              .timeout_ns = MINUTES * minute},
        .target.dialect = &dialect_packages,
    };
    int policy = -1;
    bool is_stack = false;
    const struct flag flags[] = {
        {.name = "cluster", .kind = FLAG_YES, .into = &i.target.is_cluster},
        {.name = "dry-run", .kind = FLAG_WORD, .into = &i.dry_run, .words = cli_installs_dry_runs, .bare = "client"},
        {.name = "name", .kind = FLAG_TEXT, .into = &i.target.name},
        {.letter = 'o', .name = "output", .kind = FLAG_WORD, .into = &i.output, .words = output_words},
        {.name = "pull-policy", .kind = FLAG_WORD, .into = &policy, .words = policies},
        {.name = "pull-secret", .kind = FLAG_TEXTS, .into = &i.secrets},
        {.name = "source", .kind = FLAG_TEXT, .into = &i.source},
        {.name = "stack", .kind = FLAG_YES, .into = &is_stack},
        {.name = "wait", .kind = FLAG_YES, .into = &i.is_waiting},
    };
    struct flag_words words;
    int code = command_start(&i.c, flags, COUNT(flags), argc, argv, &words);
    if (code == CLI_OK && !i.c.is_over) {
        i.policy = policy < 0 ? (str){0} : str_of(policies[policy]);
        i.target.dialect = is_stack ? &dialect_stacks : &dialect_packages;
        code = run(&i, &words);
    }
    return command_end(&i.c, code);
}
