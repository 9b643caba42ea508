/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve up puts in place beside what every Kubernetes starts with: Reeve's own kinds, and for each controller that
 *       Kubernetes does not have a role with exactly its rights, bound to its account.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "controllers/rbac.h"

typedef VEC(str) own_texts; /* objects as YAML, one each */

/* CRDs, ClusterRoles, ClusterRoleBindings. */
void own_objects(struct arena *a, own_texts *all);
/* A ClusterRole of that name with these rules, bound to an account of kube-system. */
void own_add_rights(struct arena *a, own_texts *all, str name, str account, struct json rules);
/* The same in one namespace, which has to be there: a Role, and a RoleBinding. */
void own_add_rights_in(struct arena *a, own_texts *all, const struct rbac_names *names, str account, struct json rules);
void own_add(struct arena *a, own_texts *all, struct json object);
