/* SPDX-License-Identifier: Apache-2.0 */
/* What: package + what was asked + what the cluster has → objects, grants, findings. No I/O.
 * Owns: nothing; results live in the arena given and share the texts of package, install and facts.
 * Threads: pure.
 * Errors: findings; a plan that has any must not be carried out. Their reasons: those of the package (package.h); ScopeMismatch,
 *         CRDConflict, InvalidPackage; CRDTerminating, which passes by itself; of the install itself: InvalidInstall.
 *
 *   what an install has alone       ServiceAccount, binding(s), Deployment; in the dialect of stacks its role, too
 *   what it shares with others of   CRDs (one serves all versions), the ClusterRoles of its version: system, admin, edit, view,
 *   its family (repo:name)          each labelled with every namespace that uses it
 *
 * The controller carries out both, people are shown both, and tests compare what the server then allows with the grants. */
#pragma once

#include "authz/rule.h"
#include "package/dialect.h"
#include "package/package.h"

/* ---- What was asked. ---- */

struct plan_install {
    const struct dialect *dialect;
    bool is_cluster; /* ClusterPackageInstall */
    str name;
    str namespace;                   /* where the controller runs: its own, or spec.namespace */
    str image;                       /* spec.package with spec.source applied; for containers that name none */
    str source;                      /* for containers whose image names no registry */
    str held_source;                 /* of the package that is installed, as status says; empty: none is */
    str pull_policy;                 /* empty: not said */
    struct json pull_secrets;        /* [{name}] or null */
    struct json account_annotations; /* object or null */
};

/* What of spec plan needs; all findings at once (a package that is no reference, …). labels and name are checked by the server. */
void plan_install_read(struct arena *a, const struct dialect *dialect, const struct json *install,
                       struct plan_install *ret, struct findings *findings);

/* ---- What the cluster has. ---- */

struct plan_crd {
    str name, group, plural, kind;
    bool is_cluster_scoped;
    bool is_managed; /* Reeve put it there for a package… */
    str family;      /* …of this family */
    str source;      /* where the family comes from; empty: not known */
    bool is_deleting;
};

struct plan_facts {
    void *ctx;
    /* False: there is no such CRD. */
    bool (*crd)(void *ctx, struct arena *a, str name, struct plan_crd *ret);
    /* All of a group, by name. */
    size_t (*crds_of_group)(void *ctx, struct arena *a, str group, const struct plan_crd **ret);
    /* Whether a package that satisfies this is installed. NULL: nobody knows, so it counts as absent. */
    bool (*has_package)(void *ctx, const struct package_requirement *requirement);
};

struct plan_options {
    bool pass_full_deployment; /* --insecure-pass-full-deployment */
    /* --namespaced-package-groups: API groups in which namespaced packages may define kinds, see plan_groups_check. Empty: those
     * in which there are no CRDs but theirs. */
    str namespaced_groups;
    /* Of a namespaced install: the cluster-wide access that it may have. NULL: all that its package needs. */
    const struct rules *cluster_access;
};

/* Patterns of API groups, with commas: "blog.example.org", "*.example.org" (all below it), "*" (all). Protected groups stay
 * protected. "none" allows no group. ERR_BAD_REQUEST: one of them is none of these. */
int plan_groups_check(str patterns, struct err *err);
bool plan_groups_match(str patterns, str group);

/* ---- The plan. ---- */

enum plan_subject { PLAN_CONTROLLER, PLAN_ADMIN, PLAN_EDIT, PLAN_VIEW };

/* Who may do what and where from then on because of this install. */
struct plan_grant {
    enum plan_subject who;
    bool is_cluster_wide; /* in all namespaces and outside of them; else in namespace */
    str namespace;
    struct rules rules; /* the very ones of the roles, in normal form */
};

