/* SPDX-License-Identifier: Apache-2.0 */
/* What: the objects of a fleet to measure with: clusters, and what is granted on each.
 * Owns: nothing; bodies live in the arena given.
 * Threads: one.
 * Errors: see bench/server/server.h. */
#pragma once

#include "../server/load.h"

#include "json/json.h"

enum {
    FLEET_SELECTS = 5, /* one permission of so many selects its namespaces */
};

/* "cluster-0042" */
str fleet_cluster(struct arena *a, size_t i);
/* "team-07" */
str fleet_team(struct arena *a, size_t i);
/* "/apis/rbac.open-cluster-management.io/v1alpha1/namespaces/cluster-0042/clusterpermissions" */
str fleet_permissions(struct arena *a, size_t cluster);

/* An accepted ManagedCluster. */
struct question fleet_make_cluster(struct arena *a, size_t cluster);
/* A ClusterRole, a Role, and a binding of each. Of every FLEET_SELECTS-th the Role and its binding go where a label is. */
struct question fleet_make_permission(struct arena *a, size_t cluster, size_t team);
/* Another rule for its ClusterRole, different for each turn. */
struct question fleet_change_permission(struct arena *a, size_t cluster, size_t team, size_t turn);
/* A permission whose one Role goes wherever label is "true". */
struct question fleet_make_selector(struct arena *a, size_t cluster, size_t team, str label);
/* Whether a ManagedCluster says that Reeve's agent is at work there. */
bool fleet_is_available(const struct json *cluster);
/* Whether a permission says that all it grants now is there. */
bool fleet_is_delivered(const struct json *permission);
/* A token of the ServiceAccount that the agent of a cluster is. */
str fleet_token(struct links *l, struct arena *a, size_t cluster);
