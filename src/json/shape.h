/* SPDX-License-Identifier: Apache-2.0 */
/* What: shapes: const tables of the fields of a record. One table drives decoding from protobuf, strict field
 *       checks, pruning, strategic merge, apply and documentation of a built-in kind (object/ holds the tables).
 * Owns: nothing; tables are static data.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "base/str.h"

enum shape_type {
    SHAPE_STRING,
    SHAPE_BOOL,
    SHAPE_INT32,
    SHAPE_INT64,
    SHAPE_DOUBLE,
    SHAPE_BYTES,           /* base64 text in JSON */
    SHAPE_RECORD,          /* .record */
    SHAPE_TIME,            /* RFC 3339 in JSON, {seconds=1, nanos=2} on the wire; null when empty */
    SHAPE_MICRO_TIME,      /* the same with six decimals */
    SHAPE_QUANTITY,        /* "100m": a string (a number is taken too); {string=1} on the wire */
    SHAPE_INT_OR_STRING,   /* {type=1, intVal=2, strVal=3} on the wire */
    SHAPE_RAW,             /* any JSON; {raw=1: bytes} on the wire (RawExtension, FieldsV1, apiextensions JSON) */
    SHAPE_STRINGS,         /* a list of strings as a value (ExtraValue): {items=1*} on the wire */
    SHAPE_JSON_OR_BOOL,    /* JSONSchemaPropsOrBool: {allows=1: bool, schema=2} */
    SHAPE_JSON_OR_ARRAY,   /* JSONSchemaPropsOrArray: {schema=1, schemas=2*} */
    SHAPE_JSON_OR_STRINGS, /* JSONSchemaPropsOrStringArray: {schema=1, property=2*} */
};

enum shape_card {
    SHAPE_ONE,
    SHAPE_LIST,
    SHAPE_MAP, /* string keys; values of the type given */
};

/* How apply (server-side) sees a list, or a record or map as a whole. */
enum shape_merge {
    SHAPE_GRANULAR = 0, /* records and maps: field by field; lists: same as SHAPE_ATOMIC */
    SHAPE_ATOMIC,       /* one value, replaced as a whole */
    SHAPE_SET,          /* list of distinct scalars */
    SHAPE_KEYED,        /* list of records identified by .keys */
};

/* How strategic merge patch sees a field. */
enum {
    SHAPE_SMP_MERGE = 1,       /* merge the list by .smp_key (or as a set, when it holds scalars) */
    SHAPE_SMP_RETAIN_KEYS = 2, /* obeys $retainKeys */
    SHAPE_SMP_REPLACE = 4,     /* a map or record that is replaced as a whole */
};

struct shape;

struct shape_field {
    const char *name;
    uint16_t number; /* protobuf; 0: not on the wire */
    uint16_t
        within; /* protobuf: number of the message around it, whose fields JSON has in the record itself; 0: none */
    uint8_t type, card, merge, smp;
    bool pointer;  /* unset differs from zero: a zero on the wire is kept (Go clients send zeros of all other fields) */
    bool required; /* of the API (shown by explain); not checked while decoding */
    bool written;  /* not required, but Go writes it even when it is empty (no omitempty) */
    const char *keys;    /* SHAPE_KEYED: key fields, comma-separated: "containerPort,protocol" */
    const char *smp_key; /* strategic merge key; NULL for a set */
    const char
        *go_type; /* messages: Go's name of the scalar, or of a whole map or list of records; NULL: the plain one */
    const struct shape *record;
};

struct shape {
    const char *name;    /* Go type name, for messages: "ObjectMeta" */
    const char *package; /* of its name in OpenAPI: "io.k8s.apimachinery.pkg.apis.meta.v1" */
    const struct shape_field *fields;
    uint16_t n;
    bool atomic; /* apply replaces the record as a whole */
};

/* The field with this name, or NULL. */
const struct shape_field *shape_find(const struct shape *s, str name);
/* The field with this number inside the message `within` (0: in the record's own message), or NULL. */
const struct shape_field *shape_find_number(const struct shape *s, uint32_t within, uint32_t number);
/* The version its types are of, the last word of the package: "v1". */
str shape_version(const struct shape *s);
/* True when `number` is a message whose fields JSON has in the record itself. */
bool shape_has_within(const struct shape *s, uint32_t number);
