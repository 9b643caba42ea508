/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet costs: the real programs, each on a directory of its own. One agent is real; the 3,000 of a hub are
 * simulated, by as many connections with credentials of their own. CPU time is the hub's alone unless it says otherwise; seconds are the clock's. */
#include "rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    void (*run)(const char *binary);
} rows[] = {{"agent", rows_agent}, {"hub", rows_hub}};

/* costs REEVE [ROWS…] */
int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "Usage: %s REEVE [agent|hub]...\n", argv[0]);
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
