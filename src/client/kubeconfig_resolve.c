/* SPDX-License-Identifier: Apache-2.0 */
/* From a context to its server and user. Judged as client-go does, and in its words where it has some. */
#include "client/kubeconfig_internal.h"

#include "base/rune.h"
#include "client/header.h"
#include "object/name.h"

#include <assert.h>

/* All that is wrong, so that a file is mended in one go. */
struct faults {
    struct arena *arena;
    str file; /* the one being looked at */
    VEC(str) list;
};

__attribute__((format(printf, 2, 3))) static void fault(struct faults *f, const char *fmt, ...)
{
    struct buf b = {.arena = f->arena};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&b, fmt, args);
    va_end(args);
    if (f->file.n)
        buf_fmt(&b, " (in %.*s)", STR(f->file));
    *vec_push(f->arena, &f->list) = buf_str(&b);
}

static int faults_report(const struct faults *f, struct err *err)
{
    struct buf b = {.arena = f->arena};
    if (f->list.n == 0)
        return 0;
    for (size_t i = 0; i < f->list.n; i++) {
        buf_add_str(&b, i ? S(", ") : S(""));
        buf_add_str(&b, f->list.p[i]);
    }
    return err_set(err, ERR_INVALID, f->list.n == 1 ? "invalid configuration: %.*s" : "invalid configuration: [%.*s]",
                   STR(buf_str(&b)));
}

/* " (in a:b)", or nothing without files. */
static str in_files(const struct kubeconfig *k)
{
    struct buf b = {.arena = k->arena};
    for (size_t i = 0; i < k->files.n; i++) {
        buf_add_str(&b, i ? S(":") : S(" (in "));
        buf_add_str(&b, k->files.p[i]);
    }
    buf_add_str(&b, k->files.n ? S(")") : S(""));
    return buf_str(&b);
}

/* ---- Users. ---- */

static bool has_certificate(const struct kubeconfig_user *u)
{
    return u->certificate_file.n || u->certificate_pem.n;
}

static bool has_basic(const struct kubeconfig_user *u)
{
    return u->username.n || u->password.n;
}

static bool has_token(const struct kubeconfig_user *u)
{
    return u->token.n || u->token_file.n;
}

/* A plugin is only asked where there is nothing else. */
static bool needs_exec(const struct kubeconfig_user *u)
{
    return u->has_exec && !has_token(u) && !has_basic(u) && !has_certificate(u);
}

static void check_certificate(struct faults *f, str name, const struct kubeconfig_user *u)
{
    if (!has_certificate(u))
        return;
    if (u->certificate_file.n && u->certificate_pem.n)
        fault(f, "client-cert-data and client-cert are both specified for %.*s. client-cert-data will override.",
              STR(name));
    if (u->key_file.n && u->key_pem.n)
        fault(f, "client-key-data and client-key are both specified for %.*s; client-key-data will override",
              STR(name));
    if (u->key_file.n == 0 && u->key_pem.n == 0)
        fault(f,
              "client-key-data or client-key must be specified for %.*s to use the clientCert authentication method.",
              STR(name));
}

static bool is_exec_version(str v)
{
    return str_eq(v, S("client.authentication.k8s.io/v1")) || str_eq(v, S("client.authentication.k8s.io/v1beta1"));
}

static void check_interactive(struct faults *f, str name, const struct kubeconfig_user *u)
{
    str mode = u->interactive_mode;
    /* v1 wants to be told; before it the mode had a default. */
    if (mode.n == 0 && str_eq(u->exec.api_version, S("client.authentication.k8s.io/v1beta1")))
        return;
    if (mode.n == 0)
        fault(f, "interactiveMode must be specified for %.*s to use exec authentication plugin", STR(name));
    else if (str_eq(mode, S("Always")) && needs_exec(u))
        fault(f, "exec plugin cannot support interactive mode: standard input is not a terminal");
    else if (!str_eq(mode, S("Never")) && !str_eq(mode, S("IfAvailable")) && !str_eq(mode, S("Always")))
        fault(f, "invalid interactiveMode for %.*s: \"%.*s\"", STR(name), STR(mode));
}

