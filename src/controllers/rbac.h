/* SPDX-License-Identifier: Apache-2.0 */
/* What: the rights that a set of controllers needs, as objects to create: reeve manager --print-rbac.
 * Owns: nothing.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "controllers/controllers.h"

struct rbac_args {
    const struct controller_row *const *rows;
    size_t n_rows;
    str namespace; /* of the ServiceAccount and the Lease */
    str name;      /* of the ServiceAccount, the roles and their bindings */
    str lease;     /* empty: no leader election */
};

/* YAML documents: ClusterRole, ClusterRoleBinding and, for the Lease, Role and RoleBinding. */
void rbac_print(struct buf *b, const struct rbac_args *args);
