/* SPDX-License-Identifier: Apache-2.0 */
/* What: a build under way: the manifests so far, which names they have taken, and the first problem that was met.
 * Owns: the tables of names (heap), until permission_draft_done; all else lives in the arena.
 * Threads: one.
 * Errors: functions that meet a problem note it and answer false; then the build is at its end. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "controllers/permissions/permissions_build.h"

enum permission_kind {
    PERMISSION_CLUSTER_ROLE,
    PERMISSION_CLUSTER_ROLE_BINDING,
    PERMISSION_ROLE,
    PERMISSION_ROLE_BINDING,
    PERMISSION_KINDS,
};

struct permission_kind_row {
    const char *kind, *plural;
    bool is_namespaced;
};

extern const struct permission_kind_row permission_kinds[PERMISSION_KINDS];

/* The one of this name; PERMISSION_KINDS: it is none of the four. */
enum permission_kind permission_kind_of(str kind);

struct permission_manifest {
    struct json object;
    enum permission_kind kind;
    str namespace, name;
    size_t bytes; /* as the webhook counts them */
    size_t layer; /* templates for selected namespaces may share a name: the second is in layer 1, the third in 2 … */
    bool is_stub; /* only looked for on the managed cluster, never applied */
};

/* Where a role or binding of the spec goes. */
struct permission_place {
    str field;     /* "roles[1]", for messages */
    str namespace; /* or… */
    const struct json *selector;
};

struct permission_draft {
    struct arena *a;
    const struct json *permission, *spec;
    const struct permission_facts *facts;
    str name; /* of the permission, and of what it makes where nothing else is said */
    VEC(struct permission_manifest) manifests;
    size_t bytes;
    struct map taken;    /* "Role/default/x" → how often, as a pointer to its last manifest's layer */
    struct map accounts; /* name of a ManagedServiceAccount → whether it is there */
    struct map selected; /* selector as JSON → the hub's namespaces, where the hub selects them */
    VEC(str) missing;
    struct buf no_subjects, no_namespaces;
    struct buf scratch; /* for counting bytes */
    str problem;        /* empty: none yet */
};

void permission_draft_init(struct permission_draft *d, struct arena *a, const struct json *permission,
                           const struct permission_facts *facts);
void permission_draft_done(struct permission_draft *d);

/* Notes the problem, with which the build ends; false. */
bool permission_fail(struct permission_draft *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* body: the members besides apiVersion, kind and metadata. It is checked as the managed cluster would; then the manifest is added
 * for the namespace, or for each that is selected. place NULL: kinds without a namespace. */
bool permission_deliver(struct permission_draft *d, enum permission_kind kind, str name,
                        const struct permission_place *place, const struct json *body);
/* A role without rules, that is looked for; unless it is delivered, or looked for already. */
bool permission_look_for(struct permission_draft *d, enum permission_kind kind, str namespace, str name);

/* ---- Subjects (permissions_subjects.c). ---- */

/* Asks for the ManagedServiceAccounts that a binding names. */
void permission_note_accounts(struct permission_draft *d, const struct json *binding);
/* The subjects of a binding as the managed cluster has them; accounts that are missing are left out. ret_is_dropped: no subject is
 * left because of that. */
bool permission_subjects(struct permission_draft *d, str field, const struct json *binding, struct json *ret,
                         bool *ret_is_dropped);

/* ---- Parts (permissions_parts.c). ---- */

/* Distributes the manifests over works. */
bool permission_split(struct permission_draft *d, const struct permission_work **ret, size_t *ret_n);
