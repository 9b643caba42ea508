/* SPDX-License-Identifier: Apache-2.0 */
/* What: the graph behind an aggregate_index: who is labelled how, who selects whom. Private to aggregate_*.c.
 * Owns: the index owns everything in it, each piece in a block of its own.
 * Threads: those of the index.
 * Errors: none; running out of memory aborts.
 *
 *      place "tier=a"                       place "tier"
 *        roles: leaf, …  carry it             selectors: tier exists, …
 *        selectors: tier=a, …  demand it
 *                     │
 *                     ▼ members, by name
 *                 selector tier=a ───────────► role leaf ──► rules (shared by all who have an equal one)
 *                     ▲                   └──► role sub (an aggregate itself) ──uses──► selector …
 *                     │ uses, in order
 *                 role top (an aggregate)
 *
 * A role that comes or changes its labels is shown to the selectors found at the places of its labels, and to the few that
 * demand no label at all. A selector that comes is shown to the roles at its place. Equal selectors are one selector.
 * From a changed role one goes up (role → selectors it is a member of → roles that use them) to find what may change. */
#pragma once

#include "authz/aggregate.h"
#include "object/selector.h"

#include <sys/queue.h>

/* ---- Rules: equal ones are one, so that comparing and merging lists is comparing and marking pointers. ---- */

struct agg_rule {
    uint64_t mark; /* the last merge that met it */
    uint64_t hash;
    size_t refs;
    struct agg_rule *next;
    struct rule rule; /* points into the same block */
};

struct agg_pool {
    struct agg_rule **buckets;
    size_t n, mask;
};

/* A list that holds one reference to each of its rules. */
struct agg_rules {
    struct agg_rule **p;
    size_t n;
};

void agg_pool_done(struct agg_pool *pool);
struct agg_rules agg_rules_take(struct agg_pool *pool, struct rules rules);
/* A list of rules that are in the pool already. */
struct agg_rules agg_rules_share(struct agg_rule *const *p, size_t n);
void agg_rules_drop(struct agg_pool *pool, struct agg_rules rules);
bool agg_rules_equal(struct agg_rules x, struct agg_rules y);
/* A list lent out: the texts stay in the pool. */
struct rules agg_rules_lend(struct arena *a, struct agg_rules rules);

/* ---- Labels, selectors, roles. ---- */

struct agg_role;
struct agg_selector;

/* Where roles that carry a label and selectors that demand it meet. */
struct agg_place {
    str key; /* in the map that holds it: "tier=a", or "tier" */
    struct map *map;
    LIST_HEAD(, agg_label) roles;
    LIST_HEAD(, agg_anchor) selectors;
};

struct agg_label {
    LIST_ENTRY(agg_label) link;
    struct agg_place *place;
    struct agg_role *role;
};

struct agg_anchor {
    LIST_ENTRY(agg_anchor) link;
    struct agg_place *place;
    struct agg_selector *selector;
};

/* Two for each label: by key and value, and by key. */
struct agg_labels {
    struct json map;
    size_t n;
    struct agg_label at[];
};

/* What both roles and selectors have while settling walks the graph. First in both. */
struct agg_node {
    uint64_t round;     /* of settling in which it was last reached; the rest is of that round */
    uint32_t seen, low; /* Tarjan's numbers; 0: not seen yet */
    bool on_stack, is_role;
};

struct agg_use {
    LIST_ENTRY(agg_use) link; /* among the uses of the same selector */
    struct agg_selector *selector;
    struct agg_role *role;
};

struct agg_member {
    struct agg_role *role;
    size_t at; /* where the selector stands in role->in */
};

struct agg_selector {
    struct agg_node node;
    str text; /* canonical */
    struct selector selector;
    struct agg_anchor *anchors; /* where it is found; of n places, or in the list of those without */
    size_t n_anchors;
    LIST_HEAD(, agg_use) uses;
    struct agg_member *members; /* by name */
    size_t n, cap;
    uint64_t mark; /* the last matching that met it */
};

/* What merging looks at stands together in front. */
struct agg_role {
    struct agg_node node;
    struct agg_rules rules; /* as stored, or as they are to be stored by who asked last */
    uint64_t circle;        /* same number: same circle; an aggregate that is in none has its own, a leaf has 0 */
    size_t circle_n;        /* aggregates in it */
    str name;
    struct agg_labels *labels; /* NULL: none */
    struct agg_selector **in;  /* selectors that it is a member of */
    size_t n_in, cap_in;
    bool is_aggregate;
    bool is_dirty;        /* an aggregate to look at, in the list of those */
    struct agg_use *uses; /* of an aggregate, in the order of its selectors */
    size_t n_uses;
    LIST_ENTRY(agg_role) dirty;
};

struct aggregate_index {
    struct map roles;      /* name → agg_role */
    struct map selectors;  /* canonical text → agg_selector */
    struct map by_value;   /* "tier=a" → agg_place */
    struct map by_key;     /* "tier" → agg_place */
    struct agg_place rest; /* selectors that roles without labels can match */
    struct agg_pool pool;
    LIST_HEAD(, agg_role) dirty;
    uint64_t rounds, marks, circles; /* counters: a value is used once */
    struct arena scratch;            /* of one call */
};

/* malloc that aborts instead of failing. */
void *agg_alloc(size_t size);

/* Puts the role at the places of these labels (a map of strings, or NULL), and at no others. */
void agg_role_label(struct aggregate_index *ix, struct agg_role *role, const struct json *labels);

/* Makes the role a member of exactly the selectors that match its labels; marks who uses a selector it joins or leaves. */
void agg_role_match(struct aggregate_index *ix, struct agg_role *role);
/* It leaves all selectors. */
void agg_role_unmatch(struct aggregate_index *ix, struct agg_role *role);

/* The one selector of this canonical text, with its members; made from a copy when it is new. */
struct agg_selector *agg_selector_get(struct aggregate_index *ix, const struct selector *selector, str text);
/* Forgets it if nobody uses it. */
void agg_selector_release(struct aggregate_index *ix, struct agg_selector *s);

/* Marks all aggregates that use the selector for the next settling. */
void agg_mark_users(struct aggregate_index *ix, struct agg_selector *s);
