/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve up puts in place beside what every Kubernetes starts with: Reeve's own kinds, and for each controller that
 *       Kubernetes does not have a role with exactly its rights, bound to its account.
 * Owns: nothing; texts live in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "authz/request.h"
#include "base/arena.h"

/* As YAML, one object each: CRDs, ClusterRoles, ClusterRoleBindings. */
struct strs own_objects(struct arena *a);
