/* SPDX-License-Identifier: Apache-2.0 */
/* What: schemas of OpenAPI v2 in protobuf, as openapi.v2.Document of gnostic has them: what client-go asks for.
 * Owns: nothing; bytes go to the end of the buffer given.
 * Threads: pure functions.
 * Errors: none; keywords that the messages have no field for are left out. */
#pragma once

#include "json/json.h"

/* Everything of a document but its definitions. */
void openapi_proto_start(struct buf *b);
/* One definition, as a piece of the document. */
void openapi_proto_definition(struct buf *b, str name, const struct json *schema);
