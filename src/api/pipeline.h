/* SPDX-License-Identifier: Apache-2.0 */
/* What: the path of a request: authenticate, parse, impersonate, authorise, wait for its turn, then its handler.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"

/* From the network, when the head of a request is complete: credentials are in the exchange. Authenticates and authorises;
 * answers a request that is refused. Sets x->is_known. */
void pipeline_head(struct api *api, struct http_exchange *x);
/* …and when its body is there too. Credentials and permissions are checked again if they may have changed since the head. */
void pipeline_enter(struct api *api, struct http_exchange *x);
/* From within: the identity is known. It may act for others where it has the right to. */
void pipeline_enter_as(struct api *api, struct http_exchange *x, const struct authz_identity *who);
