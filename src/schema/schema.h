/* SPDX-License-Identifier: Apache-2.0 */
/* What: structural schemas of custom resources: compiled once, then pruning, defaulting and validating objects with the
 *       texts of Kubernetes; and the queries of server-side apply.
 * Owns: a compiled schema owns one block of memory plus the patterns compiled so far; it refers to nothing else.
 * Threads: a schema may be shared by any number of threads: it never changes, but for patterns, which are compiled when
 *          first needed and published atomically (of two threads that race, one frees its copy). schema_trim and
 *          schema_free need the schema for themselves.
 * Errors: ERR_INVALID with the path of the keyword that makes no sense; objects that break the rules get field errors.
 *
 *   openAPIV3Schema (JSON) ── schema_compile ──► struct schema ──┬─► schema_prune, schema_default, schema_validate
 *                                                                └─► schema_root, schema_property, …   (apply)
 *
 * crd.h checks beforehand that a schema is valid: structural, complete, with valid defaults. */
#pragma once

#include "object/field_error.h"
#include "json/json.h"
#include "json/shape.h"

struct schema;

/* Compiles the openAPIV3Schema of one version. The schema does not refer to the tree afterwards. */
int schema_compile(const struct json *openapi, struct schema **ret, struct err *err);
void schema_free(struct schema *s);
/* Drops the compiled patterns; they come back when needed. */
void schema_trim(struct schema *s);
/* Bytes of memory, compiled patterns included. */
size_t schema_footprint(const struct schema *s);
/* Has x-kubernetes-validations: rules in CEL, which are accepted but not enforced. */
bool schema_has_rules(const struct schema *s);

/* ---- Nodes: one place in a schema. Small, by value; valid as long as the schema. ---- */

typedef struct {
    const struct schema *schema;
    uint32_t at; /* private; 0: none */
} schema_node;

enum schema_kind {
    SCHEMA_NONE,   /* not in the schema: the field is unknown */
    SCHEMA_ANY,    /* any value: below x-kubernetes-preserve-unknown-fields, its form is deduced from the value */
    SCHEMA_SCALAR, /* string, number, boolean, int-or-string */
    SCHEMA_LIST,
    SCHEMA_MAP, /* records with properties and maps with additionalProperties */
};

enum schema_scalar { SCHEMA_ANY_SCALAR, SCHEMA_STRING, SCHEMA_NUMBER, SCHEMA_BOOLEAN };
enum schema_list_type { SCHEMA_LIST_ATOMIC, SCHEMA_LIST_SET, SCHEMA_LIST_MAP };

schema_node schema_root(const struct schema *s);
/* The place of a member: its own property, else additionalProperties, else SCHEMA_ANY where unknown fields are kept,
 * else SCHEMA_NONE. */
schema_node schema_property(schema_node node, str key);
/* The same by the member itself; *ret_declared is set if it has a property of its own. */
schema_node schema_member(schema_node node, const struct json_member *m, bool *ret_declared);
/* The place of every item of a list. */
schema_node schema_items(schema_node node);
enum schema_kind schema_node_kind(schema_node node);
enum schema_list_type schema_node_list_type(schema_node node);
/* x-kubernetes-map-type: atomic. */
bool schema_node_is_atomic_map(schema_node node);
bool schema_node_is_int_or_string(schema_node node);
/* What a SCHEMA_SCALAR may be. Strings with a format count as any: apply leaves those to validation. */
enum schema_scalar schema_node_scalar(schema_node node);
/* The results of the queries here, in one call. */
struct schema_facts {
    enum schema_kind kind;
    enum schema_list_type list_type;
    bool is_int_or_string, is_atomic_map, is_resource, keeps_unknown;
    bool has_properties; /* has properties or additionalProperties */
};
struct schema_facts schema_node_facts(schema_node node);
/* x-kubernetes-embedded-resource: apiVersion, kind and metadata are those of every object. */
bool schema_node_is_resource(schema_node node);
bool schema_node_keeps_unknown(schema_node node);
bool schema_node_is_nullable(schema_node node);
/* Names of the key fields of a SCHEMA_LIST_MAP, in the order given there. */
size_t schema_node_key_count(schema_node node);
str schema_node_key(schema_node node, size_t i);
/* The default of this place, built in the arena; false when there is none. */
bool schema_node_default(schema_node node, struct arena *a, struct json *ret);

/* ---- Objects. ---- */

enum {
    SCHEMA_MAX_UNKNOWN = 1000,
    SCHEMA_MAX_UNKNOWN_BYTES = 1024 * 1024,
    SCHEMA_MAX_DEFAULTS = 4 * 1024 * 1024, /* bytes that defaults may add to one object, names included */
};

/* Paths of fields that were dropped because they are not in the schema ("spec.list[0].q"), sorted. Zero-initialise
 * with an arena; past SCHEMA_MAX_UNKNOWN, or that many bytes, further ones are counted but not kept. */
struct schema_unknown {
    struct arena *arena;
    VEC(str) paths;
    size_t bytes; /* of the paths kept */
    size_t dropped;
};

struct schema_prune_args {
    bool is_resource;                /* apiVersion, kind and metadata at the root are left alone */
    const struct shape *object_meta; /* prunes metadata of embedded resources; NULL: left alone */
    struct schema_unknown *unknown;  /* NULL: not collected */
};

/* In place: removes fields that are not in the schema. */
void schema_prune(schema_node node, struct json *v, const struct schema_prune_args *args);
/* In place: removes nulls that are neither allowed nor replaced by a default, then adds defaults. False when the
 * defaults would exceed SCHEMA_MAX_DEFAULTS: the value must not be used then. */
bool schema_default(schema_node node, struct arena *a, struct json *v);
/* True when v fits. Otherwise all reasons are added to errs, their fields below base ("" for a whole object, "status"
 * for the status subresource), unless errs is NULL. */
bool schema_validate(schema_node node, str base, const struct json *v, struct field_errors *errs);
