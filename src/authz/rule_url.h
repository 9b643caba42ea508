/* SPDX-License-Identifier: Apache-2.0 */
/* What: which of many URL patterns ("/healthz", "/api*") fit a path, without trying them all.
 * Owns: nothing; patterns are the caller's array and borrow their texts.
 * Threads: pure functions.
 * Errors: none. */
#pragma once

#include "base/str.h"

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
