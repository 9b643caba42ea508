/* SPDX-License-Identifier: Apache-2.0 */
/* What: statusFeedback of a manifest: values of the live object that a ManifestWork's feedbackRules ask for. No effects.
 * Owns: nothing; lives in the arena given.
 * Threads: pure.
 * Errors: a rule that makes no sense, or finds no scalar, is named in problem; the others are answered all the same. */
#pragma once

#include "base/arena.h"
#include "json/json.h"

struct feedback {
    struct json values; /* [{name, fieldValue{type, integer|string|boolean|jsonRaw}}] */
    str problem;        /* of StatusFeedbackSynced; empty: all went well */
};

/* rules: WellKnownStatus (Deployment, Job, DaemonSet, Pod: as OCM knows them) and JSONPaths. */
struct feedback feedback_read(struct arena *a, const struct json *rules, const struct json *object);
