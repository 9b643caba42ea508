/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve up was told: flags, then the environment, then defaults.
 * Owns: nothing; texts live in the arena given, or are those of argv and of the environment.
 * Threads: one; reads the environment.
 * Errors: ERR_BAD_REQUEST for a command line that makes no sense, ERR_INVALID for surroundings that lack something. */
#pragma once

#include "base/log.h"
#include "cli/flags.h"
#include "controllers/sources.h"

struct up_options {
    const char *data_dir;
    const char *kubeconfig;
    struct flag_address listen;
    int64_t token_ns; /* the longest life of a ServiceAccount token */
    str managed;      /* the name of the ManagedCluster that this is itself; empty: it is none */
    enum log_level level;
    struct package_sources packages;
    uint32_t max_reads, max_writes; /* at work at once; 0: the defaults */
    bool no_controllers, no_crd_view, requires_approval, allows_cluster_dependencies, is_quiet;
};

/* 0; or 1: help was asked for and shown. */
int up_options_read(struct arena *a, int argc, char **argv, struct up_options *ret, struct err *err);
