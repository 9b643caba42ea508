/* SPDX-License-Identifier: Apache-2.0 */
/* What: the inside of struct authz_index, for index*.c and decide.c only.
 * Owns: see each structure; everything is on the heap and freed when nothing refers to it any more, or in one arena.
 * Threads: one writer or many readers.
 * Errors: none; running out of memory aborts.
 *
 *                     users, groups                           bindings                roles
 *   "alice" ──hash──► subject ─────── cluster ─► [link …] ──► binding ──────────────► place ──► body (rules, compiled)
 *                        ▲                          by name     ▲  name, links[]        name       NULL: missing
 *                        │ subject                              │
 *   (subject, "shop") ► holder ───── links ────► [link …] ──────┘          scopes
 *                        └── scope ───────────────────────────────────────► "shop"  (the nameless one is the cluster)
 *
 * A link is one subject of one binding, and lives inside the binding. Lists of links are sorted by the name of the binding,
 * so the first that allows is the one to name. Names are kept once, at the end of the structure they belong to. */
#pragma once

#include "authz/authz.h"
#include "authz/rule_compile.h"

/* ---- Hash tables of structures that start with a node: chained, so that an entry costs 8 bytes more than itself. ---- */

struct node {
    struct node *next;
    uint32_t hash;
    uint32_t n; /* of use to the structure around it: here, the length of its name */
};

struct table {
    struct node **heads;
    size_t n, mask;
};

/* The first node in the chain of this hash; chains hold other hashes too. */
static inline struct node *table_chain(const struct table *t, uint32_t hash)
{
    return t->heads ? t->heads[hash & t->mask] : NULL;
}
/* Steps through all nodes: struct node *at = NULL; while ((at = table_next(t, at))) … */
struct node *table_next(const struct table *t, const struct node *at);

/* ---- What is in the tables. ---- */

/* A namespace that something is in, or the whole cluster. */
struct scope {
    struct node node;
    uint32_t refs;
    char name[];
};

/* Where a role is, or would be. Stays while there is a role or a binding that refers to it. */
struct place {
    struct node node;
    struct scope *scope;
    struct body *body; /* NULL: no such role */
    uint32_t refs;     /* bindings */
    uint8_t kind;      /* AUTHZ_ROLE, AUTHZ_CLUSTER_ROLE, AUTHZ_UNKNOWN */
    char name[];
};

/* A role; one block with all its texts. */
struct body {
    struct authz_role role;
    struct compiled compiled;
    struct arena overflow; /* normally unused: the block is measured first */
    char room[];
};

/* Sorted by the name of their binding. One alone needs no array. */
struct links {
    union {
        struct link *one;
        struct link **many; /* room for the next power of two of n */
    };
};

/* A user or a group. ServiceAccounts are the users they act as. */
struct subject {
    struct node node;
    struct links cluster; /* of ClusterRoleBindings */
    uint32_t n_cluster;
    uint32_t refs : 31; /* links of any binding */
    uint32_t is_group : 1;
    char name[];
};

/* A subject in a namespace: it has RoleBindings there. node.n is the number of links. */
struct holder {
    struct node node;
    struct subject *subject;
    struct scope *scope;
    struct links links;
};

/* One subject of one binding. */
struct link {
    union {
        struct subject *subject; /* of a ClusterRoleBinding */
        struct holder *holder;   /* of a RoleBinding */
    };
    uint32_t index;          /* among the links of the binding */
    uint32_t kind : 2;       /* enum authz_subject_kind */
    uint32_t repeated : 1;   /* an earlier link of the binding has the same subject: not in its list */
    uint32_t namespace : 29; /* of a ServiceAccount: how long its namespace is, inside the user name */
};

struct authz_binding {
    struct node node;
    struct scope *scope;
    struct place *place;
    uint32_t n_links;
    uint32_t name_at; /* from the start of the structure: behind the links */
    struct link links[];
};

struct authz_index {
    struct table scopes, places, subjects, holders, bindings;
    struct scope *cluster;
    struct arena scratch; /* to measure roles in */
    bool only_grows;      /* then all structures are in the arena, and go with it */
    struct arena arena;
};

static inline str scope_name(const struct scope *s)
{
    return (str){s->name, s->node.n};
}
static inline str place_name(const struct place *p)
{
    return (str){p->name, p->node.n};
}
static inline str subject_name(const struct subject *s)
{
    return (str){s->name, s->node.n};
}
static inline str binding_name(const struct authz_binding *b)
{
    return (str){(const char *)b + b->name_at, b->node.n};
}
static inline struct authz_binding *link_binding(const struct link *l)
{
    return (struct authz_binding *)(void *)((char *)(uintptr_t)(l - l->index) - offsetof(struct authz_binding, links));
}
static inline struct link *const *links_of(const struct links *list, size_t n)
{
    return n == 1 ? &list->one : list->many;
}

struct scope *index_find_scope(const struct authz_index *ix, str name);

struct subject *index_find_subject(const struct authz_index *ix, bool is_group, str name);
struct holder *index_find_holder(const struct authz_index *ix, const struct subject *s, const struct scope *scope);
struct subject *index_link_subject(const struct link *l);
