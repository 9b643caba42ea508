/* SPDX-License-Identifier: Apache-2.0 */
/* What: the command line of the programs that measure the whole of Reeve: costs REEVE [ROWS…], all rows or those that are named.
 * Owns: nothing.
 * Threads: one.
 * Errors: exit status 2 for what makes no sense. */
#pragma once

#include <stddef.h>

struct bench_row {
    const char *name;
    void (*run)(const char *binary);
};

/* For main to return. */
int bench_run(int argc, char **argv, const struct bench_row *rows, size_t n);
