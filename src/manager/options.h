/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve manager was told: flags, then the environment, then defaults.
 * Owns: nothing; texts are those of argv and of the environment.
 * Threads: one; reads the environment.
 * Errors: ERR_BAD_REQUEST for a command line that makes no sense. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "controllers/sources.h"

enum { MANAGER_ROWS = 32 };

struct manager_options {
    str kubeconfig, context; /* empty: as client/config.h finds them */
    const struct controller_row *rows[MANAGER_ROWS];
    size_t n_rows;
    str host; /* of /healthz, /readyz and /metrics; an address, without brackets */
    uint16_t port;
    str lease_namespace; /* empty: that of the pod, else kube-system */
    str lease_name;
    int64_t lease_ns, deadline_ns, retry_ns;
    const char *root_ca_file; /* NULL: the CA by which the server itself is believed */
    enum log_level level;
    struct package_sources packages;
    bool requires_approval, no_election, is_print_rbac, is_print_crds, is_help;
};

extern const char manager_usage[];

int manager_options_read(int argc, char **argv, struct manager_options *ret, struct err *err);
/* "aggregation,garbage", or "*" for all there are: the rows of these controllers, each once. */
int manager_choose(struct manager_options *o, str list, struct err *err);
