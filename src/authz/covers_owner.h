/* SPDX-License-Identifier: Apache-2.0 */
/* What: the rules somebody holds, by the texts in them: which of them cover this verb, group, resource, name or URL?
 * Owns: nothing; it lives in an arena and borrows the rules.
 * Threads: read-only once made.
 * Errors: none. */
#pragma once

#include "authz/rule.h"
#include "authz/rule_url.h"

/* Axes of a product, in the order in which Kubernetes breaks rules down. */
enum covers_axis { COVERS_GROUP, COVERS_RESOURCE, COVERS_VERB, COVERS_NAME, COVERS_URL, COVERS_AXES };

struct covers_posting {
    str text;
    uint32_t rule;
};

/* Sorted by text, then rule; no duplicates. */
struct covers_postings {
    struct covers_posting *p;
    size_t n;
};

typedef VEC(uint32_t) covers_ids;

struct covers_owner {
    struct rules rules;
    struct covers_postings lists[COVERS_AXES]; /* all but URLs; without rules that cover everything on that axis */
    struct covers_postings any_sub;            /* "/log" of resources "*" + "/log" */
    struct url_pattern *urls;
    size_t n_urls;
    covers_ids any[COVERS_AXES];  /* rules that cover everything on the axis */
    uint8_t *any_of;              /* by rule: bit 1 << axis, the same */
    bool all_resources, all_urls; /* one rule covers every atom of that sort: cluster-admin and the like */
};

/* Rules that cover one value, other than those that cover everything: two runs of postings, each by rule. A rule may be in
 * both. */
struct covers_found {
    struct covers_postings run[2];
};

void covers_owner_init(struct covers_owner *o, struct arena *a, struct rules rules);
/* The arena is only used for URLs. */
struct covers_found covers_owner_find(const struct covers_owner *o, enum covers_axis axis, str text, struct arena *a);
/* Is the rule in the run? */
bool covers_run_has(const struct covers_postings *run, uint32_t rule);
