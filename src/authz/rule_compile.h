/* SPDX-License-Identifier: Apache-2.0 */
/* What: all rules of a role, made ready to answer quickly whether one of them allows a request.
 * Owns: nothing; it lives in the arena it was made in and borrows the texts of the rules.
 * Threads: read-only once made; asking allocates nothing.
 * Errors: none.
 *
 * Every text has a hash, every list is sorted by hash, and resources lead to rules, so that a role with thousands of rules
 * is not slower to ask than one with ten:
 *
 *     targets   hash(pods) → rule 0   hash(pods/log) → rule 3   …      by hash; a request looks for at most two
 *     anything  rules that name the resource "*"
 *     rule 0    verbs {get, list}  groups {""}  names any
 *     urls      "/api" → rule 7   "/healthz" → rule 7                   by text (rule_url.h)
 */
#pragma once

#include "authz/rule.h"
#include "authz/rule_url.h"

/* A request with the hashes of its parts, made once and shown to many roles. */
struct question {
    const struct authz_attributes *what;
    uint32_t verb, group, name;
    uint32_t resource; /* "pods/log" */
    uint32_t any_sub;  /* "*" + "/log"; only with a subresource */
    bool odd;          /* the resource holds a slash itself: hashes cannot tell, every target is tried */
};

struct compiled_text {
    uint32_t hash, n;
    const char *p;
};

/* Sorted by hash. */
struct compiled_list {
    const struct compiled_text *p;
    uint32_t n;
    bool any; /* fits everything: a wildcard is among it, or (names) there are none */
};

struct compiled_rule {
    struct compiled_list verbs, groups, names;
};

struct compiled_target {
    uint32_t hash, rule;
    str text;
};

struct compiled {
    const struct compiled_rule *rules;
    const struct compiled_target *targets; /* sorted by hash */
    const uint32_t *anything;
    const struct url_pattern *urls;
    size_t n_targets, n_anything, n_urls;
};

struct question question_of(const struct authz_attributes *what);
struct compiled rules_compile(struct arena *a, struct rules rules);
bool compiled_allows(const struct compiled *c, const struct question *q);
