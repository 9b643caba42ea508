/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All pages of a list are one revision of it. Between two of them the server may have forgotten that revision (410 Expired); then
 * what there is of the list is worth nothing and it begins anew, in the end as one large page, which cannot expire.
 *
 * Servers say which page comes next before they say what is in this one. So the next is asked for before this one is read, and the
 * server makes it meanwhile:
 *
 *   server   page 1 │ page 2 │ page 3 │
 *   client          │ page 1 │ page 2 │ page 3
 */
#include "client/client.h"

#include <stdio.h>

#include "client/client_internal.h"

#define ACCEPT_METADATA "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

enum { PAGE = 500, ROUNDS = 3 };

static void make_target(struct buf *b, const struct client_listing *l, str next)
{
    client_path(b, l->ref);
    client_query(b, S("labelSelector"), l->options->label_selector);
    client_query(b, S("fieldSelector"), l->options->field_selector);
    if (l->limit) {
        char limit[16];
        (void)snprintf(limit, sizeof limit, "%u", l->limit);
        client_query(b, S("limit"), str_of(limit));
    }
    client_query(b, S("continue"), next);
}

/* Items of built-in kinds come without apiVersion and kind: the list stands for them. */
static int take_items(struct client_listing *l, const struct json *items, struct err *err)
{
    const struct client_resource *r = l->ref->resource;
    bool is_partial = l->options->metadata_only;
    str api_version = is_partial ? S("meta.k8s.io/v1") : client_api_version(l->arena, r);
    str kind = is_partial ? S("PartialObjectMetadata") : r->kind;
    json_each_item(items, it)
    {
        if (!json_is_obj(it))
            return err_set(err, ERR_IO, "the list has an item that is not an object");
        struct json item = *it;
        if (json_get_text(&item, S("apiVersion")).n == 0)
            json_set(l->arena, &item, S("apiVersion"), json_str(api_version));
        if (json_get_text(&item, S("kind")).n == 0)
            json_set(l->arena, &item, S("kind"), json_str(kind));
        int code = l->taker->item(l->ctx, &item, err);
        if (code < 0)
            return code;
    }
    return 0;
}

int client_listing_take(struct client_listing *l, const struct client_reply *reply, struct err *err)
{
    struct json page;
    int code = client_reply_read(l->arena, reply, &page, err);
    if (code < 0)
        return code;
    l->bytes += reply->body.n;
    if (l->most && l->bytes > l->most)
        return err_set(err, ERR_TOO_LARGE, "the list is larger than %zu bytes", l->most);
    const struct json *items = json_get(&page, S("items")), *meta = json_get(&page, S("metadata"));
    if (items == NULL || (!json_is_null(items) && !json_is_arr(items))) /* an empty list says so */
        return err_set(err, ERR_IO, "the answer of the server is not a list");
    str version = json_get_text(meta, S("resourceVersion")), next = json_get_text(meta, S("continue"));
    if (l->next.n && !str_eq(version, l->version))
        return err_set(err, ERR_EXPIRED, "the pages of the list are of different revisions");
    if (next.n && str_eq(next, l->next))
        return err_set(err, ERR_IO, "the server gives the same page of the list again");
    l->version = str_dup(l->kept, version);
    l->next = str_dup(l->kept, next);
    return take_items(l, items, err);
}

enum { HEAD = 8 * 1024 }; /* bytes in which a list has told all but its items */

str client_listing_peek(struct arena *a, str body)
{
    str head = str_upto(body, HEAD < body.n ? HEAD : body.n);
    ptrdiff_t at = str_find(head, S("\"items\":"));
    struct json list;
    if (at < 0)
        return (str){0};
    str text = str_fmt(a, "%.*s\"items\":null}", (int)at, head.p);
    if (json_decode(a, text, NULL, NULL, &list, NULL) < 0)
        return (str){0};
    return json_text(json_dig(&list, "metadata.continue"));
}

