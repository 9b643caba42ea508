/* SPDX-License-Identifier: Apache-2.0 */
/* One watch: from the request to its end. While it keeps up it sends the news of its group; when it does not, or at the
 * beginning, it reads the store by itself, as much at a time as its client takes. The two never overlap: changes become
 * news only while the store is polled, and a watch turns live only in between, when its reading has come to the end of the
 * view. So nothing is sent twice, and nothing is left out. */
#include "api/watch_internal.h"

#include "object/status.h"

#include <stdlib.h>

enum { LOOKS_PER_FILL = 2000 }; /* objects or changes looked at before others have their turn */

static const int64_t bookmark_every = 60 * NS_PER_S;
static const int64_t bookmark_before_end = 2 * NS_PER_S;
static const int32_t timeout_least = 1800; /* seconds; with none asked for: up to twice that */

/* ---- Reading by itself. ---- */

/* What a step came to. */
enum step { STEP_ON, STEP_FULL, STEP_PAUSE, STEP_END };

static enum step say_trouble(struct watch *w, struct buf *out, struct arena *scratch, const struct err *err)
{
    struct store *store = w->hub->api->store;
    struct json status =
        err->code == ERR_EXPIRED
            ? status_expired(scratch, str_fmt(scratch, "too old resource version: %llu (%llu)",
                                              (unsigned long long)w->at, (unsigned long long)store_oldest(store)))
            : status_internal(scratch, str_of(err->msg));
    watch_error_print(out, &status);
    return STEP_END;
}

static int tell_item(struct watch *w, struct buf *out, struct arena *scratch, const struct store_item *item,
                     struct err *err)
{
    const struct view *view = &w->view->view;
    if (w->group->name.n && !str_eq(w->group->name, item->name))
        return 0;
    int code = w->filter ? read_options_match_item(w->filter, w->hub->api, scratch, view->kind, item, err) : 1;
    if (code <= 0)
        return code;
    code = watch_item_print(view, scratch, WATCH_ADDED, item, w->with_columns, out, err);
    w->with_columns = false;
    return code;
}

static int next_item(struct watch *w, struct store_item *ret, struct err *err)
{
    if (w->walk)
        return store_list_next(w->walk, ret, err);
    if (w->has_looked)
        return 0;
    w->has_looked = true;
    int code = store_get_at(w->hub->api->store, w->group->table, w->group->namespace, w->group->name, w->at, ret, err);
    return code == ERR_NOT_FOUND ? 0 : code < 0 ? code : 1;
}

/* What there was when the watch began, each as if it were new. */
static enum step tell_initial(struct watch *w, struct buf *out, size_t limit)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    struct store_item item;
    for (int looks = 0; out->n < limit; looks++) {
        if (looks == LOOKS_PER_FILL)
            return STEP_PAUSE;
        arena_reset(&scratch);
        int code = next_item(w, &item, &err);
        if (code > 0)
            code = tell_item(w, out, &scratch, &item, &err) < 0 ? (int)err.code : 1;
        if (code < 0)
            return say_trouble(w, out, &scratch, &err);
        if (code > 0)
            continue;
        if (w->walk)
            store_list_close(w->walk);
        w->walk = NULL;
        w->state = WATCH_BEHIND;
        w->told = w->at;
        if (w->wants_initial_end)
            watch_bookmark_print(&w->view->view, w->at, true, false, out);
        return STEP_ON;
    }
    return STEP_FULL;
}

static int tell_change(struct watch *w, struct buf *out, struct arena *scratch, const struct store_event *event,
                       struct err *err)
{
    struct watch_change change = {.api = w->hub->api, .event = event, .arena = scratch};
    const struct view *view = &w->view->view;
    enum watch_type type;
    if (!watch_group_has(w->group, event))
        return 0;
    int code = watch_change_type(&change, view->kind, w->filter, &type, err);
    if (code <= 0)
        return code;
    code = watch_change_print(&change, view, type, w->with_columns, out, err);
    w->with_columns = false;
    w->told = event->revision;
    return code;
}

