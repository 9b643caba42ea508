/* SPDX-License-Identifier: Apache-2.0 */
/* What: server-side apply, and field ownership (metadata.managedFields) for all other writes.
 * Owns: nothing; results live in the arena given and share parts of their inputs, which are not changed.
 * Threads: pure functions.
 * Errors: those of the API server, with its texts: ERR_CONFLICT (see the result), ERR_BAD_REQUEST, ERR_INTERNAL.
 *
 *   managed_update   old object + new object + manager        → new object with its managedFields brought up to date
 *   apply_patch      live object + what a manager wants + …   → merged object with managedFields, or conflicts
 */
#pragma once

#include "base/vec.h"
#include "patch/typed.h"
#include "json/json.h"

enum {
    MANAGED_MAX_UPDATERS = 10, /* entries of operation Update; the oldest beyond are joined as "ancient-changes" */
};

/* The write, for both. */
struct managed_write {
    struct typed type;
    str api_version, kind; /* of the request */
    str manager;           /* empty: "unknown" */
    str subresource;       /* "status"; empty: the object itself */
    str time;              /* now, as RFC 3339 in seconds */
    /* Fields this write cannot change and therefore does not own, dots between names: "status", "metadata.labels". */
    const str *reset;
    size_t n_reset;
    /* Served versions of the kind ("apps/v1"); entries of other versions are dropped. None given: all are kept. */
    const str *versions;
    size_t n_versions;
};

struct managed_args {
    struct managed_write write;
    const struct json *old;  /* NULL or without uid: the object is being created */
    const struct json *next; /* as the client wants it; its managedFields count unless they are empty or unreadable */
};

/* The new object with the managedFields after the change; otherwise it is next. An object without managedFields
 * stays without until it is applied or created anew. Values of wrong type clear managedFields, as upstream. */
struct json managed_update(struct arena *a, const struct managed_args *args);

struct apply_args {
    struct managed_write write;
    const struct json *live;   /* NULL: none yet, the result is to be created */
    const struct json *config; /* what the manager wants: only the fields it manages */
    bool force;                /* take fields over from other managers */
};

struct apply_conflict {
    str message; /* conflict with "kubectl" using v1 */
    str field;   /* .data.k */
};

struct apply_result {
    struct json object;                   /* with metadata.managedFields */
    bool changed;                         /* false: object is live, nothing to write */
    VEC(struct apply_conflict) conflicts; /* ERR_CONFLICT: by manager, then by field */
    str message;                          /* ERR_CONFLICT: the whole text, which may be longer than struct err holds */
};

int apply_patch(struct arena *a, const struct apply_args *args, struct apply_result *ret, struct err *err);

/* Same apart from the times in managedFields: a write that would bring only this about is not done. */
bool managed_is_same(const struct json *x, const struct json *y);
