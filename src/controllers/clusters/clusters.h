/* SPDX-License-Identifier: Apache-2.0 */
/* What: ManagedClusters on the hub: accepted, joined, available or not heard of, by the Leases that their agents renew; and the
 *       rights of each agent, in its own namespace and nowhere else.
 * Owns: nothing here; what it makes belongs to the control it is added to.
 * Threads: the loop thread adds it.
 * Errors: see controllers.h.
 *
 *   ManagedCluster, hubAcceptsClient ─► namespace; Role and RoleBinding of its agent ─► HubAcceptedManagedCluster
 *   Lease renewed  ─► ManagedClusterJoined, ManagedClusterConditionAvailable=True, FLEET_LABEL_AGENT
 *   Lease silent for five times its duration, by our own clock ─► Available=Unknown, taint unreachable
 *
 * Renewals are the bulk of the writes of a hub: they change nothing here but a timer. */
#pragma once

#include "controllers/controllers.h"

extern const struct controller_row clusters_row;
