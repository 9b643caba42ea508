/* SPDX-License-Identifier: Apache-2.0 */
/* What: the memory layout of a compiled schema, and the steps of pruning and validating. Only for the schema_*.c files.
 * Owns: see schema.h.
 * Threads: see schema.h; one validation belongs to one thread.
 * Errors: each check returns false on failure and, if errs is set, adds the reasons there.
 *
 *   struct schema │ slots: one pointer per pattern │ words: nodes and tables │ bytes: names, defaults, enums, patterns
 *
 * A place in words is identified by its index, a text by its offset in bytes; equal things are stored once, so a schema
 * with a thousand plain strings has one node for all of them. Words hold:
 *
 *   node        struct node
 *   table       struct table, its properties in given order, positions of those with a default, then the hash index:
 *               slots of two bytes, a property's position + 1 or 0, found from hash & mask on
 *   checks      pairs (op, argument) in the order Kubernetes checks them, ended by CHECK_END
 *   list        n, then n nodes (anyOf…) or n pairs of hash and name (required, list-map keys)
 *   number      two words: an int64_t or a double
 *   enum        where its packed list is, and an index */
#pragma once

#include "schema/pattern.h"
#include "schema/schema.h"

#include <stdatomic.h>

enum node_type {
    TYPE_NONE, /* not given: everything fits */
    TYPE_STRING,
    TYPE_INTEGER,
    TYPE_NUMBER,
    TYPE_BOOLEAN,
    TYPE_ARRAY,
    TYPE_OBJECT,
    TYPE_INT_OR_STRING,
};

enum node_flag {
    NODE_NULLABLE = 1 << 0,
    NODE_PRESERVE = 1 << 1,
    NODE_EMBEDDED = 1 << 2,
    NODE_EXTRA = 1 << 3,        /* additionalProperties: true or a schema */
    NODE_FORBID_EXTRA = 1 << 4, /* additionalProperties: false */
    NODE_ATOMIC_MAP = 1 << 5,
    NODE_DEFAULT = 1 << 6,
    NODE_SET = 1 << 7,
    NODE_LIST_MAP = 1 << 8,
    /* Of this place or any below it that pruning reaches: */
    NODE_HAS_UNIQUE = 1 << 9,    /* lists of type set or map */
    NODE_HAS_EMBEDDED = 1 << 10, /* embedded resources */
    NODE_HAS_RULES = 1 << 11,    /* x-kubernetes-validations */
};

struct node {
    uint16_t flags;
    uint8_t type;
    uint8_t accepts; /* bit 1 << enum json_type: values of this type need no second look */
    uint32_t props;  /* table, or 0 */
    uint32_t items;  /* node, or 0 */
    uint32_t extra;  /* node of additionalProperties, or 0 */
    uint32_t checks; /* or 0 */
} __attribute__((may_alias));

struct prop {
    uint32_t hash, key, node;
} __attribute__((may_alias));

struct table {
    uint32_t n, defaults, mask;
    struct prop props[];
} __attribute__((may_alias));

enum { TABLE_MAX = UINT16_MAX - 1 }; /* properties of one object */

typedef uint16_t __attribute__((may_alias)) table_slot;

/* In the order in which Kubernetes checks and reports. */
enum check {
    CHECK_END,
    CHECK_ANY_OF,
    CHECK_ONE_OF,
    CHECK_ALL_OF,
    CHECK_NOT,
    CHECK_MAX_LENGTH,
    CHECK_MIN_LENGTH,
    CHECK_PATTERN,
    CHECK_FORMAT,
    CHECK_MULTIPLE_OF,
    CHECK_MINIMUM,
    CHECK_EXCLUSIVE_MINIMUM,
    CHECK_MAXIMUM,
    CHECK_EXCLUSIVE_MAXIMUM,
    CHECK_MIN_ITEMS,
    CHECK_MAX_ITEMS,
    CHECK_ENUM,
    CHECK_MIN_PROPERTIES,
    CHECK_MAX_PROPERTIES,
    CHECK_REQUIRED,
    /* Not checks, but kept with them: */
    CHECK_DEFAULT,
    CHECK_LIST_KEYS,
};

struct schema {
    uint32_t root;
    uint32_t n_words, n_bytes, n_patterns;
    uint32_t patterns; /* in words: n_patterns texts */
    const uint32_t *words;
    const char *bytes;
    _Atomic(struct pattern *) slots[];
};

enum { NODE_ANY = 1 }; /* where the node is that takes everything */

static inline const struct node *node_at(const struct schema *s, uint32_t at)
{
    return (const struct node *)(s->words + at);
}

/* Reads a length or small number written seven bits a byte, and steps behind it. */
static inline uint64_t varint_read(const char **p)
{
    uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        unsigned char c = (unsigned char)*(*p)++;
        n |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return n;
    }
}

static inline str text_at(const struct schema *s, uint32_t at)
{
    const char *p = s->bytes + at;
    size_t n = varint_read(&p);
    return (str){p, n};
}

static inline int64_t int_at(const struct schema *s, uint32_t at)
{
    int64_t v;
    memcpy(&v, s->words + at, sizeof v);
    return v;
}

static inline double real_at(const struct schema *s, uint32_t at)
{
    double v;
    memcpy(&v, s->words + at, sizeof v);
    return v;
}

/* The argument of one check, or 0. */
uint32_t schema_check_arg(const struct schema *s, const struct node *node, enum check op);

static inline const uint32_t *table_defaults(const struct table *t)
{
    return (const uint32_t *)(t->props + t->n);
}

static inline const table_slot *table_slots(const struct table *t)
{
    return (const table_slot *)(table_defaults(t) + t->defaults);
}

