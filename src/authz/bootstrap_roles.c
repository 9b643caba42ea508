/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/bootstrap_internal.h"

/* The default ClusterRoles of users, clients and the parts of a cluster, by name. */

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): a rule is its verbs and what they are for, often two literals */
const struct bootstrap_role bootstrap_cluster_roles[] = {
    {.name = "admin", .selects = "aggregate-to-admin"},
    {
        .name = "cluster-admin",
        {
            "*:*:*",
            "*@*",
        },
    },
    {.name = "edit", .selects = "aggregate-to-edit", .label = "aggregate-to-admin"},
    {
        .name = "system:aggregate-to-admin",
        {
            "create:authorization.k8s.io:localsubjectaccessreviews",
            READ_WRITE ":rbac.authorization.k8s.io:rolebindings,roles",
        },
        .label = "aggregate-to-admin",
    },
    {
        .name = "system:aggregate-to-edit",
        {
            READ "::pods/attach,pods/exec,pods/portforward,pods/proxy,secrets,services/proxy",
            "impersonate::serviceaccounts",
            WRITE "::pods,pods/attach,pods/exec,pods/portforward,pods/proxy",
            "create::pods/eviction",
            WRITE "::configmaps,events,persistentvolumeclaims,replicationcontrollers,replicationcontrollers/scale,"
                  "secrets,serviceaccounts,services,services/proxy",
            "create::serviceaccounts/token",
            WRITE ":apps:daemonsets,deployments,deployments/rollback,deployments/scale,replicasets,"
                  "replicasets/scale,statefulsets,statefulsets/scale",
            WRITE ":autoscaling:horizontalpodautoscalers",
            WRITE ":batch:cronjobs,jobs",
            WRITE ":extensions:daemonsets,deployments,deployments/rollback,deployments/scale,ingresses,"
                  "networkpolicies,replicasets,replicasets/scale,replicationcontrollers/scale",
            WRITE ":policy:poddisruptionbudgets",
            WRITE ":networking.k8s.io:ingresses,networkpolicies",
            READ_WRITE ":coordination.k8s.io:leases",
        },
        .label = "aggregate-to-edit",
    },
    {
        .name = "system:aggregate-to-view",
        {
            READ "::configmaps,endpoints,persistentvolumeclaims,persistentvolumeclaims/status,pods,"
                 "replicationcontrollers,replicationcontrollers/scale,serviceaccounts,services,services/status",
            READ "::bindings,events,limitranges,namespaces/status,pods/log,pods/status,"
                 "replicationcontrollers/status,resourcequotas,resourcequotas/status",
            READ "::namespaces",
            READ ":discovery.k8s.io:endpointslices",
            READ ":apps:controllerrevisions,daemonsets,daemonsets/status,deployments,deployments/scale,"
                 "deployments/status,replicasets,replicasets/scale,replicasets/status,statefulsets,"
                 "statefulsets/scale,statefulsets/status",
            READ ":autoscaling:horizontalpodautoscalers,horizontalpodautoscalers/status",
            READ ":batch:cronjobs,cronjobs/status,jobs,jobs/status",
            READ ":extensions:daemonsets,daemonsets/status,deployments,deployments/scale,deployments/status,"
                 "ingresses,ingresses/status,networkpolicies,replicasets,replicasets/scale,replicasets/status,"
                 "replicationcontrollers/scale",
            READ ":policy:poddisruptionbudgets,poddisruptionbudgets/status",
            READ ":networking.k8s.io:ingresses,ingresses/status,networkpolicies",
        },
        .label = "aggregate-to-view",
    },
    {
        .name = "system:auth-delegator",
        {
            "create:authentication.k8s.io:tokenreviews",
            "create:authorization.k8s.io:subjectaccessreviews",
        },
    },
    {
        .name = "system:basic-user",
        {
            "create:authorization.k8s.io:selfsubjectaccessreviews,selfsubjectrulesreviews",
            "create:authentication.k8s.io:selfsubjectreviews",
        },
    },
    {.name = "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
     {"create:certificates.k8s.io:certificatesigningrequests/nodeclient"}},
    {.name = "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
     {"create:certificates.k8s.io:certificatesigningrequests/selfnodeclient"}},
    {.name = "system:certificates.k8s.io:kube-apiserver-client-approver",
     {"approve:certificates.k8s.io:signers:kubernetes.io/kube-apiserver-client"}},
    {.name = "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
     {"approve:certificates.k8s.io:signers:kubernetes.io/kube-apiserver-client-kubelet"}},
    {.name = "system:certificates.k8s.io:kubelet-serving-approver",
     {"approve:certificates.k8s.io:signers:kubernetes.io/kubelet-serving"}},
    {.name = "system:certificates.k8s.io:legacy-unknown-approver",
     {"approve:certificates.k8s.io:signers:kubernetes.io/legacy-unknown"}},
    {.name = "system:discovery",
     {"get@/api,/api/*,/apis,/apis/*,/healthz,/livez,/openapi,/openapi/*,/readyz,/version,/version/"}},
    {
        .name = "system:heapster",
        {
            READ "::events,namespaces,nodes,pods",
            READ ":extensions:deployments",
        },
    },
    {.name = "system:kube-aggregator", {READ "::endpoints,services"}},
    {
        .name = "system:kube-controller-manager",
        {
            EVENTS,
            "create:coordination.k8s.io:leases",
            "get,update:coordination.k8s.io:leases:kube-controller-manager",
            "create::secrets,serviceaccounts",
            "delete::secrets",
            "get::configmaps,namespaces,secrets,serviceaccounts",
            "update::secrets,serviceaccounts",
            "create:authentication.k8s.io:tokenreviews",
            "create:authorization.k8s.io:subjectaccessreviews",
            "list,watch:*:*",
            "create::serviceaccounts/token",
        },
    },
    {.name = "system:kube-dns", {"list,watch::endpoints,services"}},
    {
        .name = "system:kube-scheduler",
        {
            EVENTS,
            "create:coordination.k8s.io:leases",
            "get,list,update,watch:coordination.k8s.io:leases:kube-scheduler",
            READ_WRITE ":coordination.k8s.io:leasecandidates",
            READ "::nodes",
            "delete,get,list,watch::pods",
            "create::bindings,pods/binding",
            "patch,update::pods/status",
            READ "::replicationcontrollers,services",
            READ ":apps,extensions:replicasets",
            READ ":apps:statefulsets",
            READ ":policy:poddisruptionbudgets",
            READ "::persistentvolumeclaims,persistentvolumes",
            "create:authentication.k8s.io:tokenreviews",
            "create:authorization.k8s.io:subjectaccessreviews",
            READ ":storage.k8s.io:csinodes",
            READ ":storage.k8s.io:volumeattachments",
            READ "::namespaces",
            READ ":storage.k8s.io:csidrivers",
            READ ":storage.k8s.io:csistoragecapacities",
        },
    },
    {
        .name = "system:kubelet-api-admin",
        {
            READ "::nodes",
            "proxy::nodes",
            "*::nodes/log,nodes/metrics,nodes/proxy,nodes/stats",
        },
    },
    {.name = "system:monitoring", {"get@/healthz,/healthz/*,/livez,/livez/*,/metrics,/metrics/slis,/readyz,/readyz/*"}},
    {
        .name = "system:node",
        {
            "create:authentication.k8s.io:tokenreviews",
            "create:authorization.k8s.io:localsubjectaccessreviews,subjectaccessreviews",
            READ "::services",
            "create,get,list,watch::nodes",
            "patch,update::nodes/status",
            "patch,update::nodes",
            "create,patch,update::events",
            READ "::pods",
            "create,delete::pods",
            "patch,update::pods/status",
            "create::pods/eviction",
            READ "::configmaps,secrets",
            "get::persistentvolumeclaims,persistentvolumes",
            "get::endpoints",
            "create,get,list,watch:certificates.k8s.io:certificatesigningrequests",
            "create,delete,get,patch,update:coordination.k8s.io:leases",
            "get:storage.k8s.io:volumeattachments",
            "create::serviceaccounts/token",
            "get,patch,update::persistentvolumeclaims/status",
            READ ":storage.k8s.io:csidrivers",
            "create,delete,get,patch,update:storage.k8s.io:csinodes",
            READ ":node.k8s.io:runtimeclasses",
        },
    },
    {.name = "system:node-bootstrapper", {"create,get,list,watch:certificates.k8s.io:certificatesigningrequests"}},
    {
        .name = "system:node-problem-detector",
        {
            "get::nodes",
            "patch::nodes/status",
            EVENTS,
        },
    },
    {
        .name = "system:node-proxier",
        {
            "list,watch::endpoints,services",
            READ "::nodes",
            EVENTS,
            "list,watch:discovery.k8s.io:endpointslices",
        },
    },
    {
        .name = "system:persistent-volume-provisioner",
        {
            "create,delete,get,list,watch::persistentvolumes",
            "get,list,update,watch::persistentvolumeclaims",
            READ ":storage.k8s.io:storageclasses",
            "watch::events",
            EVENTS,
        },
    },
    {.name = "system:public-info-viewer", {"get@/healthz,/livez,/readyz,/version,/version/"}},
    {.name = "system:service-account-issuer-discovery",
     {"get@/.well-known/openid-configuration,/.well-known/openid-configuration/,/openid/v1/jwks,"
      "/openid/v1/jwks/"}},
    {
        .name = "system:volume-scheduler",
        {
            "get,list,patch,update,watch::persistentvolumes",
            READ ":storage.k8s.io:storageclasses",
            "get,list,patch,update,watch::persistentvolumeclaims",
        },
    },
    {.name = "view", .selects = "aggregate-to-view", .label = "aggregate-to-edit"},
};
const size_t bootstrap_cluster_roles_n = BOOTSTRAP_ROWS(bootstrap_cluster_roles);
/* NOLINTEND(bugprone-suspicious-missing-comma) */

