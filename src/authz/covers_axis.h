/* SPDX-License-Identifier: Apache-2.0 */
/* What: the axes of a servant's rule for rules_cover: values of which the same owner rules cover are one class.
 * Owns: a scope owns its scratch memory; everything of one product is dropped by covers_scope_reset.
 * Threads: one.
 * Errors: false when the work allowed is used up. */
#pragma once

#include "authz/covers_owner.h"

enum {
    COVERS_PRODUCT = 4,        /* axes of a product: group, resource or URL, verb, name */
    COVERS_NONE = COVERS_AXES, /* a place without axis: everybody covers it */
};

struct axis {
    int kind;           /* enum covers_axis, or COVERS_NONE */
    struct strs values; /* empty: one place for "no name", or for nothing */
    size_t n;           /* places: one for each value, at least one */
    uint32_t *class_of; /* by place */
    size_t classes;
    uint64_t *bits; /* by class: the candidates that cover it */
    uint64_t *full; /* the candidates that cover all classes */
    str *grouped;   /* values by class, from grouped[group[class]] to grouped[group[class + 1]] */
    size_t *group;
    /* private */
    uint32_t *order;            /* places by their text */
    struct covers_found *found; /* by place in this order; of equal texts only the first has any */
    size_t n_found;
};

struct covers_scope {
    struct covers_owner owner;
    struct arena scratch;
    size_t work;            /* left */
    covers_ids candidates;  /* owner rules that may cover something of the product */
    uint32_t *candidate_of; /* by owner rule: its place among them + 1; 0 if it is none */
    size_t words;           /* of a set of candidates */
};

void covers_scope_init(struct covers_scope *s, struct arena *kept, struct rules owner);
void covers_scope_reset(struct covers_scope *s);
void covers_scope_done(struct covers_scope *s);
bool covers_spend(struct covers_scope *s, size_t steps);

/* Finds the candidates and makes the classes; of the axes given only kind and values are set. */
bool covers_axes_load(struct covers_scope *s, struct axis axes[COVERS_PRODUCT]);
/* Fills in grouped and group; the values in the arena, to stay. */
void covers_axis_group(struct axis *ax, struct covers_scope *s, struct arena *out);
