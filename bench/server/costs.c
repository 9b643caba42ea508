/* SPDX-License-Identifier: Apache-2.0 */
/* What the whole server costs: the real program on a directory of its own, asked over TLS by clients in this process.
 * CPU time is the server's alone; seconds are the clock's, of a machine whose cores both sides share. */
#include "rows.h"

#include "choice.h"

#include <sys/resource.h>

static const struct bench_row rows[] = {
    {"start", rows_start},     {"crds", rows_crds},     {"writes", rows_writes},
    {"reads", rows_reads},     {"lists", rows_lists},   {"watches", rows_watches},
    {"reviews", rows_reviews}, {"shares", rows_shares}, {"slices", rows_slices},
};

int main(int argc, char **argv)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return 2;
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    return bench_run(argc, argv, rows, COUNT(rows));
}
