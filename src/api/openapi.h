/* SPDX-License-Identifier: Apache-2.0 */
/* What: OpenAPI v3: the index and one document per group and version, good for kubectl's validation, apply and explain.
 * Owns: hashes of documents; the documents are rendered when asked for.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"

struct openapi *openapi_new(struct api *api);
void openapi_free(struct openapi *o);
/* GET of /openapi/v3 and below; false when the path is none of these. */
bool openapi_handle(struct api_request *r);
/* A CRD of this group has changed or gone. */
void openapi_forget(struct openapi *o, str group);
