/* SPDX-License-Identifier: Apache-2.0 */
/* What: "these objects, owned by this, and no others": applies what differs, prunes what is left over, names conflicts.
 * Owns: nothing.
 * Threads: inside a reconcile.
 * Errors: the first that stopped it; conflicts are reported one by one and stop nothing else.
 *
 *   wanted objects ─┐                     ┌─► absent or different ─► apply (server-side, this field manager)
 *   cached ones ────┴─► applyset_plan ────┼─► equal                ─► nothing
 *   (pure)                                ├─► someone else's       ─► conflict, untouched
 *                                         └─► ours, not wanted     ─► delete (by uid) */
#pragma once

#include "client/client.h"
#include "control/informer.h"

/* An object of the set belongs to it if it has this label with this value, and (if owner is given) this owner reference. */
struct applyset {
    str label_key, label_value;
    const struct json
        *owner; /* the owning object (apiVersion, kind, metadata); NULL: none, as for owners in other namespaces */
    str field_manager;
    bool adopts; /* takes over objects that nobody manages: neither the label nor a controller reference */
};

enum applyset_action { APPLYSET_KEEP, APPLYSET_CREATE, APPLYSET_APPLY, APPLYSET_DELETE, APPLYSET_CONFLICT };

struct applyset_step {
    enum applyset_action action;
    struct client_resource resource;
    str namespace, name;
    struct json object; /* to apply, complete with label and owner */
    str uid, version;   /* of what is there */
    str text;           /* of a conflict: who has it */
};

struct applyset_want {
    struct client_resource resource;
    const struct json *object; /* without status, label and owner */
};

struct applyset_plan {
    const struct applyset_step *p; /* in the order of the wants, then deletions in the reverse order of kinds */
    size_t n;
    size_t changes, conflicts;
};

/* Pure. have: all objects that might be of the set, or in its way (trees with apiVersion and kind). */
struct applyset_plan applyset_plan(struct arena *a, const struct applyset *set, const struct applyset_want *wants,
                                   size_t n_wants, const struct json *have, size_t n_have);
/* Carries it out in order; stops at the first error. ret_done: how many steps went well; may be NULL. */
int applyset_run(struct client *c, struct arena *a, const struct applyset *set, const struct applyset_plan *plan,
                 size_t *ret_done, struct err *err);
/* Whether the server would change nothing if want were applied over have: each field of want is there with its value, lists
 * compared by Kubernetes' rules of merging, and nothing that this manager once set and no longer wants. */
bool applyset_is_equal(struct arena *a, const struct json *want, const struct json *have, str field_manager);