static struct client_asking *ask_page(struct client *c, const struct client_listing *l, str next)
{
    struct buf target = {.arena = l->arena};
    make_target(&target, l, next);
    struct client_request request = {.method = S("GET"),
                                     .target = buf_str(&target),
                                     .accept = l->options->metadata_only ? S(ACCEPT_METADATA) : (str){0}};
    return client_ask_begin(c, &request);
}

/* What was asked for ahead counts if it is the page that is wanted. */
static struct client_asking *begin_page(struct client *c, struct client_listing *l)
{
    struct client_asking *ahead = l->ahead;
    l->ahead = NULL;
    if (ahead && str_eq(l->ahead_next, l->next))
        return ahead;
    client_ask_end(ahead, NULL, NULL);
    return ask_page(c, l, l->next);
}

static int take_page(struct client *c, struct client_listing *l, struct err *err)
{
    struct client_reply reply CLIENT_REPLY_SCOPE = {0};
    int code = client_ask_end(begin_page(c, l), &reply, err);
    if (code < 0)
        return code;
    l->ahead_next =
        reply.status == 200 ? str_dup(l->kept, client_listing_peek(l->arena, buf_str(&reply.body))) : (str){0};
    if (l->ahead_next.n)
        l->ahead = ask_page(c, l, l->ahead_next);
    return client_listing_take(l, &reply, err);
}

static int take_pages(struct client *c, struct client_listing *l, struct err *err)
{
    int code = 0;
    l->next = (str){0};
    l->bytes = 0;
    if (l->taker->begin)
        l->taker->begin(l->ctx);
    do {
        code = take_page(c, l, err);
        if (code == 0 && l->arena != l->kept)
            arena_reset(l->arena);
    } while (code == 0 && l->next.n);
    client_ask_end(l->ahead, NULL, NULL);
    l->ahead = NULL;
    return code;
}

static int take_list(struct client *c, struct client_listing *l, struct err *err)
{
    struct err why = {0};
    int code = 0;
    if (l->ref->name.n)
        return err_set(err, ERR_BAD_REQUEST, "a list has no name");
    if (client_ref_check(l->ref, false, err) < 0)
        return ERR_BAD_REQUEST;
    for (int round = 1; round <= ROUNDS; round++) {
        l->limit = round == ROUNDS ? 0 : l->options->limit ? l->options->limit : PAGE;
        code = take_pages(c, l, &why);
        if (code != ERR_EXPIRED && code != ERR_GONE)
            break;
    }
    if (code < 0 && err)
        *err = why;
    return code;
}

/* ---- All of it, or item by item. ---- */

static const struct client_list_options no_options;

struct whole {
    struct arena *arena;
    struct json items;
};

static void begin_whole(void *ctx)
{
    struct whole *w = ctx;
    w->items = json_arr();
}

static int add_to_whole(void *ctx, const struct json *item, struct err *err)
{
    struct whole *w = ctx;
    (void)err;
    json_push(w->arena, &w->items, *item);
    return 0;
}

int client_list(struct client *c, struct arena *a, const struct client_ref *ref,
                const struct client_list_options *options, struct json *ret_items, str *ret_version, struct err *err)
{
    static const struct client_taker taker = {begin_whole, add_to_whole};
    struct whole whole = {.arena = a};
    struct client_listing l = {.arena = a,
                               .kept = a,
                               .ref = ref,
                               .options = options ? options : &no_options,
                               .most = CLIENT_ANSWER_BYTES,
                               .taker = &taker,
                               .ctx = &whole};
    int code = take_list(c, &l, err);
    if (code < 0)
        return code;
    if (ret_items)
        *ret_items = whole.items;
    if (ret_version)
        *ret_version = l.version;
    return 0;
}

int client_list_each(struct client *c, const struct client_ref *ref, const struct client_list_options *options,
                     const struct client_taker *taker, void *ctx, struct err *err)
{
    struct arena page ARENA_SCOPE = {0}, kept ARENA_SCOPE = {0};
    struct client_listing l = {.arena = &page,
                               .kept = &kept,
                               .ref = ref,
                               .options = options ? options : &no_options,
                               .most = CLIENT_EACH_BYTES,
                               .taker = taker,
                               .ctx = ctx};
    return take_list(c, &l, err);
}
