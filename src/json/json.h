/* SPDX-License-Identifier: Apache-2.0 */
/* What: JSON value trees: read, build, compare; bounded decoding of text into trees and trees into text.
 * Owns: nothing; all memory of a tree belongs to the arena it was built in. Strings are borrowed views.
 * Threads: an unchanging tree may be read by many threads.
 * Errors: ERR_BAD_REQUEST for text that is not JSON, ERR_TOO_LARGE past a limit; then nothing is returned.
 *
 *   struct json {type, n, …}                16 bytes, by value; all zero is null
 *     JSON_ARR → items:   [json][json]…     n values in a row
 *     JSON_OBJ → members: [key json]…       n keys with their values in a row, in the order they came
 *
 * Copying a struct json copies the handle, not the tree. Functions that take const struct json * never change what it
 * reaches; results may share parts of their inputs, which therefore must live as long. Only the functions below under
 * "Build" change a tree in place: use them on trees you have just decoded, built or json_dup'ed. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

enum json_type {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,  /* fits int64_t: .i */
    JSON_UINT, /* INT64_MAX < value <= UINT64_MAX: .u; never smaller */
    JSON_REAL, /* finite: .d; a real that is a whole number within int64_t is still a real here */
    JSON_STR,  /* .s, n bytes of valid UTF-8 */
    JSON_ARR,
    JSON_OBJ,
};

struct json_member;

struct json {
    uint8_t type;
    uint8_t room; /* private: 0: no space behind the last child; else there is space for 2^(room-1) of them in all */
    uint32_t n;
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        const char *s;
        struct json *items;
        struct json_member *members;
    };
};

struct json_member {
    const char *key;
    uint32_t key_n;
    uint32_t hash; /* json_hash of the key */
    struct json val;
};

/* ---- Read. All of these treat NULL as null. ---- */

static inline enum json_type json_type(const struct json *v)
{
    return v ? (enum json_type)v->type : JSON_NULL;
}
static inline bool json_is_str(const struct json *v)
{
    return v && v->type == JSON_STR;
}
static inline bool json_is_obj(const struct json *v)
{
    return v && v->type == JSON_OBJ;
}
static inline bool json_is_arr(const struct json *v)
{
    return v && v->type == JSON_ARR;
}
static inline bool json_is_num(const struct json *v)
{
    return v && v->type >= JSON_INT && v->type <= JSON_REAL;
}
static inline bool json_is_null(const struct json *v)
{
    return v == NULL || v->type == JSON_NULL;
}
/* The text of a string, else empty. */
static inline str json_text(const struct json *v)
{
    return json_is_str(v) ? (str){v->s, v->n} : (str){0};
}
static inline bool json_true(const struct json *v)
{
    return v && v->type == JSON_BOOL && v->b;
}
static inline str json_key(const struct json_member *m)
{
    return (str){m->key, m->key_n};
}
/* Number of items or members, else 0. */
static inline size_t json_len(const struct json *v)
{
    return v && v->type >= JSON_ARR ? v->n : 0;
}

uint32_t json_hash(str key);
/* The member with this name, or NULL. Linear: for loops over wide objects use a json_index. */
const struct json_member *json_find(const struct json *obj, str key);
/* A member's value, or NULL when there is none or obj is not an object. */
const struct json *json_get(const struct json *obj, str key);
struct json *json_get_mut(struct json *obj, str key);
/* Text of a string member, else empty. */
str json_get_text(const struct json *obj, str key);
/* Follows member names separated by dots: json_dig(o, "spec.names.kind"). For literal paths of our own. */
const struct json *json_dig(const struct json *obj, const char *path);
/* As an integer: JSON_INT, or a real that is whole and in range. */
bool json_to_int(const struct json *v, int64_t *ret);
double json_to_real(const struct json *v);
/* "null" "boolean" "integer" "number" "string" "array" "object"; whole numbers are integers, 1.0 too. */
const char *json_type_name(const struct json *v);

