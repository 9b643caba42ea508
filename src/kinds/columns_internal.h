/* SPDX-License-Identifier: Apache-2.0 */
/* What: the columns of built-in kinds, and the words in which they are written.
 * Owns: nothing.
 * Threads: constants.
 * Errors: none. */
#pragma once

#include "kinds/columns.h"

extern const struct columns columns_certificate_signing_requests;
extern const struct columns columns_config_maps;
extern const struct columns columns_controller_revisions;
extern const struct columns columns_cron_jobs;
extern const struct columns columns_daemon_sets;
extern const struct columns columns_deployments;
extern const struct columns columns_endpoint_slices;
extern const struct columns columns_endpoints;
extern const struct columns columns_events;
extern const struct columns columns_horizontal_pod_autoscalers;
extern const struct columns columns_horizontal_pod_autoscalers_v1;
extern const struct columns columns_ingress_classes;
extern const struct columns columns_ingresses;
extern const struct columns columns_jobs;
extern const struct columns columns_leases;
extern const struct columns columns_namespaces;
extern const struct columns columns_network_policies;
extern const struct columns columns_nodes;
extern const struct columns columns_persistent_volume_claims;
extern const struct columns columns_persistent_volumes;
extern const struct columns columns_pod_disruption_budgets;
extern const struct columns columns_pod_templates;
extern const struct columns columns_pods;
extern const struct columns columns_priority_classes;
extern const struct columns columns_replica_sets;
extern const struct columns columns_replication_controllers;
extern const struct columns columns_resource_quotas;
extern const struct columns columns_role_bindings;
extern const struct columns columns_runtime_classes;
extern const struct columns columns_secrets;
extern const struct columns columns_service_accounts;
extern const struct columns columns_services;
extern const struct columns columns_stateful_sets;
extern const struct columns columns_storage_classes;

/* The text of a field, or the placeholder if it is absent. */
#define FIELD_COLUMN(title, path, none)                                      \
    {                                                                        \
        .name = (title), .type = "string", .field = (path), .absent = (none) \
    }
#define WIDE_FIELD_COLUMN(title, path, none)                                                \
    {                                                                                       \
        .name = (title), .type = "string", .field = (path), .absent = (none), .priority = 1 \
    }
/* What a function makes of the object. */
#define CELL_COLUMN(title, fn)                          \
    {                                                   \
        .name = (title), .type = "string", .cell = (fn) \
    }
#define WIDE_CELL_COLUMN(title, fn)                                    \
    {                                                                  \
        .name = (title), .type = "string", .cell = (fn), .priority = 1 \
    }
#define INTEGER_COLUMN(title, fn)                        \
    {                                                    \
        .name = (title), .type = "integer", .cell = (fn) \
    }
#define NAME_COLUMN                                                                  \
    {                                                                                \
        .name = "Name", .type = "string", .format = "name", .field = "metadata.name" \
    }
#define AGE_COLUMN CELL_COLUMN("Age", column_creation_age)

#define COLUMNS(id, list) const struct columns id = {list, COUNT(list)}

/* Cells and pieces of cells that several kinds share. */
struct json column_creation_age(struct arena *a, const struct json *obj, int64_t now);
struct json column_template_names(struct arena *a, const struct json *obj, int64_t now);
struct json column_template_images(struct arena *a, const struct json *obj, int64_t now);
int64_t column_int(const struct json *obj, const char *path);
str column_text(const struct json *obj, const char *path);
/* A LabelSelector as text; of one that is none, or selects all. */
struct json column_selector(struct arena *a, const struct json *selector, const char *invalid, const char *empty);
/* "a=b,c=d", or <none>. */
str column_labels(struct arena *a, const struct json *labels);
/* Where a load balancer is reached: sorted, without doubles, commas between (columns_core.c). */
str column_balancer_addresses(struct arena *a, const struct json *obj);
/* Joined by a separator. */
void column_join(struct buf *b, str piece, const char *separator);
bool column_condition_is_true(const struct json *conditions, str type);
