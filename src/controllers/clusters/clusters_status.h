/* SPDX-License-Identifier: Apache-2.0 */
/* What: what a ManagedCluster says of itself: conditions, version, label, taints; from what is known of it. No effects.
 * Owns: nothing; what is new lives in the arena given.
 * Threads: pure but for the clock passed in.
 * Errors: none.
 *
 * Literal types, reasons and messages of Open Cluster Management where it has them. What nothing is known about stays as it is. */
#pragma once

#include "base/clock.h"
#include "controllers/clusters/clusters_heartbeats.h"
#include "object/fleet.h"

#define CLUSTER_ACCEPTED S(FLEET_ACCEPTED)
#define CLUSTER_JOINED S("ManagedClusterJoined")
#define CLUSTER_AVAILABLE S("ManagedClusterConditionAvailable")
#define CLUSTER_DELETING S("Deleting")

enum cluster_stand {
    CLUSTER_UNDECIDED, /* nobody accepted it yet */
    CLUSTER_IN,
    CLUSTER_OUT,     /* it was accepted once */
    CLUSTER_REFUSED, /* it cannot have a namespace: text says why */
};

struct cluster_facts {
    enum cluster_stand stand;
    str text;
    const struct beat *beat; /* NULL: nothing is known of it */
};

/* In place, both; false: all was so already. */
bool cluster_tell(struct arena *a, struct json *cluster, const struct cluster_facts *facts, const struct clock *clock);
/* The label and the taints; the finalizer, if it is accepted. */
bool cluster_mark(struct arena *a, struct json *cluster, const struct cluster_facts *facts, const struct clock *clock);

/* spec.leaseDurationSeconds within reason. */
int64_t cluster_lease_seconds(const struct json *cluster);
/* Why the agent of a cluster of this name cannot be given a namespace; empty: it can. namespace: NULL, if there is none. */
str cluster_refusal(struct arena *a, str name, const struct json *namespace);
/* Of Kubernetes itself: nobody's, whatever it is labelled with. */
bool cluster_is_reserved(str name);
