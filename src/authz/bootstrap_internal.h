/* SPDX-License-Identifier: Apache-2.0 */
/* What: the words in which the tables of default roles and bindings are written. Private to bootstrap*.c.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none; a rule that cannot be read is our own bug.
 *
 *     {"system:kube-dns", .rules = {"list,watch::endpoints,services"}},
 *
 * A rule is "verbs:groups:resources" or "verbs:groups:resources:names" or "verbs@urls"; lists have commas, the core group
 * is empty. Lists are in byte order, as Kubernetes stores the defaults. A subject is "User x", "Group x" or
 * "ServiceAccount namespace/name". */
#pragma once

#include "base/str.h"

#include <stddef.h>

#define READ "get,list,watch"
#define WRITE "create,delete,deletecollection,patch,update"
#define READ_WRITE "create,delete,deletecollection,get,list,patch,update,watch"
#define EVENTS "create,patch,update:,events.k8s.io:events"

enum { BOOTSTRAP_RULES = 24, BOOTSTRAP_SUBJECTS = 4 }; /* room for the longest and a NULL */

struct bootstrap_role {
    const char *name;
    const char *rules[BOOTSTRAP_RULES];
    const char *namespace;       /* NULL: a ClusterRole */
    const char *label, *selects; /* "aggregate-to-edit": this role is selected, or selects, by that label */
};

struct bootstrap_binding {
    const char *name;
    const char *subjects[BOOTSTRAP_SUBJECTS];
    const char *namespace; /* NULL: a ClusterRoleBinding, to a ClusterRole; else to a Role beside it */
    const char *role;      /* NULL: the one of the same name */
};

#define BOOTSTRAP_ROWS(table) (COUNT(table))

extern const struct bootstrap_role bootstrap_cluster_roles[];
extern const size_t bootstrap_cluster_roles_n;

/* x stands for the ClusterRole system:controller:x and its binding to kube-system/x */
extern const struct bootstrap_role bootstrap_controllers[];
extern const size_t bootstrap_controllers_n;

extern const struct bootstrap_binding bootstrap_cluster_role_bindings[];
extern const size_t bootstrap_cluster_role_bindings_n;
extern const struct bootstrap_role bootstrap_namespaced_roles[];
extern const size_t bootstrap_namespaced_roles_n;
extern const struct bootstrap_binding bootstrap_role_bindings[];
extern const size_t bootstrap_role_bindings_n;
