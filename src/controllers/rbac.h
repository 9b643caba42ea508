/* SPDX-License-Identifier: Apache-2.0 */
/* What: the rights of controllers as objects: roles that say them, bindings that give them to a ServiceAccount.
 * Owns: nothing; objects live in the arena given and borrow its texts.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

/* Which object. */
struct rbac_names {
    str name;
    str namespace; /* of a Role or RoleBinding; empty: ClusterRole, ClusterRoleBinding */
    str component; /* part of Reeve, as a label; empty: no labels */
};

/* Adds rules as struct controller_row has them, NULL at the end, each once. */
void rbac_add_rights(struct arena *a, struct json *rules, const char *const *rights);
/* What leader election needs, in the namespace of the Lease. */
void rbac_add_lease(struct arena *a, struct json *rules, str lease);
struct json rbac_role(struct arena *a, const struct rbac_names *names, struct json rules);

/* Who gets which. */
struct rbac_grant {
    str role;
    bool is_cluster_role;
    str account_namespace, account; /* the ServiceAccount */
};

struct json rbac_binding(struct arena *a, const struct rbac_names *names, const struct rbac_grant *grant);
/* As one of several YAML documents. */
void rbac_print(struct buf *b, const struct json *object);
