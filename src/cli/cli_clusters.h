/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the verbs of reeve clusters share.
 * Owns: nothing; texts live in the arena of the command.
 * Threads: one.
 * Errors: returned; the command tells them. */
#pragma once

#include "cli/command.h"

struct clusters_command {
    struct command base;
    str name; /* of the cluster */
    /* add */
    str hub_server; /* empty: that of the kubeconfig */
    int64_t lifetime_ns;
    const char *file; /* NULL: NAME.kubeconfig; "-": standard output */
    /* list */
    enum output output;
    /* remove */
    bool is_forced;
};

extern const struct client_resource cli_clusters_resource, cli_clusters_works;

int cli_clusters_add(struct clusters_command *c, struct err *err);
int cli_clusters_remove(struct clusters_command *c, struct err *err);

/* Remembers that this is about to be asked for: if it is refused, it is told with all others. */
void cli_clusters_need(struct clusters_command *c, const char *verb, const struct client_ref *ref);
/* By the monotonic clock. */
int64_t cli_clusters_deadline(const struct clusters_command *c);
/* A moment, for something to happen; false: it is over. */
bool cli_clusters_wait(int64_t deadline);
/* Of a ManagedCluster that cannot be asked for: what that means. */
int cli_clusters_explain(struct clusters_command *c, const char *tried, struct err *err);
