/* SPDX-License-Identifier: Apache-2.0 */
/* What: the steps of defaulting, Only for schema_*.c.
 * Owns: nothing; defaults are built in the arena given.
 * Threads: one walk, one thread.
 * Errors: past SCHEMA_MAX_DEFAULTS nothing is filled in any more; the caller looks at bytes. */
#pragma once

#include "schema/schema_block.h"

struct defaulting {
    const struct schema *schema;
    struct arena *arena;
    size_t bytes; /* of defaults filled in so far */
};

/* Builds the default of a node that has one. */
bool default_make(struct defaulting *d, const struct node *node, struct json *ret);
/* What becomes of a null: stays if nullable, else becomes the default, else false: it has to go. */
bool default_null(struct defaulting *d, const struct node *node, struct json *v);
/* Adds the members that are missing and have a default, in the order of the schema. */
void default_missing(struct defaulting *d, const struct node *node, struct json *obj);
/* All of it, for a value and everything below it. */
void default_value(struct defaulting *d, uint32_t at, struct json *v);
