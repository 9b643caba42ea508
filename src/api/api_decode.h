/* SPDX-License-Identifier: Apache-2.0 */
/* What: foreign bytes and trees as objects of a kind: what Kubernetes' decoders do before anybody looks at an object.
 * Owns: nothing; trees and texts live in the arena given.
 * Threads: the loop thread (schemas are compiled on the way).
 * Errors: a code, and the Status or the text that the client gets.
 *
 *   bytes ── decode_body: Content-Type, syntax, kind and apiVersion ──► tree ── decode_object ──► object
 *                                                       a patched tree ──────────▲  │
 *                                                                                   └ types checked, unknown fields noted and
 *                                                                                     dropped, defaults filled in */
#pragma once

#include "api/server.h"
#include "kinds/strict.h"

/* How much a client wants to hear about fields that nobody knows. */
enum strictness { STRICTNESS_WARN, STRICTNESS_IGNORE, STRICTNESS_STRICT };

/* Of fieldValidation in the query; what is neither Ignore nor Strict is Warn. */
enum strictness strictness_of(const struct query *q);

struct decoded {
    struct json object;
    struct json_notes duplicates;
    struct strict_notes notes; /* for the client, as warnings; never with STRICTNESS_STRICT, which refuses them */
    bool was_protobuf;
};

/* The body as an object of this kind. */
int decode_body(struct api_request *r, struct arena *a, const struct kind *kind, struct decoded *ret,
                struct json *ret_status);
/* The body as a tree, whatever it says: JSON, or YAML where that is asked for. notes may be NULL. */
int decode_tree(struct api_request *r, struct arena *a, struct json_notes *notes, struct json *ret, struct err *err);

/* The body of a DELETE, whatever API group it says it is of. Its errors have no reason in Kubernetes. */
int decode_delete_options(struct api_request *r, struct arena *a, struct json *ret, struct err *err);

/* In place: a tree of the right kind and version becomes an object of it. duplicates and notes may be NULL. */
int decode_object(struct api *api, struct arena *a, const struct kind *kind, struct json *object,
                  const struct json_notes *duplicates, struct strict_notes *notes, struct err *err);

/* The media type of a Content-Type header, small letters, without parameters; empty: none given. */
str decode_media_type(struct api_request *r);
/* "apps/v1", "v1". */
str decode_api_version(struct arena *a, const struct kind *kind);
/* What Kubernetes calls the table of types that this kind is in, when it misses one there. */
const char *decode_scheme(const struct kind *kind);
/* Bytes of a client as text for a message: what is no UTF-8 is shown as U+FFFD. */
str decode_show(struct arena *a, str bytes);
