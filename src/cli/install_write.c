/* SPDX-License-Identifier: Apache-2.0 */
/* The object of an install: made, or brought to what is asked for.
 *
 *   is there one of this name? ─ no ──► create                          (somebody was faster: look again)
 *        │ yes
 *        ├─ all is so already ─────────► unchanged
 *        ├─ the same package ──────────► patch, if nobody changed it meanwhile
 *        └─ another package ───────────► refused: what people have there would go */
#include "cli/install_parts.h"

#include "base/shell.h"
#include "cli/help.h"
#include "cli/visible.h"
#include "object/object.h"
#include "oci/reference.h"
#include "package/semver.h"

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

struct json cli_install_object(struct install *i)
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

int cli_install_write(struct install *i, struct err *err)
{
    int code = try(i, err);
    for (unsigned n = 1; n < TRIES && (code == ERR_CONFLICT || code == ERR_ALREADY_EXISTS); n++)
        code = try(i, err);
    return code;
}
