/* SPDX-License-Identifier: Apache-2.0 */
/* What: clusters, users and contexts as they stand in a kubeconfig file.
 * Owns: nothing; everything lives in the arena of the struct kubeconfig.
 * Threads: plain values.
 * Errors: none. */
#pragma once

#include "client/kubeconfig.h"
#include "json/json.h"

typedef VEC(str) kubeconfig_strs;

struct kubeconfig_cluster {
    str file; /* where it stands */
    str server, tls_server_name;
    bool insecure, disable_compression;
    str ca_file, ca_pem;
    str proxy_url;
    str exec_config; /* JSON */
};

struct kubeconfig_user {
    str file;
    str certificate_file, certificate_pem;
    str key_file, key_pem;
    str token, token_file;
    str username, password;
    str as, as_uid;
    kubeconfig_strs as_groups;
    VEC(struct client_extra) as_extra;
    bool has_auth_provider;
    str auth_provider;
    bool has_exec;
    struct client_exec exec;
    str interactive_mode;
};

struct kubeconfig_context {
    str file;
    str cluster, user, namespace;
};
