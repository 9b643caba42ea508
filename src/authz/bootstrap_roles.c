/* SPDX-License-Identifier: Apache-2.0 */
/* The default ClusterRoles of users, clients and the parts of a cluster, by name. */
#include "authz/bootstrap_tables.h"

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
