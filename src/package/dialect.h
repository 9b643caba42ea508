/* SPDX-License-Identifier: Apache-2.0 */
/* What: the two ways to speak of packages, as const tables: packages.crossplane.io, and stacks.crossplane.io of before.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "base/str.h"

struct dialect_kind {
    str kind, plural; /* "PackageInstall", "packageinstalls" */
};

struct dialect {
    str group, version;
    /* [0]: in a namespace, [1]: of the whole cluster */
    struct dialect_kind install[2];
    struct dialect_kind record[2];
    str word;             /* "package": how people call it, and how the names of its ClusterRoles begin */
    str title_annotation; /* of CRDs: "package-title" */
    bool has_personas;    /* roles for people, and labels that say which CRDs are for whom */
    bool
        has_own_role; /* named after the install: a Role in its namespace, a ClusterRole for the cluster; else shared ones */
    bool has_cluster_crds; /* the cluster's packages may own CRDs of cluster scope, and all may depend on such */
};

extern const struct dialect dialect_packages, dialect_stacks;

/* ---- Names that both share. ---- */

#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by" /* LABEL_MANAGER, on all that Reeve makes for packages */
#define LABEL_MANAGER "package-manager"
#define LABEL_SCOPE "crossplane.io/scope"                    /* environment, namespace, system */
#define LABEL_NAMESPACE_PREFIX "namespace.crossplane.io/"    /* + namespace: "true" */
#define LABEL_PARENT_PREFIX "parent.packages.crossplane.io/" /* + uid of a record: "true", on CRDs */
#define LABEL_RECORD "packages.crossplane.io/record"         /* uid of the record, on what one install has alone */
/* On cluster-scoped objects of a namespaced install, which cannot have owner references: */
#define LABEL_INSTALL "packages.crossplane.io/install"                     /* uid of the install */
#define LABEL_INSTALL_NAMESPACE "packages.crossplane.io/install-namespace" /* for users to select by, as is the next */
#define LABEL_INSTALL_NAME "packages.crossplane.io/install-name"           /* shortened to 63 characters */
#define LABEL_FAMILY "packages.crossplane.io/family" /* dialect_family_label, on what installs share */
#define LABEL_TO_ENVIRONMENT "rbac.crossplane.io/aggregate-to-environment-" /* + admin, edit, view */
#define LABEL_TO_NAMESPACE "rbac.crossplane.io/aggregate-to-namespace-"
#define LABEL_TO_ADMIN "rbac.crossplane.io/aggregate-to-crossplane-admin"
#define LABEL_MANAGED_ROLES "rbac.crossplane.io/managed-roles"
#define ANNOTATION_PREFIX "packages.crossplane.io/"
#define ANNOTATION_FAMILY "packages.crossplane.io/family" /* "repo:name", on CRDs: whose they are */
#define ANNOTATION_SOURCE \
    "packages.crossplane.io/source" /* where that comes from; a hint: status of installs is trusted */
#define ANNOTATION_APPLIED "packages.crossplane.io/applied"      /* hash of what was written */
#define ANNOTATION_SPEC "packages.crossplane.io/spec-digest"     /* of the definition as it was written, on CRDs */
#define ANNOTATION_APPROVED "packages.crossplane.io/approved-at" /* the last approval that a CRD contains */
#define ANNOTATION_RELEASE "packages.crossplane.io/release" /* "true", set by who may update CRDs: it is given up */
#define ANNOTATION_DELETE_INSTANCES "packages.crossplane.io/delete-instances"
#define FINALIZER_UNINSTALL "packages.crossplane.io/uninstall"
#define FIELD_MANAGER_PACKAGES "reeve-packages"
#define ENVIRONMENT_NAMESPACE "crossplane-system"
