/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of the plan share.
 * Owns: nothing; results live in the arena given.
 * Threads: pure functions.
 * Errors: findings.
 *
 *   plan_rights.c     package, facts ─► rules, once; roles and grants are two ways to write them down
 *   plan_roles.c      rules ─► roles and bindings
 *   plan_workload.c   install.yaml, install ─► ServiceAccount, Deployment
 *   plan_conflicts.c  package, facts ─► what stands in the way
 *   plan.c            all of them together */
#pragma once

#include "package/plan.h"

enum { PLAN_PERSONAS = 3 }; /* PLAN_ADMIN, PLAN_EDIT, PLAN_VIEW */

/* What a persona (0: admin, 1: edit, 2: view) may do with a resource of this group. */
struct rules plan_persona_rules(struct arena *a, str group, str plural, int persona);
/* Every right that comes with a package, in normal form. */
struct plan_rights {
    struct rules system;                 /* of the controller, where it works: its namespace, or the whole cluster */
    struct rules system_cluster;         /* of a namespace's controller: dependencies that have no namespace */
    struct rules persona[PLAN_PERSONAS]; /* of people; none for stacks */
    const str *waits;                    /* dependencies that are not there */
    size_t n_waits;
    const str
        *unusable; /* dependencies that are there but have no namespace, in a dialect that grants no such rights */
    size_t n_unusable;
};

struct plan_rights plan_rights_of(struct arena *a, const struct plan_args *args);

struct plan_objects {
    const struct json *p;
    size_t n;
};

/* The roles that installs of this version share, for these users; of a stack the one it has alone. */
struct plan_objects plan_roles_of(struct arena *a, const struct plan_args *args, const struct plan_rights *rights,
                                  const struct plan_sharers *sharers);
/* The ClusterRole that a namespaced install has alone, because its access is approved install by install. Null: none. */
struct json plan_cluster_role_of(struct arena *a, const struct plan_args *args, const struct plan_rights *rights);
struct plan_objects plan_bindings_of(struct arena *a, const struct plan_args *args, const struct plan_rights *rights);
struct json plan_account_of(struct arena *a, const struct plan_install *install);
/* Null: the package has none. */
struct json plan_deployment_of(struct arena *a, const struct plan_args *args);

/* Whatever makes it impossible to carry the plan out, besides what is wrong with the package itself. */
void plan_conflicts(const struct plan_args *args, const struct plan_rights *rights, struct findings *findings);

/* {name, namespace, labels: {managed-by}}: the metadata that all objects of a plan begin with. Without namespace if that is empty. */
struct json plan_metadata(struct arena *a, str name, str namespace);
/* {apiVersion, kind, metadata} */
struct json plan_object(struct arena *a, str api_version, str kind, struct json metadata);

/* Both in a row; for the many, where formats cost more than all the rest. */
str plan_join(struct arena *a, str head, str tail);
/* In labels: namespace.crossplane.io/{namespace}: "true" for each of them. */
void plan_add_namespaces(struct arena *a, struct json *labels, const struct plan_sharers *sharers);
