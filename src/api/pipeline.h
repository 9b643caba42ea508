/* SPDX-License-Identifier: Apache-2.0 */
/* What: the way of a request: identify, impersonate, authorise, then to the handler of its verb or path.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"

/* From the network: credentials are in the exchange. */
void pipeline_enter(struct api *api, struct http_exchange *x);
/* From within: the identity is known. It may act for others where it has the right to. */
void pipeline_enter_as(struct api *api, struct http_exchange *x, const struct authz_identity *who);
