/* SPDX-License-Identifier: Apache-2.0 */
/* What: label selectors (the text of ?labelSelector= and LabelSelector objects) and field selectors (?fieldSelector=).
 * Owns: nothing; a selector lives in the arena it was made in and copies what it keeps.
 * Threads: a finished selector never changes and may be shared; matching allocates nothing.
 * Errors: ERR_BAD_REQUEST with Kubernetes' text; then nothing is returned. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "object/field_error.h"
#include "object/kind.h"
#include "json/json.h"

/* ---- Label selectors. ---- */

enum selector_op {
    SELECTOR_IN,
    SELECTOR_NOT_IN, /* also true when the label is absent */
    SELECTOR_EQUALS,
    SELECTOR_DOUBLE_EQUALS, /* the same, written == */
    SELECTOR_NOT_EQUALS,    /* also true when the label is absent */
    SELECTOR_GREATER,
    SELECTOR_LESS,
    SELECTOR_EXISTS,
    SELECTOR_ABSENT,
};

struct selector_term {
    str key;
    enum selector_op op;
    const str *values; /* sorted bytewise; exactly one except for in (…), notin (…) and the last two */
    size_t n;
    int64_t number; /* of > and < */
    size_t order;   /* position in the text; ties between equal keys keep it */
};

/* All terms must hold. The zero value selects everything. */
struct selector {
    const struct selector_term *terms; /* sorted by key */
    size_t n;
    bool nothing; /* selects nothing at all (an absent LabelSelector) */
};

/* "a=b,c in (d,e),!f". */
int selector_parse(struct arena *a, str text, struct selector *ret, struct err *err);
/* A LabelSelector {matchLabels, matchExpressions}: NULL or null selects nothing, an empty one everything. */
int selector_from_object(struct arena *a, const struct json *object, struct selector *ret, struct err *err);
/* Says everything that is wrong with a LabelSelector inside an object, as the API does when it is written. */
void selector_validate(struct field_errors *errs, str field, const struct json *object);
/* The same for an update of an object whose stored selector is invalid already: values of expressions are not
 * checked. */
void selector_validate_stored(struct field_errors *errs, str field, const struct json *object);

/* labels is the map of metadata.labels; NULL and null are no labels. */
bool selector_matches(const struct selector *s, const struct json *labels);
bool selector_term_matches(const struct selector_term *t, const struct json *labels);
/* The same for labels as JSON text without blanks, escapes and duplicate keys: {"a":"b","c":"d"}. Empty: no labels. */
bool selector_matches_text(const struct selector *s, str labels);
/* The canonical text: terms by key, values sorted. Empty for everything, and for nothing too. */
void selector_format(struct buf *b, const struct selector *s);
static inline bool selector_is_everything(const struct selector *s)
{
    return s->n == 0 && !s->nothing;
}
/* The one value that the selector demands of a label: "a=b" or "a in (b)". */
bool selector_requires(const struct selector *s, str key, str *ret_value);

/* ---- Field selectors. ---- */

struct field_term {
    str field, value;
    bool negated;
};

/* All terms must hold. The zero value selects everything. */
struct field_selector {
    const struct field_term *terms; /* sorted by their text */
    size_t n;
};

/* "metadata.name=x,status.phase!=Active"; \, \= and \\ are escapes in values. */
int field_selector_parse(struct arena *a, str text, struct field_selector *ret, struct err *err);
/* Refuses fields that objects of this kind cannot be selected by. */
int field_selector_check(const struct field_selector *s, const struct kind *kind, struct err *err);
/* get returns a field's text, empty if it has none. */
bool field_selector_matches(const struct field_selector *s, str (*get)(void *ctx, str field), void *ctx);
/* The fields are looked up in the object, as member names separated by dots. Numbers and booleans count as their
 * text. */
bool field_selector_matches_object(const struct field_selector *s, const struct json *object);
void field_selector_format(struct buf *b, const struct field_selector *s);
/* The value that the selector requires of a field; detects lists by name. */
bool field_selector_requires(const struct field_selector *s, str field, str *ret_value);
