/* SPDX-License-Identifier: Apache-2.0 */
/* What: the list of everything that is wrong with an object, as Kubernetes words it.
 * Owns: nothing; texts live in the arena of the list.
 * Threads: one list, one thread.
 * Errors: this is the error. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "json/json.h"

enum field_error_type {
    FIELD_REQUIRED,      /* "Required value"          FieldValueRequired */
    FIELD_INVALID,       /* "Invalid value"           FieldValueInvalid */
    FIELD_TYPE_INVALID,  /* "Invalid value"           FieldValueTypeInvalid */
    FIELD_NOT_SUPPORTED, /* "Unsupported value"       FieldValueNotSupported */
    FIELD_FORBIDDEN,     /* "Forbidden"               FieldValueForbidden */
    FIELD_TOO_LONG,      /* "Too long"                FieldValueTooLong */
    FIELD_TOO_MANY,      /* "Too many"                FieldValueTooMany */
    FIELD_DUPLICATE,     /* "Duplicate value"         FieldValueDuplicate */
    FIELD_NOT_FOUND,     /* "Not found"               FieldValueNotFound */
    FIELD_INTERNAL,      /* "Internal error"          InternalError */
};

struct field_error {
    enum field_error_type type;
    str field;  /* "spec.list[2].k" */
    str value;  /* the bad value as Go's %#v or %q prints it; empty: the text has none */
    str detail; /* may be empty */
};

/* Zero-initialise with an arena. Past FIELD_ERRORS_MAX entries, or that many bytes of texts, further ones are counted
 * but not kept. */
enum { FIELD_ERRORS_MAX = 1000, FIELD_ERRORS_MAX_BYTES = 4 * 1024 * 1024 };

struct field_errors {
    struct arena *arena;
    VEC(struct field_error) list;
    size_t bytes; /* of the texts kept */
    size_t dropped;
};

/* Whether the list is full: further errors are only counted, so their texts need not be built. */
bool field_errors_full(const struct field_errors *errs);

void field_error_add(struct field_errors *errs, enum field_error_type type, str field, str value, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* "spec.size: Invalid value: 0: must be positive" */
void field_error_format(struct buf *b, const struct field_error *e);
/* Without the field: "Invalid value: 0: must be positive" (the text of a Status cause). */
void field_error_body(struct buf *b, const struct field_error *e);
/* "A", or "[A, B]" when there are several: what follows "is invalid: ". Duplicate texts are left out. */
void field_errors_format(struct buf *b, const struct field_errors *errs);
/* Reason of a cause: "FieldValueInvalid". */
const char *field_error_reason(enum field_error_type type);
/* A value as Kubernetes prints it in messages: strings quoted as %q, numbers and booleans plainly, null as "null",
 * objects and arrays as Go's %#v does: map[string]interface {}{"k":"a"}, []interface {}{"a"}. */
str field_value(struct arena *a, const struct json *v);
/* A text in quotes, as %q; a list of texts as Go's %#v: []string{"a", "b"}. */
str field_quote(struct arena *a, str text);
str field_strings(struct arena *a, const str *list, size_t n);
/* The path joined with a member or an item: "a" + "b" = "a.b"; "a" + 3 = "a[3]"; "a" + key = "a[key]". */
str field_child(struct arena *a, str path, str name);
str field_index(struct arena *a, str path, size_t i);
str field_key(struct arena *a, str path, str key);
