/* SPDX-License-Identifier: Apache-2.0 */
/* What: sends an OpenAPI document piece by piece: never more of it in memory than one schema, or what the client does not take.
 * Owns: the kinds while it sends; gone with the exchange.
 * Threads: the loop thread.
 * Errors: a document that would mix two states of a CRD is broken off. */
#pragma once

#include "api/openapi_render.h"
#include "api/server.h"

enum openapi_stream_form { OPENAPI_STREAM_V3, OPENAPI_STREAM_V2, OPENAPI_STREAM_V2_PROTOBUF };

/* Answers with the document of these kinds: those of one group and version, or for v2 all there are. */
void openapi_stream(struct api_request *r, struct http_headers headers, struct openapi_kinds kinds,
                    enum openapi_stream_form form);
