/* SPDX-License-Identifier: Apache-2.0 */
/* What: inside of jsonpath.c: what a path compiles to.
 * Owns: nothing; steps live in the arena of the path.
 * Threads: read only once compiled.
 * Errors: none. */
#pragma once

#include "json/jsonpath.h"

enum jsonpath_op {
    JSONPATH_EXISTS,
    JSONPATH_EQ,
    JSONPATH_NE,
    JSONPATH_LT,
    JSONPATH_LE,
    JSONPATH_GT,
    JSONPATH_GE,
};

struct jsonpath_step {
    enum { JSONPATH_FIELD, JSONPATH_ALL, JSONPATH_SLICE, JSONPATH_FILTER } kind;
    str name; /* JSONPATH_FIELD */
    /* JSONPATH_SLICE: [from:to:by]; [from] is single */
    bool has_from, has_to, single;
    int64_t from, to, by;
    /* JSONPATH_FILTER: left op right; right is a path or, if that is NULL, the literal */
    enum jsonpath_op op;
    const struct jsonpath *left, *right;
    struct json literal;
};

struct jsonpath {
    VEC(struct jsonpath_step) steps;
};
