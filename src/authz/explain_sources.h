/* SPDX-License-Identifier: Apache-2.0 */
/* What: where the rules of aggregated roles came from. Private to the explanations.
 * Owns: the list of ClusterRoles and what was found out about roles so far; done with explain_sources_done.
 * Threads: one.
 * Errors: none; a selector that cannot be read selects nothing. */
#pragma once

#include "authz/explain.h"

struct explain_sources {
    struct arena *arena; /* of the results */
    const struct authz_index *ix;
    const struct authz_attributes *what;
    VEC(const struct authz_role *) cluster_roles; /* by name; read when first needed */
    bool is_read;
    struct map roles; /* what each role has to say about the request, by its place in memory */
};

void explain_sources_done(struct explain_sources *s);
#define EXPLAIN_SOURCES_SCOPE __attribute__((cleanup(explain_sources_done)))

/* How a role allows the request: a path without its grant; NULL when it does not. Each role is looked at once, so that a
 * question about all bindings costs what the roles cost. */
const struct explain_path *explain_role(struct explain_sources *s, const struct authz_role *role);
