/* SPDX-License-Identifier: Apache-2.0 */
/* What: get and list: one object or many, whole, as metadata or as a table, at a revision, page by page.
 * Owns: nothing; long lists are made piece by piece while the client takes them.
 * Threads: the loop thread.
 * Errors: answered. */
#pragma once

#include "api/server.h"

void read_get(struct api_request *r);
void read_list(struct api_request *r);
/* True, and refused, when one object is asked for as a list of metadata. */
bool read_refuse_list_form(struct api_request *r, const struct accept *accept);

/* ---- The options that list, watch and deletecollection share, read from the query and checked (read_options.c). ---- */

/* How much of an object the selectors look at. */
enum read_need { READ_NEEDS_KEY, READ_NEEDS_METADATA, READ_NEEDS_OBJECT };

struct read_options {
    struct selector labels;
    struct field_selector fields;
    enum read_need need;
    bool all_namespaces; /* of a kind that has them */
    str namespace;       /* the one of the path, or the one that the field selector demands */
    str name;            /* the one of an old watch path, or that the field selector demands; empty: any */
    int64_t limit;       /* 0: none */
    str continue_token;
    str resource_version; /* as given */
    str resource_version_match;
    bool has_send_initial_events, send_initial_events, allow_bookmarks;
    bool has_timeout;
    int64_t timeout_seconds;
};

/* False when the request was refused. */
bool read_options_parse(struct api_request *r, struct read_options *ret);
static inline bool read_options_select_all(const struct read_options *o)
{
    return selector_is_everything(&o->labels) && o->fields.n == 0;
}
bool read_options_match(const struct read_options *o, const struct json *object);
/* The same for a stored object of this kind: 1, 0 or a negative code. Reads as little of it as the selectors need; what it
 * reads is left in the arena. */
int read_options_match_item(const struct read_options *o, struct api *api, struct arena *scratch,
                            const struct kind *kind, const struct store_item *item, struct err *err);

/* ---- Revisions that a request names (read_revision.c). ---- */

/* "" and "0" are 0. False with the text of Go's error. */
bool read_revision_parse(struct arena *a, str text, rev *ret, str *ret_why);
/* Refuses a revision that is none. Kubernetes has two ways to say so: that of its cache, and that of lists of one exact revision
 * and of Events, which are not cached. */
void read_revision_refuse(struct api_request *r, str why, bool is_exact);
/* Calls then when the store has come to this revision, at the latest after three seconds; then refuses with 504. At once
 * when it is there already. */
void read_revision_await(struct api_request *r, rev wanted, void (*then)(struct api_request *r, void *ctx), void *ctx);
