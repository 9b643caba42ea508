/* SPDX-License-Identifier: Apache-2.0 */
/* What: inside of strict.c: single values and the errors about them.
 * Owns: nothing; what is made lives in the arena of the walk.
 * Threads: pure functions.
 * Errors: a wrong type is kept in walk.err and the answer is 0: Go's decoder goes on after it. Negative answers stop. */
#pragma once

#include "base/map.h"
#include "kinds/strict.h"

struct strict_walk {
    struct arena *arena;
    struct strict_notes *notes;
    struct map duplicates; /* paths that came twice */
    struct map hashes;     /* of these paths: most members are told apart without building theirs */
    struct err *err;       /* the first wrong type, while err->code is set */
};

/* The JSON names from the root, for errors. */
struct strict_names {
    const struct strict_names *up;
    const char *name;
};

/* Where a value stands. */
struct strict_spot {
    const char *owner;                /* name of the struct around it; NULL at the root */
    const struct strict_names *names; /* for errors */
    const struct json_path *path;     /* for notes */
    bool sealed;                      /* inside a union: errors name the union's field, notes are not taken */
    uint64_t hash;                    /* of the path's text, while there are duplicates to find */
};

/* A whole record; strict.c has it. */
int strict_record(struct strict_walk *w, const struct shape *s, struct json *v, struct strict_spot at);
/* One value that is not null: all of a field, or one item or entry of it. */
int strict_value(struct strict_walk *w, const struct shape_field *row, struct json *v, struct strict_spot at);
/* What Go has in a list or map where JSON has null. */
struct json strict_zero(const struct shape_field *row);
/* The value should have been of this Go type; or the list or map that the row says. */
int strict_wrong_type(struct strict_walk *w, struct strict_spot at, const struct json *v, const char *type);
int strict_wrong_whole(struct strict_walk *w, struct strict_spot at, const struct json *v,
                       const struct shape_field *row);
