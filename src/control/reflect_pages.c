/* SPDX-License-Identifier: Apache-2.0 */
#include "control/reflect_internal.h"

#include "object/object.h"

enum {
    PAGE_BYTES = 64 * 1024 * 1024, /* of a page with a limit: larger ones are asked for again with fewer objects */
    LIMIT_STEP = 5,                /* 500, 100, 20, 4, 1 */
    TOKEN_BYTES = 1024 * 1024,
};

/* The list begins again from its front: all pages are of one revision or it is none. */
static void again(struct reflector *r, uint32_t limit, const struct err *err)
{
    bool is_news = limit != r->limit;
    r->limit = limit;
    reflect_conclude(r, is_news ? REFLECT_ENDED : REFLECT_FAILED, 0, err);
}

static void on_data(void *ctx, str bytes)
{
    struct reflector *r = ctx;
    size_t most = r->limit ? PAGE_BYTES : CLIENT_ANSWER_BYTES;
    if (bytes.n <= most - r->page.n) {
        buf_add_str(&r->page, bytes);
        return;
    }
    struct err err;
    err_set(&err, ERR_TOO_LARGE, "a page of the list is larger than %zu bytes", most);
    if (r->limit == 0)
        again(r, REFLECT_LIMIT, &err);
    else
        again(r, r->limit / LIMIT_STEP ? r->limit / LIMIT_STEP : 1, &err);
}

/* Tells the objects of a page. */
static int tell(struct reflector *r, const struct json *list, struct err *err)
{
    struct json *items = json_get_mut((struct json *)list, S("items"));
    if (items == NULL ||
        (!json_is_arr(items) && !json_is_null(items))) /* an empty list says so: what is missing is not gone */
        return err_set(err, ERR_BAD_REQUEST, "a list has no items");
    uint64_t turn = r->turn;
    for (size_t i = 0; i < json_len(items) && r->turn == turn; i++) {
        struct frame frame = {.type = FRAME_ADDED, .object = items->items[i]};
        if (frame_object_check(&frame.object, err) < 0 || reflect_shape(r, &r->scratch, &frame.object, err) < 0)
            return err->code;
        frame.version = object_rv(&frame.object);
        r->stats.events++;
        r->options.sink->event(r->options.ctx, &r->scratch, &frame);
    }
    return 0;
}

/* Where the list goes on; a server that sends us in a circle is not followed. */
static int read_token(struct reflector *r, str token, struct err *err)
{
    if (token.n > TOKEN_BYTES || (token.n && str_eq(token, buf_str(&r->token))))
        return err_set(err, ERR_BAD_REQUEST, "a list does not come to an end");
    r->token.n = 0;
    buf_add_str(&r->token, token);
    return 0;
}

/* The list is as old as its first page. Should a later one be newer, the watch tells again what happened between them. */
static int read_version(struct reflector *r, str version, struct err *err)
{
    if (version.n == 0)
        return err_set(err, ERR_BAD_REQUEST, "a list has no resourceVersion");
    if (r->token.n == 0)
        reflect_set_version(r, version);
    return 0;
}

static int read_page(struct reflector *r, struct err *err)
{
    struct json list;
    struct json_limits limits = {.bytes = r->page.n + 1};
    if (json_decode(&r->scratch, buf_str(&r->page), &limits, NULL, &list, err) < 0)
        return err_wrap(err, "list");
    const struct json *meta = object_meta(&list);
    int code = read_version(r, json_get_text(meta, S("resourceVersion")), err);
    if (code == 0)
        code = tell(r, &list, err);
    return code < 0 ? code : read_token(r, json_get_text(meta, S("continue")), err);
}

static void on_page(struct reflector *r)
{
    struct err err = {0};
    uint64_t turn = r->turn;
    int code = read_page(r, &err);
    if (r->turn != turn)
        ; /* stopped by who was told */
    else if (code < 0)
        reflect_conclude(r, REFLECT_GARBLED, 0, &err);
    else if (r->token.n)
        reflect_pages_start(r);
    else if (reflect_listed(r))
        reflect_watch_start(r);
    arena_done(&r->scratch);
}

static void on_end(void *ctx, const struct client_answer *answer)
{
    struct reflector *r = ctx;
    r->call = NULL;
    if (answer->status == 200) {
        on_page(r);
        return;
    }
    struct err err;
    enum reflect_verdict verdict = reflect_judge(r, answer, &err);
    if (verdict == REFLECT_LOST && r->token.n) /* it took too long to come here: now in one piece */
        again(r, 0, &err);
    else
        reflect_conclude(r, verdict, answer->retry_after_ns, &err);
}

void reflect_pages_start(struct reflector *r)
{
    static const struct client_listener listener = {on_data, on_end};
    buf_done(&r->page);
    reflect_ask(r, REFLECT_PAGES, &listener);
}
