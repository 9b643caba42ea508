/* SPDX-License-Identifier: Apache-2.0 */
/* What: a ManifestWork's spec, read: its manifests in the order in which they are applied, each with all that is configured for it.
 *       No effects.
 * Owns: nothing; lives in the arena given and shares the texts of the spec.
 * Threads: pure.
 * Errors: what is wrong with one manifest is said in it, the others are read all the same. */
#pragma once

#include "base/arena.h"
#include "client/client.h"

enum manifest_strategy { MANIFEST_UPDATE, MANIFEST_CREATE_ONLY, MANIFEST_SERVER_SIDE, MANIFEST_READ_ONLY };

struct manifest {
    size_t ordinal;           /* in the spec */
    str group, version, kind; /* of its apiVersion */
    str namespace, name;
    const struct json *object;
    enum manifest_strategy strategy;
    str field_manager; /* of server-side apply: "work-agent" */
    bool is_forced;
    const struct json *ignored;    /* ignoreFields, or NULL */
    const struct json *feedback;   /* feedbackRules, or NULL */
    const struct json *conditions; /* conditionRules, or NULL */
    const struct json *selector;   /* parsed annotation FLEET_ANNOTATION_SELECTOR, or NULL */
    str problem;                   /* it cannot be applied: why; empty: it can */
};

/* manifestConfigs match by group, resource, name and namespace ("*" matches any); the first match of each attribute counts.
 * Resources are not known before discovery: plural answers, or says that nobody knows the kind (empty). */
struct manifest_resources {
    str (*plural)(void *ctx, str group, str version, str kind);
    void *ctx;
};

/* By kind rank: namespaces and CRDs first, then roles, then bindings, then the rest; inside a rank as written. */
size_t manifests_read(struct arena *a, const struct json *work, const struct manifest_resources *resources,
                      const struct manifest **ret);
/* Whether the object stays when the work goes: deleteOption says Orphan, or names it. */
bool manifest_is_orphaned(const struct json *work, str group, str plural, str namespace, str name);
