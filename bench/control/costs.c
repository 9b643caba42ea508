/* SPDX-License-Identifier: Apache-2.0 */
/* What controllers cost: the real program, on a directory of its own, asked over TLS by clients in this process. */
#include "rows.h"

#include "../server/choice.h"

static const struct bench_row rows[] = {
    {"aggregation", rows_aggregation},
    {"manager", rows_manager},
};

int main(int argc, char **argv)
{
    return bench_run(argc, argv, rows, COUNT(rows));
}
