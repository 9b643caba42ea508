/* SPDX-License-Identifier: Apache-2.0 */
#include "join.h"

#include "authn/base64url.h"

str join_token(struct arena *a, str cluster, int64_t issued, int64_t expires)
{
    str claims = str_fmt(a, "{\"iat\":%lld,\"exp\":%lld,\"sub\":\"system:serviceaccount:%.*s:reeve-agent\"}",
                         (long long)issued, (long long)expires, STR(cluster));
    return str_fmt(a, "%.*s.%.*s.c2ln", STR(base64url_encode(a, S("{\"alg\":\"ES256\"}"))),
                   STR(base64url_encode(a, claims)));
}

str join_kubeconfig(struct arena *a, str server, str token)
{
    return str_fmt(a,
                   "apiVersion: v1\n"
                   "kind: Config\n"
                   "clusters:\n"
                   "- name: hub\n"
                   "  cluster: {server: '%.*s', insecure-skip-tls-verify: true}\n"
                   "contexts:\n"
                   "- name: hub\n"
                   "  context: {cluster: hub, user: reeve-agent, namespace: c1}\n"
                   "current-context: hub\n"
                   "users:\n"
                   "- name: somebody\n"
                   "  user: {token: abc}\n"
                   "- name: reeve-agent\n"
                   "  user: {token: %.*s}\n",
                   STR(server), STR(token));
}
