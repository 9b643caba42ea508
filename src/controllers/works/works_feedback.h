/* SPDX-License-Identifier: Apache-2.0 */
/* What: statusFeedback of a manifest: values of the live object that a ManifestWork's feedbackRules ask for; and the conditions that
 *       its conditionRules ask for. No effects.
 * Owns: nothing; lives in the arena given and shares the texts of rules and object.
 * Threads: pure.
 * Errors: a rule that makes no sense, or finds no scalar, is named in problem or in a condition; the others are answered all the same. */
#pragma once

#include "object/conditions.h"

enum {
    FEEDBACK_PATHS = 256,           /* of one manifest */
    FEEDBACK_BYTES = 64 * 1024,     /* of all its values: they share the ManifestWork with the manifests */
    FEEDBACK_PROBLEM_BYTES = 16000, /* of the message of a condition */
};

struct feedback {
    struct json values; /* [{name, fieldValue{type, integer|string|boolean}}], each name once */
    str problem;        /* the message of StatusFeedbackSynced; empty: all went well */
};

/* rules: WellKnownStatus (Deployment, Job, DaemonSet, Pod: as OCM knows them) and JSONPaths (json/jsonpath.h says which). */
struct feedback feedback_read(struct arena *a, const struct json *rules, const struct json *object);

/* rules: WellKnownConditions (Complete of Job and Pod). What cannot be evaluated, CEL for one, is a condition with status Unknown
 * that says so. The caller adds the generation. Their reasons begin with FEEDBACK_RULE_REASON: others with such a reason are of
 * rules that are gone. */
#define FEEDBACK_RULE_REASON "ConditionRule"
size_t feedback_conditions(struct arena *a, const struct json *rules, const struct json *object,
                           const struct condition **ret);
