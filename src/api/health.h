/* SPDX-License-Identifier: Apache-2.0 */
/* What: the paths that are about the server itself: /healthz /livez /readyz /version /metrics /, and what OpenID clients ask.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"

/* False when the path is none of these. */
bool health_handle(struct api_request *r);
