/* SPDX-License-Identifier: Apache-2.0 */
/* What: ManifestWorks of one namespace of a hub, carried out on the managed cluster, and kept there.
 * Owns: nothing here; what it makes belongs to the control it is added to.
 * Threads: the loop thread adds it.
 * Errors: what goes wrong with one manifest stands in its conditions on the hub, and stops no other.
 *
 *   hub                                  │ managed cluster
 *     ManifestWork ──watch──► visit ─────┼─► AppliedManifestWork: what is going to be made, then what was made
 *       ▲  finalizer, status    ▲  └─────┼─► objects: created, repaired, deleted by uid
 *       └───────────────────────┤        │      │
 *                               └────────┼──────┴ watch of what carries FLEET_LABEL_DELIVERED, by kind; of namespaces, if selected
 *
 * A visit is level-triggered and may be cut off anywhere. Nothing is made before its AppliedManifestWork names it, and nothing is
 * deleted that does not name that AppliedManifestWork as owner and has the uid that was recorded. The hub away: repairs go on from
 * what is known of the works, nothing is removed. */
#pragma once

#include "control/control.h"

struct works_options {
    struct control *control;
    struct loop *loop;
    struct clock clock;
    const struct log *log;
    struct client *hub, *managed;
    str cluster; /* its name, and its namespace on the hub; copied, as all texts are */
    str hub_url; /* for names of AppliedManifestWorks */
    /* Who it is to AppliedManifestWorks: what one of the same name made for another address of the hub is taken back in the end,
     * those of others are never touched. Empty: as if every address had an agent of its own. */
    str agent_id;
    int64_t eviction_ns; /* after which what a vanished work left is removed; 0: an hour */
    int64_t resync_ns;   /* looks at everything again; 0: five minutes, and up to half as much */
};

struct works;
int works_add(const struct works_options *options, struct works **ret, struct err *err);
/* The rights that it needs, as struct controller_row has them, NULL at the end; on the hub in the cluster's namespace alone. */
extern const char *const works_hub_rights[];
extern const char *const works_managed_rights[];
