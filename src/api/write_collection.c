/* SPDX-License-Identifier: Apache-2.0 */
/* DELETE of a collection: one deletion after the other, a few at a time, each as if it had been asked for alone. The answer is
 * the list of what was there; of a list that would take too much memory it is a Status, which clients know as well. */
#include "api/write_internal.h"

#include "api/api_value.h"
#include "api/page.h"
#include "api/read.h"
#include "object/object.h"

#include <stdlib.h>

enum {
    AT_ONCE = 64,                /* into one commit of the store */
    MAX_TOLD = 16 * 1024 * 1024, /* bytes of objects in the answer */
};

/* One deletion at work. */
struct slot {
    struct collection *collection;
    struct write write;
    struct buf name; /* namespace and name: the walk moves on meanwhile */
    bool is_busy;
};

struct collection {
    struct write *w; /* of the request: options, and who asks */
    struct read_options options;
    struct store_range range; /* of the walk */
    struct store_list *walk;
    rev revision;      /* at which it began */
    struct buf passed; /* the name of the object it is behind */
    int64_t taken;
    struct buf items; /* JSON of the objects, in their order… */
    struct buf last;  /* the name of the last one of a page… */
    int64_t rest;     /* …and how many there are behind it; negative: not told */
    struct slot slots[AT_ONCE];
    size_t busy;
    struct json status; /* has_failed: how */
    bool is_long;       /* …unless there are too many */
    bool has_more;      /* there are objects behind the page */
    bool is_over;       /* no more to begin */
    bool has_failed;
    bool is_filling; /* deletions that end meanwhile must not begin the next ones */
    struct task_step step;
};

static void fill(struct collection *c);

/* ---- The end. ---- */

static void close_all(struct collection *c)
{
    store_list_close(c->walk);
    for (size_t i = 0; i < AT_ONCE; i++) {
        arena_done(&c->slots[i].write.work);
        buf_done(&c->slots[i].name);
    }
    buf_done(&c->items);
    buf_done(&c->last);
    buf_done(&c->passed);
    arena_done(&c->w->work);
    free(c);
}

static void answer_done(struct collection *c)
{
    struct api_request *r = c->w->r;
    struct json status = json_obj();
    json_add(r->arena, &status, S("kind"), json_str(S("Status")));
    json_add(r->arena, &status, S("apiVersion"), json_str(S("v1")));
    json_add(r->arena, &status, S("metadata"), json_obj());
    json_add(r->arena, &status, S("status"), json_str(S("Success")));
    close_all(c);
    api_answer(r, 200, &status);
}

