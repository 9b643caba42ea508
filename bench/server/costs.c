/* SPDX-License-Identifier: Apache-2.0 */
/* What the whole server costs: the real program on a directory of its own, asked over TLS by clients in this process.
 * CPU time is the server's alone; seconds are the clock's, of a machine whose cores both sides share. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct {
    const char *name;
    void (*run)(const char *binary);
} rows[] = {
    {"start", rows_start}, {"crds", rows_crds},       {"writes", rows_writes},
    {"reads", rows_reads}, {"watches", rows_watches}, {"reviews", rows_reviews},
};

/* costs REEVE [ROWS…] */
int main(int argc, char **argv)
{
    struct rlimit files;
    if (argc < 2 || getrlimit(RLIMIT_NOFILE, &files) < 0) {
        (void)fprintf(stderr, "Usage: %s REEVE [start|crds|writes|reads|watches|reviews]...\n", argv[0]);
        return 2;
    }
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_wanted = argc == 2;
        for (int j = 2; j < argc; j++)
            is_wanted = is_wanted || strcmp(argv[j], rows[i].name) == 0;
        if (is_wanted)
            rows[i].run(argv[1]);
    }
    return 0;
}
