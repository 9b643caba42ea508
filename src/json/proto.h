/* SPDX-License-Identifier: Apache-2.0 */
/* What: protobuf request bodies of Kubernetes clients, decoded by shape tables into JSON trees.
 * Owns: nothing; trees live in the arena given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST for bytes that are not the message they claim to be, ERR_TOO_LARGE past a limit. */
#pragma once

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
