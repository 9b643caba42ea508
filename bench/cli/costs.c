/* SPDX-License-Identifier: Apache-2.0 */
/* What commands cost: the real program against a real server of its own, both on this machine. Seconds are the clock's, from the start
 * of the process to its end; memory is the most that was ever resident in the client. */
#include "base/str.h"
#include "rows.h"

#include "../server/choice.h"

static const struct bench_row rows[] = {{"start", rows_start}, {"rights", rows_rights}, {"plan", rows_plan}};

int main(int argc, char **argv)
{
    return bench_run(argc, argv, rows, COUNT(rows));
}
