/* SPDX-License-Identifier: Apache-2.0 */
/* What: the text of a list, made piece by piece: about as much as the client takes at a time, however long the list is, and
 *       never more in one turn of the loop than a slice of work.
 * Owns: a list owns its walks over the store and the label index, and its scratch memory.
 * Threads: the loop thread.
 * Errors: ERR_EXPIRED when history was cut off in front of a slow reader, ERR_IO; a stream that has begun is aborted.
 *
 *   kinds that are built in      {"kind":…,"apiVersion":…,"metadata":{…},"items":[ … ]}
 *   Tables                       {"kind":…,"apiVersion":…,"metadata":{…},"columnDefinitions":[…],"rows":[ … ]}
 *   custom resources             {"apiVersion":…,"items":[ … ],"kind":…,"metadata":{…}}
 *   YAML                         members sorted: apiVersion, columnDefinitions, items, kind, metadata, rows
 *
 * A page with selectors knows where it ends only when it got there: its metadata comes last. (But YAML
 * of Tables, for which the page is walked twice.) */
#pragma once

#include "api/api_view.h"
#include "api/page.h"
#include "api/read.h"

enum list_form { LIST_JSON, LIST_PRETTY, LIST_YAML };

struct list_args {
    struct view view;
    struct read_options options; /* texts live at least as long as the list */
    enum list_form form;
    int64_t limit;          /* 0: none */
    rev at;                 /* must be kept by the store */
    struct page_token from; /* with an empty name: from the beginning */
};

struct list;

struct list *list_new(const struct list_args *args);
void list_free(struct list *l);
/* Appends about room bytes. HTTP_WAIT, with or without bytes: the slice of this turn is used up; the exchange is resumed by
 * itself once others had their turn. HTTP_ABORT with err set. */
enum http_fill list_fill(struct list *l, struct http_exchange *x, struct buf *out, size_t room, struct err *err);
