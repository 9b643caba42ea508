/* SPDX-License-Identifier: Apache-2.0 */
/* What: ClusterRole aggregation: the rules an aggregated role must have, computed once, or kept up to date role by role.
 * Owns: an index owns copies of all it keeps. What it hands out it lends until it changes.
 * Threads: aggregate_merge is pure; an index belongs to one thread at a time.
 * Errors: ERR_INVALID for a malformed ClusterRole, which then counts as absent: it grants nothing through others.
 *
 * A ClusterRole with an aggregationRule is an aggregate, any other is a leaf. A leaf grants the rules it was written with.
 * An aggregate grants what the roles that its selectors select grant; the rules it was written with count for nothing,
 * and it never counts for itself. Where aggregates select each other in a circle, this is the smallest answer: a rule
 * is there only because a leaf that can be reached has it. Take the leaf away and the rule is gone, in the whole circle.
 *
 *     a chain:   x ──► view ──► edit ──► admin          a circle:   x ──► a ──► b ◄── y
 *                          y ────┘                                        ▲     │
 *                                                                         └─────┘
 *     view = x     edit = x y     admin = x y           a = x y     b = y x
 *
 *     ("──►": is selected by; x and y are leaves. The circle has the rules of y as long as there is y.)
 *
 * Order: selector by selector as written, in each the roles by name (byte order), in each their rules as they stand. Of equal
 * rules (rule_equal) the first counts. In a circle each aggregate lists what it selects outside of the circle first, then
 * what the others of the circle do, those by name. So the result depends on the roles alone, not on their history. */
#pragma once

#include "authz/rule.h"
#include "base/arena.h"
#include "base/err.h"
#include "object/selector.h"
#include "json/json.h"

/* True for a ClusterRole that has an aggregationRule, be it empty. */
bool aggregate_is(const struct json *cluster_role);

struct aggregate_selectors {
    const struct selector *p;
    size_t n;
};

/* The selectors of an aggregationRule; NULL and null have none. ERR_INVALID when one cannot be read: nobody may guess what it
 * was to select. */
int aggregate_selectors_parse(struct arena *a, const struct json *aggregation_rule, struct aggregate_selectors *ret,
                              struct err *err);

/* ---- One aggregate, from the rules that the roles have now: what Kubernetes' controller writes. ---- */

struct aggregate_source {
    str name;
    const struct json *labels; /* metadata.labels; NULL: none */
    struct rules rules;
};

/* The rules of the aggregate of this name out of n sources, sorted by name. Linear in the labels and rules met. Texts are
 * shared with the sources. */
struct rules aggregate_merge(struct arena *a, str name, struct aggregate_selectors selectors,
                             const struct aggregate_source *sources, size_t n);

/* ---- All aggregates, kept up to date. ---- */

struct aggregate_index;

struct aggregate_index *aggregate_index_new(void);
void aggregate_index_free(struct aggregate_index *ix);
/* Takes note of a ClusterRole that was stored, with the rules it has there. Costs what its labels select. */
int aggregate_index_put(struct aggregate_index *ix, const struct json *cluster_role, struct err *err);
/* Takes note that it is gone; false when it was not known. */
bool aggregate_index_delete(struct aggregate_index *ix, str name);

struct aggregate_change {
    str name;
    struct rules rules; /* what to store; may be empty */
};

struct aggregate_changes {
    const struct aggregate_change *p;
    size_t n;
};

/* Exactly those aggregates that are not stored as they should be, with the rules they should have, by name. They count as
 * stored from now on: who fails to store one asks aggregate_index_rules again. One call may follow many changes. Only
 * what the changes reach is looked at: the aggregates above them, and there only as far as something differs. */
struct aggregate_changes aggregate_index_settle(struct aggregate_index *ix, struct arena *a);
/* The rules of a role, leaf or aggregate, as of the last settle; false when it is not known. */
bool aggregate_index_rules(const struct aggregate_index *ix, struct arena *a, str name, struct rules *ret);
/* The rules that an aggregate of this name would have with these selectors, from what the roles grant now: for one that is about to
 * be written. As aggregate_merge, at the cost of what is selected. Lent until the index changes. */
struct rules aggregate_index_select(struct aggregate_index *ix, struct arena *a, str name,
                                    struct aggregate_selectors selectors);

typedef void aggregate_pick_fn(void *ctx, str role, str selector);
/* Every role that an aggregate selects, in the order in which it merges them; one that several of its selectors select comes as often,
 * the aggregate itself never. A selector is its canonical text ("a=b,c"; empty: it selects everything). Lent until the index
 * changes. False when there is no aggregate of this name. */
bool aggregate_index_picks(const struct aggregate_index *ix, str name, aggregate_pick_fn *fn, void *ctx);