/* Everything in the view has been sent. */
static void follow_news(struct watch *w)
{
    rev now = store_revision(w->hub->api->store);
    w->at = w->at > now ? w->at : now;
    w->state = WATCH_LIVE;
    watch_news_enter(w);
}

static enum step read_log(struct watch *w, struct store_log *log, struct buf *out, size_t limit)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct err err = {0};
    struct store_event event;
    store_log_only(log, w->group->table);
    for (int looks = 0; out->n < limit; looks++) {
        if (looks == LOOKS_PER_FILL)
            return STEP_PAUSE;
        arena_reset(&scratch);
        int code = store_log_next(log, &event, &err);
        if (code == 0) {
            follow_news(w);
            return STEP_ON;
        }
        if (code < 0 || tell_change(w, out, &scratch, &event, &err) < 0)
            return say_trouble(w, out, &scratch, &err);
        w->at = event.revision;
    }
    return STEP_FULL;
}

static enum step catch_up(struct watch *w, struct buf *out, size_t limit)
{
    struct err err = {0};
    struct store_log *log;
    if (w->at >= store_revision(w->hub->api->store)) { /* nothing to catch up with; or it is about the future */
        follow_news(w);
        return STEP_ON;
    }
    if (store_log_open(w->hub->api->store, w->at, &log, &err) < 0) {
        struct arena scratch ARENA_SCOPE = {0};
        return say_trouble(w, out, &scratch, &err);
    }
    enum step step = read_log(w, log, out, limit);
    store_log_close(log);
    return step;
}

/* ---- News. ---- */

static enum step tell_news(struct watch *w, struct buf *out, size_t limit)
{
    struct err err = {0};
    while (watch_has_news(w)) {
        if (w->news->is_cut) {
            watch_news_leave(w);
            w->state = WATCH_BEHIND;
            return STEP_ON;
        }
        if (out->n >= limit)
            return STEP_FULL;
        if (w->news->revision > w->at && watch_news_print(w, out, &err) < 0) {
            struct arena scratch ARENA_SCOPE = {0};
            return say_trouble(w, out, &scratch, &err);
        }
        watch_news_pass(w);
    }
    return STEP_ON;
}

/* ---- Filling. ---- */

static void watch_free(struct watch *w)
{
    if (w->r || w->is_deferred || w->is_starting)
        return;
    free(w->filter);
    free(w);
}

static void take_turn(struct loop_work *work)
{
    struct watch *w = (struct watch *)work;
    w->is_deferred = false;
    if (w->r)
        http_resume(w->r->x);
    watch_free(w);
}

static enum http_fill step_aside(struct watch *w, bool has_written)
{
    if (has_written)
        return HTTP_MORE;
    if (!w->is_deferred) {
        w->is_deferred = true;
        w->turn.fn = take_turn;
        loop_defer(w->hub->api->options.loop, &w->turn);
    }
    return HTTP_WAIT;
}

/* Everything there was up to now has been sent: the view holds nothing that was not among the news. */
static void tell_bookmark(struct watch *w, struct buf *out)
{
    rev now = store_revision(w->hub->api->store);
    w->is_bookmark_due = false;
    if (now <= w->told)
        return;
    watch_bookmark_print(&w->view->view, now, false, w->with_columns, out);
    w->with_columns = false;
    w->told = now;
}

static enum http_fill fill_piece(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    (void)x;
    struct watch *w = ctx;
    size_t start = out->n, limit = start + room;
    enum step step = STEP_ON;
    if (w->state == WATCH_LIVE)
        step = tell_news(w, out, limit);
    if (w->is_ending && step != STEP_FULL)
        return HTTP_END;
    if (w->state == WATCH_INITIAL)
        step = tell_initial(w, out, limit);
    if (step == STEP_ON && w->state == WATCH_BEHIND)
        step = catch_up(w, out, limit);
    if (step == STEP_END)
        return HTTP_END;
    if (step == STEP_PAUSE)
        return step_aside(w, out->n > start);
    if (step == STEP_FULL)
        return HTTP_MORE;
    if (w->is_bookmark_due)
        tell_bookmark(w, out);
    return HTTP_WAIT;
}

