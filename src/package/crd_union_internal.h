/* SPDX-License-Identifier: Apache-2.0 */
/* What: the parts of the union of CustomResourceDefinitions. Only for crd_union*.c.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: findings, added to those of the union.
 *
 * crd_share*.c, crd_extend.c and crd_changes.c use them, too.
 *
 *   crd_union.c          the definition: names, versions, subresources
 *   crd_union_schema.c   the walk through the schemas of one version, all sides at once
 *   crd_union_wider.c    the table of keywords: what may follow what at one place
 *   crd_union_told.c     how conflicts are told */
#pragma once

#include "package/crd_union.h"

struct crd_union {
    struct arena *arena;                     /* of the result */
    struct arena scratch;                    /* of the way there */
    const struct crd_source *const *sources; /* the oldest first */
    size_t n;
    str name;    /* of the definition */
    str version; /* under way; empty outside of versions */
    struct findings *conflicts;
    size_t n_conflicts; /* found by this union, told or not */
};

/* What one source says at a place. */
struct crd_side {
    size_t source; /* position in sources */
    const struct json *schema;
};

/* From the newest of two on, sides are in the order of their sources. */
struct crd_sides {
    struct crd_side *p;
    size_t n;
};

enum crd_place_step { CRD_FIELD, CRD_ITEM, CRD_ENTRY };

/* The way to a place, from the inside out: "spec.nodes[].labels[*]". */
struct crd_place {
    const struct crd_place *up;
    enum crd_place_step step;
    str field; /* CRD_FIELD */
};

/* The openAPIV3Schema of one version, of all sides that have the version. */
struct json crd_union_schema(struct crd_union *u, struct crd_sides sides);

/* Whether newer is at least as wide as older at this place, the places below aside. False: what follows makes no sense, as
 * the types differ. */
bool crd_wider(struct crd_union *u, const struct crd_place *at, const struct crd_side *older,
               const struct crd_side *newer);
/* Whether a value at this place is restricted as a whole, so that one more member, filled in by a default, could break it. */
bool crd_restricts_whole(const struct json *schema);

/* ---- Told. ---- */

/* "CRD things.example.org: v1: spec.size: integer in acme/wordpress 1.0, string in 1.1"; at may be NULL, what too. */
void crd_tell(struct crd_union *u, const struct crd_place *at, const char *what, size_t older, str was, size_t newer,
              str now);
/* "CRD things.example.org: v1: spec.size: …", with another reason and any text. */
void crd_tell_change(struct crd_union *u, str reason, const struct crd_place *at, str text);
/* A value as JSON, shortened when it is long. */
str crd_shown(struct crd_union *u, const struct json *v);

/* ---- Shared definitions: crd_share.h. ---- */

struct crd_list {
    const struct json *const *p;
    size_t n;
};

/* Whether objects may have members here that the schema does not name. */
bool crd_is_open(const struct json *schema);
/* Fields that every resource has, declared or not. */
bool crd_is_implied(str field);
/* NULL: there is none of that name. */
const struct json *crd_find_version(const struct json *crd, str name);
/* The definition without the fields and versions that some of left have, and none of kept. */
struct json crd_without(struct arena *a, const struct json *crd, struct crd_list kept, struct crd_list left);
/* Name and spec in their one form: with defaults, without empty values, keys and versions in order. False: no server takes it. */
bool crd_one_form(struct arena *a, const struct json *crd, struct json *ret);
/* Whether whatever the server stores under narrow is valid under wide, and nothing of it is lost; if not, conflicts say why. */
bool crd_serves(struct arena *a, const struct crd_source *wide, const struct crd_source *narrow,
                struct findings *conflicts);
