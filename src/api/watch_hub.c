/* SPDX-License-Identifier: Apache-2.0 */
#include "api/watch_internal.h"

#include "object/status.h"

#include <assert.h>
#include <stdlib.h>

/* ---- Delivery: groups with news take turns, each for a part of a slice. ---- */

static void add_due(struct watch_hub *hub, struct watch_group *g)
{
    g->next_due = NULL;
    g->back_due = hub->due_end;
    *hub->due_end = g;
    hub->due_end = &g->next_due;
}

static void take_due(struct watch_hub *hub, struct watch_group *g)
{
    if (g->back_due == NULL)
        return;
    *g->back_due = g->next_due;
    if (g->next_due)
        g->next_due->back_due = g->back_due;
    else
        hub->due_end = g->back_due;
    g->back_due = NULL;
}

static void schedule_group(struct watch_hub *hub, struct watch_group *g, size_t bytes)
{
    if (g->back_due) { /* some of its watches were woken before this change: one more round */
        g->bytes_again += bytes + 1;
    } else {
        g->bytes = bytes;
        g->visit = g->first;
        add_due(hub, g);
    }
    if (!hub->is_delivery_queued)
        loop_defer(hub->api->options.loop, &hub->delivery);
    hub->is_delivery_queued = true;
}

/* Wakes watches of the group until the budget is used up; what is left of it. */
static int64_t visit_watches(struct watch_group *g, int64_t budget)
{
    int64_t bytes = (int64_t)(g->bytes / WATCH_SLICE_BYTES);
    while (g->visit && budget > 0) {
        struct watch *w = g->visit;
        g->visit = w->next;
        budget -= WATCH_SLICE_LOOK;
        if (watch_has_news(w))
            budget -= bytes + (http_resume(w->r->x) ? WATCH_SLICE_SEND : 0);
    }
    return budget;
}

static void deliver_slice(struct loop_work *work)
{
    struct watch_hub *hub = (struct watch_hub *)((char *)work - offsetof(struct watch_hub, delivery));
    hub->is_delivery_queued = false;
    for (int64_t budget = WATCH_SLICE; budget > 0 && hub->due;) {
        struct watch_group *g = hub->due;
        budget = visit_watches(g, budget);
        take_due(hub, g);
        if (g->visit == NULL && g->bytes_again) {
            g->visit = g->first;
            g->bytes = g->bytes_again;
            g->bytes_again = 0;
        }
        if (g->visit)
            add_due(hub, g);
    }
    if (hub->due) {
        hub->is_delivery_queued = true;
        loop_defer(hub->api->options.loop, &hub->delivery);
    }
}

/* ---- The hub. ---- */

struct watch_hub *watch_hub_new(struct api *api)
{
    struct watch_hub *hub = xcalloc(1, sizeof *hub);
    hub->api = api;
    hub->delivery.fn = deliver_slice;
    hub->due_end = &hub->due;
    return hub;
}

void watch_hub_free(struct watch_hub *hub)
{
    if (!hub)
        return;
    assert(hub->n == 0 && "exchanges go before the server does");
    if (hub->is_delivery_queued)
        loop_defer_cancel(hub->api->options.loop, &hub->delivery);
    watch_view_moves(hub);
    map_done(&hub->groups);
    map_done(&hub->views);
    free(hub);
}

size_t watch_count(const struct watch_hub *hub)
{
    return hub->n;
}

/* ---- Views. ---- */

struct view_key {
    const struct kind *kind;
    uint32_t as, include, version; /* the texts of the two versions differ in length */
};

struct view_entry {
    struct watch_view view; /* first */
    struct view_key key;
};

static str key_of_view(const struct view_key *key)
{
    return (str){(const char *)key, sizeof *key};
}

struct watch_view *watch_view_ref(struct watch_hub *hub, const struct view *view)
{
    struct view_key key;
    memset(&key, 0, sizeof key); /* padding is part of what is compared */
    key.kind = view->kind;
    key.as = view->as;
    key.include = view->include;
    key.version = (uint32_t)view->group_version.n;
    struct view_entry *e = map_get(&hub->views, key_of_view(&key));
    if (!e) {
        e = xcalloc(1, sizeof *e);
        e->view.view = *view;
        e->view.number = ++hub->views_made;
        memcpy(&e->key, &key, sizeof key);
        map_set(&hub->views, key_of_view(&e->key), e);
    }
    e->view.refs++;
    return &e->view;
}

void watch_view_unref(struct watch_hub *hub, struct watch_view *v)
{
    if (--v->refs)
        return;
    struct view_entry *e = (struct view_entry *)v;
    map_del(&hub->views, key_of_view(&e->key));
    free(e);
}

/* ---- Groups. ---- */

