/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet costs: the real programs, each on a directory of its own. One agent is real; the 3,000 of a hub are
 * simulated, by as many connections with credentials of their own. CPU time is the hub's alone unless it says otherwise; seconds are the clock's. */
#include "base/str.h"
#include "rows.h"

#include "../server/choice.h"

static const struct bench_row rows[] = {{"agent", rows_agent}, {"hub", rows_hub}};

int main(int argc, char **argv)
{
    return bench_run(argc, argv, rows, COUNT(rows));
}