/* The property with this name, or NULL. */
static inline const struct prop *schema_find_prop(const struct schema *s, const struct node *node,
                                                  const struct json_member *m)
{
    if (node->props == 0)
        return NULL;
    const struct table *t = (const struct table *)(s->words + node->props);
    const table_slot *slots = table_slots(t);
    for (uint32_t i = m->hash & t->mask; slots[i]; i = (i + 1) & t->mask) {
        const struct prop *p = &t->props[slots[i] - 1];
        if (p->hash != m->hash)
            continue;
        str name = text_at(s, p->key);
        if (name.n == m->key_n && (name.n == 0 || memcmp(name.p, m->key, name.n) == 0))
            return p;
    }
    return NULL;
}

/* The node that governs a member: property or additionalProperties; 0 when there is neither. *ret_extra is set for the
 * latter. */
static inline uint32_t schema_member_node(const struct schema *s, const struct node *node, const struct json_member *m,
                                          bool *ret_extra)
{
    const struct prop *p = schema_find_prop(s, node, m);
    *ret_extra = p == NULL;
    return p ? p->node : node->extra;
}

/* The member with the name stored at key, or NULL. */
struct json_member *schema_find_member(const struct schema *s, const struct json *obj, uint32_t key, uint32_t hash);
/* Whether so many names are better looked up in an object through a json_index. */
static inline bool is_wide(uint32_t names, const struct json *obj)
{
    return names > 32 && obj->n > 32;
}

/* The compiled pattern, made now if it is needed for the first time. */
const struct pattern *schema_pattern(const struct schema *s, uint32_t index);

/* Builds the value at *p again and steps behind it. The tree does not refer to the bytes. */
struct json schema_unpack(struct arena *a, const char **p);
/* Whether the value at p is a text; ret is borrowed. */
bool schema_packed_text(const char *p, str *ret);
/* Steps behind the value at *p. */
void schema_packed_skip(const char **p);

/* The words of an enum: how many, and filled in for a list that is packed at this place of the bytes. */
size_t schema_enum_size(const struct json *list);
void schema_enum_fill(uint32_t *words, uint32_t at, const char *packed, const struct json *list);
bool schema_enum_has(const struct schema *s, uint32_t at, const struct json *value);
/* A real number as an integer: the fraction is cut off. */
int64_t schema_cut(double d);

/* ---- Walking ---- */

/* One step of a walk, linked from the inside out. */
struct step {
    const struct step *up;
    str key;        /* a member… */
    uint32_t index; /* …or, if key.p is NULL, an item */
    bool extra;     /* the member came under additionalProperties */
};

/* "a.b[0].c"; with brackets, members under additionalProperties are written a[b], as field paths do. */
void schema_path_format(struct buf *b, const struct step *path, bool brackets);

static inline bool is_meta_field(const struct json_member *m)
{
    return (m->key_n == 4 && memcmp(m->key, "kind", 4) == 0) || (m->key_n == 8 && memcmp(m->key, "metadata", 8) == 0) ||
           (m->key_n == 10 && memcmp(m->key, "apiVersion", 10) == 0);
}

/* What a walk for unknown fields has found. */
struct prune_notes {
    struct schema_unknown *out; /* or NULL */
    VEC(str) metadata;          /* inside embedded metadata: these come after all others */
};

/* ---- Validation ---- */

/* State of one validation. */
struct validation {
    const struct schema *schema;
    str base;
    struct field_errors *errs; /* NULL: only the result matters */
    bool is_default;           /* of a schema: for these, upstream has no type int-or-string */
    bool brackets;             /* write members under additionalProperties as a[b], not a.b */
    uint32_t matches; /* checks passed so far, counted as upstream: finds the closest of several alternatives */
    struct pattern_scratch *scratch;
};

/* A default: embedded resources first, then, if these are fine, the schema's own rules; lists are not compared. At the
 * root of a schema the value is a resource itself. */
bool schema_validate_default(schema_node node, str base, const struct json *value, bool is_root,
                             struct field_errors *errs);

/* The checks of one value that do not look into its members or items: those that come before looking there and those
 * that come after. */
bool check_before(struct validation *v, const struct node *node, const struct json *value, const struct step *path);
bool check_after(struct validation *v, const struct node *node, const struct json *value, const struct step *path);
/* anyOf, oneOf, allOf, not. */
bool check_junctor(struct validation *v, enum check op, uint32_t arg, const struct json *value,
                   const struct step *path);
/* Distinct items of a list of type set, distinct keys of a list of type map; only this list. */
bool check_unique(struct validation *v, const struct node *node, const struct json *list, const struct step *path);
/* apiVersion, kind and metadata of an embedded resource; only this object. */
bool check_embedded(struct validation *v, const struct json *object, const struct step *path);

/* ---- Reporting; all of these return false. ---- */

/* Whether to build the texts of an error. Past the limits it is only counted. */
static inline bool report_wanted(const struct validation *v)
{
    if (v->errs == NULL || !field_errors_full(v->errs))
        return v->errs;
    v->errs->dropped++;
    return false;
}

/* "spec.x": where a value is, relative to the value validated. */
str report_name(struct validation *v, const struct step *path);
/* "spec.x: <type>: <value>: spec.x in body <text>" */
bool report(struct validation *v, const struct step *path, enum field_error_type type, str value, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The same without "spec.x in body". */
bool report_plain(struct validation *v, const struct step *path, enum field_error_type type, str value, const char *fmt,
                  ...) __attribute__((format(printf, 5, 6)));
/* Copies the errors of a part that are not there yet. */
void report_merge(struct validation *v, const struct field_errors *from);
