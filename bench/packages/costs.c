/* SPDX-License-Identifier: Apache-2.0 */
/* What packages cost on the whole server: the real program, the real child, images built by the real command, all on a directory
 * of their own. CPU time is the server's alone unless it says otherwise; seconds are the clock's. */
#include "base/str.h"
#include "rows.h"

#include "../server/choice.h"

static const struct bench_row rows[] = {{"small", rows_small}, {"many", rows_many}, {"large", rows_large}};

int main(int argc, char **argv)
{
    return bench_run(argc, argv, rows, COUNT(rows));
}
