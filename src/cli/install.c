/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"
#include "cli/cli_output.h"
#include "cli/help.h"
#include "cli/install_internal.h"
#include "cli/package_source.h"
#include "cli/term.h"
#include "object/name.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/semver.h"

#include <stdio.h>

/* The object of an install: made, or brought to what is asked for.
 *
 *   is there one of this name? ─ no ──► create                          (somebody was faster: look again)
 *        │ yes
 *        ├─ all is so already ─────────► unchanged
 *        ├─ the same package ──────────► patch, if nobody changed it meanwhile
 *        └─ another package ───────────► refused: what people have there would go */

enum { TRIES = 5 };

static struct json secrets_of(struct install *i)
{
    struct arena *a = &i->c.arena;
    struct json list = json_arr();
    vec_each(&i->secrets, name)
    {
        struct json one = json_obj();
        json_add(a, &one, S("name"), json_str(*name));
        json_push(a, &list, one);
    }
    return list;
}

/* What was said of it on the command line; the rest is left as it is. */
static struct json spec_of(struct install *i)
{
    struct arena *a = &i->c.arena;
    struct json spec = json_obj();
    json_add(a, &spec, S("package"), json_str(i->package));
    if (i->source.n)
        json_add(a, &spec, S("source"), json_str(i->source));
    if (i->policy.n)
        json_add(a, &spec, S("imagePullPolicy"), json_str(i->policy));
    if (i->secrets.n)
        json_add(a, &spec, S("imagePullSecrets"), secrets_of(i));
    return spec;
}

/* What would be sent. */
static struct json cli_install_object(struct install *i)
{
    struct arena *a = &i->c.arena;
    struct json object = json_obj(), meta = json_obj();
    json_add(a, &meta, S("name"), json_str(i->target.name));
    if (i->target.namespace.n)
        json_add(a, &meta, S("namespace"), json_str(i->target.namespace));
    json_add(a, &object, S("apiVersion"), json_str(client_api_version(a, &i->target.resource)));
    json_add(a, &object, S("kind"), json_str(i->target.resource.kind));
    json_add(a, &object, S("metadata"), meta);
    json_add(a, &object, S("spec"), spec_of(i));
    return object;
}

/* ---- From one version to another. ---- */

/* Who it is, and which version by its name; false: it is no reference. */
static bool identify(struct arena *a, str package, str source, struct oci_identity *ret)
{
    struct oci_reference ref;
    struct err err;
    if (oci_reference_parse(oci_reference_with_source(a, package, source), &ref, &err) < 0)
        return false;
    *ret = oci_reference_identity(a, &ref, ref.tag.n ? ref.tag : ref.digest.n ? ref.digest : S("latest"), NULL);
    return true;
}

static int refuse_family(struct install *i, str there, struct err *err)
{
    struct arena *a = &i->c.arena;
    str place = cli_installs_flags(&i->c, &i->target);
    return err_set(err, ERR_INVALID,
                   "%.*s is another package: %.*s\nBeside it, under another name:\n  %s install %.*s --name NAME%.*s\n"
                   "In its place, when nothing that people made of it is left:\n  %s uninstall %.*s%.*s && %.*s",
                   STR(cli_installs_title(a, &i->target)), STR(cli_visible(a, there)), help_program(),
                   STR(shell_word(a, i->package)), STR(place), help_program(), STR(i->target.name), STR(place),
                   STR(cli_install_command(i, i->package, &i->target)));
}

static const char *way_of(str from, str to)
{
    if (!package_version_is_numbered(from) || !package_version_is_numbered(to))
        return "Change";
    return package_version_compare(from, to) < 0 ? "Upgrade" : "Downgrade";
}

static int check_family(struct install *i, const struct json *now, struct err *err)
{
    struct arena *a = &i->c.arena;
    struct oci_identity was, is;
    str there = json_text(json_dig(now, "spec.package")), source = json_text(json_dig(now, "spec.source"));
    if (!identify(a, there, source, &was) || !identify(a, i->package, i->source.n ? i->source : source, &is))
        return 0; /* what makes no sense may be put right */
    if (!str_eq(was.repo, is.repo) || !str_eq(was.name, is.name))
        return refuse_family(i, there, err);
    if (str_eq(there, i->package))
        return 0;
    str version = json_text(json_dig(now, "status.version"));
    str from = version.n ? version : was.version;
    if (str_eq(json_text(json_dig(now, "status.installedPackage")), i->package))
        i->change = str_fmt(a, "Back to %.*s", STR(is.version));
    else if (str_eq(from, is.version))
        i->change = str_fmt(a, "Change from %.*s to %.*s", STR(there), STR(i->package));
    else
        i->change = str_fmt(a, "%s from %.*s to %.*s", way_of(from, is.version), STR(from), STR(is.version));
    return 0;
}

