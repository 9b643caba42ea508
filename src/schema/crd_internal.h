/* SPDX-License-Identifier: Apache-2.0 */
/* What: the parts of the check of a CustomResourceDefinition. Only for crd_*.c.
 * Owns: nothing.
 * Threads: pure functions.
 * Errors: added to the list, at a path of linked steps. */
#pragma once

#include "schema/crd.h"
#include "schema/schema_internal.h"
#include "schema/schema_keyword.h"

/* A step to a child, to a key in brackets, to an item. */
#define AT(parent, name) (&(struct step){.up = (parent), .key = (name)})
#define AT_KEY(parent, name) (&(struct step){.up = (parent), .key = (name), .extra = true})
#define AT_ITEM(parent, i) (&(struct step){.up = (parent), .index = (uint32_t)(i)})

void crd_required(struct field_errors *errs, const struct step *at, const char *text);
void crd_forbidden(struct field_errors *errs, const struct step *at, const char *text);
void crd_invalid(struct field_errors *errs, const struct step *at, str value, const char *text);
/* The same with a string as the value. */
void crd_invalid_text(struct field_errors *errs, const struct step *at, str value, const char *text);
/* "Unsupported value: "x": supported values: "a", "b"", the names separated by blanks. */
void crd_unsupported(struct field_errors *errs, const struct step *at, str value, const char *names);
/* A list of strings as Go's %#v: []string{"a", "b"}. */
str crd_strings(struct arena *a, const struct json *list);

/* ---- Schemas ---- */

struct crd_schema {
    struct field_errors *errs;
    bool has_status; /* the status subresource is on */
};

/* Everything about one openAPIV3Schema. */
void crd_check_schema(const struct crd_schema *c, const struct json *schema, const struct step *path);
/* The invariants and the completeness of a structural schema. */
void crd_check_structural(struct field_errors *errs, const struct json *schema, const struct step *path);
/* Why the schema cannot be made structural at all ("OpenAPIV3Schema '$ref' is not supported"), or NULL. */
const char *crd_unstructural(const struct json *schema);

enum { CRD_MAX_VERSIONS = 1000 }; /* far beyond any use; keeps pairwise comparison cheap */

/* ---- Paths ---- */

/* ".spec.replicas": begins with a dot. */
void crd_check_json_path(struct field_errors *errs, const struct step *at, str path);

struct crd_field {
    const struct json *schema; /* of the field found; NULL: unknown */
    str first;                 /* first name of the path */
    str canonical;
};

void crd_check_selectable(struct field_errors *errs, const struct json *fields, const struct json *schema,
                          const struct step *path);
