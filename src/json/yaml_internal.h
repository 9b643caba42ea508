/* SPDX-License-Identifier: Apache-2.0 */
/* What: the parts of the YAML reader and printer. Only for the yaml_*.c files.
 * Owns: a build owns its scratch memory and the index of anchors until yaml_build_done; the tree belongs to the arena.
 * Threads: one build, one thread; the rest are pure functions.
 * Errors: as yaml.h; after an error only yaml_build_done may follow. */
#pragma once

#include "base/map.h"
#include "json/yaml.h"

/* ---- Scalars of YAML 1.1 as Kubernetes reads them: the resolver table of goyaml.v2, and its number format. ---- */

enum yaml_scalar_type {
    YAML_NULL,
    YAML_BOOL,
    YAML_INT,   /* .value is a JSON_INT or JSON_UINT */
    YAML_FLOAT, /* .value is a JSON_REAL, or the string .inf, -.inf or .nan: JSON has no such numbers */
    YAML_TIMESTAMP,
    YAML_STR,
};

struct yaml_scalar {
    enum yaml_scalar_type type;
    struct json value; /* the text itself for strings and timestamps */
};

/* The meaning of plain text without a tag. With dates, timestamps are recognized; a tag such as !!int excludes them. */
struct yaml_scalar yaml_resolve(str text, bool dates);
/* A finite number in the shortest form that reads back the same, as Go's 'g' prints it: 0.1, 1e+06. With bits = 32 the
 * number is first rounded to single precision, where it may become .inf (so are the keys of maps). */
void yaml_format_real(struct buf *b, double d, int bits);

/* ---- Build: the JSON tree of a document from its nodes in order, with anchors and aliases, merge keys, keys as
 * strings, duplicates and limits. ----
 *
 *   frames   {spec} [list] {item}          containers not yet closed, the innermost last
 *   pending  apiVersion kind | a b | name  values whose container is not yet closed; a frame has the first index
 *
 * Closing a container takes its pending values off the stack, makes one value of them, and hands that to the container
 * around it. So memory is taken once, at its final size. */

struct yaml_at {
    size_t line, column; /* from 1 */
};

/* The contents of an event. Views live as long as the event. */
struct yaml_node {
    struct yaml_at at;
    str anchor, tag, text; /* text: of a scalar, or the name an alias refers to */
    bool plain;            /* neither quoted nor tagged */
};

struct yaml_anchor;

struct yaml_pending {
    str key; /* of a member */
    struct json value;
    struct yaml_at at; /* of the key, or of the value */
    bool merge;        /* value of "<<" */
};

struct yaml_duplicate {
    struct yaml_at at;
    str path;
};

struct yaml_frame {
    enum json_type type;
    struct yaml_at at;
    size_t first; /* position in pending */
    struct yaml_anchor *anchor;
    size_t nodes, bytes; /* counters when it opened */
    uint32_t height;     /* of the tallest value inside */
    bool has_key, merge; /* a key waits for its value */
    str key;
    struct yaml_at key_at;
};

struct yaml_build {
    struct arena *arena; /* of the result */
    struct json_limits limits;
    struct json_notes *notes; /* NULL: duplicates are errors */
    struct err *err;

    struct json root;
    struct yaml_at root_at;

    /* private */
    struct arena scratch;
    VEC(struct yaml_frame) frames;
    VEC(struct yaml_pending) pending;
    VEC(struct yaml_duplicate) duplicates;
    size_t noted;                 /* bytes of their paths */
    struct map anchors;           /* name → struct yaml_anchor */
    size_t nodes, aliased, bytes; /* of this document, aliases expanded; nodes that came by alias; bytes of strings */
    size_t steps;                 /* containers around each node, summed up */
    size_t copied;                /* nodes that came by alias, of all documents so far */
};

/* "yaml: line 3, column 5: …" as ERR_BAD_REQUEST. */
int yaml_fail(struct yaml_build *b, struct yaml_at at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What a scalar means, its tag considered. Strings are copied into the arena. */
int yaml_build_resolve(struct yaml_build *b, const struct yaml_node *node, struct yaml_scalar *ret);
