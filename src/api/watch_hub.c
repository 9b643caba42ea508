/* SPDX-License-Identifier: Apache-2.0 */
#include "api/watch_inside.h"

#include "object/status.h"

#include <assert.h>
#include <stdlib.h>

struct watch_hub *watch_hub_new(struct api *api)
{
    struct watch_hub *hub = calloc(1, sizeof *hub);
    if (!hub)
        abort();
    hub->api = api;
    return hub;
}

void watch_hub_free(struct watch_hub *hub)
{
    if (!hub)
        return;
    assert(hub->n == 0 && "exchanges go before the server does");
    map_done(&hub->groups);
    map_done(&hub->views);
    free(hub);
}

size_t watch_count(const struct watch_hub *hub)
{
    return hub->n;
}

/* ---- Texts. ---- */

struct watch_text *watch_text_new(struct watch_hub *hub, rev revision, str bytes)
{
    struct watch_text *t = malloc(sizeof *t + bytes.n);
    if (!t)
        abort();
    *t = (struct watch_text){.refs = 1, .hub = hub, .revision = revision, .n = bytes.n};
    if (bytes.n)
        memcpy(t->bytes, bytes.p, bytes.n);
    hub->text_bytes += bytes.n;
    return t;
}

void watch_text_unref(struct watch_text *t)
{
    if (!t || --t->refs)
        return;
    t->hub->text_bytes -= t->n;
    free(t);
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
        e = calloc(1, sizeof *e);
        if (!e)
            abort();
        e->view.view = *view;
        memcpy(&e->key, &key, sizeof key);
        map_set(&hub->views, key_of_view(&e->key), e);
    }
    e->view.refs++;
    return &e->view;
}

static void drop_texts(struct watch_view *v)
{
    v->is_fresh = false;
    for (int type = 0; type < WATCH_TYPES; type++)
        for (int i = 0; i < 2; i++) {
            watch_text_unref(v->texts[type][i]);
            v->texts[type][i] = NULL;
        }
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
    struct watch_group *g = calloc(1, sizeof *g + key.n);
    if (!g)
        abort();
    memcpy(g->bytes, key.p, key.n);
    g->key = (str){g->bytes, key.n};
    g->table = table;
    g->all_namespaces = o->all_namespaces;
    g->namespace = (str){g->bytes + sizeof table + 1, o->all_namespaces ? 0 : o->namespace.n};
    g->name = (str){g->bytes + key.n - o->name.n, o->name.n};
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
    w->hub->n--;
    if (g->first)
        return;
    map_del(&w->hub->groups, g->key);
    free(g);
}

/* ---- Changes. ---- */

static struct watch_text *text_of(struct watch_hub *hub, struct watch_view *v, struct watch_change *c,
                                  enum watch_type type, bool with_columns, struct err *err)
{
    struct watch_text **t = &v->texts[type][with_columns];
    if (*t)
        return *t;
    struct buf line = {.arena = c->arena};
    if (watch_change_print(c, &v->view, type, with_columns, &line, err) < 0)
        return NULL;
    *t = watch_text_new(hub, c->event->revision, buf_str(&line));
    if (!v->is_fresh) {
        v->is_fresh = true;
        v->next_fresh = hub->fresh;
        hub->fresh = v;
    }
    return *t;
}

/* Whoever cannot be told what happened is told that, and comes back for a new list. */
static void break_off(struct watch *w, struct watch_change *c, const struct err *err)
{
    struct buf line = {.arena = c->arena};
    struct json status = status_internal(c->arena, str_of(err->msg));
    watch_error_print(&line, &status);
    struct watch_text *t = watch_text_new(w->hub, c->event->revision, buf_str(&line));
    watch_push(w, t);
    watch_text_unref(t);
    watch_end(w);
}

static void tell(struct watch *w, struct watch_change *c)
{
    enum watch_type type;
    struct err err = {0};
    if (w->state != WATCH_LIVE || w->is_ending || c->event->revision <= w->at)
        return;
    int code = watch_change_type(c, w->view->view.kind, w->filter, &type, &err);
    if (code == 0)
        return;
    struct watch_text *t = code < 0 ? NULL : text_of(w->hub, w->view, c, type, w->with_columns, &err);
    if (!t) {
        break_off(w, c, &err);
        return;
    }
    watch_push(w, t);
}

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
    struct arena scratch ARENA_SCOPE = {0};
    struct watch_change change = {.api = hub->api, .event = event, .arena = &scratch};
    struct buf key = {.arena = &scratch};
    for (unsigned which = 0; which < 4; which++) {
        format_key(&key, event->table, which & 1, event->namespace, which & 2 ? (str){0} : event->name);
        struct watch_group *g = map_get(&hub->groups, buf_str(&key));
        for (struct watch *w = g ? g->first : NULL; w; w = w->next)
            tell(w, &change);
    }
    for (; hub->fresh; hub->fresh = hub->fresh->next_fresh)
        drop_texts(hub->fresh);
}

void watch_end_kind(struct watch_hub *hub, uint32_t table)
{
    size_t at = 0;
    str key;
    void *group;
    while (map_next(&hub->groups, &at, &key, &group)) {
        struct watch_group *g = group;
        for (struct watch *w = g->table == table ? g->first : NULL; w; w = w->next)
            watch_end(w);
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
    loop_timer_set(hub->api->options.loop, &w->timer, WATCH_AWAIT_SECONDS * INT64_C(1000000000));
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
