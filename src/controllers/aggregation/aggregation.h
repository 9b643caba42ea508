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
 * Only the aggregates that a change reaches are computed, read or written. */
#pragma once

#include "controllers/controllers.h"

extern const struct controller_row aggregation_row;
