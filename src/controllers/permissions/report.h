/* SPDX-License-Identifier: Apache-2.0 */
/* What: how a ClusterPermission fares: its status, from what was built and from what the agent says of its works. No effects.
 * Owns: nothing; the status lives in the arena given.
 * Threads: pure but for the clock.
 * Errors: none.
 *
 * Literal types, reasons and messages of Open Cluster Management where it has them; besides: RBACManifestWorkCreated,
 * SubjectPresent, Approved, Stale, Ready. A condition whose cause is gone is turned or removed. */
#pragma once

#include "base/clock.h"
#include "controllers/permissions/build.h"

struct permission_progress {
    const struct permission_build *build;
    const struct json
        *works; /* ManifestWorks of this permission as the hub has them now, in the order of their parts */
    size_t n_works;
    str denied;          /* a work was refused by the server: with this text */
    bool waits_approval; /* and what stands is from before, or nothing */
    str approval;        /* message of Approved; empty: approval is not asked for */
};

/* The whole next status of the permission; equal to the one it has when nothing changed. */
struct json permission_status(struct arena *a, const struct json *permission,
                              const struct permission_progress *progress, const struct clock *clock);
