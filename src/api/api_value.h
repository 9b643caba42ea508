/* SPDX-License-Identifier: Apache-2.0 */
/* What: objects as they are stored, and back: as a tree, or straight as the text of an answer.
 * Owns: nothing.
 * Threads: pure functions, but for schemas that are compiled on the way.
 * Errors: ERR_IO for bytes that were never written by value_encode.
 *
 *   header: format, schema generation, where the revision goes │ {"metadata":{"name":"x", ▲ "uid":…},"data":…}
 *                                                                                          └ "resourceVersion":"12",
 *
 * Kind, apiVersion and resourceVersion are not stored: the first two follow from what was asked for, the last is the
 * revision that the store gives. So the text of an answer is three pieces in a row, and nobody parses anything. */
#pragma once

#include "api/server.h"

/* What goes to the store: header and body. `object` is of kind's own version or, for custom resources, of any version: it is
 * stored as it is. Built-in kinds with a storage kind (strategy.h) are converted by the caller. */
struct value_parts {
    str header, body;
};

struct value_parts value_encode(struct api *api, struct arena *a, const struct kind *kind, const struct json *object);

/* As a tree, with kind, apiVersion and resourceVersion, as an object of `kind`: custom resources are pruned and defaulted
 * if their schema has changed since they were stored; views of other kinds are converted. */
int value_decode(struct api *api, struct arena *a, const struct kind *kind, const struct store_item *item,
                 struct json *ret, struct err *err);
/* The same as JSON text at the end of b. bare: without kind and apiVersion, as items of built-in lists are. */
int value_print(struct api *api, struct buf *b, const struct kind *kind, const struct store_item *item, bool bare,
                struct err *err);
/* Whether value_print copies the stored text, rather than decode it and print it again. */
bool value_is_text(struct api *api, const struct kind *kind, const struct store_item *item);
/* The metadata alone, as a tree with the resourceVersion; reads no more than that. */
int value_metadata(struct arena *a, const struct store_item *item, struct json *ret, struct err *err);

/* The labels alone as JSON text, {"a":"b"}, or empty; points into the value. Nothing is parsed. False: the text is not in
 * the form that selector_matches_text takes (escapes), or damaged: use value_metadata. */
bool value_labels(const struct store_item *item, str *ret);

/* The item an event speaks of: its revision is the event's. */
struct store_item value_of_event(const struct store_event *event);

/* Reads one object as a tree; ERR_NOT_FOUND. ret_item may be NULL. */
int value_get(struct api *api, struct arena *a, const struct kind *kind, str namespace, str name, struct json *ret,
              struct store_item *ret_item, struct err *err);
