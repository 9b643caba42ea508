/* SPDX-License-Identifier: Apache-2.0 */
/* What: all kinds of the server: the built-in ones, and those of the CRDs added to it.
 * Owns: the kinds it made from CRDs; they never change: a new CRD makes new kinds.
 * Threads: one thread at a time. A kind is borrowed until the next change of the registry; registry_hold keeps it, and
 *          then any thread may read it until registry_release.
 * Errors: ERR_INVALID for a CRD that lacks what every CRD has; then nothing changes. */
#pragma once

#include "object/conditions.h"
#include "object/kind.h"
#include "json/json.h"

struct registry;

/* With the built-in kinds in it. */
struct registry *registry_new(void);
void registry_free(struct registry *r);

/* Adds a CRD or replaces what it was before. The names are those of status.acceptedNames and are taken from then on;
 * the served versions become kinds when the CRD owns its objects (crd_owns_objects). While the CRD is terminating,
 * nothing can be created or changed. A path or kind that is built in stays what it is. Nothing of crd is kept. */
int registry_put_crd(struct registry *r, const struct json *crd, struct err *err);
/* "widgets.example.com"; false when it was not there. */
bool registry_remove_crd(struct registry *r, str name);
/* Counts the changes: equal numbers mean equal discovery. */
uint64_t registry_generation(const struct registry *r);

/* Which of its requested names a CRD gets: all that no other CRD of its group uses. ret_names becomes its
 * new acceptedNames, ret_condition the NamesAccepted condition to go with it. Shares parts of crd. */
void registry_accept_names(struct arena *a, const struct registry *r, const struct json *crd, struct json *ret_names,
                           struct condition *ret_condition);

/* ---- Looking up; NULL when there is none. ---- */

const struct kind *registry_by_path(const struct registry *r, str group, str version, str plural);
const struct kind *registry_by_body(const struct registry *r, str api_version, str kind);
/* In the preferred version. */
const struct kind *registry_by_kind(const struct registry *r, str group, str kind);
/* What a user may call it: plural, singular or short name, alone or with the group behind a dot. Built-in kinds
 * first. */
const struct kind *registry_by_word(const struct registry *r, str word);

/* Whether anything is served at /apis/GROUP/VERSION. */
bool registry_has_version(const struct registry *r, str group, str version);

const struct kind *registry_hold(const struct kind *k);
void registry_release(const struct kind *k);

/* ---- Discovery. ---- */

struct registry_version {
    const char *version;
    const struct kind **kinds; /* by plural; kinds without a path are left out */
    size_t n;
};

struct registry_group {
    const char *name;
    struct registry_version *versions; /* by preference */
    size_t n;
};

/* All groups: the built-in ones in their fixed order, the others by name. */
struct registry_group *registry_groups(struct arena *a, const struct registry *r, size_t *ret_n);
