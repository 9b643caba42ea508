/* SPDX-License-Identifier: Apache-2.0 */
/* What: how one stored object looks in an answer: whole, as PartialObjectMetadata, or as the row of a Table; as a tree or
 *       straight as text. Lists, gets and watches share it.
 * Owns: nothing.
 * Threads: the loop thread.
 * Errors: ERR_IO for stored bytes that cannot be read. */
#pragma once

#include "api/server.h"

enum view_include { VIEW_METADATA, VIEW_OBJECT, VIEW_NONE }; /* ?includeObject: what a row carries besides its cells */

struct view {
    struct api *api;
    const struct kind *kind;
    enum representation as;
    str group_version; /* static text: "meta.k8s.io/v1" or "meta.k8s.io/v1beta1" */
    enum view_include include;
    bool is_light; /* the metadata of an object is all that it takes */
};

/* Reads ?includeObject where a table was asked for; false when the request was refused. */
bool view_of_request(struct api_request *r, const struct accept *accept, struct view *ret);

/* The object, the metadata as an object, or the row. */
int view_tree(const struct view *v, struct arena *a, const struct store_item *item, int64_t now, struct json *ret,
              struct err *err);
/* The same as text at the end of b; scratch may be emptied afterwards. bare: without kind and apiVersion, as the items of
 * built-in lists are. The whole object is not parsed. */
int view_text(const struct view *v, struct arena *scratch, const struct store_item *item, bool bare, struct buf *b,
              struct err *err);
/* What a get answers, and what a watch tells: as view_tree, but a Table instead of its row. */
int view_whole(const struct view *v, struct arena *a, const struct store_item *item, bool with_columns,
               struct json *ret, struct err *err);
/* The same of an object that is at hand as a tree. */
struct json view_object(const struct view *v, struct arena *a, const struct json *object);
/* An object of the kind that has nothing but metadata with a revision and, unless that is NULL, these annotations. */
struct json view_bookmark(const struct view *v, struct arena *a, rev revision, const struct json *annotations,
                          bool with_columns);
/* The definitions of the columns. */
struct json view_columns(const struct view *v, struct arena *a);

/* "v1", "apps/v1". */
str view_api_version(struct arena *a, const struct kind *kind);
/* "*core.ConfigMapList": how Go servers call it in their refusals. */
str view_go_type(struct arena *a, const struct kind *kind, bool is_list);
