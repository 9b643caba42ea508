/* SPDX-License-Identifier: Apache-2.0 */
/* What: ClusterPermissions: what each grants becomes ManifestWorks in its namespace, which the agent of that cluster delivers; how
 *       that goes becomes its status.
 * Owns: nothing here; what it makes belongs to the control it is added to.
 * Threads: the loop thread adds it.
 * Errors: see controllers.h. What is wrong with a permission stands in its conditions, and hurts no other.
 *
 *   ClusterPermission ──read──► build (pure) ──► works: written where they differ, gainers before losers, surplus ones deleted
 *     ▲                           ▲                 │
 *     │                         facts:              ▼ status, by the agent
 *     └── status ◄── report ◄── cluster, accounts, roles of the hub, namespaces (only where no agent of ours selects them)
 *                    (pure)
 *
 * One key per permission. Caches are trimmed to what maps a change to the permissions concerned, and to a digest of what a work
 * says; a visit reads the objects themselves. A hub has tens of thousands of each. */
#pragma once

#include "controllers/controllers.h"

extern const struct controller_row permissions_row;
