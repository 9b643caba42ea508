/* SPDX-License-Identifier: Apache-2.0 */
/* What: the keywords of a JSON schema that CustomResourceDefinitions support. Only for schema_*.c and crd_*.c,
 *       here and in package.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: none. */
#pragma once

#include "json/json.h"

enum keyword {
    KW_ID,
    KW_SCHEMA,
    KW_REF,
    KW_DESCRIPTION,
    KW_TYPE,
    KW_FORMAT,
    KW_TITLE,
    KW_DEFAULT,
    KW_MAXIMUM,
    KW_EXCLUSIVE_MAXIMUM,
    KW_MINIMUM,
    KW_EXCLUSIVE_MINIMUM,
    KW_MAX_LENGTH,
    KW_MIN_LENGTH,
    KW_PATTERN,
    KW_MAX_ITEMS,
    KW_MIN_ITEMS,
    KW_UNIQUE_ITEMS,
    KW_MULTIPLE_OF,
    KW_ENUM,
    KW_MAX_PROPERTIES,
    KW_MIN_PROPERTIES,
    KW_REQUIRED,
    KW_ITEMS,
    KW_ALL_OF,
    KW_ONE_OF,
    KW_ANY_OF,
    KW_NOT,
    KW_PROPERTIES,
    KW_ADDITIONAL_PROPERTIES,
    KW_PATTERN_PROPERTIES,
    KW_DEPENDENCIES,
    KW_ADDITIONAL_ITEMS,
    KW_DEFINITIONS,
    KW_EXTERNAL_DOCS,
    KW_EXAMPLE,
    KW_NULLABLE,
    KW_X_PRESERVE,
    KW_X_EMBEDDED,
    KW_X_INT_OR_STRING,
    KW_X_LIST_MAP_KEYS,
    KW_X_LIST_TYPE,
    KW_X_MAP_TYPE,
    KW_X_VALIDATIONS,
    KW_COUNT,
};

/* What kind of value a keyword takes. */
enum keyword_form {
    FORM_TEXT,
    FORM_NUMBER,
    FORM_INTEGER,
    FORM_BOOL,
    FORM_ANY,
    FORM_VALUES, /* a list of anything */
    FORM_TEXTS,  /* a list of strings */
    FORM_SCHEMA,
    FORM_SCHEMAS, /* a list of schemas */
    FORM_NAMED,   /* an object of schemas */
    FORM_SCHEMA_OR_BOOL,
    FORM_SCHEMA_OR_LIST,
    FORM_OBJECT, /* any object */
    FORM_OBJECTS,
};

struct keywords {
    const struct json *at[KW_COUNT]; /* NULL: not given (null counts as not given) */
    uint64_t given;                  /* a bit for each of the others, which are few */
};

/* Steps through the given ones, in their order: for (uint64_t left = kw.given; left; left &= left - 1) */
static inline enum keyword keyword_lowest(uint64_t left)
{
    return (enum keyword)__builtin_ctzll(left);
}

/* Sorts the members of a schema into *ret. Members that are no keywords are skipped. */
void keywords_read(const struct json *schema, struct keywords *ret);
const char *keyword_name(enum keyword k);
enum keyword_form keyword_form(enum keyword k);
/* What is wrong with the form of a keyword's value ("must be a string"), or NULL. */
const char *keyword_misformed(enum keyword k, const struct json *v);

/* Given, and not false or empty: what Go keeps of it. */
static inline bool keyword_counts(const struct keywords *k, enum keyword which)
{
    const struct json *v = k->at[which];
    if (v == NULL || which == KW_DEFAULT)
        return v != NULL;
    return v->type == JSON_BOOL ? v->b : v->type == JSON_STR || v->type == JSON_ARR ? v->n > 0 : true;
}

static inline str keyword_text(const struct keywords *k, enum keyword which)
{
    return json_text(k->at[which]);
}

static inline bool keyword_true(const struct keywords *k, enum keyword which)
{
    return json_true(k->at[which]);
}
