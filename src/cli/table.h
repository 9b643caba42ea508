/* SPDX-License-Identifier: Apache-2.0 */
/* What: rows of cells in columns, as kubectl prints them; on a narrow terminal the last columns as lines below their row:
 *
 *   KIND             NAME                 SCOPE
 *   ServiceAccount   kube-system/robots   cluster
 *     BINDING   system:controller:robots
 *     ROLE      system:controller:robots
 *
 * Owns: nothing; cells are borrowed, the list of them is in the arena given.
 * Threads: one.
 * Errors: none. */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "cli/term.h"

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