static void add_metadata(struct collection *c, struct buf *b)
{
    struct arena *a = c->w->r->arena;
    rev at = c->revision;
    struct page_token token = {.revision = (int64_t)at, .name = buf_str(&c->last)};
    buf_fmt(b, "\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)at);
    if (c->has_more)
        buf_fmt(b, ",\"continue\":\"%.*s\"", STR(page_token_format(a, &token, false)));
    if (c->has_more && c->rest >= 0)
        buf_fmt(b, ",\"remainingItemCount\":%lld", (long long)c->rest);
    buf_add_char(b, '}');
}

static bool is_metadata(const struct collection *c)
{
    return c->w->accept.as == AS_METADATA;
}

static void answer_list(struct collection *c)
{
    struct write *w = c->w;
    struct buf b = {.arena = w->r->arena};
    str kind = is_metadata(c) ? S("PartialObjectMetadataList") : str_of(w->kind->list_kind);
    str version = is_metadata(c) ? w->view.group_version : decode_api_version(w->r->arena, w->kind);
    buf_fmt(&b, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",", STR(kind), STR(version));
    add_metadata(c, &b);
    buf_add_str(&b, S(",\"items\":["));
    buf_add_str(&b, buf_str(&c->items));
    buf_add_str(&b, S("]}"));
    str text = buf_str(&b);
    close_all(c);
    api_answer_json(w->r, 200, text);
}

static void finish(struct collection *c)
{
    if (!c->has_failed) {
        c->is_long ? answer_done(c) : answer_list(c);
        return;
    }
    struct api_request *r = c->w->r;
    struct json status = json_dup(r->arena, &c->status);
    close_all(c);
    api_refuse(r, &status);
}

/* ---- One object. ---- */

static enum write_step build(struct write *w)
{
    struct err err = {0};
    int rc = write_load(w, w->name, &err);
    if (rc == ERR_NOT_FOUND)
        return WRITE_SAME; /* somebody was quicker */
    return rc < 0 ? write_failed(w, &err) : write_next_delete(w);
}

static void ended(struct write *w, enum write_step last)
{
    struct slot *slot = w->ctx;
    struct collection *c = slot->collection;
    if (last == WRITE_REFUSED && !c->has_failed) {
        c->has_failed = true;
        c->status = json_dup(c->w->r->arena, &w->status);
    }
    slot->is_busy = false;
    c->busy--;
    if (c->is_filling)
        return;
    c->is_filling = true;
    task_run(c->w->r, &c->step);
}

static struct slot *free_slot(struct collection *c)
{
    for (size_t i = 0; i < AT_ONCE; i++) {
        if (!c->slots[i].is_busy)
            return &c->slots[i];
    }
    return NULL;
}

static void begin(struct collection *c, str namespace, str name)
{
    struct slot *slot = free_slot(c);
    struct arena work = slot->write.work;
    arena_reset(&work);
    slot->collection = c;
    slot->is_busy = true;
    slot->name.n = 0;
    buf_add_str(&slot->name, namespace);
    buf_add_str(&slot->name, name);
    slot->write = *c->w;
    slot->write.work = work;
    slot->write.namespace = str_upto(buf_str(&slot->name), namespace.n);
    slot->write.name = str_from(buf_str(&slot->name), namespace.n);
    slot->write.build = build;
    slot->write.ended = ended;
    slot->write.ctx = slot;
    c->busy++;
    write_run(&slot->write);
}

/* ---- The walk. ---- */

static void fail(struct collection *c, const struct err *err)
{
    c->is_over = true;
    if (!c->has_failed)
        c->status = status_of_err(c->w->r->arena, err);
    c->has_failed = true;
}

/* What was there, as long as there is not too much of it. */
static int tell(struct collection *c, const struct store_item *item, struct err *err)
{
    struct write *w = c->w;
    bool is_bare = !(w->kind->flags & KIND_CUSTOM);
    if (c->items.n + item->value.n > MAX_TOLD) {
        c->is_long = true;
        buf_done(&c->items);
        c->items = (struct buf){0};
    }
    if (c->is_long)
        return 0;
    if (c->items.n)
        buf_add_char(&c->items, ',');
    if (is_metadata(c)) {
        struct arena scratch ARENA_SCOPE = {0};
        return view_text(&w->view, &scratch, item, false, &c->items, err);
    }
    return value_print(w->api, &c->items, w->kind, item, is_bare, err);
}

/* Takes the object into the list and deletes it if it is meant. The store's bytes are only good until the first charge. */
static void take(struct collection *c, const struct store_item *found)
{
    struct write *w = c->w;
    struct arena scratch ARENA_SCOPE = {0};
    struct json object;
    struct err err = {0};
    struct store_item own = *found, *item = &own;
    own.namespace = str_dup(&scratch, found->namespace);
    own.name = str_dup(&scratch, found->name);
    own.value = str_dup(&scratch, found->value);
    task_renew(w->r);
    if (value_decode(w->api, &scratch, w->kind, item, &object, &err) < 0) {
        fail(c, &err);
        return;
    }
    if (!read_options_match(&c->options, &object))
        return;
    c->taken++;
    c->last.n = 0;
    buf_add_str(&c->last, item->name);
    if (tell(c, item, &err) < 0) {
        fail(c, &err);
        return;
    }
    begin(c, item->namespace, item->name);
}

/* The next object. On a full disk the store keeps no history, so the walk may meet its end: unless the client has named a
 * revision, it goes on with the present objects behind the last one. */
static int next_object(struct collection *c, struct store_item *ret, struct err *err)
{
    int rc = store_list_next(c->walk, ret, err);
    if (rc == ERR_EXPIRED && c->range.at == 0) {
        struct store_range range = c->range;
        if (c->passed.n) {
            range.after_namespace = range.namespace;
            range.after_name = buf_str(&c->passed);
        }
        store_list_close(c->walk);
        c->walk = store_list_open(c->w->api->store, &range);
        rc = store_list_next(c->walk, ret, err);
    }
    if (rc > 0) {
        c->passed.n = 0;
        buf_add_str(&c->passed, ret->name);
    }
    return rc;
}

/* The page is full: is there more behind it? How much is only told where all are meant, as with lists. */
static void end_page(struct collection *c)
{
    struct store_item next;
    struct err err = {0};
    int rc = next_object(c, &next, &err);
    c->is_over = true;
    c->has_more = rc > 0;
    c->rest = -1;
    if (rc > 0 && read_options_select_all(&c->options)) {
        int64_t rest = store_list_rest(c->walk, &err);
        c->rest = 1 + rest;
        rc = rest < 0 ? (int)rest : 0;
    }
    if (rc < 0)
        fail(c, &err);
}

static void run_fill(struct task_step *step)
{
    fill((struct collection *)((char *)step - offsetof(struct collection, step)));
}

static void fill(struct collection *c)
{
    struct store_item item;
    struct err err = {0};
    c->is_filling = true;
    while (!c->is_over && !c->has_failed && c->busy < AT_ONCE) {
        if (c->options.limit > 0 && c->taken >= c->options.limit) {
            end_page(c);
            break;
        }
        int rc = next_object(c, &item, &err);
        if (rc > 0)
            take(c, &item);
        else if (rc < 0)
            fail(c, &err);
        else
            c->is_over = true;
    }
    c->is_filling = false;
    if (c->busy == 0)
        finish(c);
}

/* Behind which object, as a list that is continued. */
static int place_behind(struct write *w, const struct read_options *options, struct store_range *range)
{
    struct err err = {0};
    struct page_token token;
    if (page_token_parse(w->r->arena, options->continue_token, false, &token, &err) < 0) {
        (void)err_wrap(&err, "invalid continue token");
        w->status = status_of_err(&w->work, &err);
        return err.code;
    }
    if (options->resource_version.n && !str_eq(options->resource_version, S("0"))) {
        w->status = status_bad_request(&w->work, S("specifying resource version is not allowed when using continue"));
        return ERR_BAD_REQUEST;
    }
    range->at = token.revision < 0 ? 0 : (rev)token.revision;
    range->after_namespace = range->namespace;
    range->after_name = str_dup(w->r->arena, token.name);
    return 0;
}

/* Where the walk goes, and as of which revision: that of the client if it names one. */
static int place_walk(struct write *w, const struct read_options *options, struct store_range *range)
{
    rev current = store_revision(w->api->store);
    str why;
    *range = (struct store_range){.table = api_table(w->api, w->kind),
                                  .namespace = w->kind->namespaced ? w->namespace : (str){0}};
    if (options->continue_token.n) {
        int rc = place_behind(w, options, range);
        if (rc < 0)
            return rc;
    } else if (!read_revision_parse(&w->work, options->resource_version, &range->at, &why)) {
        w->status = status_bad_request(&w->work, str_fmt(&w->work, "invalid resource version: %.*s", STR(why)));
        return ERR_BAD_REQUEST;
    }
    if (range->at > current) {
        w->status = status_version_too_large(&w->work, range->at, current);
        return ERR_TIMEOUT;
    }
    if (range->at && range->at < store_oldest(w->api->store)) {
        w->status = status_expired(&w->work, S("The resourceVersion for the provided list is too old."));
        return ERR_EXPIRED;
    }
    return 0;
}

void write_delete_collection(struct api_request *r)
{
    struct write *w;
    struct read_options options;
    struct store_range range;
    if (!write_begin(r, NULL, &w) || !read_options_parse(r, &options))
        return;
    if (write_delete_options_parse(w) < 0 || place_walk(w, &options, &range) < 0) {
        write_refuse(w, w->status);
        return;
    }
    struct collection *c = xcalloc(1, sizeof *c);
    c->w = w;
    c->step.fn = run_fill;
    c->options = options;
    c->range = range;
    c->walk = store_list_open(w->api->store, &range);
    c->revision = store_list_revision(c->walk);
    fill(c);
}
