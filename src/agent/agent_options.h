/* SPDX-License-Identifier: Apache-2.0 */
/* What: what reeve agent was told: flags, then the environment, then defaults.
 * Owns: nothing; texts are those of argv and of the environment.
 * Threads: one; reads the environment.
 * Errors: ERR_BAD_REQUEST for a command line that makes no sense. */
#pragma once

#include "base/log.h"
#include "cli/flags.h"

struct agent_options {
    str cluster; /* its name, and its namespace on the hub */
    /* The join kubeconfig: one of both. */
    str hub_kubeconfig;
    str secret_namespace, secret_name; /* on the managed cluster */
    str kubeconfig, context;           /* of the managed cluster; empty: as client/config.h finds them */
    bool has_works, has_accounts;
    str account_namespace;
    int64_t eviction_ns;
    struct flag_address listen; /* of /healthz, /readyz and /metrics; no host: nobody asks */
    bool has_election;
    str lease_namespace; /* empty: that of the pod, else kube-system */
    enum log_level level;
    bool is_print_rbac;
    bool is_hub, is_managed; /* of --print-rbac; none: both */
};

/* 0; or 1: help was asked for and shown. */
int agent_options_read(struct arena *a, int argc, char **argv, struct agent_options *ret, struct err *err);
