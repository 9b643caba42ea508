/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the configuration: files first, then the pod. */
#include "client/config.h"

#include "base/file.h"
#include "client/kubeconfig.h"
#include "object/name.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

enum { NAMESPACE_MAX_BYTES = 4096 };

str client_env_get(const char *const *env, str name)
{
    for (; env && *env; env++) {
        str var = str_of(*env);
        if (var.n > name.n && var.p[name.n] == '=' && str_has_prefix(var, name))
            return str_from(var, name.n + 1);
    }
    return (str){0};
}

/* ---- Files. ---- */

static str folder_of(struct arena *a, str path)
{
    size_t n = path.n;
    while (n && path.p[n - 1] != '/')
        n--;
    str folder = str_upto(path, n);
    if (path.p[0] == '/')
        return kubeconfig_join(a, folder, (str){0});
    char *cwd = getcwd(NULL, 0);
    str joined = kubeconfig_join(a, str_of(cwd ? cwd : "/"), folder);
    free(cwd);
    return joined;
}

/* Whatever can be read from start to end, pipes of a shell included: this runs before the loop does. */
static int add_file(struct kubeconfig *k, str path, bool may_be_missing, struct err *err)
{
    struct kubeconfig_file file = {.path = path, .folder = folder_of(k->arena, path)};
    int r = file_read(k->arena, path, FILE_ANY, KUBECONFIG_MAX_BYTES, &file.text, err);
    if (r == ERR_NOT_FOUND && may_be_missing)
        return 0;
    return r < 0 ? r : kubeconfig_add(k, &file, err);
}

/* $KUBECONFIG: the same file twice is read once. */
static int add_list(struct kubeconfig *k, str list, struct err *err)
{
    struct map seen __attribute__((cleanup(map_done))) = {0};
    str path;
    size_t n = 0;
    for (bool more = true; more;) {
        more = str_cut(list, ':', &path, &list);
        if (path.n == 0 || map_set(&seen, path, k))
            continue;
        if (++n > KUBECONFIG_MAX_FILES)
            return err_set(err, ERR_TOO_LARGE, "KUBECONFIG names more than %d files", KUBECONFIG_MAX_FILES);
        if (add_file(k, path, true, err) < 0)
            return err->code;
    }
    return 0;
}

static int add_files(struct kubeconfig *k, const struct client_config_args *args, struct err *err)
{
    str list = client_env_get(args->env, S("KUBECONFIG")), home = client_env_get(args->env, S("HOME"));
    if (args->kubeconfig.n)
        return add_file(k, args->kubeconfig, false, err);
    if (list.n)
        return add_list(k, list, err);
    return home.n ? add_file(k, str_fmt(k->arena, "%.*s/.kube/config", STR(home)), true, err) : 0;
}

/* ---- The pod. ---- */

static str account_file(struct arena *a, const struct client_config_args *args, const char *name)
{
    return str_fmt(a, "%.*s" ACCOUNT "/%s", STR(args->root), name);
}

static bool is_in_pod(struct arena *a, const struct client_config_args *args)
{
    struct stat st;
    return client_env_get(args->env, S("KUBERNETES_SERVICE_HOST")).n &&
           client_env_get(args->env, S("KUBERNETES_SERVICE_PORT")).n &&
           stat(str_cstr(a, account_file(a, args, "token")), &st) == 0 && !S_ISDIR(st.st_mode);
}

static str pod_namespace(struct arena *a, const struct client_config_args *args)
{
    str text = client_env_get(args->env, S("POD_NAMESPACE"));
    if (text.n)
        return text;
    if (file_read(a, account_file(a, args, "namespace"), FILE_REGULAR, NAMESPACE_MAX_BYTES, &text, NULL) < 0)
        return (str){0};
    return str_trim(text);
}

static int take_pod(struct arena *a, const struct client_config_args *args, struct client_config *ret, struct err *err)
{
    str host = client_env_get(args->env, S("KUBERNETES_SERVICE_HOST"));
    str port = client_env_get(args->env, S("KUBERNETES_SERVICE_PORT"));
    bool is_v6 = str_find_char(host, ':') >= 0;
    str url = str_fmt(a, is_v6 ? "https://[%.*s]:%.*s" : "https://%.*s:%.*s", STR(host), STR(port));
    *ret = (struct client_config){0};
    if (client_config_set_server(a, url, ret, err) < 0)
        return err_wrap(err, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT");
    ret->token_file = account_file(a, args, "token");
    ret->ca_file = account_file(a, args, "ca.crt");
    return 0;
}

/* ---- All of it. ---- */

int client_config_contexts(struct arena *a, const struct client_config_args *args, const str **ret, size_t *ret_n,
                           struct err *err)
{
    struct kubeconfig k KUBECONFIG_SCOPE = {.arena = a};
    VEC(str) names = {0};
    size_t at = 0;
    str name;
    void *context;
    if (add_files(&k, args, err) < 0)
        return err->code;
    while (map_next(&k.contexts, &at, &name, &context))
        *vec_push(a, &names) = str_dup(a, name);
    *ret = names.p;
    *ret_n = names.n;
    return 0;
}

static int find(struct arena *a, const struct client_config_args *args, bool in_pod, struct client_config *ret,
                struct err *err)
{
    struct kubeconfig k KUBECONFIG_SCOPE = {.arena = a};
    if (add_files(&k, args, err) < 0)
        return err->code;
    if (kubeconfig_has_context(&k, args->context) || args->kubeconfig.n)
        return kubeconfig_resolve(&k, args->context, ret, err);
    if (in_pod)
        return take_pod(a, args, ret, err);
    return err_set(err, ERR_NOT_FOUND,
                   "no configuration has been provided: --kubeconfig is not given, neither KUBECONFIG nor "
                   "$HOME/.kube/config chooses a context, and there is no ServiceAccount of a pod");
}

int client_config_load(struct arena *a, const struct client_config_args *args, struct client_config *ret,
                       struct err *err)
{
    struct err mine;
    struct client_config found = {0};
    bool in_pod = is_in_pod(a, args);
    err = err ? err : &mine;
    if (find(a, args, in_pod, &found, err) < 0)
        return err->code;
    if (found.namespace.n == 0 && in_pod)
        found.namespace = pod_namespace(a, args);
    if (found.namespace.n == 0)
        found.namespace = S("default");
    /* It goes into paths. */
    if (!name_is(NAME_DNS_LABEL, found.namespace))
        return err_set(err, ERR_INVALID, "the namespace of the pod is not a valid name");
    *ret = found;
    return 0;
}
