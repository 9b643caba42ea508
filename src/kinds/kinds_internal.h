/* SPDX-License-Identifier: Apache-2.0 */
/* What: the kinds of each file of this folder, and the words in which they are written.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "object/kind.h"

struct kind_table {
    const struct kind *kinds;
    size_t n;
};

extern const struct kind_table kinds_apiextensions;
extern const struct kind_table kinds_apps;
extern const struct kind_table kinds_authentication;
extern const struct kind_table kinds_authorization;
extern const struct kind_table kinds_autoscaling;
extern const struct kind_table kinds_autoscaling_v2;
extern const struct kind_table kinds_batch;
extern const struct kind_table kinds_certificates;
extern const struct kind_table kinds_coordination;
extern const struct kind_table kinds_core;
extern const struct kind_table kinds_discovery;
extern const struct kind_table kinds_events;
extern const struct kind_table kinds_meta;
extern const struct kind_table kinds_networking;
extern const struct kind_table kinds_node;
extern const struct kind_table kinds_policy;
extern const struct kind_table kinds_rbac;
extern const struct kind_table kinds_scheduling;
extern const struct kind_table kinds_storage;

#define NAMES(g, v, k, many, one) \
    .group = (g), .version = (v), .kind = (k), .list_kind = k "List", .plural = (many), .singular = (one)
#define LIST_OF(...) ((const char *const[]){__VA_ARGS__, NULL})
/* .subresources and their number; STATUS is the usual one. */
#define SUBRESOURCES(...)                                           \
    .subresources = (const struct kind_subresource[]){__VA_ARGS__}, \
    .n_subresources = sizeof((const struct kind_subresource[]){__VA_ARGS__}) / sizeof(struct kind_subresource)
#define STATUS                          \
    {                                   \
        "status", .verbs = VERBS_STATUS \
    }