#define json_each_item(arr, it)                                                                                 \
    for (const struct json *it = json_is_arr(arr) ? (arr)->items : NULL, *it##_end = it ? it + (arr)->n : NULL; \
         it != it##_end; it++)
#define json_each_member(obj, it)                                                 \
    for (const struct json_member *it = json_is_obj(obj) ? (obj)->members : NULL, \
                                  *it##_end = it ? it + (obj)->n : NULL;          \
         it != it##_end; it++)

/* Looks members up in constant time, however wide the object is; json_get is quicker below a few dozen members, and
 * this uses it there. The object must not change meanwhile. */
struct json_index {
    const struct json *obj;
    struct map map;
};

void json_index_init(struct json_index *ix, const struct json *obj);
void json_index_done(struct json_index *ix);
const struct json_member *json_index_find(const struct json_index *ix, str key);
#define JSON_INDEX_SCOPE __attribute__((cleanup(json_index_done)))

/* Same value: key order does not matter, numbers by value (1 equals 1.0). */
bool json_equal(const struct json *a, const struct json *b);
/* A total order over all values, for sorting: null < booleans < numbers < strings < arrays < objects. */
int json_compare(const struct json *a, const struct json *b);

/* ---- Build. ---- */

static inline struct json json_null(void)
{
    return (struct json){0};
}
struct json json_bool(bool b);
struct json json_int(int64_t i);
struct json json_uint(uint64_t u);
struct json json_real(double d); /* finite */
struct json json_str(str s);     /* borrows; valid UTF-8, under 4 GiB */
struct json json_arr(void);
struct json json_obj(void);
/* With room for n items or members. */
struct json json_arr_sized(struct arena *a, size_t n);
struct json json_obj_sized(struct arena *a, size_t n);

/* Replaces or appends (searching linearly; json_add when the key is known to be new); the key is borrowed. Returns
 * where the value now is (until the next change of obj). */
struct json *json_set(struct arena *a, struct json *obj, str key, struct json v);
/* Appends without looking for the key. */
struct json *json_add(struct arena *a, struct json *obj, str key, struct json v);
/* Removes a member, keeping the order of the others; false when there was none. */
bool json_remove(struct json *obj, str key);
/* Removes the member at position i. */
void json_remove_at(struct json *obj, size_t i);
struct json *json_push(struct arena *a, struct json *arr, struct json v);
/* Inserts before position i (i <= n). */
struct json *json_insert(struct arena *a, struct json *arr, size_t i, struct json v);
void json_erase(struct json *arr, size_t i);
/* A deep copy: shares nothing, strings included. */
struct json json_dup(struct arena *a, const struct json *v);
/* A copy of the top level only: its own members or items, children shared. */
struct json json_dup_top(struct arena *a, const struct json *v);

/* ---- Build from a template. ---- */

/* The value that a template describes: JSON with keys that need no quotes, and texts in single quotes.
 *
 *   json_build(a, "{type: 'Ready', status: %s, observedGeneration: %" PRId64 ", message?: %.*s, reasons: %p}", …)
 *
 * A placeholder stands for a value, a key (texts only) or, within quotes, a part of a text (texts and numbers):
 *   %s %.*s                       text; a NULL for %s is null. Borrowed as json_str does; '%s' copies it into the arena
 *   %d %u, with l, ll or z, %g    number (PRId64 and its kin are among them)
 *   %c                            bool: a condition, or (int)flag, because clang warns of a bool
 *   %p                            const struct json *, shared as json_set does; NULL is null
 * "key?: value" omits the member if the value is null, false, 0 or empty, as omitempty of Go does. A key given twice
 * keeps the last value. Escapes in quoted text are \\' \\\\ \\n (as written in C) and %%. The template is a literal:
 * keys and texts refer to it. A malformed template is a bug: the program aborts, naming the position. */
struct json json_build(struct arena *a, const char *template, ...) __attribute__((format(printf, 2, 3)));
/* For %p: a pointer to the value of an expression, valid until the end of the block. */
#define JSON_REF(v) ((const struct json[]){v})
/* What is wrong with a template, and at which byte; NULL if nothing is. For tests. */
const char *json_template_check(const char *template, size_t *ret_at);

/* ---- Text in. ---- */

enum {
    JSON_MAX_BYTES = 3 * 1024 * 1024, /* the request limit of Kubernetes */
    JSON_MAX_DEPTH = 1000,
    JSON_MAX_NOTES = 100,              /* duplicates reported for one document */
    JSON_MAX_NOTES_TEXT = 1024 * 1024, /* bytes of paths after which no more are reported */
};

/* Warnings of a successful decoding for strict clients: paths such as spec.list[0].q */
struct json_notes {
    VEC(str) duplicates;
};

struct json_limits {
    size_t bytes;   /* 0: JSON_MAX_BYTES */
    uint32_t depth; /* 0: JSON_MAX_DEPTH; containers inside containers */
};

/* Decodes one value. A byte order mark in front is skipped. Of members with the same name the last one counts, in the
 * place of the first, and the path is noted if notes is not NULL. The tree does not refer to text. limits may be
 * NULL. */
int json_decode(struct arena *a, str text, const struct json_limits *limits, struct json_notes *notes, struct json *ret,
                struct err *err);

/* ---- Text out. Numbers and escapes as Kubernetes writes them: 1.0 as 1, 1e21 as 1e+21, <>& as \u003c… ---- */

enum {
    JSON_SORTED = 1, /* members by key, bytewise */
    JSON_PRETTY = 2, /* two spaces */
};

void json_encode(struct buf *b, const struct json *v, unsigned flags);
/* A number as JSON text. */
void json_encode_number(struct buf *b, const struct json *v);
/* A string in quotes, escaped. */
void json_encode_str(struct buf *b, str s);

/* ---- Paths for messages: spec.list[0].key ---- */

/* One step; steps are linked from the inside out on the stack of a walk. */
struct json_path {
    const struct json_path *up;
    str key;      /* a member… */
    size_t index; /* …or, if key.p is NULL, an item */
};

void json_path_format(struct buf *b, const struct json_path *path);
