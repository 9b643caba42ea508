/* SPDX-License-Identifier: Apache-2.0 */
/* What: the rules of a role, prepared to decide quickly whether one of them allows a request.
 * Owns: nothing; everything lives in the caller's arena or array and borrows the texts of the rules.
 * Threads: read-only once made; deciding allocates nothing.
 * Errors: none. */
#pragma once

#include "authz/rule.h"
#include "base/str.h"

/* ---- URL patterns ("/healthz", "/api*"): which of many match a path, without trying them all. ---- */

struct url_pattern {
    str stem;      /* the pattern without its trailing stars */
    bool open;     /* it had some: everything that starts with the stem fits */
    uint32_t rule; /* where it comes from */
};

struct url_pattern url_pattern_of(str url, uint32_t rule);
/* By stem, then rule: what the walk below expects. */
void url_patterns_sort(struct url_pattern *p, size_t n);

/* Goes through the patterns that fit, longest stem first:
 *     struct url_walk w = url_walk_start(p, n, path);
 *     for (const struct url_pattern *it; (it = url_walk_next(&w));) … */
struct url_walk {
    const struct url_pattern *p;
    size_t at; /* patterns before it are still to be looked at */
    str path;
    str left; /* the stems still to come start the path and are no longer than this */
};

struct url_walk url_walk_start(const struct url_pattern *p, size_t n, str path);
const struct url_pattern *url_walk_next(struct url_walk *w);

/* ---- Compiled rules. ----
 *
 * Every text has a hash, every list is sorted by hash, and resources lead to rules, so that a role with thousands of rules
 * is not slower to ask than one with ten:
 *
 *     targets   hash(pods) → rule 0   hash(pods/log) → rule 3   …      by hash; a request looks for at most two
 *     anything  rules that name the resource "*"
 *     rule 0    verbs {get, list}  groups {""}  names any
 *     urls      "/api" → rule 7   "/healthz" → rule 7                   by text */

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
