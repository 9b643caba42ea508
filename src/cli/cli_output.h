/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the documents are made of that commands print for programs (-o json, -o yaml). The manual describes each; what is in one
 *       stays, and what is not known is left out.
 * Owns: nothing; texts are borrowed, the rest is in the arena given.
 * Threads: pure.
 * Errors: none. */
#pragma once

#include "authz/authz.h"
#include "base/str.h"
#include "base/vec.h"
#include "cli/term.h"

/* With apiVersion cli.reeve.dev/v1 and its kind. */
struct json document_new(struct arena *a, const char *kind);
/* Objects as kubectl prints several: a List. */
struct json document_list(struct arena *a, struct json items);
/* An object of the server's, as kubectl prints it: without the record of who wrote which field. */
void document_trim(struct json *object);
/* Unless the text is empty. */
void document_add_text(struct arena *a, struct json *object, const char *key, str text);
struct json document_texts(struct arena *a, struct strs texts);
/* kind, namespace, name */
struct json document_ref(struct arena *a, str kind, str namespace, str name);
struct json document_subject(struct arena *a, const struct authz_subject *subject);

/* Rows of cells in columns, as kubectl prints them; on a narrow terminal the last columns as lines below their row:
 *
 *   KIND             NAME                 SCOPE
 *   ServiceAccount   kube-system/robots   cluster
 *     BINDING   system:controller:robots
 *     ROLE      system:controller:robots */

struct table_cell {
    str lead; /* lines of ours in front of the text, faint */
    str text; /* of anybody */
    enum term_style style;
};

struct table {
    struct arena *arena;
    size_t columns;
    size_t gap;                   /* between columns; 0: three spaces */
    size_t width;                 /* what a row may take: the columns that it has no room for stand below it; 0: all */
    const struct term *term;      /* NULL: no colours */
    VEC(struct table_cell) cells; /* row by row; the first row has the names of the columns */
};

/* As many cells as there are columns. What a terminal would obey is shown instead. */
void cli_table_add(struct table *t, const str *cells);
void cli_table_add_cells(struct table *t, const struct table_cell *cells);
/* No spaces at the end of a line. */
void cli_table_print(struct buf *b, const struct table *t);

/* Rows that are not kept, for tables that may be large. */
struct table_rows {
    void (*begin)(void *ctx); /* the first row comes next */
    /* The cells of the next row, zero before; false behind the last. scratch: of this row alone. */
    bool (*next)(void *ctx, struct arena *scratch, struct table_cell *cells);
    void *ctx;
};

/* The table on standard output, with these rows behind its own. Goes through them twice: first to measure. */
void cli_table_output(const struct table *t, const struct table_rows *rows);
