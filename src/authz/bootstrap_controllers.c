/* SPDX-License-Identifier: Apache-2.0 */
/* The default ClusterRoles of controllers, by name. A row x stands for the ClusterRole system:controller:x and for the
 * ClusterRoleBinding of that name to the ServiceAccount x in kube-system. */
#include "authz/bootstrap_tables.h"

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
