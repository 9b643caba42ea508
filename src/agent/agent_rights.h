/* SPDX-License-Identifier: Apache-2.0 */
/* What: what an agent may do: on the hub, inside its own namespace; on the managed cluster.
 * Owns: nothing; rules live in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "agent/agent_options.h"
#include "base/arena.h"
#include "controllers/rbac.h"
#include "object/fleet.h"
#include "json/json.h"

enum {
    AGENT_WORKS = 1,
    AGENT_ACCOUNTS = 2,
    AGENT_KIND = 4, /* makes the kind AppliedManifestWork where it is missing */
};

/* Of the agent's ClusterRole on the managed cluster. On the hub it has clusters_agent_role (controllers/clusters/clusters_role.h). */
struct json agent_managed_rules(struct arena *a, unsigned duties);
/* Of its Role in the namespace of ServiceAccounts for ManagedServiceAccounts. */
#define AGENT_ACCOUNTS_ROLE FLEET_AGENT "-accounts"
struct json agent_account_rules(struct arena *a);
struct json agent_account_namespace(struct arena *a, str name);
/* A ClusterRole of that name without rules of its own: it aggregates those that carry FLEET_LABEL_WORK_RIGHTS, for kinds that works
 * deliver besides roles and bindings. */
#define AGENT_WORK_ROLE FLEET_AGENT "-work"
struct json agent_work_role(struct arena *a, const struct rbac_names *names);

/* reeve agent --print-rbac: as YAML documents. */
void agent_rights_print(struct buf *b, const struct agent_options *o);