/* ---- Writing. ---- */

static struct client_write_options options_of(const struct install *i)
{
    return (struct client_write_options){.field_manager = INSTALLS_MANAGER, .dry_run = i->dry_run == DRY_RUN_SERVER};
}

static int create(struct install *i, struct err *err)
{
    struct json object = cli_install_object(i);
    struct client_ref ref = cli_installs_ref(&i->target);
    struct client_write_options options = options_of(i);
    i->done = INSTALL_CREATED;
    int code = client_create(i->c.session.client, &i->c.arena, &ref, &object, &options, &i->object, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        return err_set(err, ERR_INVALID, "there is no namespace %.*s:\n  kubectl create namespace %.*s",
                       STR(i->target.namespace), STR(shell_word(&i->c.arena, i->target.namespace)));
    return code;
}

/* Which fields of spec are another; empty: none. */
static struct json difference(struct install *i, const struct json *now)
{
    struct json want = spec_of(i), spec = json_obj();
    json_each_member(&want, m)
    {
        const struct json *there = json_get(json_get(now, S("spec")), json_key(m));
        if (!there || !json_equal(there, &m->val))
            json_add(&i->c.arena, &spec, json_key(m), m->val);
    }
    return spec;
}

static int change(struct install *i, const struct json *now, struct err *err)
{
    struct arena *a = &i->c.arena;
    if (object_is_deleting(now)) {
        struct installs_state state;
        cli_installs_read(now, &state);
        return err_set(
            err, ERR_INVALID, "%.*s is being uninstalled%s%.*s\nhint: wait for it with \"%s uninstall %.*s%.*s\"",
            STR(cli_installs_title(a, &i->target)), state.message.n ? ": " : "", STR(cli_visible(a, state.message)),
            help_program(), STR(i->target.name), STR(cli_installs_flags(&i->c, &i->target)));
    }
    struct json spec = difference(i, now), patch = json_obj(), meta = json_obj();
    i->done = spec.n ? INSTALL_CHANGED : INSTALL_UNCHANGED;
    i->object = *now;
    int code = check_family(i, now, err);
    if (code < 0 || spec.n == 0)
        return code;
    json_add(a, &meta, S("resourceVersion"), json_str(object_rv(now)));
    json_add(a, &patch, S("metadata"), meta);
    json_add(a, &patch, S("spec"), spec);
    struct client_ref ref = cli_installs_ref(&i->target);
    struct client_patch_args args = {CLIENT_PATCH_MERGE, &patch, options_of(i)};
    i->c.needs.n = 0; /* it need not be created */
    cli_installs_need(&i->c, &i->target, "patch");
    return client_patch(i->c.session.client, a, &ref, &args, &i->object, err);
}

static int try(struct install *i, struct err *err)
{
    struct client_ref ref = cli_installs_ref(&i->target);
    struct json now;
    cli_installs_need(&i->c, &i->target, "get");
    cli_installs_need(&i->c, &i->target, "create");
    int code = client_get(i->c.session.client, &i->c.arena, &ref, &now, err);
    if (code == ERR_NOT_FOUND && client_is_gone(err))
        return create(i, err);
    return code < 0 ? code : change(i, &now, err);
}

/* Makes the object be as it was asked for; object and done are set. */
static int cli_install_write(struct install *i, struct err *err)
{
    int code = try(i, err);
    for (unsigned n = 1; n < TRIES && (code == ERR_CONFLICT || code == ERR_ALREADY_EXISTS); n++)
        code = try(i, err);
    return code;
}

/* reeve install: asks for a package by an install object, and waits for it if that is wanted.
 *
 *   what is asked for ─► the object: created, changed, unchanged ─► [--wait] until it is ready ─► who may use it now */

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
