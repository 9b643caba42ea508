/* SPDX-License-Identifier: Apache-2.0 */
/* What: the algebra of policy rules: match, cover, merge, compare, compact, subtract, print.
 * Owns: nothing; results live in the arena given and share texts with their inputs, which must live as long.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST for JSON that is no list of rules; then nothing is returned. NULL rules match and cover nothing.
 *
 * A rule is a product of sets, and stands for its atoms: one verb on one resource of one group, with one name or without;
 * or one verb on one URL.
 *
 *     verbs × apiGroups × resources × (resourceNames or "any name")   and   verbs × nonResourceURLs
 *
 * An empty set makes the product empty (except resourceNames). Texts are compared byte by byte. */
#pragma once

#include "authz/authz_request.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "json/json.h"

struct rule {
    struct strs verbs, api_groups, resources, resource_names, non_resource_urls;
};

/* In an order that matters for printing and equality, not for meaning. The zero value grants nothing. */
struct rules {
    const struct rule *p;
    size_t n;
};

#define rules_each(list, it) \
    for (const struct rule *it = (list).p, *it##_end = (list).n ? it + (list).n : it; it != it##_end; it++)

/* ---- In and out. ---- */

/* list is the value of "rules": NULL and null are no rules. Unknown fields are ignored; a value of a wrong type is an error.
 * Texts are borrowed from the tree. */
int rules_from_json(struct arena *a, const struct json *list, struct rules *ret, struct err *err);
/* A list, empty if there are no rules; verbs always, the other lists if not empty, fields in the order Kubernetes has. */
struct json rules_to_json(struct arena *a, struct rules rules);
/* A copy that shares nothing. */
struct rules rules_dup(struct arena *a, struct rules rules);
/* As Kubernetes prints it in errors: {APIGroups:["g"], Resources:["r"], Verbs:["get" "list"]}; empty lists are left out. */
void rule_format(struct buf *b, const struct rule *rule);

/* ---- Match: does this rule allow this request? ---- */

bool rule_matches(const struct rule *rule, const struct authz_attributes *what);
/* The parts of the answer. */
bool rule_matches_verb(const struct rule *rule, str verb);
bool rule_matches_group(const struct rule *rule, str group);
/* "*" is every resource with every subresource; "*" + "/log" is that subresource of every resource; no other wildcards. */
bool rule_matches_resource(const struct rule *rule, str resource, str subresource);
/* No names: any name, and none. */
bool rule_matches_name(const struct rule *rule, str name);
/* "/foo*" and "*": everything that starts so. */
bool rule_matches_path(const struct rule *rule, str path);

/* ---- Cover: does the owner hold everything that the servant would have? ---- */

enum {
    COVERS_MAX_ATOMS = 10000,  /* missing atoms told one by one */
    COVERS_MAX_WORK = 1 << 23, /* steps, about a tenth of a second */
};

/* What is not covered. Both lists are empty when everything is. */
struct covers_missing {
    struct rules
        atoms; /* one rule per missing atom, in the order Kubernetes breaks rules down: per rule group, resource,
                           verb, name; then URL, verb */
    struct rules sets; /* the same as products of sets, not broken down: few, even when atoms are millions */
    bool cut;          /* there are more atoms than told, or a limit was reached and the rest counts as missing */
};

/* An atom is covered if one rule of the owner covers it; rules are not combined for one atom, and wildcards are only covered
 * by wildcards. Works on sets: a servant with 1000 verbs × 1000 groups × 1000 resources is answered without counting to
 * 10^9. Fails closed: a servant rule that needs more than COVERS_MAX_WORK is missing as a whole, as it stands.
 * ret_missing may be NULL when only the answer is wanted. */
bool rules_cover(struct arena *a, struct rules owner, struct rules servant, struct covers_missing *ret_missing);
/* The lines of an escalation error: atoms compacted, printed, sorted, without duplicates, parted by newlines; a last line
 * "..." when cut. */
void covers_format(struct buf *b, const struct covers_missing *missing);

/* What would the rules `after` add to those `before`? In normal form; *ret_cut (may be NULL) as above. */
struct rules rules_added(struct arena *a, struct rules before, struct rules after, bool *ret_cut);

/* ---- Compare, merge and compact. ---- */

/* The same texts in the same order; this is the equality by which Kubernetes drops duplicates and skips writes. */
bool rule_equal(const struct rule *x, const struct rule *y);
bool rules_equal(struct rules x, struct rules y);
/* Equal rules have equal hashes; differs from process to process. */
uint64_t rule_hash(const struct rule *rule);

/* Collects distinct rules in the order they come, in linear time. Zero-initialise with an arena; rule_set_done when ready;
 * .rules stays valid. Rules are copied, their lists and texts are shared. */
struct rule_set {
    struct arena *arena;
    VEC(struct rule) rules;
    uint32_t *slots; /* position + 1 in rules, by hash; 0 is free; heap */
    size_t mask;
};

/* False when an equal rule is already there. */
bool rule_set_add(struct rule_set *set, const struct rule *rule);
void rule_set_done(struct rule_set *set);

static inline struct rules rule_set_rules(const struct rule_set *set)
{
    return (struct rules){set->rules.p, set->rules.n};
}

/* x, then what y has besides, without duplicates. */
struct rules rules_union(struct arena *a, struct rules x, struct rules y);

/* As Kubernetes compacts before printing: rules with exactly one group, one resource and at most one name become one rule
 * each, verbs in the order they come; the others stay, in front. */
struct rules rules_compact(struct arena *a, struct rules rules);

/* The same atoms, always written the same way when they came as the same products: lists sorted and without duplicates, a
 * wildcard alone in its list, resources and URLs in rules of their own, nothing empty, no rule twice; rules that differ in
 * one list only are merged. Grants exactly what the rules given grant. */
struct rules rules_normal(struct arena *a, struct rules rules);
