/* SPDX-License-Identifier: Apache-2.0 */
/* What: the agent's other duties: ServiceAccounts and tokens for the hub's ManagedServiceAccounts; the heartbeat.
 * Owns: nothing here; what it makes belongs to the control it is added to.
 * Threads: the loop thread adds it.
 * Errors: what goes wrong with one account stands in its conditions on the hub.
 *
 *   hub                                        │ managed cluster
 *     ManagedServiceAccount ──► visit ─────────┼─► ServiceAccount (labelled ours) ─► TokenRequest
 *       ▲ status   Secret ca.crt, token ◄──────┼──────────────────────────────────────────┘ again at 80 % of its life
 *     Lease managed-cluster-lease ◄── heartbeat┘ as long as the managed cluster answers */
#pragma once

#include "control/control.h"

struct accounts_options {
    struct control *control;
    struct loop *loop;
    struct clock clock;
    struct random random;
    const struct log *log;
    struct client *hub, *managed;
    str cluster;   /* its name, and its namespace on the hub; copied, as all texts are */
    str namespace; /* of the ServiceAccounts; made if it is not there, by an agent that may */
    str ca_pem;    /* by which the managed cluster's API server is believed; goes into the Secrets */
    str version;   /* of this program */
};

int accounts_add(const struct accounts_options *options, struct err *err);
/* As works_hub_rights. */
extern const char *const accounts_hub_rights[];
extern const char *const accounts_managed_rights[];
/* On the managed cluster, in the namespace of the ServiceAccounts alone. */
extern const char *const accounts_home_rights[];
