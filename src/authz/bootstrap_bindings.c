/* SPDX-License-Identifier: Apache-2.0 */
/* The default ClusterRoleBindings but those of controllers, and what is default in single namespaces. */
#include "authz/bootstrap_tables.h"

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): a rule is its verbs and what they are for, often two literals */
const struct bootstrap_binding bootstrap_cluster_role_bindings[] = {
    {.name = "cluster-admin", {"Group system:masters"}},
    {.name = "system:basic-user", {"Group system:authenticated"}},
    {.name = "system:discovery", {"Group system:authenticated"}},
    {.name = "system:kube-controller-manager", {"User system:kube-controller-manager"}},
    {.name = "system:kube-dns", {"ServiceAccount kube-system/kube-dns"}},
    {.name = "system:kube-scheduler", {"User system:kube-scheduler"}},
    {.name = "system:monitoring", {"Group system:monitoring"}},
    {.name = "system:node"},
    {.name = "system:node-proxier", {"User system:kube-proxy"}},
    {.name = "system:public-info-viewer", {"Group system:authenticated", "Group system:unauthenticated"}},
    {.name = "system:service-account-issuer-discovery", {"Group system:serviceaccounts"}},
    {.name = "system:volume-scheduler", {"User system:kube-scheduler"}},
};
const size_t bootstrap_cluster_role_bindings_n = BOOTSTRAP_ROWS(bootstrap_cluster_role_bindings);

const struct bootstrap_role bootstrap_namespaced_roles[] = {
    {
        .name = "system:controller:bootstrap-signer",
        {
            READ "::configmaps",
            "update::configmaps:cluster-info",
            EVENTS,
        },
        .namespace = "kube-public",
    },
    {.name = "extension-apiserver-authentication-reader",
     {READ "::configmaps:extension-apiserver-authentication"},
     .namespace = "kube-system"},
    {
        .name = "system::leader-locking-kube-controller-manager",
        {
            "watch::configmaps",
            "get,update::configmaps:kube-controller-manager",
            "create,get,list,update,watch:coordination.k8s.io:leases",
            "create,get,list,update,watch:coordination.k8s.io:leasecandidates",
        },
        .namespace = "kube-system",
    },
    {
        .name = "system::leader-locking-kube-scheduler",
        {
            "watch::configmaps",
            "get,update::configmaps:kube-scheduler",
            "create,get,list,update,watch:coordination.k8s.io:leases",
            "create,get,list,update,watch:coordination.k8s.io:leasecandidates",
        },
        .namespace = "kube-system",
    },
    {.name = "system:controller:bootstrap-signer", {READ "::secrets"}, .namespace = "kube-system"},
    {.name = "system:controller:cloud-provider", {"create,get,list,watch::configmaps"}, .namespace = "kube-system"},
    {
        .name = "system:controller:token-cleaner",
        {
            "delete,get,list,watch::secrets",
            EVENTS,
        },
        .namespace = "kube-system",
    },
};
const size_t bootstrap_namespaced_roles_n = BOOTSTRAP_ROWS(bootstrap_namespaced_roles);

const struct bootstrap_binding bootstrap_role_bindings[] = {
    {.name = "system:controller:bootstrap-signer",
     {"ServiceAccount kube-system/bootstrap-signer"},
     .namespace = "kube-public"},
    {.name = "system::extension-apiserver-authentication-reader",
     {"User system:kube-controller-manager", "User system:kube-scheduler"},
     .namespace = "kube-system",
     .role = "extension-apiserver-authentication-reader"},
    {.name = "system::leader-locking-kube-controller-manager",
     {"User system:kube-controller-manager", "ServiceAccount kube-system/kube-controller-manager",
      "ServiceAccount kube-system/leader-election-controller"},
     .namespace = "kube-system"},
    {.name = "system::leader-locking-kube-scheduler",
     {"User system:kube-scheduler", "ServiceAccount kube-system/kube-scheduler"},
     .namespace = "kube-system"},
    {.name = "system:controller:bootstrap-signer",
     {"ServiceAccount kube-system/bootstrap-signer"},
     .namespace = "kube-system"},
    {.name = "system:controller:cloud-provider",
     {"ServiceAccount kube-system/cloud-provider"},
     .namespace = "kube-system"},
    {.name = "system:controller:token-cleaner",
     {"ServiceAccount kube-system/token-cleaner"},
     .namespace = "kube-system"},
};
const size_t bootstrap_role_bindings_n = BOOTSTRAP_ROWS(bootstrap_role_bindings);
/* NOLINTEND(bugprone-suspicious-missing-comma) */
