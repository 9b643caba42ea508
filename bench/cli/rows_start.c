/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to start the program at all. */
#include "rows.h"

#include "run.h"

void rows_start(const char *binary)
{
    static const char *const version[] = {"version", NULL}, *const help[] = {"why", "--help", NULL};
    struct run_cost cost = run_command(binary, NULL, &(struct run){version, 0, 99});
    row_print("reeve version, median of 99", cost.seconds * 1e3, "ms", "(< 10)");
    row_print("  most memory", cost.peak / 1e6, "MB", "");
    cost = run_command(binary, NULL, &(struct run){help, 0, 99});
    row_print("reeve why --help, median of 99", cost.seconds * 1e3, "ms", "(< 10)");
}
