/* SPDX-License-Identifier: Apache-2.0 */
/* What: how an install fares, as its status and its Events say it.
 * Owns: nothing; texts live in the arena of the visit.
 * Threads: those of the visit.
 * Errors: of the write; a status that is so already is not written. */
#pragma once

#include "controllers/installs/installs_internal.h"
#include "object/conditions.h"

enum status_type {
    STATUS_UNPACKED,
    STATUS_INSTALLED,
    STATUS_HEALTHY,
    STATUS_SYNCED,
    STATUS_RETAINED,
    STATUS_TERMINATING,
    STATUS_TYPES
};

struct status_word {
    enum { STATUS_KEEP, STATUS_TRUE, STATUS_FALSE, STATUS_UNKNOWN } value; /* keep: as it is */
    str reason, message;
};

struct status_report {
    bool is_silent; /* there is nothing to say yet */
    struct status_word words[STATUS_TYPES];
    str why; /* of Ready, when it is true and yet something must be said: "Blocked"; with why_message */
    str why_message;
    /* What is installed; package empty: leave these as they are. */
    str package, digest, version;
    str accepted;                  /* since when; empty: leave it as it is */
    str old_package, old_digest;   /* while an upgrade is under way */
    struct json record;            /* null: leave it as it is */
    bool has_approval;             /* else both are left as they are */
    struct json approval, pending; /* see installs_needs.h; null: none */
    str crds_approved;             /* when a change of shared CRDs was approved; empty: leave it as it is */
    bool has_counts;
    size_t wanted, established;
};

static inline void status_say(struct status_report *r, enum status_type type, int value, str reason, str message)
{
    r->words[type] = (struct status_word){value, reason, message};
}

/* installs_health.c: the condition Healthy. */
int health_report(struct visit *v, const struct plan *plan, struct err *err);
/* Of a Deployment that a controller has observed; pure. */
struct status_word health_of_deployment(struct arena *a, const struct json *deployment);
/* Something stands in the way: Synced is false. */
void status_refuse(struct status_report *r, str reason, str message);
/* Writes what differs, and tells of what changed. ret: the object as the server has it now; may be NULL. */
int status_write(struct visit *v, const struct status_report *report, struct err *err);
