/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve manager was told: flags, then the environment, then defaults.
 * Owns: nothing; texts are those of argv and of the environment.
 * Threads: one; reads the environment.
 * Errors: ERR_BAD_REQUEST for a command line that makes no sense. */
#pragma once

#include "base/log.h"
#include "cli/flags.h"
#include "controllers/sources.h"

enum { MANAGER_ROWS = 32 };

struct manager_options {
    str kubeconfig, context; /* empty: as client/config.h finds them */
    const struct controller_row *rows[MANAGER_ROWS];
    size_t n_rows;
    struct flag_address listen; /* of /healthz, /readyz and /metrics */
    str lease_namespace;        /* empty: that of the pod, else kube-system */
    str lease_name;
    int64_t lease_ns, deadline_ns, retry_ns;
    const char *root_ca_file; /* NULL: the CA by which the server itself is believed */
    enum log_level level;
    struct package_sources packages;
    bool no_crd_view, requires_approval, allows_cluster_dependencies, no_election, is_print_rbac, is_print_crds;
};

/* 0; or 1: help was asked for and shown. */
int manager_options_read(struct arena *a, int argc, char **argv, struct manager_options *ret, struct err *err);
/* "aggregation,garbage", or "*" for all there are: the rows of these controllers, each once. options: struct manager_options. */
int manager_choose(void *options, const char *list, struct err *err);
