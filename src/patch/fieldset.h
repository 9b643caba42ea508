/* SPDX-License-Identifier: Apache-2.0 */
/* What: sets of fields of an object, as managedFields records them (FieldsV1): read, write, combine.
 * Owns: nothing; sets live in the arena given, are never changed once built, and share parts freely.
 * Threads: a set may be read by many threads.
 * Errors: ERR_BAD_REQUEST for a FieldsV1 tree that is none.
 *
 * A set is a tree of path elements. The marks of an entry tell whether the path that ends there is itself in the set;
 * below it are the elements of longer paths:
 *
 *     {"f:data": {".": {}, "f:k": {}}}        .data and .data.k
 *     {"f:ports": {"k:{\"port\":80}": {…}}}   something below .ports[port=80], not .ports
 *
 * Entries are sorted: names bytewise, then keys, then values, then indices, as Kubernetes writes them. There is no
 * entry without a mark and without anything below. */
#pragma once

#include "json/json.h"

enum fieldset_kind {
    FIELDSET_NAME,  /* a member: f:spec */
    FIELDSET_KEY,   /* the list item with these key fields: k:{"name":"x"} */
    FIELDSET_VALUE, /* the item of a set: v:"x" */
    FIELDSET_INDEX, /* the item at a position: i:0 */
};

struct fieldset_elem {
    uint8_t kind;
    str text;        /* the name; of the other kinds canonical JSON, so that same text means same element */
    struct json val; /* of the other kinds; keys sorted by name */
};

/* A set of differences marks a path with either of these, an ordinary set only with the first. */
enum {
    FIELDSET_IN = 1, /* in the set; of differences: added or changed */
    FIELDSET_REMOVED = 2,
};

struct fieldset_entry;

struct fieldset {
    const struct fieldset_entry *p;
    uint32_t n;
};

struct fieldset_entry {
    struct fieldset_elem elem;
    uint8_t marks;
    struct fieldset below;
};

int fieldset_elem_compare(const struct fieldset_elem *a, const struct fieldset_elem *b);

/* Read from the value of an entry's fieldsV1. Elements of unknown type are left out. */
int fieldset_parse(struct arena *a, const struct json *fields, struct fieldset *ret, struct err *err);
/* The FieldsV1 tree. */
struct json fieldset_format(struct arena *a, struct fieldset set);

/* True when fields is just what fieldset_format would make of the set, order included. */
bool fieldset_is_format(const struct json *fields, struct fieldset set);

/* A path for messages: .spec.ports[port=80].name */
struct fieldset_path {
    const struct fieldset_path *up;
    const struct fieldset_elem *elem;
};

void fieldset_path_format(struct buf *b, const struct fieldset_path *path);
/* Calls fn for every path of the set: at each level all that end there, then what is below. */
void fieldset_each(struct fieldset set, void (*fn)(void *ctx, const struct fieldset_path *path), void *ctx);

/* Finds the entry of an element, NULL when there is none. */
const struct fieldset_entry *fieldset_find(struct fieldset set, const struct fieldset_elem *elem);
/* Paths in either. */
struct fieldset fieldset_union(struct arena *a, struct fieldset x, struct fieldset y);
/* Paths in any of them, joined two by two so that many small sets cost no square. */
struct fieldset fieldset_union_all(struct arena *a, const struct fieldset *sets, size_t n);
/* Paths of x that y does not mark with any of marks. Returns x itself when there are none to drop. */
struct fieldset fieldset_minus(struct arena *a, struct fieldset x, struct fieldset y, unsigned marks);
/* Paths of x without those of y and all that is below them. */
struct fieldset fieldset_without(struct arena *a, struct fieldset x, struct fieldset y);
/* Paths of x that y marks with any of marks. */
struct fieldset fieldset_common(struct arena *a, struct fieldset x, struct fieldset y, unsigned marks);
bool fieldset_equal(struct fieldset x, struct fieldset y);
/* Paths of names separated by dots: "metadata.labels". */
struct fieldset fieldset_of_names(struct arena *a, const str *paths, size_t n);

/* Building bottom-up: size_t at = fieldset_begin(&b); fieldset_put(…)…; set = fieldset_end(&b, at); nested as the
 * object is. Put adds nothing when there is neither mark nor anything below; end sorts, and joins elements put
 * twice. */
struct fieldset_builder {
    struct arena *arena;
    VEC(struct fieldset_entry) stack;
};

size_t fieldset_begin(const struct fieldset_builder *b);
void fieldset_put(struct fieldset_builder *b, const struct fieldset_elem *elem, unsigned marks, struct fieldset below);
struct fieldset fieldset_end(struct fieldset_builder *b, size_t begin);

static inline struct fieldset_elem fieldset_name(str name)
{
    return (struct fieldset_elem){.kind = FIELDSET_NAME, .text = name};
}
/* Elements made from values; the values are borrowed. */
struct fieldset_elem fieldset_value(struct arena *a, const struct json *v);
/* key: an object of the key fields; its members are sorted in place. */
struct fieldset_elem fieldset_key(struct arena *a, struct json key);
