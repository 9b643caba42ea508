/* SPDX-License-Identifier: Apache-2.0 */
/* What: the documents of discovery as JSON text, each with a newline at its end, made from the kinds of a registry.
 * Owns: nothing; text goes to the end of the buffer given.
 * Threads: pure functions.
 * Errors: none.
 *
 *   aggregated   /api and /apis of clients that ask for it: everything in two documents
 *   old          /api, /apis, /apis/G, /apis/G/V: a document for each step of the way */
#pragma once

#include "kinds/registry.h"

/* The groups of a registry (registry_groups). The core group, which has no name, is served at /api, all others at /apis. */
struct discovery_groups {
    const struct registry_group *p;
    size_t n;
};

/* NULL when there is none. */
const struct registry_group *discovery_find_group(struct discovery_groups groups, str name);
const struct registry_version *discovery_find_version(const struct registry_group *g, str version);

/* APIGroupDiscoveryList of the core group alone, or of all but it. version is "v2" or "v2beta1". */
void discovery_render_aggregated(struct buf *b, struct discovery_groups groups, bool is_core, str version);

/* APIVersions: /api. address is ours: "127.0.0.1:6443". */
void discovery_render_core(struct buf *b, struct discovery_groups groups, str address);
/* APIGroupList: /apis. */
void discovery_render_groups(struct buf *b, struct discovery_groups groups);
/* APIGroup: /apis/apps. */
void discovery_render_group(struct buf *b, const struct registry_group *g);
/* APIResourceList: /apis/apps/v1, /api/v1. */
void discovery_render_resources(struct buf *b, const struct registry_group *g, const struct registry_version *v);
