/* SPDX-License-Identifier: Apache-2.0 */
/* What: the ClusterRole that agents are bound to, each in the namespace of its own cluster.
 * Owns: nothing; it lives in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

/* ClusterRole reeve:agent: all that works, accounts and the heartbeat need on a hub. */
struct json clusters_agent_role(struct arena *a);