/* Live events are cheap, and come in slices of the hub; what is read from the store takes the time of the user. */
static enum http_fill fill(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    struct watch *w = ctx;
    if (w->state == WATCH_LIVE)
        return fill_piece(w, x, out, room);
    return api_fill_in_turn(w->r, (struct http_source){fill_piece, w}, out, room);
}

/* ---- Time. ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void set_timer(struct watch *w)
{
    struct loop *loop = w->hub->api->options.loop;
    int64_t now = loop_now(loop), at = w->deadline;
    if (w->wants_bookmarks && w->bookmark_at > 0)
        at = earlier(at, w->bookmark_at);
    loop_timer_set(loop, &w->timer, at > now ? at - now : 0);
}

int64_t watch_bookmark_time(int64_t now, int64_t deadline)
{
    int64_t at = earlier(now + bookmark_every, deadline - bookmark_before_end);
    return at > now ? at : 0;
}

static void on_time(void *ctx)
{
    struct watch *w = ctx;
    int64_t now = loop_now(w->hub->api->options.loop);
    if (now >= w->deadline) {
        watch_end(w);
        return;
    }
    if (w->bookmark_at && now >= w->bookmark_at) {
        w->is_bookmark_due = true;
        w->bookmark_at = watch_bookmark_time(now, w->deadline);
        http_resume(w->r->x);
    }
    set_timer(w);
}

void watch_end(struct watch *w)
{
    w->is_ending = true;
    loop_timer_cancel(w->hub->api->options.loop, &w->timer);
    http_resume(w->r->x);
}

/* ---- Beginning and end. ---- */

static void release(void *ctx)
{
    struct watch *w = ctx;
    loop_timer_cancel(w->hub->api->options.loop, &w->timer);
    if (w->walk)
        store_list_close(w->walk);
    if (w->state == WATCH_LIVE)
        watch_news_leave(w);
    watch_hub_remove(w);
    watch_view_unref(w->hub, w->view);
    w->r = NULL;
    watch_free(w);
}

/* What was asked for, until the stream begins. */
struct start {
    struct read_options options;
    struct accept accept;
    struct view view;
    rev revision;
    int64_t timeout_ns;
};

static void begin_initial(struct watch *w, const struct start *s)
{
    struct store *store = w->hub->api->store;
    struct store_range range = {
        .table = w->group->table,
        .all_namespaces = s->options.all_namespaces || !s->view.kind->namespaced,
        .namespace = s->options.namespace,
        .at = store_revision(store),
    };
    w->state = WATCH_INITIAL;
    w->at = range.at;
    if (s->options.name.n == 0 || s->options.all_namespaces)
        w->walk = store_list_open(store, &range);
}

static struct watch *watch_new(struct api_request *r, const struct start *s)
{
    struct watch *w = xcalloc(1, sizeof *w);
    int64_t now = loop_now(r->api->options.loop);
    w->r = r;
    w->view = watch_view_ref(r->api->watches, &s->view);
    w->filter = watch_filter_new(&s->options);
    watch_hub_add(r->api->watches, w, api_table(r->api, s->view.kind), &s->options);
    w->with_columns = s->view.as == AS_TABLE;
    w->wants_bookmarks = s->options.allow_bookmarks;
    w->wants_initial_end = s->options.allow_bookmarks && s->options.send_initial_events;
    w->timer = (struct loop_timer){.fn = on_time, .ctx = w};
    w->deadline = now + s->timeout_ns;
    w->bookmark_at = watch_bookmark_time(now, w->deadline);
    set_timer(w);
    w->state = WATCH_BEHIND;
    w->at = s->options.has_send_initial_events && s->revision == 0 ? store_revision(r->api->store) : s->revision;
    if (s->options.send_initial_events)
        begin_initial(w, s);
    w->told = w->at;
    /* Its client knows another history, from before a backup was restored, and is told where we are. */
    if (w->at > store_revision(r->api->store)) {
        w->told = 0;
        w->is_bookmark_due = w->wants_bookmarks;
    }
    return w;
}

