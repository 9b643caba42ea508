/* SPDX-License-Identifier: Apache-2.0 */
/* The admin's way in, as kubectl reads it. */
#include "authn/pki.h"

#include "json/base64.h"

str pki_kubeconfig(const struct pki *p, struct arena *a, str server)
{
    struct pki_pair admin = pki_admin(p);
    return str_fmt(a,
                   PKI_KUBECONFIG_MARK "; changes are lost.\n"
                                       "apiVersion: v1\n"
                                       "kind: Config\n"
                                       "clusters:\n"
                                       "- name: reeve\n"
                                       "  cluster:\n"
                                       "    server: %.*s\n"
                                       "    certificate-authority-data: %.*s\n"
                                       "contexts:\n"
                                       "- name: reeve\n"
                                       "  context:\n"
                                       "    cluster: reeve\n"
                                       "    user: kubernetes-admin\n"
                                       "current-context: reeve\n"
                                       "users:\n"
                                       "- name: kubernetes-admin\n"
                                       "  user:\n"
                                       "    client-certificate-data: %.*s\n"
                                       "    client-key-data: %.*s\n",
                   STR(server), STR(base64_encode(a, pki_ca_pem(p))), STR(base64_encode(a, admin.certificate_pem)),
                   STR(base64_encode(a, admin.key_pem)));
}
