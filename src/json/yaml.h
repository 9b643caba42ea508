/* SPDX-License-Identifier: Apache-2.0 */
/* What: YAML 1.1 as Kubernetes reads and prints it, to and from JSON trees.
 * Owns: nothing; trees and text live in the arena or buffer given.
 * Threads: pure functions.
 * Errors: ERR_BAD_REQUEST with line and column, ERR_TOO_LARGE past a limit; then nothing is returned. */
#pragma once

#include "json/json.h"

enum {
    YAML_MAX_NODES = 1000000, /* values one document may come to, aliases expanded */
    YAML_MAX_DOCUMENTS = 10000,
};

typedef VEC(struct json) json_vec;

/* One document (an empty text is null; a second document is an error). Text that starts with { is read as JSON.
 * Duplicate keys are an error, as in every Kubernetes client, unless notes is given: then the last one counts
 * and the path is noted. */
int yaml_decode(struct arena *a, str text, const struct json_limits *limits, struct json_notes *notes, struct json *ret,
                struct err *err);
/* All documents of a stream ("---" between them); empty documents are left out. */
int yaml_decode_all(struct arena *a, str text, const struct json_limits *limits, json_vec *ret, struct err *err);

/* As kubectl -o yaml prints it: sorted keys, two spaces, list dashes under their key, literal blocks for text of
 * several lines, quotes only where YAML 1.1 needs them. Ends with a newline. */
void yaml_encode(struct buf *b, const struct json *v);
