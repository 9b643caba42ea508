/* SPDX-License-Identifier: Apache-2.0 */
/* What: the columns in which lists of a kind are shown, and the cells of one object.
 * Owns: nothing; columns are static data or belong to a registry, cells live in the arena given.
 * Threads: constants; computing cells is pure.
 * Errors: none; what an object does not have is shown as Kubernetes does: <none>, <unknown>, null. */
#pragma once

#include "json/json.h"
#include "json/jsonpath.h"

/* A cell comes from the first of these that is set: cell, path, field. */
struct column {
    const char *name, *type;
    const char *format;      /* "name", or NULL */
    const char *description; /* NULL: that of built-in columns of this name */
    int priority;            /* 1: only shown with -o wide */
    struct json (*cell)(struct arena *a, const struct json *obj, int64_t now);
    const struct jsonpath *path; /* of an additionalPrinterColumn; type determines how the hit is shown */
    const char *field;           /* a text: "metadata.name" */
    const char *absent;          /* …and the text if it is absent; NULL: none */
};

struct columns {
    const struct column *list;
    size_t n;
};

/* What kinds without columns of their own show: Name and Created At. */
extern const struct columns columns_default;

/* The columnDefinitions of a Table. */
struct json columns_define(struct arena *a, const struct columns *columns);
/* The cells of one object; now is in seconds since 1970. */
struct json columns_cells(struct arena *a, const struct columns *columns, const struct json *obj, int64_t now);

/* Whether the metadata of an object is enough to compute its cells, so that the rest need not be read. */
bool columns_of_metadata(const struct columns *columns);

/* The columns of a version of a CRD: Name and its additionalPrinterColumns, or Name and Age. Those whose jsonPath
 * cannot be read stay empty. Everything is copied into the arena. */
const struct columns *columns_of_crd(struct arena *a, const struct json *printer_columns);

/* "119s", "3m12s", "47h", "2y20d": about three digits. */
str column_duration(struct arena *a, int64_t seconds);
/* The time since an RFC 3339 timestamp; <unknown> when there is none. */
str column_age(struct arena *a, str timestamp, int64_t now);
