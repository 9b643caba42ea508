/* SPDX-License-Identifier: Apache-2.0 */
/* What: the type of one field of an object, for merging and tracking fields: one view over the two kinds of
 *       type description, the shapes of built-in kinds and the structural schemas of custom resources.
 * Owns: nothing; a place is a value that points into the tables or the schema it came from.
 * Threads: plain values.
 * Errors: none; undeclared fields have a type of their own.
 *
 * A place allows one or several of scalar, list and map. Maps are the JSON objects: records with declared fields, free
 * maps whose entries are alike, or both. Where nothing is known the type is deduced from the value: maps by entry,
 * lists as one value. */
#pragma once

#include "schema/schema.h"
#include "json/json.h"
#include "json/shape.h"

enum {
    TYPED_SCALAR = 1,
    TYPED_LIST = 2,
    TYPED_MAP = 4,
    TYPED_ALL = 7,
    TYPED_MAX_KEYS = 16, /* of a keyed list; with more it counts as one value */
};

enum typed_scalar { TYPED_ANY, TYPED_STRING, TYPED_NUMBER, TYPED_BOOL };
enum typed_list { TYPED_LIST_ATOMIC, TYPED_LIST_SET, TYPED_LIST_KEYED };
enum typed_source { TYPED_DEDUCED, TYPED_UNTYPED, TYPED_SHAPE, TYPED_SCHEMA };

struct typed {
    uint8_t allows;             /* TYPED_SCALAR, TYPED_LIST, TYPED_MAP */
    uint8_t scalar;             /* enum typed_scalar */
    uint8_t list;               /* enum typed_list */
    uint8_t source;             /* enum typed_source */
    uint8_t type;               /* private: enum shape_type of the value, or of the items and entries */
    uint8_t card;               /* private: enum shape_card */
    bool atomic;                /* a map that is one value */
    bool open;                  /* undeclared fields are taken, as here or above unknown fields are preserved */
    bool present;               /* a field that Go never leaves out: absent is the same as empty */
    const char *keys;           /* private: of a shape's list */
    const struct shape *record; /* private: the record, of the value or of the items and entries */
    schema_node node;           /* private: the place in a schema */
};

/* The whole object of a built-in kind. */
struct typed typed_of_shape(const struct shape *shape);
/* The whole object of a custom resource; NULL: nothing is known of it but its metadata. */
struct typed typed_of_schema(const struct schema *schema);
/* An undeclared field. */
struct typed typed_deduced(void);

/* What the value at this place is handled as: one of TYPED_SCALAR, TYPED_LIST, TYPED_MAP. Null, and a value the place
 * does not allow, count as the first that is allowed of map, scalar, list. NULL is null. */
unsigned typed_deduce(const struct typed *t, const struct json *v);

enum typed_found {
    TYPED_UNDECLARED, /* no such field; *ret is deduced, so that a walk may go on */
    TYPED_ENTRY,      /* an entry of a free map */
    TYPED_FIELD,      /* a declared field */
};

/* The place of a member of the map at t. */
enum typed_found typed_member(const struct typed *t, const struct json_member *m, struct typed *ret);
/* The same by name. */
enum typed_found typed_field(const struct typed *t, str key, struct typed *ret);
/* What a scalar at t may be. */
enum typed_scalar typed_scalar(const struct typed *t);
/* The place of each item of the list at t. */
struct typed typed_item(const struct typed *t);
/* Keys of a TYPED_LIST_KEYED list, sorted; returns how many. */
size_t typed_keys(const struct typed *t, str ret[TYPED_MAX_KEYS]);
/* The default of a key field that an item omits, built in the arena; false if it has none. */
bool typed_key_default(const struct typed *t, str key, struct arena *a, struct json *ret);
/* Steps through the declared fields that are always present: size_t at = 0; while (typed_next_present(…)) … */
bool typed_next_present(const struct typed *t, size_t *at, str *key, struct typed *ret);