/* With findings there is nothing to carry out: no objects and no grants. */
struct plan {
    struct findings findings;
    struct findings warnings;
    /* In the order in which they must be there; objects as they are applied, without the labels of ownership. */
    const struct json
        *roles; /* shared ClusterRoles, or the one role of a stack, with the label of this install's namespace */
    size_t n_roles;
    struct json cluster_role; /* of a namespaced install alone: its cluster-wide access; null: none */
    struct json account;
    const struct json *bindings;
    size_t n_bindings;
    struct json deployment; /* null: none */
    const struct plan_grant *grants;
    size_t n_grants;
    /* Dependencies that are not there yet: "mysqlinstances.database.example.org", "registry/repo/name >=1.0". Rights to them are
     * granted when they come. */
    const str *waits;
    size_t n_waits;
};

struct plan_args {
    const struct package *package;
    const struct plan_install *install;
    const struct plan_facts *facts;
    struct plan_options options;
    bool is_kept; /* it is installed already: who else claims its CRDs by now is for its controller to report */
};

void plan_make(struct arena *a, const struct plan_args *args, struct plan *ret);
/* The cluster-wide access of the controller of a namespaced install: dependencies that are cluster-scoped. */
struct rules plan_cluster_access(const struct plan_install *install, const struct plan *plan);
/* Of the package alone: as on a cluster that has nothing, by an install of its own name in the one scope that it is for. */
void plan_make_alone(struct arena *a, const struct package *p, struct plan_options options, struct plan *ret);

struct plan_grants {
    const struct plan_grant *p;
    size_t n;
};

/* What is gained by the change from before to after, place by place; the other way round, what is lost. Rights that were held for
 * the whole cluster are not gained in a namespace. */
struct plan_grants plan_grants_added(struct arena *a, struct plan_grants before, struct plan_grants after);

/* ---- Parts that families of installs share. ---- */

struct plan_sharers {
    const str *namespaces; /* sorted, each once; none for the cluster's */
    size_t n_namespaces;
    const str *records; /* uids */
    size_t n_records;
};

/* The shared ClusterRoles of one version for all who use it: none for stacks. Deterministic. Of the install only dialect and
 * is_cluster are looked at. */
size_t plan_roles(struct arena *a, const struct plan_args *args, const struct plan_sharers *sharers,
                  const struct json **ret);
/* The ClusterRoles by which personas reach instances of a CRD that no installed version has any more: in these namespaces, or (none
 * given) in the whole environment. Three, for admin, edit and view. */
size_t plan_retained_roles(struct arena *a, const struct plan_crd *crd, const struct plan_sharers *sharers,
                           const struct json **ret);
/* A CRD as it is written: body (a union, perhaps) with labels, parents, annotations and the family's name. */
struct json plan_crd(struct arena *a, const struct dialect *dialect, const struct package *p,
                     const struct package_crd *crd, const struct json *body, const struct plan_sharers *sharers);
/* "package:repo:name:version:system" */
str plan_role_name(struct arena *a, const struct dialect *dialect, const struct package *p, const char *role);
/* Whether a ClusterRole or ClusterRoleBinding is one that Reeve makes for a namespaced install, judged by what cannot be changed after
 * its creation: the name, which ends with the namespace, and the role of a binding. Labels can be set by anybody who may patch the object, so
 * that they alone never lead to a deletion. */
bool plan_is_cluster_object(const struct json *object, str *ret_namespace);
/* The same for the shared ClusterRoles, by their names. */
bool plan_is_role_name(str name);
/* LABEL_FAMILY: "repo..name", shortened to what a label may be, never the same for two families. */
str plan_family_label(struct arena *a, str family);
/* truncate(name, 52) + "-controller" */
str plan_deployment_name(struct arena *a, str install);
/* At most length bytes: as it is, or the first length - suffix of it without trailing dots, a dash, and suffix - 1 letters of a
 * hash. suffix: 2 to 33. */
str plan_truncate(struct arena *a, str text, size_t length, size_t suffix);
