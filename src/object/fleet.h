/* SPDX-License-Identifier: Apache-2.0 */
/* What: the names that a hub, its managed clusters and their agents agree on: kinds, labels, finalizers, fixed objects.
 *       Those of Open Cluster Management are literal; agent.reeve.dev/… and reeve.dev/… are ours.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none.
 *
 *   hub                                                          managed cluster
 *     ManagedCluster cluster1
 *     namespace cluster1:  ClusterPermission ─► ManifestWork ──► AppliedManifestWork ─► roles and bindings
 *                          ManagedServiceAccount ─► Secret ◄──── ServiceAccount, its token
 *                          Lease managed-cluster-lease ◄──────── heartbeat of the agent */
#pragma once

/* Arguments of CLIENT_RESOURCE (client/client.h): group, version, plural, kind, is namespaced. */
#define FLEET_PERMISSIONS "rbac.open-cluster-management.io", "v1alpha1", "clusterpermissions", "ClusterPermission", true
#define FLEET_WORKS "work.open-cluster-management.io", "v1", "manifestworks", "ManifestWork", true
#define FLEET_APPLIED "work.open-cluster-management.io", "v1", "appliedmanifestworks", "AppliedManifestWork", false
#define FLEET_CLUSTERS "cluster.open-cluster-management.io", "v1", "managedclusters", "ManagedCluster", false
#define FLEET_ACCOUNTS \
    "authentication.open-cluster-management.io", "v1beta1", "managedserviceaccounts", "ManagedServiceAccount", true
#define FLEET_ADDONS "addon.open-cluster-management.io", "v1alpha1", "managedclusteraddons", "ManagedClusterAddOn", true

#define FLEET_PERMISSION_GROUP "rbac.open-cluster-management.io"
#define FLEET_WORK_GROUP "work.open-cluster-management.io"
#define FLEET_CLUSTER_GROUP "cluster.open-cluster-management.io"
#define FLEET_ACCOUNT_GROUP "authentication.open-cluster-management.io"
#define FLEET_ADDON_GROUP "addon.open-cluster-management.io"

/* ---- On the hub. ---- */

/* On a ManagedCluster: Reeve's agent runs there. Set by the hub from the heartbeat. */
#define FLEET_LABEL_AGENT "agent.reeve.dev/present"
/* On the heartbeat Lease, by Reeve's agent: its version. */
#define FLEET_ANNOTATION_AGENT "agent.reeve.dev/version"
/* On the heartbeat Lease, by Reeve's agent: that of the managed cluster's API server. */
#define FLEET_ANNOTATION_KUBERNETES "agent.reeve.dev/kubernetes"
/* On the heartbeat Lease, set by Reeve's agent: why the managed cluster's API server does not respond. Absent: it
 * responds. */
#define FLEET_ANNOTATION_TROUBLE "agent.reeve.dev/unavailable"
/* On the heartbeat Lease, by Reeve's agent: the renewTime that it wrote. If that differs, another agent renewed the
 * Lease. */
#define FLEET_ANNOTATION_RENEWED "agent.reeve.dev/renewed"
#define FLEET_LEASE "managed-cluster-lease"
#define FLEET_LEASE_SECONDS 60 /* without a word in spec.leaseDurationSeconds of the ManagedCluster */
#define FLEET_LEASES_MISSED 5  /* after so many it is unreachable */
/* On the namespace of a ManagedCluster, and on what the hub makes there for its agent: the cluster's name. */
#define FLEET_LABEL_CLUSTER "open-cluster-management.io/cluster-name"
/* On a ManagedCluster, in spec.taints: no heartbeat arrives; its API server does not respond. */
#define FLEET_TAINT_UNREACHABLE "cluster.open-cluster-management.io/unreachable"
#define FLEET_TAINT_UNAVAILABLE "cluster.open-cluster-management.io/unavailable"
/* In the cluster's namespace: the ServiceAccount that the agent is, and its RoleBinding, to this ClusterRole. */
#define FLEET_AGENT "reeve-agent"
#define FLEET_AGENT_ROLE "reeve:agent"
/* Condition of a ManagedCluster: its agent is let in. Written by the controller clusters. */
#define FLEET_ACCEPTED "HubAcceptedManagedCluster"
/* On a ManagedCluster: held until works, accounts and the agent's permissions are deleted. */
#define FLEET_FINALIZER_CLUSTER "cluster.open-cluster-management.io/api-resource-cleanup"
/* The add-on whose namespace on the managed cluster holds the ServiceAccounts of ManagedServiceAccounts. */
#define FLEET_ADDON "managed-serviceaccount"
#define FLEET_ACCOUNT_NAMESPACE "open-cluster-management-agent-addon"
/* On a ManifestWork: held until the agent has removed what it delivered. */
#define FLEET_FINALIZER_WORK "cluster.open-cluster-management.io/manifest-work-cleanup"
/* Whose name the verb execute-as takes for a ManifestWork without an executor, as in OCM's webhook: its agent. */
#define FLEET_EXECUTOR "system:serviceaccount::klusterlet-work-sa"
/* On a ClusterPermission: the approved generation, and who wrote the spec (JSON: user, uid, groups). Who
 * changes the former, or the condition Approved, needs the verb `approve`; the latter only the server writes. */
#define FLEET_ANNOTATION_APPROVED "reeve.dev/approved-generation"
#define FLEET_ANNOTATION_REQUESTER "reeve.dev/requested-by"

/* ---- Inside a ManifestWork, for Reeve's agent. ---- */

/* On a namespaced manifest without a namespace: a LabelSelector (JSON). It is applied to each namespace of the managed
 * cluster that matches, as they come and go. */
#define FLEET_ANNOTATION_SELECTOR "agent.reeve.dev/namespace-selector"

/* ---- On the managed cluster. ---- */

/* On every object that was delivered: what the agent watches. "true": the agent created it and may delete it with its
 * work. FLEET_ADOPTED: it existed before; it is kept as its work specifies and never deleted. */
#define FLEET_LABEL_DELIVERED "agent.reeve.dev/delivered"
#define FLEET_ADOPTED "adopted"
/* On an object that the agent did not create: "true", set by the owner of the object, lets works change it. */
#define FLEET_ANNOTATION_ADOPT "reeve.dev/adopt"
/* On an adopted object: name of the AppliedManifestWork that specifies it. */
#define FLEET_ANNOTATION_ADOPTED_BY "agent.reeve.dev/adopted-by"
/* On a ClusterRole: "true" grants its rules to the agent. For kinds that works deliver besides roles and bindings. */
#define FLEET_LABEL_WORK_RIGHTS "open-cluster-management.io/aggregate-to-work"
#define FLEET_FINALIZER_APPLIED "cluster.open-cluster-management.io/applied-manifest-work-cleanup"
/* On ServiceAccounts and token Secrets of ManagedServiceAccounts. */
#define FLEET_LABEL_ACCOUNT "authentication.open-cluster-management.io/is-managed-serviceaccount"

enum {
    FLEET_WORK_BYTES = 512000, /* of all manifests of one ManifestWork, as OCM's webhook counts them */
    FLEET_WORK_NAME = 188,     /* of a ManifestWork's name: the AppliedManifestWork puts 65 in front */
};
