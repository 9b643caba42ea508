/* SPDX-License-Identifier: Apache-2.0 */
/* What: "these objects, owned by this, and no others": applies what differs, prunes what is left over, names conflicts.
 * Owns: nothing; plans live in the arena given and share the texts of what they are made from.
 * Threads: inside a reconcile; plan and equality are pure.
 * Errors: the first that stopped it; conflicts are reported one by one and stop nothing else.
 *
 *   wanted objects ─┐                     ┌─► absent or different ─► apply (server-side, this field manager)
 *   cached ones ────┴─► applyset_plan ────┼─► equal, or going      ─► nothing
 *   (pure)                                ├─► equal, with additions ─► trim (patch; see applyset_excess)
 *                                         ├─► someone else's       ─► conflict, untouched
 *                                         └─► ours, not wanted     ─► delete (by uid and version)
 *
 * No write when nothing differs. Whether something does is decided against the cache, where objects have no managedFields:
 *
 *   changed by others     the apply is carried out on the cached object as the server would, with its merging, its defaults and its
 *                         spelling; nothing differs if that changes nothing. Of kinds whose schema is not at hand (custom resources),
 *                         each wanted field must be there with its value, and lists must have as many items.
 *   wanted no longer      a hash of all that is wanted, label and owner included, is applied too, as an annotation. A field
 *                         that is left out changes it; the apply that follows makes the server drop the field.
 *
 * Nothing is taken from others by being late: an apply names the uid of the object that was looked at, so that it is refused when
 * that is gone or another one took its place; and an object that did not exist is applied without force, so that one which
 * somebody just made with other values is a conflict, too. */
#pragma once

#include "client/client.h"

struct control;
struct recorder;

/* An object belongs to the set if it has this label with this value and (if owner is given) a reference to this owner. */
struct applyset {
    str label_key, label_value;
    str hash_key;             /* the annotation: "example.com/applied" */
    const struct json *owner; /* apiVersion, kind, metadata; NULL: none, as for owners in other namespaces */
    str field_manager;
    bool adopts; /* takes over objects that nobody manages: neither the label nor a controller */
};

struct applyset_object {
    struct client_resource resource;
    const struct json *object; /* with apiVersion, kind and metadata */
};

enum applyset_action {
    APPLYSET_KEEP,
    APPLYSET_CREATE,
    APPLYSET_APPLY,
    APPLYSET_TRIM,
    APPLYSET_DELETE,
    APPLYSET_CONFLICT
};

struct applyset_step {
    enum applyset_action action;
    struct client_resource resource;
    str namespace, name;
    struct json object; /* to create or apply: with label, owner and hash; to trim: the patch */
    str uid, version;   /* of what is there; empty: nothing is */
    bool is_repair;     /* to apply or trim: what is wanted did not change, so another client changed the object */
    str text; /* of a conflict: ClusterRole "x" belongs to …; of a trim: the field that is removed or put back first */
};

struct applyset_plan {
    const struct applyset_step *p; /* wants in their order, then deletions, in the reverse order of the wants' kinds */
    size_t n;
    size_t changes, conflicts;
};

/* What is to happen. wants: without status, label, owner and hash. have: all objects that might be of the set, or in its way. */
struct applyset_plan applyset_plan(struct arena *a, const struct applyset *set, const struct applyset_object *wants,
                                   size_t n_wants, const struct applyset_object *have, size_t n_have);
/* Carries it out in order; stops at the first error. ret_done: how many steps went well; may be NULL. */
int applyset_run(struct client *c, struct arena *a, const struct applyset *set, const struct applyset_plan *plan,
                 size_t *ret_done, struct err *err);
/* An Event with the reason DriftRepaired and a count for a step that was carried out, if it is a repair. about: the object that the
 * Event is for; NULL: the one that was repaired. */
void applyset_report_repair(struct control *c, struct recorder *r, struct arena *a, const struct json *about,
                            const struct applyset_step *step);
/* A wanted object as the set applies it: with label, owner and hash. */
struct json applyset_render(struct arena *a, const struct applyset *set, const struct json *want);
/* Whether the server would change nothing if want were applied over have, see above. */
bool applyset_is_equal(struct arena *a, const struct json *want, const struct json *have);
/* What other clients added to have that an apply leaves as it is, and that could change what the object does:
 *
 *   Deployment           all of spec and all labels. Kept: replicas, if want has none (an autoscaler or a person may set them), and the
 *                        annotation of "kubectl rollout restart" on the template
 *   Role, ClusterRole    labels by which roles are aggregated or shared (below crossplane.io and k8s.io), an aggregationRule
 *
 * False: nothing. ret_patch: removes it: a JSON patch of a Deployment, else a merge patch. ret_text: the first such field. */
bool applyset_excess(struct arena *a, const struct json *want, const struct json *have, struct json *ret_patch,
                     str *ret_text);
