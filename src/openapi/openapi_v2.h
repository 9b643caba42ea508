/* SPDX-License-Identifier: Apache-2.0 */
/* What: definitions of OpenAPI v2, made from schemas of v3 and written as JSON or as protobuf (gnostic's Document). Older clients
 *       read nothing else, and newer ones still validate lists and kinds they do not know with it.
 * Owns: nothing; bytes go to the end of the buffer given.
 * Threads: pure functions.
 * Errors: none.
 *
 * Only definitions are told; paths are in v3. As protobuf, parsers put fields of one message together that come in pieces: so each
 * definition is a piece of its own, and a document of thousands needs no more memory than one. */
#pragma once

#include "json/json.h"

enum openapi_v2_form { OPENAPI_V2_JSON, OPENAPI_V2_PROTOBUF };

/* v2 has no null, no choices and no fields beyond those it names: what needs them becomes "anything", as otherwise kubectl would
 * refuse what the server accepts. Shares parts of schema. */
struct json openapi_v2_schema(struct arena *a, const struct json *schema);

void openapi_v2_start(struct buf *b, enum openapi_v2_form form);
void openapi_v2_definition(struct buf *b, enum openapi_v2_form form, str name, const struct json *schema);
void openapi_v2_end(struct buf *b, enum openapi_v2_form form);
