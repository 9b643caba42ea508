/* SPDX-License-Identifier: Apache-2.0 */
/* What: why a request is allowed or denied, who else can do it, and what somebody can do at all.
 * Owns: nothing; results live in the arena given, and borrow from the index and the question: valid until either changes.
 * Threads: reads the index, changes nothing.
 * Errors: none. A zero identity or zero attributes are denied, and the explanation says so.
 *
 *   subject ──► binding ──► role ──► rule that allows it
 *                             └─ aggregated? ──► the roles its rules came from ──► the packages they belong to
 *
 * A path is one binding that allows the request, with everything behind it. Paths come in the order of the index:
 * ClusterRoleBindings, then RoleBindings, each by name; the first one is the reason that authz_check gives. */
#pragma once

#include "authz/authz.h"

/* A ClusterRole that is not aggregated itself and feeds a rule into one that is. */
struct explain_source {
    const struct authz_role *role;
    struct strs via;         /* aggregated roles in between, from the one that is bound on */
    str selector;            /* that selected the source: "a=b,c=d" */
    str package;             /* that brought it; empty: unknown */
    const struct rule *rule; /* its first that allows the request and stands in the aggregated role too */
};

/* An aggregated role without sources holds rules that it is about to lose. */
struct explain_path {
    struct authz_grant grant; /* the binding, its role, and which of its subjects it is */
    const struct rule *rule;  /* the first of the role that allows the request */
    size_t n_rules;           /* how many of its rules do */
    str package;              /* that brought the role; empty: unknown */
    bool is_aggregated;
    const struct explain_source *sources; /* of an aggregated role, by name */
    size_t n_sources;
};

/* ---- Why? ---- */

/* In the order in which they are told: the nearer, the earlier. */
enum explain_miss_kind {
    MISS_NAMESPACE,   /* allowed, but in another namespace only */
    MISS_VERB,        /* other verbs on the same thing */
    MISS_NAME,        /* the same verb on other objects, by name */
    MISS_SUBRESOURCE, /* the same verb on the resource but not this part of it, or on another part */
    MISS_GROUP,       /* the same verb on resources of that name in another API group */
    MISS_PATH,        /* a URL that differs by a slash at its end */
    MISS_ROLE,        /* a binding that refers to a role that does not exist */
    MISS_BINDING,     /* a role that allows it, but nothing binds it to the asker here */
};

struct explain_miss {
    enum explain_miss_kind kind;
    struct authz_grant grant;      /* of MISS_BINDING: only the role is set */
    const struct authz_role *role; /* whose rules nearly match; NULL for MISS_ROLE */
    struct strs instead;           /* what they allow instead: verbs, names, resources, groups, or a path */
    bool cut;                      /* and more than EXPLAIN_MAX_INSTEAD of it */
    str package;
};

enum {
    EXPLAIN_MAX_MISSES = 10, /* of each kind */
    EXPLAIN_MAX_INSTEAD = 20,
};

/* The least that would make it a yes: a binding to a role that is there for people, or else the smallest rule in a role of its own. */
struct explain_remedy {
    struct rule rule;
    const struct authz_role *role;           /* NULL: none that should be bound to the asker */
    enum authz_kind role_kind, binding_kind; /* where the rule and the subject belong */
    str namespace;                           /* of both; empty for the kinds of the cluster */
    struct authz_subject subject;            /* an empty name: there is nobody to bind it to */
    str role_name;                           /* of role, or one that is free */
    str binding_name;                        /* that is free */
};

/* Misses come by kind; those of MISS_BINDING by how little else the role grants, the server's own (system:) last, the others as the
 * index has them. */
struct explanation {
    struct authz_identity who;
    struct authz_attributes what;
    struct authz_decision decision; /* that of authz_check */
    bool is_master;                 /* of system:masters: allowed whatever the paths say */
    const struct explain_path *paths;
    size_t n_paths;
    const struct explain_miss *misses; /* of a no */
    size_t n_misses, dropped;          /* those beyond EXPLAIN_MAX_MISSES are only counted */
    struct explain_remedy remedy;      /* of a no; without verbs: nothing can make it a yes */
};

struct explanation explain_request(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                                   const struct authz_attributes *what);

