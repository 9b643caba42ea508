/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/fake_internal.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/status.h"

/* ---- Events. ---- */

static str event_text(struct arena *a, str type, const struct json *object)
{
    struct buf b = {.arena = a};
    buf_fmt(&b, "{\"type\":\"%.*s\",\"object\":", STR(type));
    json_encode(&b, object, 0);
    buf_add_str(&b, S("}\n"));
    return buf_str(&b);
}

static bool tell(struct transport_call *call, str type, struct json *object)
{
    struct arena a ARENA_SCOPE = {0};
    struct fake_watch *w = &call->watch;
    struct json own = json_dup_top(&a, object);
    json_set(&a, &own, S("apiVersion"), json_str(w->api_version));
    json_set(&a, &own, S("kind"), json_str(w->kind));
    struct json view = fake_view(&a, &own, w->metadata_only);
    return fake_tell(call, event_text(&a, type, &view));
}

static bool tell_status(struct transport_call *call, const struct json *status)
{
    return fake_tell(call, event_text(&call->arena, S("ERROR"), status));
}

static bool tell_bookmark(struct transport_call *call, bool is_end_of_list)
{
    struct arena a ARENA_SCOPE = {0};
    struct json object = json_obj(), *meta = meta_of(&a, &object);
    json_set(&a, meta, S("resourceVersion"), json_str(str_fmt(&a, "%llu", (unsigned long long)call->fake->rev)));
    if (is_end_of_list) {
        struct json *notes = json_set(&a, meta, S("annotations"), json_obj());
        json_add(&a, notes, S("k8s.io/initial-events-end"), json_str(S("true")));
    }
    return tell(call, S("BOOKMARK"), &object);
}

static bool is_inside(const struct fake_watch *w, str key)
{
    str table, rest, namespace, name;
    str_cut(key, '\1', &table, &rest);
    str_cut(rest, '\1', &namespace, &name);
    return str_eq(table, w->table) && (w->namespace.n == 0 || str_eq(namespace, w->namespace));
}

/* An object that comes to be selected is new to the watch, one that no longer is has gone. */
static bool tell_event(struct transport_call *call, const struct fake_event *e)
{
    struct arena a ARENA_SCOPE = {0};
    const struct fake_watch *w = &call->watch;
    if (!is_inside(w, e->key))
        return true;
    struct json now = fake_tree(&a, e->text), was = e->was.n ? fake_tree(&a, e->was) : json_null();
    bool had = e->was.n && fake_selects(&w->labels, &w->fields, &was);
    bool has = !e->is_deletion && fake_selects(&w->labels, &w->fields, &now);
    if (!had && !has)
        return true;
    return tell(call, !has ? S("DELETED") : had ? S("MODIFIED") : S("ADDED"), &now);
}

/* ---- Going on. ---- */

void fake_watch_go_on(struct transport_call *call)
{
    struct fake *f = call->fake;
    while (call->watch.at < f->events.n) {
        struct fake_event e = f->events.p[call->watch.at++];
        if (!tell_event(call, &e))
            return;
    }
}

static void wake(struct transport_call *call)
{
    if (call->state != FAKE_WATCHES || call->is_working)
        return;
    call->is_working = true;
    loop_defer(call->fake->options.loop, &call->work);
}

void fake_watches_wake(struct fake *f)
{
    for (struct transport_call *call = f->calls; call; call = call->next)
        wake(call);
}

static void on_time(void *ctx)
{
    fake_answer(ctx, 200, 0, (str){0});
}

/* ---- Beginning. ---- */

static bool tell_initial(struct transport_call *call)
{
    struct fake *f = call->fake;
    const struct fake_watch *w = &call->watch;
    for (size_t i = 0; i < f->objects.n; i++) {
        struct fake_object o = f->objects.p[i];
        struct arena a ARENA_SCOPE = {0};
        struct json object = is_inside(w, o.key) ? fake_tree(&a, o.text) : json_null();
        if (!json_is_null(&object) && fake_selects(&w->labels, &w->fields, &object) && !tell(call, S("ADDED"), &object))
            return false;
    }
    return true;
}

