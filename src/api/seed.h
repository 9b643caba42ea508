/* SPDX-License-Identifier: Apache-2.0 */
/* What: what every server starts with: its namespaces, the default roles and bindings, what clients look for in kube-system.
 *       Missing ones are made, those marked for it are repaired. Then what its owner wants besides (api_options.own).
 * Owns: the calls at work until all are answered.
 * Threads: the loop thread.
 * Errors: ready is called with the first thing that went wrong, or NULL. */
#pragma once

#include "api/server.h"

struct seed *seed_start(struct api *api, void (*done)(struct api *api, const struct err *err));
void seed_free(struct seed *s);
