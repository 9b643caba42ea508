/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the files of this controller share.
 * Owns: nothing.
 * Threads: visits, in worker threads.
 * Errors: see controllers.h. */
#pragma once

#include "controllers/clusters/clusters_heartbeats.h"
#include "controllers/clusters/clusters_status.h"
#include "controllers/controllers.h"
#include "object/fleet.h"

#define CLUSTERS_MANAGER S("reeve-clusters")

struct clusters {
    struct informer *clusters, *namespaces, *accounts, *bindings, *leases;
    struct controller *controller;
    struct beats *beats;
};

/* One visit of one cluster. */
struct cluster_visit {
    struct clusters *clusters;
    struct reconcile *reconcile;
    struct json cluster; /* as it is known; after a write as the server has it */
};

/* ---- What an agent has on the hub (clusters_agent.c). All of it in the namespace of its cluster. ---- */

int cluster_agent_make(struct cluster_visit *v, struct err *err);
bool cluster_agent_has_rights(const struct cluster_visit *v);
/* Takes its rights away; they come back with cluster_agent_make. */
int cluster_agent_bar(struct cluster_visit *v, struct err *err);
/* Removes its identity and its Lease as well. */
int cluster_agent_remove(struct cluster_visit *v, struct err *err);

/* ---- What is left in the namespace (clusters_remains.c). ---- */

struct cluster_remains {
    size_t n;
    size_t n_pending;   /* being deleted, and held by a finalizer */
    size_t n_delivered; /* held until the agent has removed what it delivered */
};

/* None if the hub does not know the kind. is_removing: deletes them. */
int cluster_works(struct cluster_visit *v, bool is_removing, struct cluster_remains *ret, struct err *err);
int cluster_addons(struct cluster_visit *v, bool is_removing, struct cluster_remains *ret, struct err *err);

/* ---- A deletion (clusters_leave.c). ---- */

int cluster_leave(struct cluster_visit *v, struct err *err);

/* ---- Writes (clusters_reconcile.c). ---- */

/* Only if change says that something is different. */
typedef bool cluster_change(struct arena *a, struct json *cluster, const void *ctx, const struct clock *clock);
int cluster_write(struct cluster_visit *v, str subresource, cluster_change *change, const void *ctx, struct err *err);
/* How long to wait for what nobody tells of, the longer the longer it takes. since: RFC 3339. */
int64_t cluster_pause(const struct cluster_visit *v, str since);
int cluster_reconcile(void *ctx, struct reconcile *r, struct err *err);
