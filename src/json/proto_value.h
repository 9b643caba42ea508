/* SPDX-License-Identifier: Apache-2.0 */
/* What: inside of proto.c: the values a protobuf field can have.
 * Owns: nothing; values live in the arena of the decoder.
 * Threads: pure functions.
 * Errors: as json/proto.h. */
#pragma once

#include "json/json.h"
#include "json/shape.h"
#include "json/wire.h"

struct proto_decoder {
    struct arena *arena;
    const struct json_limits *limits;
    uint32_t max_depth;
    struct err *err;
};

/* Where we are, for messages, and how many objects and arrays are around it. */
struct proto_place {
    const struct json_path *path;
    uint32_t depth;
};

/* Steps into one more object or array; ERR_TOO_LARGE past the limit. */
int proto_deeper(struct proto_decoder *d, struct proto_place *at);
/* Sets "protobuf: PATH: why" and returns its code. */
int proto_bad(struct proto_decoder *d, struct proto_place at, const char *why);
enum wire_type proto_wire_type(const struct shape_field *row);
int proto_text(struct proto_decoder *d, str bytes, struct json *ret, struct proto_place at);
/* One value of any type but SHAPE_RECORD; f has the wire type of the row. */
int proto_value(struct proto_decoder *d, const struct shape_field *row, const struct wire_field *f, struct json *ret,
                struct proto_place at);
/* Adds the fields of a message to obj: those of the record itself (within 0), or those inside message `within`. */
int proto_message(struct proto_decoder *d, const struct shape *s, uint32_t within, str bytes, struct json *obj,
                  struct proto_place at);
