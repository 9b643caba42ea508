/* SPDX-License-Identifier: Apache-2.0 */
/* What: the rules of metadata: what the server fills in, what it keeps as it was, what it refuses, and how objects go.
 * Owns: nothing; new parts of a tree come from the arena given.
 * Threads: pure but for the clock and the randomness passed in.
 * Errors: err with the code of the response; field errors where there can be several; a Status where details belong to
 *         it.
 *
 * A write passes these in turn, each on a tree of its own (the functions named prepare change it in place):
 *
 *   create:  meta_prepare_create ─► meta_validate ─► store
 *   update:  meta_place ─► meta_check_version ─► meta_prepare_update ─► meta_validate_update ─► meta_is_unchanged?
 *            ─► meta_is_gone_after? delete : store
 *   delete:  meta_validate_delete_options ─► meta_check_preconditions ─► meta_prepare_delete ─► now : store :
 *   neither */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "object/field_error.h"
#include "object/kind.h"
#include "json/json.h"

/* ---- Where an object belongs. ---- */

/* What the path of the request specifies. */
struct meta_place {
    const struct kind *kind;
    str namespace; /* empty: none */
    str name;      /* empty: a create, the object names itself */
};

/* In place: gives the object its namespace, or takes it from objects of cluster scope. Refuses names and namespaces
 * that contradict the path (ERR_BAD_REQUEST). */
int meta_place(struct arena *a, const struct meta_place *place, struct json *object, struct err *err);

/* ---- Creating. ---- */

struct meta_sources {
    const struct clock *clock;
    const struct random *random;
};

/* In place: meta_place, then uid, creationTimestamp, generation and, from generateName, a name. What a client may not
 * set is dropped. A resourceVersion is refused: ERR_INTERNAL, for which Kubernetes returns no reason. */
int meta_prepare_create(struct arena *a, const struct meta_place *place, const struct meta_sources *sources,
                        struct json *object, struct err *err);
/* 58 characters of base and five at random; after a collision the caller tries again, META_NAME_TRIES times in all. */
enum { META_NAME_TRIES = 8 };
str meta_generate_name(struct arena *a, const struct random *random, str base);
str meta_generate_uid(struct arena *a, const struct random *random);
/* Everything wrong with the metadata of a new object. */
void meta_validate(struct field_errors *errs, const struct kind *kind, const struct json *object);
/* The same for metadata in other places (templates, embedded resources have rules of their own). */
void meta_validate_labels_and_annotations(struct field_errors *errs, str field, const struct json *metadata);

/* ---- Updating. ---- */

/* Refuses a stale or missing resourceVersion; 0, or a code with *ret_status set. */
int meta_check_version(struct arena *a, const struct kind *kind, const struct json *object, const struct json *current,
                       struct json *ret_status);
/* Refuses a uid other than the stored one: the object was replaced meanwhile. */
int meta_check_uid(struct arena *a, const struct kind *kind, const struct json *object, const struct json *current,
                   struct json *ret_status);
/* In place: restores what an update cannot change and counts the generation up if the object means something new. */
void meta_prepare_update(struct arena *a, const struct kind *kind, struct json *object, const struct json *current);
/* Everything wrong with the metadata of an update. Each error is listed once; Kubernetes lists some twice as causes. */
void meta_validate_update(struct field_errors *errs, const struct kind *kind, const struct json *object,
                          const struct json *current);
/* Same but for resourceVersion and the times of managedFields: nothing to store and no event. */
bool meta_is_unchanged(const struct json *object, const struct json *current);
/* Same but for metadata and, if the kind has a status subresource, status. */
bool meta_is_same_content(const struct kind *kind, const struct json *object, const struct json *current);

struct meta_warnings {
    struct arena *arena;
    VEC(str) list;
};

/* Finalizers of custom resources that others may use too; current is NULL for a create. */
void meta_warn_finalizers(struct meta_warnings *warnings, const struct kind *kind, const struct json *object,
                          const struct json *current);

/* ---- Owners. ---- */

void meta_validate_owners(struct field_errors *errs, str field, const struct json *owners);
/* In place: drops duplicate references, with a warning. */
void meta_dedup_owners(struct arena *a, struct json *object, struct meta_warnings *warnings);
/* The reference that has controller: true, or NULL. */
const struct json *meta_controller_of(const struct json *object);
bool meta_is_owned_by(const struct json *object, str uid);
/* A reference to owner, as a dependent holds it. */
struct json meta_owner_reference(struct arena *a, const struct json *owner, bool controller, bool block_deletion);

/* ---- Deleting. ---- */

/* options is a DeleteOptions tree; NULL: none. */
void meta_validate_delete_options(struct field_errors *errs, const struct json *options);
/* Pods that a deleted Job orphans, unless the options set a policy. */
void meta_warn_delete(struct meta_warnings *warnings, const struct kind *kind, const struct json *options);
/* options.preconditions against the object; 0, or a code with *ret_status set. */
int meta_check_preconditions(struct arena *a, const struct kind *kind, const struct json *object,
                             const struct json *options, struct json *ret_status);

enum meta_deletion {
    META_DELETE_NOW,     /* nothing holds it: take it out of the store */
    META_DELETE_MARKED,  /* the object has changed and is to be stored; finalizers come first */
    META_DELETE_PENDING, /* it was marked before: nothing changed */
};

/* In place: adds or takes the finalizers of the propagation policy and marks the object if something holds it. */
enum meta_deletion meta_prepare_delete(struct arena *a, const struct kind *kind, struct json *object,
                                       const struct json *options, const struct clock *clock);
/* The object is being deleted and this update removes the last finalizer: delete it instead of storing it. */
bool meta_is_gone_after(const struct kind *kind, const struct json *object, const struct json *current);
/* In place; true when something changed. */
bool meta_add_finalizer(struct arena *a, struct json *object, str name);
bool meta_remove_finalizer(struct json *object, str name);

/* metadata, made when absent. The object must be one. */
struct json *meta_of(struct arena *a, struct json *object);
/* The clock's time as metadata has it: "2026-11-15T21:22:23Z". */
struct json meta_now(struct arena *a, const struct clock *clock);