static void check_exec(struct faults *f, str name, const struct kubeconfig_user *u)
{
    const struct client_exec *e = &u->exec;
    if (!u->has_exec)
        return;
    if (e->command.n == 0)
        fault(f, "command must be specified for %.*s to use exec authentication plugin", STR(name));
    if (e->api_version.n == 0)
        fault(f, "apiVersion must be specified for %.*s to use exec authentication plugin", STR(name));
    else if (!is_exec_version(e->api_version))
        fault(f, "exec plugin: invalid apiVersion \"%.*s\"", STR(e->api_version));
    for (size_t i = 0; i < e->n_env; i++) {
        if (e->env[i].name.n == 0 || str_find_char(e->env[i].name, '=') >= 0) {
            fault(f, "env variable name must be specified for %.*s to use exec authentication plugin", STR(name));
            break;
        }
    }
    check_interactive(f, name, u);
}

static bool are_header_values(const str *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!header_is_value(p[i]))
            return false;
    }
    return true;
}

static void check_impersonation(struct faults *f, str name, const struct kubeconfig_user *u)
{
    bool ok = header_is_value(u->as) && header_is_value(u->as_uid) && are_header_values(u->as_groups.p, u->as_groups.n);
    for (size_t i = 0; i < u->as_extra.n; i++)
        ok = ok && are_header_values(u->as_extra.p[i].values, u->as_extra.p[i].n);
    if (!ok)
        fault(f, "as, as-uid, as-groups or as-user-extra of user %.*s holds a control character", STR(name));
    if (u->as.n == 0 && (u->as_uid.n || u->as_groups.n || u->as_extra.n))
        fault(f, "requesting uid, groups or user-extra for %.*s without impersonating a user", STR(name));
}

static void check_user(struct faults *f, str name, const struct kubeconfig_user *u)
{
    f->file = u->file;
    check_certificate(f, name, u);
    check_exec(f, name, u);
    if (u->has_auth_provider)
        fault(f, "auth-provider \"%.*s\" of user %.*s is not supported, exec plugins are", STR(u->auth_provider),
              STR(name));
    if (u->token.n && has_basic(u))
        fault(f, "more than one authentication method found for %.*s; found [token basicAuth], only one is allowed",
              STR(name));
    else if (has_token(u) && has_basic(u))
        fault(f, "username/password or bearer token may be set, but not both");
    if (!header_is_value(u->token))
        fault(f, "token of user %.*s holds a control character", STR(name));
    check_impersonation(f, name, u);
}

/* Sequences that move a terminal's cursor or colour it have no place in a hint: "\e[1m" becomes "U+001B[1m". */
static str visible(struct arena *a, str s)
{
    struct buf b = {.arena = a};
    while (s.n) {
        str rest = s;
        uint32_t r = rune_next(&rest);
        if (rune_is_print(r) || (r >= '\t' && r <= '\r'))
            buf_add(&b, s.p, s.n - rest.n);
        else
            buf_fmt(&b, "U+%04X", r);
        s = rest;
    }
    return buf_str(&b);
}

static void take_user(struct arena *a, const struct kubeconfig_user *u, const struct kubeconfig_cluster *cluster,
                      struct client_config *ret)
{
    if (has_certificate(u)) {
        ret->certificate_file = u->certificate_file;
        ret->certificate_pem = u->certificate_pem;
        ret->key_file = u->key_file;
        ret->key_pem = u->key_pem;
    }
    ret->token = u->token;
    ret->token_file = u->token_file;
    ret->has_basic = has_basic(u);
    ret->username = u->username;
    ret->password = u->password;
    if (needs_exec(u)) {
        struct client_exec *exec = ARENA_NEW(a, struct client_exec);
        *exec = u->exec;
        exec->install_hint = visible(a, exec->install_hint);
        exec->cluster_config = cluster->exec_config;
        ret->exec = exec;
    }
}

/* ---- Clusters and contexts. ---- */

