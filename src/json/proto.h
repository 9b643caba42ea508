/* SPDX-License-Identifier: Apache-2.0 */
/* What: protobuf: the wire format, and request bodies of Kubernetes clients decoded by shape tables into JSON trees.
 * Owns: nothing; trees live in the arena given, fields are views into the message.
 * Threads: pure functions and plain values.
 * Errors: ERR_BAD_REQUEST for an invalid message, ERR_TOO_LARGE past a limit; wire_next returns WIRE_BROKEN and the
 *         reason. */
#pragma once

#include "base/str.h"
#include "json/json.h"
#include "json/shape.h"

/* The outer message of every body: four magic bytes, then what is inside. Views into the input. */
struct proto_envelope {
    str api_version, kind;
    str raw;              /* the object's own message */
    str content_encoding; /* empty */
    str content_type;     /* empty: protobuf */
};

bool proto_is_envelope(str bytes);
int proto_open(str bytes, const struct json_limits *limits, struct proto_envelope *ret, struct err *err);
/* Decodes a message into the JSON object that the same request in JSON would have been (no apiVersion and kind: the
 * caller sets them from the envelope). Fields of unknown number are skipped, as by every protobuf reader. */
int proto_decode(struct arena *a, const struct shape *shape, str message, const struct json_limits *limits,
                 struct json *ret, struct err *err);

/* ---- The wire format: a message is a sequence of numbered fields. ---- */

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,
    WIRE_GROUP_END = 4,
    WIRE_FIXED32 = 5,
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value; /* WIRE_VARINT, WIRE_FIXED64, WIRE_FIXED32 */
    str bytes;      /* WIRE_BYTES; of a WIRE_GROUP everything is skipped */
};

struct wire {
    str rest;
    const char *error; /* WIRE_BROKEN */
};

enum wire_step { WIRE_BROKEN = -1, WIRE_END = 0, WIRE_FIELD = 1 };

/* The next field of the message. */
enum wire_step wire_next(struct wire *w, struct wire_field *ret);
/* A bare number, as in packed lists. */
bool wire_varint(struct wire *w, uint64_t *ret);
