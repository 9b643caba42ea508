/* SPDX-License-Identifier: Apache-2.0 */
/* What: which API server to talk to, and as whom; and where that is found: kubeconfig files, or the pod one runs in.
 * Owns: nothing; all texts live in the arena given.
 * Threads: plain value; loading blocks on files and belongs before the loop runs.
 * Errors: ERR_NOT_FOUND when there is no configuration, or a file, context, cluster or user that is named does not exist;
 *         ERR_INVALID for one that makes no sense; ERR_BAD_REQUEST for text that is not YAML; ERR_TOO_LARGE; ERR_IO. The file is
 *         named, secrets are not.
 *
 * Where a configuration comes from, the first that says something:
 *
 *   --kubeconfig FILE       must exist, and is all there is: no other file, and not the pod
 *   $KUBECONFIG             a list ("a:b:c"): files that do not exist and empty names are skipped, the others merged
 *   $HOME/.kube/config      unless $KUBECONFIG is set
 *   the pod's own account   when the files choose no context: $KUBERNETES_SERVICE_HOST and _PORT, and the files in
 *                           /var/run/secrets/kubernetes.io/serviceaccount
 *
 * As client-go has it, with three exceptions, all for the sake of not talking to the wrong server: an explicit file that says
 * nothing, or a context that names a cluster or user that is missing, is an error (client-go goes on to the pod's account, or
 * anonymously); there is no default server; and plain http is for loopback addresses alone. There as in client-go it carries
 * no credentials. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct client_env_var {
    str name, value;
};

/* A program that is asked for credentials (client.authentication.k8s.io). */
struct client_exec {
    str command; /* absolute, or without a slash: looked for in the absolute folders of $PATH */
    const str *args;
    size_t n_args;
    const struct client_env_var *env; /* on top of our own */
    size_t n_env;
    str api_version; /* client.authentication.k8s.io/v1 or /v1beta1 */
    str install_hint;
    bool provide_cluster_info;
    str cluster_config; /* JSON: what the cluster has for plugins; empty: nothing */
};

struct client_extra {
    str key;
    const str *values;
    size_t n;
};

/* On whose behalf requests are made; user empty: on one's own. */
struct client_impersonation {
    str user, uid;
    const str *groups;
    size_t n_groups;
    const struct client_extra *extra; /* sorted by key */
    size_t n_extra;
};

/* Files are named, not read, so that they can be read again when they change. Where there is both text and a file, client-go's
 * rule holds and one of them is empty; only for tokens both may be set: the file counts, the text is for when it cannot be
 * read. */
struct client_config {
    /* The server. */
    str server; /* the URL as it was given, without query and fragment */
    bool is_tls;
    str host; /* a name or an address; IPv6 without brackets */
    uint16_t port;
    str base_path;            /* "" or "/a/b", to be put in front of every path; percent-encoded as it was given */
    str server_name;          /* to be found in its certificate: tls-server-name, else the host */
    str given_server_name;    /* tls-server-name alone; empty when there is none */
    bool insecure;            /* believe any certificate */
    bool disable_compression; /* only told to plugins: answers are never compressed */
    str ca_pem, ca_file;      /* both empty: the system's */

    /* Who we are; all empty: nobody. Of token, basic and certificate several may be set, of token and basic one. */
    str certificate_pem, certificate_file;
    str key_pem, key_file;
    str token, token_file;
    bool has_basic;
    str username, password;
    const struct client_exec *exec; /* NULL: no plugin; never set together with one of those above */
    struct client_impersonation as;

    str namespace; /* never empty */

    /* For messages. */
    str context, cluster, user; /* their names; empty for the pod's own account */
};

/* All that loading depends on. */
struct client_config_args {
    str kubeconfig;         /* --kubeconfig; empty: not given */
    str context;            /* --context; empty: the current one of the files */
    const char *const *env; /* "NAME=value"…, NULL at the end: environ, or what a test gives */
    str root;               /* in front of /var/run/secrets; empty but in tests */
};

int client_config_load(struct arena *a, const struct client_config_args *args, struct client_config *ret,
                       struct err *err);

/* The contexts there are to choose from, in no order; those of the files that args name. */
int client_config_contexts(struct arena *a, const struct client_config_args *args, const str **ret, size_t *ret_n,
                           struct err *err);

/* Splits a server's URL into is_tls, host, port and base_path, and sets server. ERR_INVALID if it is not https, or http to a
 * loopback address, or has a user and password in it. */
int client_config_set_server(struct arena *a, str url, struct client_config *c, struct err *err);

/* The value of a variable, empty when it is not set. */
str client_env_get(const char *const *env, str name);
