/* SPDX-License-Identifier: Apache-2.0 */
/* What: the protobuf wire format: a message as a row of numbered fields.
 * Owns: nothing; fields are views into the message.
 * Threads: plain values.
 * Errors: a broken message ends with WIRE_BROKEN and the reason. */
#pragma once

#include "base/str.h"

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
