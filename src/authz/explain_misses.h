/* SPDX-License-Identifier: Apache-2.0 */
/* What: what was missing when a request was denied. Private to the explanations.
 * Owns: nothing.
 * Threads: reads the index.
 * Errors: none. */
#pragma once

#include "authz/explain.h"

/* Some rule of the role allows the request. */
bool explain_allows(const struct authz_role *role, const struct authz_attributes *what);
/* A rough measure of what else one would get with a role. */
double explain_breadth(const struct authz_role *role);
/* What would help (explain_remedy.c). */
struct explain_remedy explain_remedy_find(struct arena *a, const struct authz_index *ix, const struct explanation *e);
/* What the name of a binding that would help this asker begins with; may be empty. */
str explain_binding_prefix(struct arena *a, const struct authz_identity *who);
/* Fills in misses and remedy of an explanation that has who, what and a decision that is no. */
void explain_misses(struct arena *a, const struct authz_index *ix, struct explanation *e);
