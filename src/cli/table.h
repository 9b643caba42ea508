/* SPDX-License-Identifier: Apache-2.0 */
/* What: rows of cells in columns, as kubectl prints them.
 * Owns: nothing; cells are borrowed, the list of them is in the arena given.
 * Threads: one.
 * Errors: none. */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct table {
    struct arena *arena;
    size_t columns;
    VEC(str) cells; /* row by row; the first row has the names of the columns */
};

/* As many cells as there are columns. What a terminal would obey is shown instead. */
void cli_table_add(struct table *t, const str *cells);
/* Three spaces between columns, none at the end of a line. */
void cli_table_print(struct buf *b, const struct table *t);
