/* SPDX-License-Identifier: Apache-2.0 */
/* What controllers cost: the real program, on a directory of its own, asked over TLS by clients in this process. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    void (*run)(const char *binary);
} rows[] = {
    {"aggregation", rows_aggregation},
    {"manager", rows_manager},
};

/* costs REEVE [ROWS…] */
int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "Usage: %s REEVE [aggregation|manager]...\n", argv[0]);
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
