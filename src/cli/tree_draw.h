/* SPDX-License-Identifier: Apache-2.0 */
/* What: a view of a graph of roles as text: drawn with lines, as a document, or as a picture.
 * Owns: nothing; results live in the arena given, and borrow from the view.
 * Threads: pure.
 * Errors: none.
 *
 * Names are those of others: on a terminal control characters are shown, in dot and HTML everything that has a meaning there is
 * escaped. */
#pragma once

#include "cli/term.h"
#include "cli/tree_graph.h"
#include "json/json.h"

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
