/* SPDX-License-Identifier: Apache-2.0 */
/* What: inside of the registry: one CRD and the kinds made from it, a block of its own.
 * Owns: everything in its arena; freed with the last reference.
 * Threads: immutable once made; references are counted atomically.
 * Errors: as object/registry.h. */
#pragma once

#include "kinds/registry.h"

struct registry_crd;

/* A kind knows the block it lives in. */
struct registry_kind {
    struct kind kind; /* first: a kind with KIND_CUSTOM is the start of one of these */
    struct registry_crd *crd;
};

struct registry_crd {
    _Atomic size_t refs;
    struct arena arena;
    str name, group;
    struct json names;           /* acceptedNames */
    struct registry_kind *kinds; /* by preference */
    size_t n;
};

int registry_crd_new(const struct json *crd, struct registry_crd **ret, struct err *err);
void registry_crd_unref(struct registry_crd *c);
