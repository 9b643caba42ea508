/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_row(const char *name, const struct bench_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

static int tell_usage(const char *program, const struct bench_row *rows, size_t n)
{
    (void)fprintf(stderr, "Usage: %s REEVE [", program);
    for (size_t i = 0; i < n; i++)
        (void)fprintf(stderr, "%s%s", i ? "|" : "", rows[i].name);
    (void)fprintf(stderr, "]...\n");
    return 2;
}

int bench_run(int argc, char **argv, const struct bench_row *rows, size_t n)
{
    if (argc < 2 || argv[1][0] == '-')
        return tell_usage(argv[0], rows, n);
    for (int j = 2; j < argc; j++)
        if (!is_row(argv[j], rows, n))
            return tell_usage(argv[0], rows, n);
    for (size_t i = 0; i < n; i++) {
        bool is_wanted = argc == 2;
        for (int j = 2; j < argc; j++)
            is_wanted = is_wanted || strcmp(argv[j], rows[i].name) == 0;
        if (is_wanted)
            rows[i].run(argv[1]);
    }
    return 0;
}
