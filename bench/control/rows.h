/* SPDX-License-Identifier: Apache-2.0 */
/* What: what controllers cost, each row with servers of its own, printed as bench/server does.
 * Owns: nothing that outlives a call.
 * Threads: one.
 * Errors: what fails ends the benchmark, in words. */
#pragma once

#include "../server/server.h"

void rows_aggregation(const char *binary);
void rows_manager(const char *binary);
