/* SPDX-License-Identifier: Apache-2.0 */
/* What: all controllers, at work on the server of this process. Each acts as its own ServiceAccount and has no other rights.
 * Owns: the controllers, their threads, and their clients.
 * Threads: the loop thread.
 * Errors: what cannot be started is said once; later on, controllers log for themselves. */
#pragma once

#include "api/api.h"

struct package_sources;
struct root_ca;
struct up_controllers;

struct up_controllers_options {
    struct api *api; /* ready */
    struct loop *loop;
    const struct log *log;
    struct random random;
    struct root_ca *root_ca; /* controllers/root_ca.h; lives as long */
    const struct package_sources *packages;
    bool requires_approval;           /* of ClusterPermissions */
    bool allows_cluster_dependencies; /* of namespaced packages */
    bool no_crd_view;
    str managed; /* see up_managed.h; empty: no agent runs here */
    str ca_pem;  /* of this server; lives as long */
};

int up_controllers_start(const struct up_controllers_options *options, struct up_controllers **ret, struct err *err);
/* Calls stopped from the loop, when nothing acts any more. */
void up_controllers_stop(struct up_controllers *c, void (*stopped)(void *ctx), void *ctx);
/* Before the API is closed, after stopped was called. Takes NULL. */
void up_controllers_free(struct up_controllers *c);
/* As Prometheus text. */
void up_controllers_metrics(struct up_controllers *c, struct buf *b);
