/* SPDX-License-Identifier: Apache-2.0 */
#include "control/control.h"

#include <assert.h>
#include <stdlib.h>

#include "control/controller.h"

/*
 *   NEW ──control_start──► RUNNING ──control_stop──► STOPPING ──last thread has ended──► STOPPED
 *    └──────────────────────control_stop──────────────┘   (no threads: later in this turn)
 */
enum { SHARED_BYTES = 256 }; /* of an informer's texts, most times */

enum state { NEW, RUNNING, STOPPING, STOPPED };

/* An informer and what it was asked for with. */
struct shared {
    struct loop_work dropped; /* first member; when nobody needs it any more */
    struct control *control;
    struct shared *next;
    struct informer *informer;
    struct informer_options options; /* texts in the arena */
    struct arena arena;
    size_t users;
};

/* A controller and what it waits for. */
struct member {
    struct control *control;
    struct member *next;
    struct controller *controller;
    struct informer **needs;
    size_t n_needs;
    size_t unsynced;
    bool is_started;
};

struct owned {
    struct owned *next;
    void *state;
    void (*free)(void *state);
};

struct listener {
    void (*stopped)(void *ctx);
    void *ctx;
};

/* Kinds whose repairs are counted, and all others. */
static const char *const repaired_kinds[] = {"ClusterRole", "ClusterRoleBinding", "Deployment",
                                             "Role",        "RoleBinding",        "ServiceAccount"};
enum { REPAIRED_KINDS = COUNT(repaired_kinds) };

struct control {
    struct control_options options;
    enum state state;
    struct shared *informers, *dropped;
    struct member *members, **members_end;
    struct owned *owned; /* the last first */
    size_t at_work;      /* controllers that are started and have not ended */
    struct listener *listeners;
    size_t n_listeners;
    _Atomic uint64_t repairs[REPAIRED_KINDS + 1];
    struct loop_work finish; /* deferred */
    struct arena arena;      /* members, owned and needs */
};

static void finish(struct control *c);

static void on_finish(struct loop_work *w)
{
    finish((struct control *)((char *)w - offsetof(struct control, finish)));
}

struct control *control_new(const struct control_options *options)
{
    struct control *c = xcalloc(1, sizeof *c);
    c->options = *options;
    c->members_end = &c->members;
    c->finish.fn = on_finish;
    return c;
}

static void shared_free(struct shared *s)
{
    informer_free(s->informer);
    arena_done(&s->arena);
    free(s);
}

void control_free(struct control *c)
{
    if (c == NULL)
        return;
    assert(c->state == NEW || c->state == STOPPED);
    loop_defer_cancel(c->options.loop, &c->finish);
    for (struct owned *o = c->owned; o; o = o->next)
        o->free(o->state);
    for (struct member *m = c->members; m; m = m->next)
        controller_free(m->controller);
    for (struct shared *s; (s = c->dropped);) {
        loop_defer_cancel(c->options.loop, &s->dropped);
        c->dropped = s->next;
        shared_free(s);
    }
    for (struct shared *s; (s = c->informers);) {
        c->informers = s->next;
        shared_free(s);
    }
    free(c->listeners);
    arena_done(&c->arena);
    free(c);
}

void control_own(struct control *c, void *state, void (*free_state)(void *state))
{
    struct owned *o = ARENA_NEW(&c->arena, struct owned);
    *o = (struct owned){c->owned, state, free_state};
    c->owned = o;
}

/* ---- Informers. ---- */

static bool is_same_resource(const struct client_resource *a, const struct client_resource *b)
{
    return str_eq(a->group, b->group) && str_eq(a->version, b->version) && str_eq(a->plural, b->plural) &&
           str_eq(a->kind, b->kind) && a->namespaced == b->namespaced;
}

