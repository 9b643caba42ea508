/* SPDX-License-Identifier: Apache-2.0 */
/* What: YAML 1.1 as Kubernetes reads and prints it, to and from JSON trees.
 * Owns: nothing; trees and text live in the arena or buffer given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST with line and column, ERR_TOO_LARGE past a limit; then nothing is returned. */
#pragma once

#include "json/json.h"

enum {
    YAML_MAX_NODES = 1000000,           /* values one document may come to, aliases expanded */
    YAML_MAX_COPIES = 1000000,          /* of these, values that come by alias, in all documents of a stream */
    YAML_MAX_GROWTH = 16 * 1024 * 1024, /* bytes of text one document may come to, aliases expanded */
    YAML_MAX_STEPS = 20000000,          /* sum of the depths of all values of one document */
    YAML_MAX_DOCUMENTS = 10000,
};

typedef VEC(struct json) json_vec;

/* One document (an empty text is null; a second document that is not empty is an error). Text that starts with { is
 * read as JSON if it is. Duplicate keys are an error unless notes is given: then the last one counts, in the place of
 * the first, and the path is noted. A key takes precedence over the same key merged in by "<<", wherever that is. */
int yaml_decode(struct arena *a, str text, const struct json_limits *limits, struct json_notes *notes, struct json *ret,
                struct err *err);
/* All documents of a stream ("---" between them); empty ones, and null, are left out. Duplicate keys are an error. */
int yaml_decode_all(struct arena *a, str text, const struct json_limits *limits, json_vec *ret, struct err *err);

/* For streams too long to be held as trees: the limits of the text and of each document in it. */
struct yaml_each_limits {
    size_t bytes;      /* of the text */
    size_t documents;  /* that are not null */
    size_t characters; /* of one document */
    uint32_t depth;    /* 0: JSON_MAX_DEPTH */
};

/* Takes one document, which lives until it returns; index counts from 0. A negative code ends the reading. */
typedef int (*yaml_each_fn)(void *ctx, size_t index, const struct json *document, struct err *err);

/* As yaml_decode_all, but one document at a time is in memory. */
int yaml_decode_each(str text, const struct yaml_each_limits *limits, yaml_each_fn fn, void *ctx, struct err *err);

/* As kubectl -o yaml prints it, byte by byte: sorted keys, two spaces, list dashes under their key, literal blocks for
 * text of several lines, long lines broken after column 80, quotes only where YAML 1.1 needs them. Ends with a
 * newline. */
void yaml_encode(struct buf *b, const struct json *v);
/* One item of a list that is a member of the outermost object, with its dash: such lists can be printed item by
 * item. */
void yaml_encode_item(struct buf *b, const struct json *v);
