/* SPDX-License-Identifier: Apache-2.0 */
/* What commands cost: the real program against a real server of its own, both on this machine. Seconds are the clock's, from the start
 * of the process to its end; memory is the most that was ever resident in the client. */
#include "rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    void (*run)(const char *binary);
} rows[] = {{"start", rows_start}, {"rights", rows_rights}, {"plan", rows_plan}};

/* costs REEVE [ROWS…] */
int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "Usage: %s REEVE [start|rights|plan]...\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_wanted = argc == 2;
        for (int j = 2; j < argc; j++)
            is_wanted = is_wanted || strcmp(argv[j], rows[i].name) == 0;
        if (is_wanted)
            rows[i].run(argv[1]);
    }
    return 0;
}