/* While it waited for its revision, the CRD of its kind may have become another. */
static bool is_stale(const struct api_request *r)
{
    const struct route *route = &r->route;
    return registry_by_path(r->api->registry, route->group, route->version, route->resource) != route->kind;
}

static void begin(struct api_request *r, const struct start *s)
{
    struct watch *w = watch_new(r, s);
    r->released = release;
    r->released_ctx = w;
    w->is_starting = true;
    w->is_ending = r->api->watches->is_draining || is_stale(r);
    api_answer_stream(r, S("application/json"), (struct http_source){fill, w});
    w->is_starting = false;
    if (w->r) /* else it is over already */
        api_forget(r);
    watch_free(w);
}

/* ---- A watch that can tell nothing but why it cannot. ---- */

static enum http_fill fill_error(void *ctx, struct http_exchange *x, struct buf *out, size_t room)
{
    (void)x;
    (void)room;
    const struct json *status = ctx;
    watch_error_print(out, status);
    return HTTP_END;
}

static void answer_error(struct api_request *r, struct json status)
{
    struct json *kept = ARENA_NEW(r->arena, struct json);
    *kept = status;
    api_answer_stream(r, S("application/json"), (struct http_source){fill_error, kept});
}

/* ---- The request. ---- */

struct awaited {
    struct watch_await hub;
    struct api_request *r;
    struct start *start;
};

static void awaited(void *ctx, bool is_there)
{
    struct awaited *w = ctx;
    rev current = store_revision(w->r->api->store);
    if (is_there)
        begin(w->r, w->start);
    else
        answer_error(w->r, status_version_too_large(w->r->arena, w->start->revision, current));
}

static bool read_timeout(struct api_request *r, struct start *s)
{
    const struct read_options *o = &s->options;
    if (o->timeout_seconds < 0) {
        struct status_args args = {.code = ERR_INTERNAL, .message = S("context deadline exceeded")};
        answer_error(r, status_build(r->arena, &args));
        return false;
    }
    int64_t seconds = o->timeout_seconds;
    if (seconds == 0)
        seconds = timeout_least + random_below(&r->api->options.random, (uint32_t)timeout_least);
    s->timeout_ns = (seconds > 1000000000 ? 1000000000 : seconds) * NS_PER_S;
    return true;
}

static bool read_start(struct api_request *r, struct start *s)
{
    str why;
    if (!read_options_parse(r, &s->options))
        return false;
    /* A bookmark that ends the beginning has no place in a table. */
    bool is_watch_list = s->options.send_initial_events && s->options.allow_bookmarks;
    if (!negotiate(r, ACCEPT_METADATA | (is_watch_list ? 0 : ACCEPT_TABLE), &s->accept) ||
        !view_of_request(r, &s->accept, &s->view))
        return false;
    if (!read_revision_parse(r->arena, s->options.resource_version, &s->revision, &why)) {
        struct json status = status_unknown(r->arena, why);
        api_refuse(r, &status);
        return false;
    }
    return read_timeout(r, s);
}

void watch_start(struct api_request *r)
{
    struct start *s = ARENA_NEW(r->arena, struct start);
    if (!read_start(r, s))
        return;
    if (!s->options.send_initial_events || s->revision <= store_revision(r->api->store)) {
        begin(r, s);
        return;
    }
    struct awaited *w = ARENA_NEW(r->arena, struct awaited);
    *w = (struct awaited){.r = r, .start = s};
    watch_await(r->api->watches, &w->hub, s->revision, awaited, w);
}
