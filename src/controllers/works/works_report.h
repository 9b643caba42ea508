/* SPDX-License-Identifier: Apache-2.0 */
/* What: how a ManifestWork fares, in the words of Open Cluster Management: its status, from what became of its manifests. No effects.
 * Owns: nothing; results live in the arena given and share the texts of what they are made from.
 * Threads: pure but for the clock.
 * Errors: none.
 *
 *   what became of each object ─► report_facts ─► facts: a status without times ─┬─► report_status ─► status
 *                                                  what the hub has now ─────────┘    times stay where nothing turned */
#pragma once

#include "base/clock.h"
#include "controllers/works/works_manifest.h"

/* Of resourceStatus, about: the spec may take half a megabyte, and servers take 1.5 MB in all. */
#define REPORT_BYTES ((size_t)900 * 1000)
#define REPORT_FAILED "AppliedManifestFailed"
#define REPORT_CONFLICT "Conflict" /* ours: what stands there was not delivered by this work */
#define REPORT_IGNORE_FIELDS "AppliedManifestSSAIgnoreFieldError"

enum report_presence { REPORT_UNKNOWN, REPORT_THERE, REPORT_ABSENT };

struct report_entry {
    const struct manifest *manifest;
    str plural;          /* empty: nobody knows the kind */
    str namespace;       /* of the object, where the manifest has a selector */
    str reason, problem; /* of Applied=False; no reason: it was applied */
    enum report_presence presence;
    str unknown;             /* why nobody knows whether it is there */
    const struct json *live; /* for feedback; NULL: not at hand */
};

struct json report_facts(struct arena *a, const struct json *work, const struct report_entry *entries, size_t n);
/* Facts of a work that is being deleted. */
/* problem: what keeps it from being done; empty: nothing does. */
struct json report_leaving(struct arena *a, str problem);
/* The whole next status; equal to the one that the work has when nothing has changed. */
struct json report_status(struct arena *a, const struct json *work, const struct json *facts,
                          const struct clock *clock);
