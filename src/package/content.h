/* SPDX-License-Identifier: Apache-2.0 */
/* What: the lines that reeve-fetch brought of one image (oci/fetch.h), read one by one or again at their place.
 * Owns: where they come from.
 * Threads: content_next belongs to one thread; content_document may be called by any.
 * Errors: ERR_IO for lines that are not what they should be.
 *
 * A package may have 2,000 CRDs of 30 KB: documents stay where they are until they are needed. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "json/json.h"

struct content;
struct fetch_entry;

/* The entry becomes the content's. */
struct content *content_of_entry(struct fetch_entry *entry);
/* Lines in memory, which must live as long: for a folder on disk, and for tests. */
struct content *content_of_text(str lines);
/* Takes NULL. */
void content_close(struct content *c);

struct content_line {
    uint64_t offset;
    size_t bytes;     /* of the line */
    struct json json; /* {"path":…,"document":…} and the like; the first is {"manifest":…} */
};

/* 1: there is one, 0: that was all. */
int content_next(struct content *c, struct arena *a, struct content_line *ret, struct err *err);
/* The document of the line that begins there. */
int content_document(struct content *c, struct arena *a, uint64_t offset, struct json *ret, struct err *err);