static bool is_same(const struct informer_options *a, const struct informer_options *b)
{
    if (a->client != b->client || !is_same_resource(&a->resource, &b->resource) || a->n_labels != b->n_labels)
        return false;
    for (size_t i = 0; i < a->n_labels; i++)
        if (!str_eq(a->labels[i], b->labels[i]))
            return false;
    return str_eq(a->namespace, b->namespace) && str_eq(a->label_selector, b->label_selector) &&
           str_eq(a->field_selector, b->field_selector) && a->metadata_only == b->metadata_only &&
           a->keys_only == b->keys_only && a->by_owner == b->by_owner && a->trim == b->trim;
}

static struct informer_options options_dup(struct arena *a, const struct informer_options *o)
{
    struct informer_options copy = *o;
    str *texts[] = {&copy.resource.group, &copy.resource.version, &copy.resource.plural, &copy.resource.kind,
                    &copy.namespace,      &copy.label_selector,   &copy.field_selector};
    for (size_t i = 0; i < COUNT(texts); i++)
        *texts[i] = str_dup(a, *texts[i]);
    str *labels = ARENA_ARRAY(a, str, o->n_labels);
    for (size_t i = 0; i < o->n_labels; i++)
        labels[i] = str_dup(a, o->labels[i]);
    copy.labels = labels;
    return copy;
}

static struct shared *share(struct control *c, const struct informer_options *options)
{
    struct shared *s = xcalloc(1, sizeof *s);
    s->control = c;
    arena_begin(&s->arena, SHARED_BYTES);
    s->options = options_dup(&s->arena, options);
    s->options.loop = c->options.loop;
    s->options.log = c->options.log;
    s->options.random = c->options.random;
    s->informer = informer_new(&s->options);
    s->next = c->informers;
    c->informers = s;
    return s;
}

struct informer *control_informer(struct control *c, const struct informer_options *options)
{
    struct shared *s = c->informers;
    while (s && !is_same(&s->options, options))
        s = s->next;
    bool is_new = s == NULL;
    if (is_new)
        s = share(c, options);
    s->users++;
    if (is_new && c->state == RUNNING)
        informer_start(s->informer);
    return s->informer;
}

static void on_dropped(struct loop_work *w)
{
    struct shared *s = (struct shared *)w, **at = &s->control->dropped;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    shared_free(s);
}

void control_informer_drop(struct control *c, struct informer *i)
{
    struct shared **at = &c->informers;
    while (*at && (*at)->informer != i)
        at = &(*at)->next;
    assert(*at);
    struct shared *s = *at;
    if (--s->users)
        return;
    *at = s->next;
    s->next = c->dropped;
    c->dropped = s;
    informer_stop(i);
    s->dropped.fn = on_dropped;
    loop_defer(c->options.loop, &s->dropped);
}

/* ---- Controllers. ---- */

static void on_ended(void *ctx)
{
    struct control *c = ctx;
    if (--c->at_work == 0)
        finish(c);
}

static void start_if_synced(struct member *m)
{
    if (m->control->state != RUNNING || m->unsynced || m->is_started)
        return;
    m->is_started = true;
    m->control->at_work++;
    controller_start(m->controller);
}

static void on_change(void *ctx, const struct informer_change *change)
{
    (void)ctx;
    (void)change;
}

static void on_synced(void *ctx)
{
    struct member *m = ctx;
    m->unsynced--;
    start_if_synced(m);
}

/* Its workers begin when the last of its informers says that it is synced. */
static void await_needs(struct member *m)
{
    for (size_t i = 0; i < m->n_needs; i++)
        m->unsynced += !informer_is_synced(m->needs[i]);
    for (size_t i = 0; i < m->n_needs; i++)
        if (!informer_is_synced(m->needs[i]))
            informer_add_handler(m->needs[i],
                                 &(struct informer_handler){.changed = on_change, .synced = on_synced, .ctx = m});
    start_if_synced(m);
}

struct controller *control_add(struct control *c, const struct controller_options *options)
{
    struct member *m = ARENA_NEW(&c->arena, struct member);
    m->control = c;
    m->needs = ARENA_ARRAY(&c->arena, struct informer *, options->n_needs);
    m->n_needs = options->n_needs;
    for (size_t i = 0; i < options->n_needs; i++)
        m->needs[i] = options->needs[i];
    m->controller = controller_new(&(struct controller_host){&c->options, on_ended, c}, options);
    *c->members_end = m;
    c->members_end = &m->next;
    if (c->state == RUNNING)
        await_needs(m);
    return m->controller;
}

