/* SPDX-License-Identifier: Apache-2.0 */
/* What: how a ClusterPermission fares: its status, from what was built and from what the agent says of its works. No effects.
 * Owns: nothing; the status lives in the arena given and shares the texts of what it is made from.
 * Threads: pure but for the clock.
 * Errors: none. What an agent wrote may be anything: it never makes a status that a server refuses.
 *
 * Literal types, reasons and messages of Open Cluster Management where it has them; besides: RBACManifestWorkCreated,
 * SubjectPresent, Approved, Stale, Ready. A condition whose cause is gone is turned or removed. */
#pragma once

#include "base/clock.h"
#include "controllers/permissions/permissions_build.h"

struct permission_progress {
    const struct permission_build *build;
    /* ManifestWorks of this permission as the hub has them now, whole, in the order of their parts; those that are to go, too. */
    const struct json *works;
    size_t n_works;
    str denied;          /* a work could not be written: with this text */
    bool waits_approval; /* and what stands is from before, or nothing */
    str approval;        /* message of Approved; empty: approval is not asked for */
};

/* The whole next status of the permission; equal to the one it has when nothing changed. */
struct json permission_status(struct arena *a, const struct json *permission,
                              const struct permission_progress *progress, const struct clock *clock);
