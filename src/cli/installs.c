/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/installs.h"

#include "base/shell.h"
#include "cli/help.h"

const char *const cli_installs_dry_runs[] = {"none", "client", "server", NULL};
const char *const cli_installs_dry_words[] = {
    [DRY_RUN_NONE] = "", [DRY_RUN_CLIENT] = " (dry run)", [DRY_RUN_SERVER] = " (server dry run)"};

struct client_resource cli_installs_resource(const struct dialect *dialect, bool is_cluster)
{
    const struct dialect_kind *kind = &dialect->install[is_cluster];
    return (struct client_resource){dialect->group, dialect->version, kind->plural, kind->kind, !is_cluster};
}

struct client_ref cli_installs_ref(const struct installs_target *t)
{
    return (struct client_ref){.resource = &t->resource, .namespace = t->namespace, .name = t->name};
}

str cli_installs_title(struct arena *a, const struct installs_target *t)
{
    return str_fmt(a, "%.*s %.*s%s%.*s", STR(t->resource.kind), STR(t->namespace), t->namespace.n ? "/" : "",
                   STR(t->name));
}

str cli_installs_path(struct arena *a, const struct installs_target *t)
{
    return str_fmt(a, "%.*s.%.*s/%.*s", STR(str_lower(a, t->resource.kind)), STR(t->resource.group), STR(t->name));
}

static void add_flag(struct buf *b, const char *flag, str value)
{
    if (value.n == 0)
        return;
    buf_fmt(b, " %s ", flag);
    shell_add_word(b, value);
}

str cli_installs_flags(struct command *c, const struct installs_target *t)
{
    struct buf b = {.arena = &c->arena};
    add_flag(&b, "-n", t->namespace);
    buf_add_str(&b, t->is_cluster ? S(" --cluster") : (str){0});
    buf_add_str(&b, t->dialect == &dialect_stacks ? S(" --stack") : (str){0});
    add_flag(&b, "--kubeconfig", c->server.kubeconfig);
    add_flag(&b, "--context", c->server.context);
    add_flag(&b, "--as", c->server.as);
    vec_each(&c->server.groups, group)
    {
        add_flag(&b, "--as-group", *group);
    }
    return buf_str(&b);
}

void cli_installs_need(struct command *c, const struct installs_target *t, const char *verb)
{
    command_needs(
        c, (struct command_need){
               .verb = verb,
               .group = t->resource.group,
               .resource = t->resource.plural,
               .namespace = t->namespace,
               .name = strcmp(verb, "create") == 0 ? (str){0} : t->name, /* creates have no name to be asked about */
           });
}

int cli_installs_explain(struct arena *a, const struct installs_target *t, struct err *err)
{
    if (err->code == ERR_NOT_FOUND && !client_is_gone(err))
        return err_set(err, ERR_NOT_FOUND,
                       "this server knows no %.*s: \"%s up\" has them; on another Kubernetes they come with\n"
                       "  %s manager --print-crds | kubectl apply -f -\nand somebody has to run \"%s manager\" there",
                       STR(str_fmt(a, "%.*s.%.*s", STR(t->resource.plural), STR(t->resource.group))), help_program(),
                       help_program(), help_program());
    return err->code;
}
