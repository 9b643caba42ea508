/* SPDX-License-Identifier: Apache-2.0 */
/* What: what the verbs of reeve clusters share.
 * Owns: nothing; texts live in the arena of the command.
 * Threads: one.
 * Errors: returned; the command tells them. */
#pragma once

#include "cli/session.h"

enum clusters_output { CLUSTERS_TABLE, CLUSTERS_WIDE, CLUSTERS_JSON, CLUSTERS_YAML, CLUSTERS_NAME };

struct clusters_command {
    struct arena *a;
    struct session session;
    str name; /* of the cluster */
    /* add */
    str hub_server; /* empty: that of the kubeconfig */
    int64_t lifetime_ns;
    const char *file; /* NULL: NAME.kubeconfig; "-": standard output */
    /* list */
    enum clusters_output output;
    /* remove */
    bool is_forced;
    int64_t timeout_ns; /* of add, too */
};

extern const struct client_resource cli_clusters_resource, cli_clusters_works;

int cli_clusters_add(struct clusters_command *c, struct err *err);
int cli_clusters_list(struct clusters_command *c, struct err *err);
int cli_clusters_remove(struct clusters_command *c, struct err *err);

/* By the monotonic clock. */
int64_t cli_clusters_deadline(const struct clusters_command *c);
/* A moment, for something to happen; false: it is over. */
bool cli_clusters_wait(int64_t deadline);
/* Of a ManagedCluster that cannot be asked for: what that means. */
int cli_clusters_explain(struct clusters_command *c, const char *tried, struct err *err);
/* Talk, on standard error. What a terminal would obey, but for the ends of lines, is shown instead. */
void cli_clusters_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