/* The default ClusterRoles of controllers, by name. A row x stands for the ClusterRole system:controller:x and for the
 * ClusterRoleBinding of that name to the ServiceAccount x in kube-system. */

/* NOLINTBEGIN(bugprone-suspicious-missing-comma): a rule is its verbs and what they are for, often two literals */
const struct bootstrap_role bootstrap_controllers[] = {
    {
        .name = "attachdetach-controller",
        {
            "list,watch::persistentvolumeclaims,persistentvolumes",
            READ "::nodes",
            "patch,update::nodes/status",
            "list,watch::pods",
            EVENTS,
            "create,delete,get,list,watch:storage.k8s.io:volumeattachments",
            READ ":storage.k8s.io:csidrivers",
            READ ":storage.k8s.io:csinodes",
        },
    },
    {
        .name = "certificate-controller",
        {
            "delete,get,list,watch:certificates.k8s.io:certificatesigningrequests",
            "update:certificates.k8s.io:certificatesigningrequests/approval,certificatesigningrequests/status",
            "approve:certificates.k8s.io:signers:kubernetes.io/kube-apiserver-client-kubelet",
            "sign:certificates.k8s.io:signers:kubernetes.io/kube-apiserver-client,"
            "kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,kubernetes.io/legacy-unknown",
            "create:authorization.k8s.io:subjectaccessreviews",
            EVENTS,
        },
    },
    {.name = "clusterrole-aggregation-controller",
     {"escalate,get,list,patch,update,watch:rbac.authorization.k8s.io:clusterroles"}},
    {
        .name = "cronjob-controller",
        {
            "get,list,update,watch:batch:cronjobs",
            "create,delete,get,list,patch,update,watch:batch:jobs",
            "update:batch:cronjobs/status",
            "update:batch:cronjobs/finalizers",
            "delete,list,watch::pods",
            EVENTS,
        },
    },
    {
        .name = "daemon-set-controller",
        {
            READ ":apps,extensions:daemonsets",
            "update:apps,extensions:daemonsets/status",
            "update:apps,extensions:daemonsets/finalizers",
            "list,watch::nodes",
            "create,delete,list,patch,watch::pods",
            "create::pods/binding",
            "create,delete,get,list,patch,update,watch:apps:controllerrevisions",
            EVENTS,
        },
    },
    {
        .name = "deployment-controller",
        {
            "get,list,update,watch:apps,extensions:deployments",
            "update:apps,extensions:deployments/status",
            "update:apps,extensions:deployments/finalizers",
            "create,delete,get,list,patch,update,watch:apps,extensions:replicasets",
            "get,list,update,watch::pods",
            EVENTS,
        },
    },
    {
        .name = "disruption-controller",
        {
            READ ":apps,extensions:deployments",
            READ ":apps,extensions:replicasets",
            READ "::replicationcontrollers",
            READ ":policy:poddisruptionbudgets",
            READ ":apps:statefulsets",
            "update:policy:poddisruptionbudgets/status",
            "patch,update::pods/status",
            "get:*:*/scale",
            EVENTS,
        },
    },
    {
        .name = "endpoint-controller",
        {
            READ "::pods,services",
            "create,delete,get,list,update,watch::endpoints",
            "create::endpoints/restricted",
            EVENTS,
        },
    },
    {
        .name = "endpointslice-controller",
        {
            READ "::nodes,pods,services",
            "update::services/finalizers",
            "create,delete,get,list,update,watch:discovery.k8s.io:endpointslices",
            EVENTS,
        },
    },
    {
        .name = "endpointslicemirroring-controller",
        {
            READ "::endpoints,services",
            "update::services/finalizers",
            "update::endpoints/finalizers",
            "create,delete,get,list,update,watch:discovery.k8s.io:endpointslices",
            EVENTS,
        },
    },
    {
        .name = "ephemeral-volume-controller",
        {
            READ "::pods",
            "update::pods/finalizers",
            "create,get,list,watch::persistentvolumeclaims",
            EVENTS,
        },
    },
    {
        .name = "expand-controller",
        {
            "get,list,patch,update,watch::persistentvolumes",
            "patch,update::persistentvolumeclaims/status",
            READ "::persistentvolumeclaims",
            EVENTS,
            "get::services",
        },
    },
    {
        .name = "generic-garbage-collector",
        {
            "delete,get,list,patch,update,watch:*:*",
            EVENTS,
        },
    },
    {
        .name = "horizontal-pod-autoscaler",
        {
            READ ":autoscaling:horizontalpodautoscalers",
            "update:autoscaling:horizontalpodautoscalers/status",
            "get,update:*:*/scale",
            "list,watch::pods",
            "list,watch:metrics.k8s.io:pods",
            READ ":custom.metrics.k8s.io:*",
            READ ":external.metrics.k8s.io:*",
            EVENTS,
        },
    },
    {
        .name = "job-controller",
        {
            "get,list,patch,update,watch:batch:jobs",
            "update:batch:jobs/status",
            "update:batch:jobs/finalizers",
            "create,delete,list,patch,watch::pods",
            EVENTS,
        },
    },
    {
        .name = "legacy-service-account-token-cleaner",
        {
            "get::configmaps:kube-apiserver-legacy-service-account-token-tracking",
            "delete,patch::secrets",
        },
    },
    {
        .name = "namespace-controller",
        {
            "delete,get,list,watch::namespaces",
            "update::namespaces/finalize,namespaces/status",
            "delete,deletecollection,get,list,watch:*:*",
        },
    },
    {
        .name = "node-controller",
        {
            "delete,get,list,patch,update,watch::nodes",
            "patch,update::nodes/status",
            "patch,update::pods/status",
            "delete,get,list,watch::pods",
            EVENTS,
        },
    },
    {
        .name = "persistent-volume-binder",
        {
            "create,delete,get,list,update,watch::persistentvolumes",
            "update::persistentvolumes/status",
            "get,list,update,watch::persistentvolumeclaims",
            "update::persistentvolumeclaims/status",
            "create,delete,get,list,watch::pods",
            READ ":storage.k8s.io:storageclasses",
            "list,watch::nodes",
            EVENTS,
            "watch::events",
            "get::services",
        },
    },
    {
        .name = "pod-garbage-collector",
        {
            "delete,list,watch::pods",
            READ "::nodes",
            "patch::pods/status",
        },
    },
    {
        .name = "pv-protection-controller",
        {
            "get,list,update,watch::persistentvolumes",
            EVENTS,
        },
    },
    {
        .name = "pvc-protection-controller",
        {
            "get,list,update,watch::persistentvolumeclaims",
            READ "::pods",
            EVENTS,
        },
    },
    {
        .name = "replicaset-controller",
        {
            "get,list,update,watch:apps,extensions:replicasets",
            "update:apps,extensions:replicasets/status",
            "update:apps,extensions:replicasets/finalizers",
            "create,delete,list,patch,watch::pods",
            EVENTS,
        },
    },
    {
        .name = "replication-controller",
        {
            "get,list,update,watch::replicationcontrollers",
            "update::replicationcontrollers/status",
            "update::replicationcontrollers/finalizers",
            "create,delete,list,patch,watch::pods",
            EVENTS,
        },
    },
    {
        .name = "resourcequota-controller",
        {
            "list,watch:*:*",
            "update::resourcequotas/status",
            EVENTS,
        },
    },
    {
        .name = "root-ca-cert-publisher",
        {
            "create,update::configmaps",
            EVENTS,
        },
    },
    {
        .name = "route-controller",
        {
            "list,watch::nodes",
            "patch::nodes/status",
            EVENTS,
        },
    },
    {
        .name = "service-account-controller",
        {
            "create::serviceaccounts",
            EVENTS,
        },
    },
    {
        .name = "service-controller",
        {
            READ "::services",
            "patch,update::services/status",
            "list,watch::nodes",
            EVENTS,
        },
    },
    {
        .name = "statefulset-controller",
        {
            "list,watch::pods",
            READ ":apps:statefulsets",
            "update:apps:statefulsets/status",
            "update:apps:statefulsets/finalizers",
            "create,delete,get,patch,update::pods",
            "create,delete,get,list,patch,update,watch:apps:controllerrevisions",
            "create,get,list,watch::persistentvolumeclaims",
            EVENTS,
            "delete,update::persistentvolumeclaims",
            "update::pods/finalizers",
        },
    },
    {
        .name = "ttl-after-finished-controller",
        {
            "delete,get,list,watch:batch:jobs",
            EVENTS,
        },
    },
    {
        .name = "ttl-controller",
        {
            "list,patch,update,watch::nodes",
            EVENTS,
        },
    },
    {
        .name = "validatingadmissionpolicy-status-controller",
        {
            READ ":admissionregistration.k8s.io:validatingadmissionpolicies",
            "get,patch,update:admissionregistration.k8s.io:validatingadmissionpolicies/status",
            EVENTS,
        },
    },
};
const size_t bootstrap_controllers_n = BOOTSTRAP_ROWS(bootstrap_controllers);
/* NOLINTEND(bugprone-suspicious-missing-comma) */

/* The default ClusterRoleBindings but those of controllers, and what is default in single namespaces. */

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