/* table | which of the two are open | namespace / name */
static void format_key(struct buf *b, uint32_t table, bool all_namespaces, str namespace, str name)
{
    b->n = 0;
    buf_add(b, &table, sizeof table);
    buf_add_char(b, (char)(all_namespaces + 2 * (name.n == 0)));
    buf_add_str(b, all_namespaces ? (str){0} : namespace);
    buf_add_char(b, '/');
    buf_add_str(b, name);
}

static struct watch_group *group_new(struct watch_hub *hub, str key, uint32_t table, const struct read_options *o)
{
    struct watch_group *g = xcalloc(1, sizeof *g + key.n);
    memcpy(g->bytes_of_key, key.p, key.n);
    g->key = (str){g->bytes_of_key, key.n};
    g->table = table;
    g->all_namespaces = o->all_namespaces;
    g->namespace = (str){g->bytes_of_key + sizeof table + 1, o->all_namespaces ? 0 : o->namespace.n};
    g->name = (str){g->bytes_of_key + key.n - o->name.n, o->name.n};
    watch_news_init(g);
    map_set(&hub->groups, g->key, g);
    return g;
}

void watch_hub_add(struct watch_hub *hub, struct watch *w, uint32_t table, const struct read_options *o)
{
    struct buf key = {0};
    format_key(&key, table, o->all_namespaces, o->namespace, o->name);
    struct watch_group *g = map_get(&hub->groups, buf_str(&key));
    if (!g)
        g = group_new(hub, buf_str(&key), table, o);
    buf_done(&key);
    w->hub = hub;
    w->group = g;
    w->next = g->first;
    w->back = &g->first;
    if (w->next)
        w->next->back = &w->next;
    g->first = w;
    hub->n++;
}

void watch_hub_remove(struct watch *w)
{
    struct watch_group *g = w->group;
    *w->back = w->next;
    if (w->next)
        w->next->back = w->back;
    if (g->visit == w)
        g->visit = w->next;
    w->hub->n--;
    if (g->first)
        return;
    take_due(w->hub, g);
    map_del(&w->hub->groups, g->key);
    watch_news_done(w->hub, g);
    free(g);
}

/* ---- Changes. ---- */

void watch_publish(struct watch_hub *hub, const struct store_event *event)
{
    struct watch_await *next;
    for (struct watch_await *a = hub->awaits; a; a = next) {
        next = a->next;
        if (a->wanted <= event->revision)
            loop_timer_set(hub->api->options.loop, &a->timer, 0);
    }
    if (hub->n == 0)
        return;
    struct buf key = {0};
    for (unsigned which = 0; which < 4; which++) {
        format_key(&key, event->table, which & 1, event->namespace, which & 2 ? (str){0} : event->name);
        struct watch_group *g = map_get(&hub->groups, buf_str(&key));
        if (g && watch_news_add(hub, g, event))
            schedule_group(hub, g, event->value.n);
    }
    buf_done(&key);
}

void watch_end_kind(struct watch_hub *hub, uint32_t table)
{
    size_t at = 0;
    str key;
    void *group;
    while (map_next(&hub->groups, &at, &key, &group)) {
        struct watch_group *g = group;
        for (struct watch *w = g->table == table ? g->first : NULL; w; w = w->next) {
            watch_news_prepare(w);
            watch_end(w);
        }
    }
}

/* ---- Waiting for a revision. ---- */

static void await_over(void *ctx)
{
    struct watch_await *w = ctx;
    *w->back = w->next;
    if (w->next)
        w->next->back = w->back;
    w->then(w->ctx, w->wanted <= store_revision(w->hub->api->store));
}

void watch_await(struct watch_hub *hub, struct watch_await *w, rev wanted, void (*then)(void *ctx, bool is_there),
                 void *ctx)
{
    *w = (struct watch_await){
        .wanted = wanted, .then = then, .ctx = ctx, .hub = hub, .next = hub->awaits, .back = &hub->awaits};
    w->timer = (struct loop_timer){.fn = await_over, .ctx = w};
    if (w->next)
        w->next->back = &w->next;
    hub->awaits = w;
    loop_timer_set(hub->api->options.loop, &w->timer, WATCH_AWAIT_SECONDS * NS_PER_S);
}

/* ---- The end. ---- */

void watch_drain(struct watch_hub *hub)
{
    size_t at = 0;
    str key;
    void *group;
    hub->is_draining = true;
    while (map_next(&hub->groups, &at, &key, &group))
        for (struct watch *w = ((struct watch_group *)group)->first; w; w = w->next)
            watch_end(w);
    while (hub->awaits) {
        struct watch_await *w = hub->awaits;
        loop_timer_cancel(hub->api->options.loop, &w->timer);
        await_over(w);
    }
}
