/* SPDX-License-Identifier: Apache-2.0 */
/* What: what works say of the single roles and bindings of a permission: status.resourceStatus, and roles that are missing.
 * Owns: the table of names (heap), until permission_resources_done; all else lives in the arena.
 * Threads: pure but for the clock.
 * Errors: what makes no sense counts as not said. */
#pragma once

#include "base/clock.h"
#include "controllers/permissions/permissions_draft.h"

enum {
    PERMISSION_STATUS_BYTES = 512 * 1024, /* of resourceStatus: what goes beyond is left out, failures last of all */
};

struct permission_resource {
    enum permission_kind kind;
    str namespace, name;
    const struct json *applied; /* its condition Applied; NULL: none */
    bool is_applied, is_available;
    bool is_stub; /* only looked for */
};

struct permission_resources {
    struct arena *a;
    VEC(struct permission_resource) list; /* each object once, in the order of works and manifests */
    struct map known;                     /* "Role/default/x" → its place in the list + 1 */
};

/* works: ManifestWorks, whole. */
void permission_resources_read(struct permission_resources *r, struct arena *a, const struct json *works, size_t n);
void permission_resources_done(struct permission_resources *r);

/* status.resourceStatus; null: there is nothing to say. old: the one that was. */
struct json permission_resources_status(const struct permission_resources *r, const struct json *old,
                                        const struct clock *clock, size_t *ret_left_out);
/* "ns/name, ns/name" of roles, or "a, b" of ClusterRoles, that are not there; empty: all are. */
str permission_resources_missing(const struct permission_resources *r, enum permission_kind kind);
