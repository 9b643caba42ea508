/* SPDX-License-Identifier: Apache-2.0 */
/* What: stored objects that configure the server itself: roles and bindings go to the index of rights, ClusterRoles to the
 *       aggregation, CRDs to the registry of kinds. At start all of them, later change by change.
 * Owns: nothing of its own; it keeps the parts of struct api in step with the store.
 * Threads: the loop thread.
 * Errors: config_load says what cannot be read. Later, an object that cannot be read counts as absent and is logged.
 *
 *   store event ─► config_event ─┬─► authz index
 *                                ├─► aggregates ─► config_settle ─► rules of the aggregates above are in force at once
 *                                └─► registry, schemas, discovery, OpenAPI, watches */
#pragma once

#include "api/server.h"

int config_load(struct api *api, struct err *err);
void config_event(struct api *api, const struct store_event *event);
/* After the events of one poll and before their answers leave. */
void config_settle(struct api *api);
