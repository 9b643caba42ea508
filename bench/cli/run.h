/* SPDX-License-Identifier: Apache-2.0 */
/* What: a command, run to its end again and again.
 * Owns: nothing.
 * Threads: one.
 * Errors: an exit code that was not expected ends the benchmark. */
#pragma once

#include "../server/server.h"

struct run {
    const char *const *words; /* what follows "reeve"; NULL at the end. --kubeconfig is added */
    int code;                 /* the exit code it is to have */
    size_t times;             /* odd: the median counts */
};

struct run_cost {
    double seconds, cpu, peak; /* cpu: user and system; peak: resident bytes */
    size_t bytes;              /* of its output */
};

/* s may be NULL: a command that needs no server. */
struct run_cost run_command(const char *binary, const struct server *s, const struct run *run);