static bool read_options(struct transport_call *call, const struct fake_place *p)
{
    struct arena *a = &call->arena;
    str target = call->request.target;
    struct fake_watch *w = &call->watch;
    struct err err;
    *w = (struct fake_watch){
        .table = p->table,
        .namespace = p->namespace,
        .api_version = p->kind->group[0] ? str_fmt(a, "%s/%s", p->kind->group, p->kind->version)
                                         : str_dup(a, str_of(p->kind->version)),
        .kind = str_dup(a, str_of(p->kind->kind)),
        .metadata_only = fake_wants_metadata(&call->request),
        .wants_bookmarks = str_eq(fake_param(a, target, S("allowWatchBookmarks")), S("true")),
        .at = call->fake->events.n,
    };
    if (selector_parse(a, fake_param(a, target, S("labelSelector")), &w->labels, &err) == 0 &&
        field_selector_parse(a, fake_param(a, target, S("fieldSelector")), &w->fields, &err) == 0)
        return true;
    struct json status = status_of_err(a, &err);
    fake_refuse(call, &status);
    return false;
}

/* Finds the place in history; false: it is forgotten. */
static bool seek(struct transport_call *call, uint64_t rev)
{
    struct fake *f = call->fake;
    if (rev < f->oldest)
        return false;
    while (call->watch.at && f->events.p[call->watch.at - 1].rev > rev)
        call->watch.at--;
    return true;
}

static void refuse_watch_list(struct transport_call *call)
{
    struct json status = status_build(
        &call->arena,
        &(struct status_args){
            .code = ERR_INVALID,
            .message = S("ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is "
                         "forbidden for watch unless the WatchList feature gate is enabled")});
    fake_refuse(call, &status);
}

static void end_expired(struct transport_call *call, uint64_t rev)
{
    struct json status =
        status_expired(&call->arena, str_fmt(&call->arena, "too old resource version: %llu (%llu)",
                                             (unsigned long long)rev, (unsigned long long)call->fake->oldest));
    if (tell_status(call, &status))
        fake_answer(call, 200, 0, (str){0});
}

void fake_watch_start(struct transport_call *call, const struct fake_place *place)
{
    struct arena *a = &call->arena;
    struct fake *f = call->fake;
    str target = call->request.target;
    uint64_t rev = 0, seconds;
    bool is_list = str_eq(fake_param(a, target, S("sendInitialEvents")), S("true"));
    if (is_list && f->options.no_watch_list) {
        refuse_watch_list(call);
        return;
    }
    if (!read_options(call, place))
        return;
    bool has_rev = str_to_uint64(fake_param(a, target, S("resourceVersion")), &rev) && rev > 0;
    if (has_rev && !is_list && !seek(call, rev)) {
        end_expired(call, rev);
        return;
    }
    call->state = FAKE_WATCHES;
    if ((is_list || !has_rev) && !tell_initial(call))
        return;
    if (is_list && !tell_bookmark(call, true))
        return;
    if (str_to_uint64(fake_param(a, target, S("timeoutSeconds")), &seconds) && seconds > 0 && seconds < 1000000) {
        call->timer = (struct loop_timer){.fn = on_time, .ctx = call};
        loop_timer_set(f->options.loop, &call->timer, (int64_t)seconds * 1000000000);
    }
    wake(call);
}

/* ---- Faults. ---- */

static void cut(struct transport_call *call, enum fake_cut how)
{
    struct arena *a = &call->arena;
    struct json status;
    switch (how) {
    case FAKE_CUT_CLEAN:
        fake_answer(call, 200, 0, (str){0});
        return;
    case FAKE_CUT_EVENT:
        if (fake_tell(call, S("{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Conf")))
            fake_lose(call, false);
        return;
    case FAKE_CUT_GONE:
        status = status_expired(a, S("too old resource version: 1 (2)"));
        if (tell_status(call, &status))
            fake_answer(call, 200, 0, (str){0});
        return;
    }
}

/* The first watch behind this one that was there when the round began; listeners may start and cancel calls meanwhile. */
static struct transport_call *watch_behind(struct fake *f, uint64_t number, uint64_t last)
{
    for (struct transport_call *call = f->calls; call && call->number <= last; call = call->next)
        if (call->state == FAKE_WATCHES && call->number > number)
            return call;
    return NULL;
}

#define each_watch(f, call)                   \
    uint64_t last = (f)->n_calls, number = 0; \
    for (struct transport_call * call; (call = watch_behind((f), number, last)) && (number = call->number);)

size_t fake_cut_watches(struct fake *f, enum fake_cut how)
{
    size_t n = 0;
    each_watch(f, call)
    {
        cut(call, how);
        n++;
    }
    return n;
}

void fake_bookmark(struct fake *f)
{
    each_watch(f, call)
    {
        if (call->watch.wants_bookmarks && call->watch.at == f->events.n)
            (void)tell_bookmark(call, false);
    }
}

void fake_babble(struct fake *f, str bytes)
{
    each_watch(f, call)
    {
        (void)fake_tell(call, bytes);
    }
}
