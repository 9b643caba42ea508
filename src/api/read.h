/* SPDX-License-Identifier: Apache-2.0 */
/* What: get and list: one object or many, whole, as metadata or as a table, at a revision, page by page.
 * Owns: nothing; long lists are made piece by piece while the client takes them.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"

void read_get(struct api_request *r);
void read_list(struct api_request *r);

/* The options that list, watch and deletecollection share, read from the query and checked. */
struct read_options {
    struct selector labels;
    struct field_selector fields;
    str name;      /* the one name that the field selector demands; empty: any */
    int64_t limit; /* 0: none */
    str continue_token;
    str resource_version; /* as given */
    str resource_version_match;
    bool has_send_initial_events, send_initial_events, allow_bookmarks;
    int64_t timeout_seconds; /* 0: none given */
};

/* False when the request was refused. */
bool read_options_parse(struct api_request *r, struct read_options *ret);
bool read_options_match(const struct read_options *o, const struct json *object);

/* ---- Shapes of answers, shared with watch.c (shape.c in this folder). ---- */

/* One row of a Table: cells and, by includeObject (None, Metadata, Object), the object. */
struct json table_row(struct arena *a, const struct kind *kind, const struct json *object, str include, int64_t now,
                      str group_version);
struct json table_of_rows(struct arena *a, const struct kind *kind, str resource_version, bool with_columns,
                          str group_version);
/* {"kind":"PartialObjectMetadata",…,"metadata":…} */
struct json partial_metadata(struct arena *a, const struct json *object, str group_version);
