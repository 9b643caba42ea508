/* SPDX-License-Identifier: Apache-2.0 */
/* What: all that an agent does, put on two clients: one of the hub, one of the managed cluster.
 * Owns: nothing; what is added belongs to the control.
 * Threads: the loop thread.
 * Errors: says what could not be started. */
#pragma once

#include "control/control.h"

struct duties_options {
    struct control *control;
    struct loop *loop;
    struct random random;
    const struct log *log;
    struct client *hub, *managed;
    str cluster;
    str hub_url;
    str ca_pem; /* by which the managed cluster's API server is believed */
    str account_namespace;
    str version;
    int64_t eviction_ns;
    bool has_works, has_accounts;
};

int duties_add(const struct duties_options *options, struct err *err);
