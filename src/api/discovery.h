/* SPDX-License-Identifier: Apache-2.0 */
/* What: which groups, versions and resources there are: aggregated (v2, v2beta1) with ETag, and the old documents.
 * Owns: rendered documents, made when asked for after a change of the registry.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/discovery_render.h"
#include "api/server.h"

struct discovery *discovery_new(struct api *api);
void discovery_free(struct discovery *d);
/* GET of /api, /apis, /api/v1, /apis/G, /apis/G/V; false when the path is none of these or names a group or version that
 * there is not. */
bool discovery_handle(struct api_request *r);
/* All groups there are now, borrowed until the next event of the store. */
struct discovery_groups discovery_groups(struct discovery *d);
