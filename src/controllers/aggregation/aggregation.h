/* SPDX-License-Identifier: Apache-2.0 */
/* What: the aggregation controller: each ClusterRole with an aggregationRule has the rules of the roles that it selects.
 * Owns: nothing here; what it makes belongs to the control it is added to.
 * Threads: the loop thread adds it.
 * Errors: see controllers.h.
 *
 *   informer of ClusterRoles ─► index (authz/aggregate.h) ─► the aggregates that are not stored as they should be ─► queue
 *                                                                                                                      │
 *                                        apply the rules, if they differ from the copy  ◄── reconcile, one per role ◄──┘
 *
 * Only the aggregates that a change reaches are computed, read or written. The controller of personas has the same done for its own
 * roles alone (aggregation_add_for) where another process aggregates. */
#pragma once

#include "controllers/controllers.h"

extern const struct controller_row aggregation_row;

/* Which aggregates are written. */
struct aggregation_scope {
    const char *controller;                       /* name of the queue; must live as long */
    bool (*is_included)(const struct json *role); /* an aggregate; NULL: all */
};

/* With is_included, aggregates that select other aggregates are left out, too: their rules depend on who computes them. Of the others
 * the aggregation controller of a Kubernetes computes the same, and finds nothing left to write. */
int aggregation_add_for(const struct controller_env *env, const struct aggregation_scope *scope);
