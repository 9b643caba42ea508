/* SPDX-License-Identifier: Apache-2.0 */
/* What: what aggregates into what, as a graph: roles, who selects whom, and who is bound to them.
 * Owns: nothing; the graph lives in the arena given and borrows from the index of rights.
 * Threads: pure.
 * Errors: none; a role whose selectors cannot be read selects nothing.
 *
 *   system:aggregate-to-view ──► view ──► edit ──► admin        "──►": its rules go into
 *                                  ▲ into        ▲ from: edit selects view */
#pragma once

#include "authz/authz.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/term.h"
#include "json/json.h"

struct tree_role;

struct tree_link {
    struct tree_role *role; /* at the other end */
    str selector;           /* by which the aggregate selects: "a=b"; of several, with " or " between them */
};

/* One subject of one binding. */
struct tree_bound {
    struct authz_subject subject;
    enum authz_kind kind; /* of the binding */
    str namespace, name;  /* of the binding */
};

struct tree_role {
    const struct authz_role *role;
    str package;                  /* that brought it; empty: unknown */
    size_t at;                    /* its place among all */
    VEC(struct tree_link) from;   /* what it selects, as the roles are ordered */
    VEC(struct tree_link) into;   /* who selects it, the same */
    VEC(struct tree_bound) bound; /* users, groups, ServiceAccounts, each by name; see tree_graph_bind */
};

struct tree_graph {
    struct arena *arena;
    struct tree_role *roles; /* ClusterRoles by name, then Roles by namespace and name */
    size_t n;
};

void tree_graph_make(struct arena *a, const struct authz_index *ix, struct tree_graph *ret);
/* Adds who is bound to what, from the bindings of the index that it was made of. */
void tree_graph_bind(struct tree_graph *g, const struct authz_index *ix);
/* NULL: there is none. The namespace of a ClusterRole is empty. */
struct tree_role *tree_graph_find(const struct tree_graph *g, enum authz_kind kind, str namespace, str name);
/* A ClusterRole that selects others. */
static inline bool tree_role_selects(const struct tree_role *r)
{
    return r->from.n > 0;
}

/* ---- Views: what of a graph is shown. ---- */

typedef VEC(struct tree_role *) tree_roles;

/* One drawing: from each of these roles, in this direction. */
struct tree_part {
    bool is_upwards;  /* what it goes into; else what it comes from */
    bool shows_bound; /* who is bound to each role */
    tree_roles roots;
};

enum { TREE_PARTS = 2 };

struct tree_view {
    const struct tree_graph *graph;
    const char *about; /* "role", "package", "namespace"; NULL: everything */
    str name;
    struct tree_part parts[TREE_PARTS];
    size_t n_parts;
};

/* Every aggregate that selects something, from those that no other selects on. */
struct tree_view tree_view_all(struct tree_graph *g);
/* What feeds a role, and what it feeds if anything. */
struct tree_view tree_view_role(struct tree_graph *g, struct tree_role *role);
/* The roles that a package brought, where they go, and who has them. */
struct tree_view tree_view_package(struct tree_graph *g, str package, tree_roles roles);
/* The persona roles of a namespace, what feeds them, and who has them. Without roots: it has none. */
struct tree_view tree_view_namespace(struct tree_graph *g, str namespace);

/* The roles of packages that are named so: "repo:name:version" or "repo:name", or by another mark of a package. */
tree_roles tree_find_package(struct tree_graph *g, str package);

/* Everything that the view reaches, in the order of the graph. reached[role->at]: it is one of them. */
struct tree_reach {
    tree_roles roles;
    const bool *reached;
    const bool *bound; /* of these, whose subjects are shown */
};

struct tree_reach tree_view_reach(struct arena *a, const struct tree_view *view);

/* A view of a graph of roles as text: drawn with lines, as a document, or as a picture.
 *
 * Names are those of others: on a terminal control characters are shown, in dot and HTML everything that has a meaning there is
 * escaped. */

enum { TREE_MAX_DEPTH = 16 }; /* levels that are drawn; documents and pictures have all */

/* With lines, a row for each role and each subject. What hangs below a role is drawn once, and referred to afterwards. */
void tree_draw(struct buf *b, const struct term *term, const struct tree_view *view, bool is_wide);
/* A RoleTree of cli.reeve.dev/v1, as the manual describes it. */
struct json tree_document(struct arena *a, const struct tree_view *view);
/* For Graphviz. */
void tree_dot(struct buf *b, const struct tree_view *view);
/* A page that needs nothing else: a picture (SVG; empty: none), and the drawing below it. */
void tree_page(struct buf *b, const struct tree_view *view, str svg);

/* "role view", "everything": what the view is about. */
str tree_title(struct arena *a, const struct tree_view *view);
/* "view", "Role ns/name" */
str tree_role_title(struct arena *a, const struct tree_role *role);

/* Pictures by Graphviz, if it is installed: the program "dot", run as a child. */

enum { GRAPHVIZ_MAX_BYTES = 64 * 1024 * 1024 }; /* of a picture */

/* dot: a text in its language; ret: SVG, in the arena. limit_ns: for the program. What that has to say goes to standard error. */
int graphviz_draw(struct arena *a, str dot, int64_t limit_ns, str *ret, struct err *err);