static void check_cluster(struct faults *f, str name, const struct kubeconfig_cluster *c, struct client_config *ret)
{
    struct err why;
    f->file = c->file;
    if (c->server.n == 0)
        fault(f, "no server found for cluster \"%.*s\"", STR(name));
    else if (client_config_set_server(f->arena, c->server, ret, &why) < 0)
        fault(f, "%s for cluster \"%.*s\"", why.msg, STR(name));
    if (c->proxy_url.n)
        fault(f, "'proxy-url' for cluster \"%.*s\" is not supported", STR(name));
    if (c->ca_file.n && c->ca_pem.n)
        fault(f,
              "certificate-authority-data and certificate-authority are both specified for %.*s. "
              "certificate-authority-data will override.",
              STR(name));
    if ((c->ca_file.n || c->ca_pem.n) && c->insecure)
        fault(f, "specifying a root certificates file with the insecure flag is not allowed");
}

static void take_cluster(const struct kubeconfig_cluster *c, struct client_config *ret)
{
    ret->given_server_name = c->tls_server_name;
    ret->server_name = c->tls_server_name.n ? c->tls_server_name : ret->host;
    ret->insecure = c->insecure;
    ret->disable_compression = c->disable_compression;
    ret->ca_file = c->ca_file;
    ret->ca_pem = c->ca_pem;
}

static const struct kubeconfig_context *choose(struct kubeconfig *k, str wanted, str *ret_name, struct err *err)
{
    *ret_name = wanted.n ? wanted : k->current_context;
    const struct kubeconfig_context *c = ret_name->n ? map_get(&k->contexts, *ret_name) : NULL;
    if (c)
        return c;
    if (ret_name->n == 0)
        err_set(err, ERR_NOT_FOUND, "no context chosen%.*s", STR(in_files(k)));
    else if (wanted.n)
        err_set(err, ERR_NOT_FOUND, "context \"%.*s\" does not exist%.*s", STR(wanted), STR(in_files(k)));
    else
        err_set(err, ERR_NOT_FOUND, "invalid configuration: context was not found for specified context: %.*s%.*s",
                STR(*ret_name), STR(in_files(k)));
    return NULL;
}

/* What the context names, as far as it is there. */
static void check_context(struct kubeconfig *k, struct faults *f, str name, const struct kubeconfig_context *c)
{
    f->file = c->file;
    if (c->user.n && map_get(&k->users, c->user) == NULL)
        fault(f, "user \"%.*s\" was not found for context \"%.*s\"", STR(c->user), STR(name));
    if (c->cluster.n == 0)
        fault(f, "cluster was not specified for context \"%.*s\"", STR(name));
    else if (map_get(&k->clusters, c->cluster) == NULL)
        fault(f, "cluster \"%.*s\" was not found for context \"%.*s\"", STR(c->cluster), STR(name));
    if (c->namespace.n && !name_is(NAME_DNS_LABEL, c->namespace))
        fault(f, "namespace \"%.*s\" for context \"%.*s\" does not conform to the kubernetes DNS_LABEL rules",
              STR(c->namespace), STR(name));
}

bool kubeconfig_has_context(const struct kubeconfig *k, str context)
{
    return context.n || k->current_context.n;
}

int kubeconfig_resolve(struct kubeconfig *k, str context, struct client_config *ret, struct err *err)
{
    static const struct kubeconfig_user nobody;
    struct err mine;
    struct faults f = {.arena = k->arena};
    struct client_config found = {0};
    err = err ? err : &mine;
    const struct kubeconfig_context *c = choose(k, context, &found.context, err);
    if (c == NULL)
        return err->code;
    const struct kubeconfig_user *user = c->user.n ? map_get(&k->users, c->user) : &nobody;
    const struct kubeconfig_cluster *cluster = map_get(&k->clusters, c->cluster);
    check_context(k, &f, found.context, c);
    if (user)
        check_user(&f, c->user, user);
    if (cluster)
        check_cluster(&f, c->cluster, cluster, &found);
    if (faults_report(&f, err) < 0)
        return err->code;
    assert(user && cluster);
    found.cluster = c->cluster;
    found.user = c->user;
    found.namespace = c->namespace;
    found.as = (struct client_impersonation){user->as,          user->as_uid,     user->as_groups.p,
                                             user->as_groups.n, user->as_extra.p, user->as_extra.n};
    /* What can be read on the way is shown to nobody. */
    if (found.is_tls) {
        take_user(k->arena, user, cluster, &found);
        take_cluster(cluster, &found);
    }
    *ret = found;
    return 0;
}
