/* SPDX-License-Identifier: Apache-2.0 */
/* What: the single steps of validation, Only for schema_*.c.
 * Owns: nothing.
 * Threads: one validation, one thread.
 * Errors: every step answers false on failure and, when somebody wants to know, adds the reasons to errs. */
#pragma once

#include "schema/schema_block.h"

/* State of one validation. */
struct validation {
    const struct schema *schema;
    str base;
    struct field_errors *errs; /* NULL: only the answer matters */
    bool is_default;           /* of a schema: there, upstream does not know the type of int-or-string */
    bool brackets;             /* write members under additionalProperties as a[b], not a.b */
    uint32_t matches; /* checks passed so far: tells the closest of several alternatives, counted as upstream */
    struct pattern_scratch *scratch;
};

/* Checks a value and everything below it. */
bool validate_value(struct validation *v, uint32_t at, const struct json *value, const struct step *path);

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

/* ---- Reporting; all of these answer false. ---- */

/* Asked before the texts of an error are made: whether somebody wants to know. Past the limits it is only counted. */
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
/* Of the whole: "<nil>: Invalid value: \"\": text" */
bool report_whole(struct validation *v, str text);
/* Copies the errors of a part that are not there yet. */
void report_merge(struct validation *v, const struct field_errors *from);
