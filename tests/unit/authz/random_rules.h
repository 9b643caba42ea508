/* SPDX-License-Identifier: Apache-2.0 */
/* What: random rules and requests from a small alphabet, so that they often have to do with each other.
 * Owns: nothing; everything is built in the arena given.
 * Threads: one.
 * Errors: none. The same seed gives the same rules. */
#pragma once

#include "authz/rule.h"
#include "base/clock.h"

static const str some_verbs[] = {S_INIT("get"), S_INIT("list"), S_INIT("delete"), S_INIT("*")};
static const str some_groups[] = {S_INIT(""), S_INIT("apps"), S_INIT("batch"), S_INIT("*")};
static const str some_resources[] = {S_INIT("pods"),     S_INIT("pods/log"), S_INIT("jobs"),
                                     S_INIT("jobs/log"), S_INIT("*/log"),    S_INIT("log"),
                                     S_INIT("a/b/c"),    S_INIT("*/b/c"),    S_INIT("*")};
static const str some_names[] = {S_INIT("x"), S_INIT("y"), S_INIT(""), S_INIT("*")};
static const str some_urls[] = {S_INIT("/"),        S_INIT("/api"), S_INIT("/api/*"), S_INIT("/api/v1"),
                                S_INIT("/api/v1*"), S_INIT("/ap*"), S_INIT(""),       S_INIT("/*"),
                                S_INIT("/a/*/c"),   S_INIT("*"),    S_INIT("**")};

static inline struct strs random_strs(struct arena *a, const struct random *r, const str *from, size_t n_from)
{
    /* Wildcards stand last in the alphabets, and are drawn less often than the others. */
    size_t n = random_below(r, 4), kinds = random_below(r, 4) ? n_from - 1 : n_from;
    str *p = ARENA_ARRAY(a, str, n);
    for (size_t i = 0; i < n; i++)
        p[i] = from[random_below(r, (uint32_t)kinds)];
    return (struct strs){p, n};
}

static inline struct rule random_rule(struct arena *a, const struct random *r)
{
    bool both = random_below(r, 16) == 0, urls = random_below(r, 3) == 0;
    struct rule rule = {.verbs = random_strs(a, r, some_verbs, COUNT(some_verbs))};
    if (both || !urls) {
        rule.api_groups = random_strs(a, r, some_groups, COUNT(some_groups));
        rule.resources = random_strs(a, r, some_resources, COUNT(some_resources));
        if (random_below(r, 3) == 0)
            rule.resource_names = random_strs(a, r, some_names, COUNT(some_names));
    }
    if (both || urls)
        rule.non_resource_urls = random_strs(a, r, some_urls, COUNT(some_urls));
    return rule;
}

static inline struct rules random_rules(struct arena *a, const struct random *r, uint32_t most)
{
    size_t n = random_below(r, most + 1);
    struct rule *p = ARENA_ARRAY(a, struct rule, n);
    for (size_t i = 0; i < n; i++)
        p[i] = random_rule(a, r);
    return (struct rules){p, n};
}

static inline str random_of(const struct random *r, const str *from, size_t n)
{
    return from[random_below(r, (uint32_t)n)];
}

static inline struct authz_attributes random_request(const struct random *r)
{
    static const str resources[] = {S_INIT("pods"), S_INIT("jobs"), S_INIT("log"), S_INIT("a"), S_INIT("a/b")};
    static const str subresources[] = {S_INIT(""), S_INIT("log"), S_INIT("b/c"), S_INIT("c")};
    static const str paths[] = {S_INIT("/"),        S_INIT("/api"), S_INIT("/api/v1"), S_INIT("/api/v1/x"),
                                S_INIT("/apis"),    S_INIT(""),     S_INIT("/a/*/c"),  S_INIT("/a/b/c"),
                                S_INIT("/api/v1*"), S_INIT("x"),    S_INIT("/api/")};
    struct authz_attributes what = {.verb = random_of(r, some_verbs, COUNT(some_verbs))};
    if (random_below(r, 3)) {
        what.is_resource = true;
        what.group = random_of(r, some_groups, COUNT(some_groups));
        what.resource = random_of(r, resources, COUNT(resources));
        what.subresource = random_of(r, subresources, COUNT(subresources));
        what.name = random_of(r, some_names, COUNT(some_names));
    } else {
        what.path = random_of(r, paths, COUNT(paths));
    }
    return what;
}