/* ---- Who can? (who_can.c) ---- */

struct explain_holder {
    struct authz_subject subject;
    bool is_master; /* the group system:masters, which always can */
    const struct explain_path *paths;
    size_t n_paths;
};

/* Every subject of a binding that can do this by itself, without the groups it may be in: users, groups, ServiceAccounts,
 * each by (namespace and) name. A user named like a ServiceAccount is one. Everywhere: in some namespace at least, whichever the
 * request names; its paths are those of all namespaces. */
struct explain_holders {
    const struct explain_holder *list;
    size_t n;
};

struct explain_holders explain_who_can(struct arena *a, const struct authz_index *ix,
                                       const struct authz_attributes *what, bool everywhere);

/* Fills in misses and remedy of an explanation that has who, what and a decision that is no. Part of the explanation. */
void explain_misses(struct arena *a, const struct authz_index *ix, struct explanation *e);

/* ---- What can somebody do? ---- */

/* As a SelfSubjectRulesReview answers: the rules of all bindings that apply, in their order, duplicates included. */
struct explain_rules {
    struct rules resource_rules, non_resource_rules; /* each with its own fields only */
    str evaluation_error;                            /* names missing roles; empty: none */
};

struct explain_rules explain_rules_for(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                                       str namespace);

enum explain_cell {
    CELL_NO,
    CELL_NAMES, /* for some objects, by name */
    CELL_YES,
};

struct explain_resource {
    str group, resource, subresource;
};

struct explain_axes {
    const struct explain_resource *resources;
    size_t n_resources;
    struct strs verbs;
};

/* One cell for each resource and verb, resource by resource. */
const enum explain_cell *explain_matrix(struct arena *a, const struct authz_index *ix, const struct authz_identity *who,
                                        str namespace, const struct explain_axes *axes);
/* The same of rules alone, as a review of rules tells them. */
const enum explain_cell *explain_matrix_of(struct arena *a, struct rules rules, const struct explain_axes *axes);

/* ---- As text. (explain_text.c) ---- */

/* User "bob" can delete pods in the namespace "team-a": its paths; or cannot: near misses and the remedy. */
void explanation_format(struct buf *b, const struct explanation *e);
void explain_holders_format(struct buf *b, const struct authz_attributes *what, const struct explain_holders *holders);

/* The parts of it: User "bob" can delete pods in the namespace "team-a" */
void explain_claim_format(struct buf *b, const struct explanation *e);
/* What a miss allows instead: allowed to get, list */
void explain_instead_format(struct buf *b, const struct explanation *e, const struct explain_miss *miss);

/* ---- As a command. ---- */

/* One line for a shell that does what the remedy says, by kubectl. Of a resource that the server does not know kubectl makes no
 * rules by name, so that such a role is written out. Nothing for a remedy without verbs or subject. */
void explain_command(struct buf *b, const struct explain_remedy *remedy, bool is_known_resource);

/* ---- Parts. ---- */

/* The subject that stands for a user: a ServiceAccount if it is named like one. */
struct authz_subject explain_subject(str user);
/* Of a role's name, labels or annotations: what package it belongs to, empty when nothing says so. */
str explain_package(const struct authz_role *role);

/* Which bindings a question looks at, so that of many thousands only those need be kept.
 *
 * Whoever reads the objects of a server reads roles first. Then a binding is kept
 *
 *   who-can   if its role allows the request
 *   why       if it names the asker; if it could have the name that a binding which helps would get; or if it is the first to
 *             tell that a role is bound to people, or to programs
 *
 * and answers are the same as with all of them. */

struct explain_keep {
    const struct authz_attributes *what;
    const struct authz_identity *who; /* NULL: who can? */
    struct arena arena;
    struct map roles; /* what is known of them, by their place in memory */
    str prefix;       /* of names that a binding which helps could get */
};

void explain_keep_done(struct explain_keep *k);
/* A list of bindings begins; before the first of them, too. What earlier ones told of roles counts no longer. */
void explain_keep_begin(struct explain_keep *k);
/* ix: has the roles. */
bool explain_keeps(struct explain_keep *k, const struct authz_index *ix, const struct json *binding);
