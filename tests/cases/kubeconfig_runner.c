/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of finding the server and the user. Everything happens in a new folder, which is called $ROOT in env and in what comes
 * out, and which is the current folder:
 *
 *     --- file PATH                              a file in there; folders are made; for pods var/run/secrets/…
 *     --- env                                    lines NAME=value; HOME is $ROOT/home unless it is set here
 *     --- when [kubeconfig=FILE] [context=NAME]  --kubeconfig and --context
 *     --- expect                                 one line for each thing that is set; or "error: " and its text */
#include "cases/case.h"
#include "client/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Replaces all `what` by `with`. */
static str replaced(struct arena *a, str text, str what, str with)
{
    struct buf b = {.arena = a};
    for (ptrdiff_t at; what.n && (at = str_find(text, what)) >= 0;) {
        buf_add_str(&b, str_upto(text, (size_t)at));
        buf_add_str(&b, with);
        text = str_from(text, (size_t)at + what.n);
    }
    buf_add_str(&b, text);
    return buf_str(&b);
}

static void make_folders(const char *path)
{
    char *copy = strdup(path);
    for (char *p = strchr(copy + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
            abort();
        *p = '/';
    }
    free(copy);
}

static void make_file(struct case_file *c, const struct case_section *file, str root)
{
    char *path = str_cstr(c->arena, str_fmt(c->arena, "%.*s/%.*s", STR(root), STR(file->args)));
    str text = replaced(c->arena, file->text, S("$ROOT"), root);
    make_folders(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text.n ? text.p : "", text.n) != (ssize_t)text.n)
        case_fail(c, file, "%s: %m", path);
    if (fd >= 0)
        close(fd);
}

static const char *const *make_env(struct case_file *c, const struct case_section *env, str root)
{
    VEC(const char *) vars = {0};
    str line, rest = env ? replaced(c->arena, env->text, S("$ROOT"), root) : (str){0};
    while (rest.n) {
        (void)str_cut(rest, '\n', &line, &rest);
        *vec_push(c->arena, &vars) = str_cstr(c->arena, line);
    }
    *vec_push(c->arena, &vars) = str_cstr(c->arena, str_fmt(c->arena, "HOME=%.*s/home", STR(root)));
    *vec_push(c->arena, &vars) = NULL;
    return vars.p;
}

static void tell(struct buf *b, const char *name, str value)
{
    if (value.n)
        buf_fmt(b, "%s: %.*s\n", name, STR(value));
}

static void tell_list(struct buf *b, const char *name, const str *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "%s: %.*s\n", name, STR(p[i]));
}

static void tell_exec(struct buf *b, const struct client_exec *e)
{
    tell(b, "exec", e->command);
    tell_list(b, "exec arg", e->args, e->n_args);
    for (size_t i = 0; i < e->n_env; i++)
        buf_fmt(b, "exec env: %.*s=%.*s\n", STR(e->env[i].name), STR(e->env[i].value));
    tell(b, "exec version", e->api_version);
    tell(b, "exec hint", e->install_hint);
    tell(b, "exec cluster info", e->provide_cluster_info ? S("yes") : S(""));
    tell(b, "exec cluster config", e->cluster_config);
}

static void tell_as(struct buf *b, const struct client_impersonation *as)
{
    tell(b, "as", as->user);
    tell(b, "as uid", as->uid);
    tell_list(b, "as group", as->groups, as->n_groups);
    for (size_t i = 0; i < as->n_extra; i++) {
        buf_fmt(b, "as extra %.*s:", STR(as->extra[i].key));
        for (size_t j = 0; j < as->extra[i].n; j++)
            buf_fmt(b, " %.*s", STR(as->extra[i].values[j]));
        buf_add_char(b, '\n');
    }
}

static void tell_config(struct buf *b, const struct client_config *c)
{
    buf_fmt(b, "%s: %.*s port %d\n", c->is_tls ? "https" : "http", STR(c->host), c->port);
    tell(b, "base path", c->base_path);
    tell(b, "server name", c->given_server_name);
    tell(b, "insecure", c->insecure ? S("yes") : S(""));
    tell(b, "ca file", c->ca_file);
    tell(b, "ca", c->ca_pem);
    tell(b, "certificate file", c->certificate_file);
    tell(b, "certificate", c->certificate_pem);
    tell(b, "key file", c->key_file);
    tell(b, "key", c->key_pem);
    tell(b, "token file", c->token_file);
    tell(b, "token", c->token);
    if (c->has_basic)
        buf_fmt(b, "basic: %.*s %.*s\n", STR(c->username), STR(c->password));
    if (c->exec)
        tell_exec(b, c->exec);
    tell_as(b, &c->as);
    tell(b, "namespace", c->namespace);
}

static void run_in(struct case_file *c, str root)
{
    const struct case_section *when = NULL, *expect = NULL, *file = NULL;
    while ((file = case_find(c, file, S("file"))))
        make_file(c, file, root);
    while ((when = case_find(c, expect, S("when")))) {
        const struct case_section *env = case_find(c, expect, S("env"));
        if ((expect = case_find(c, when, S("expect"))) == NULL) {
            case_fail(c, when, "no expectation");
            return;
        }
        struct client_config_args args = {
            .kubeconfig = case_arg(when, S("kubeconfig")),
            .context = case_arg(when, S("context")),
            .env = make_env(c, env && env->line < when->line ? env : NULL, root),
            .root = root,
        };
        struct buf got = {.arena = c->arena};
        struct client_config config;
        struct err err;
        if (client_config_load(c->arena, &args, &config, &err) < 0)
            buf_fmt(&got, "error: %s", err.msg);
        else
            tell_config(&got, &config);
        case_expect(c, expect, replaced(c->arena, buf_str(&got), root, S("$ROOT")));
    }
}

static int forget(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static void run(struct case_file *c)
{
    char root[] = "/tmp/kubeconfig-cases.XXXXXX";
    int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (back < 0 || mkdtemp(root) == NULL || chdir(root) < 0)
        abort();
    run_in(c, str_of(root));
    if (fchdir(back) < 0 || nftw(root, forget, 8, FTW_DEPTH | FTW_PHYS) < 0)
        abort();
    close(back);
}

int main(int argc, char **argv)
{
    return case_main(argc, argv, run);
}