bool control_is_synced(const struct control *c)
{
    for (const struct member *m = c->members; m; m = m->next)
        for (size_t i = 0; i < m->n_needs; i++)
            if (!informer_is_synced(m->needs[i]) && !informer_is_unserved(m->needs[i]))
                return false;
    return true;
}

/* ---- Starting and stopping. ---- */

void control_start(struct control *c)
{
    assert(c->state == NEW);
    c->state = RUNNING;
    for (struct member *m = c->members; m; m = m->next)
        await_needs(m);
    for (struct shared *s = c->informers; s; s = s->next)
        informer_start(s->informer);
}

/* Any of the listeners, which are called in the order they came, may end the control; it is not touched after that. */
static void finish(struct control *c)
{
    struct listener *listeners = c->listeners;
    size_t n = c->n_listeners;
    c->state = STOPPED;
    c->listeners = NULL;
    c->n_listeners = 0;
    for (size_t i = 0; i < n; i++)
        listeners[i].stopped(listeners[i].ctx);
    free(listeners);
}

static void stop_all(struct control *c)
{
    c->state = STOPPING;
    for (struct shared *s = c->informers; s; s = s->next)
        informer_stop(s->informer);
    for (struct member *m = c->members; m; m = m->next)
        if (!controller_stop(m->controller) && m->is_started)
            c->at_work--; /* it has no thread to wait for */
}

void control_stop(struct control *c, void (*stopped)(void *ctx), void *ctx)
{
    c->listeners = xrealloc(c->listeners, (c->n_listeners + 1) * sizeof *c->listeners);
    c->listeners[c->n_listeners++] = (struct listener){stopped, ctx};
    if (c->state == NEW || c->state == RUNNING)
        stop_all(c);
    if (c->at_work == 0) {
        loop_defer_cancel(c->options.loop, &c->finish);
        loop_defer(c->options.loop, &c->finish);
    }
}

/* ---- Metrics. ---- */

static void write_informers(struct control *c, struct arena *scratch, struct buf *b)
{
    VEC(struct metrics_informer) all = {0};
    for (struct shared *s = c->informers; s; s = s->next) {
        const struct client_resource *r = &s->options.resource;
        *vec_push(scratch, &all) = (struct metrics_informer){
            .resource = str_fmt(scratch, "%.*s%s%.*s", STR(r->plural), r->group.n ? "." : "", STR(r->group)),
            .is_synced = informer_is_synced(s->informer),
            .stats = informer_stats(s->informer),
        };
    }
    metrics_write_informers(b, all.p, all.n);
}

void control_repaired(struct control *c, str kind)
{
    size_t i = 0;
    while (i < REPAIRED_KINDS && !str_eq(kind, str_of(repaired_kinds[i])))
        i++;
    c->repairs[i]++;
}

static void write_repairs(struct control *c, struct arena *scratch, struct buf *b)
{
    metric_head(b, "reeve_drift_repairs_total", "counter", "Objects that another client changed and Reeve restored.");
    for (size_t i = 0; i <= REPAIRED_KINDS; i++) {
        struct buf labels = {.arena = scratch};
        metric_label(&labels, "kind", i < REPAIRED_KINDS ? str_of(repaired_kinds[i]) : S("other"));
        metric_count(b, "reeve_drift_repairs_total", buf_str(&labels), c->repairs[i]);
    }
}

void control_metrics_write(struct control *c, struct buf *b)
{
    struct arena scratch ARENA_SCOPE = {0};
    VEC(struct metrics_controller) all = {0};
    for (struct member *m = c->members; m; m = m->next)
        *vec_push(&scratch, &all) = controller_figures(m->controller);
    metrics_write_controllers(b, all.p, all.n);
    write_informers(c, &scratch, b);
    write_repairs(c, &scratch, b);
}
