/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/garbage/garbage_internal.h"
#include "object/object.h"

#define LATER_NS (10 * NS_PER_MS)  /* the first time; doubles each time… */
#define LATEST_NS (300 * NS_PER_S) /* …up to this */

static const struct client_write_options writes = {.field_manager = GARBAGE_MANAGER};

bool live_look(struct garbage *g, struct reconcile *r, struct live *ret)
{
    *ret = (struct live){.garbage = g, .r = r};
    pthread_mutex_lock(&g->lock);
    bool is_there = g->kinds && graph_find(g->graph, r->arena, r->name, &ret->item);
    if (is_there)
        ret->kinds = kinds_ref(g->kinds);
    pthread_mutex_unlock(&g->lock);
    return is_there;
}

void live_done(struct live *l)
{
    kinds_unref(l->kinds);
}

static struct client_ref ref_to(const struct client_resource *resource, const struct graph_id *id)
{
    return (struct client_ref){
        .resource = resource, .namespace = resource->namespaced ? id->namespace : (str){0}, .name = id->name};
}

/* An object with a uid, and the one that was asked for: only such a one can say that another was there before it. */
static bool is_named(const struct json *object, const struct client_ref *ref)
{
    return object_uid(object).n && str_eq(object_name(object), ref->name) &&
           str_eq(object_namespace(object), ref->namespace);
}

enum live_answer live_get(const struct live *l, const struct graph_id *id, struct json *ret, struct err *err)
{
    const struct client_resource *resource = kinds_find(l->kinds, id->api_version, id->kind);
    if (resource == NULL)
        return LIVE_UNKNOWN;
    if (resource->namespaced && id->namespace.n == 0)
        return LIVE_INVALID;
    struct client_ref ref = ref_to(resource, id);
    int code = client_get_metadata(l->r->client, l->r->arena, &ref, ret, err);
    if (code == 0 && !is_named(ret, &ref))
        code = err_set(err, ERR_IO, "the answer of the server is another object, or none");
    if (code == 0)
        return str_eq(object_uid(ret), id->uid) ? LIVE_THERE : LIVE_GONE;
    if (code == ERR_NOT_FOUND)
        return client_is_gone(err) ? LIVE_GONE : LIVE_UNKNOWN;
    (void)err_wrap(err, "get %.*s %.*s", STR(id->kind), STR(id->name));
    return LIVE_FAILED;
}

static int64_t delay(unsigned attempts)
{
    int64_t ns = LATER_NS << attempts; /* at most 30 */
    return ns < LATEST_NS ? ns : LATEST_NS;
}

void live_later(const struct live *l)
{
    struct garbage *g = l->garbage;
    pthread_mutex_lock(&g->lock);
    unsigned attempts = graph_count_attempt(g->graph, l->item.id.uid);
    pthread_mutex_unlock(&g->lock);
    l->r->again_ns = delay(attempts);
}

void live_deny(const struct live *l)
{
    struct garbage *g = l->garbage;
    pthread_mutex_lock(&g->lock);
    bool goes_on = graph_deny(g->graph, &l->item.id);
    pthread_mutex_unlock(&g->lock);
    if (goes_on)
        live_later(l);
}

/* ---- Writes. ---- */

int live_delete(const struct live *l, str propagation, struct err *err)
{
    const struct graph_id *id = &l->item.id;
    struct client_ref ref = ref_to(l->resource, id);
    struct client_delete_options options = {.propagation = propagation, .uid = id->uid, .version = object_rv(&l->tree)};
    int code = client_delete(l->r->client, l->r->arena, &ref, &options, NULL, err);
    if (code == 0 || client_is_gone(err))
        return 0;
    return err_wrap(err, "delete %.*s %.*s", STR(id->kind), STR(id->name));
}

static int patch(const struct live *l, const struct graph_id *id, enum client_patch type, const struct json *text,
                 struct json *ret, struct err *err)
{
    const struct client_resource *resource = kinds_find(l->kinds, id->api_version, id->kind);
    struct client_ref ref = ref_to(resource, id);
    struct client_patch_args args = {.type = type, .patch = text, .options = writes};
    int code = client_patch(l->r->client, l->r->arena, &ref, &args, ret, err);
    if (code == ERR_UNSUPPORTED_MEDIA_TYPE && type == CLIENT_PATCH_STRATEGIC)
        kinds_set_plain(l->kinds, resource);
    return code;
}

static int refuse_unknown(const struct graph_id *id, struct err *err)
{
    return err_set(err, ERR_UNAVAILABLE, "the server has no %.*s %.*s now", STR(id->api_version), STR(id->kind));
}

static int drop_owners_merge(const struct live *l, const struct graph_id *id, struct uids owners, struct err *err)
{
    struct json tree;
    switch (live_get(l, id, &tree, err)) {
    case LIVE_THERE:
        break;
    case LIVE_GONE:
        return 0;
    case LIVE_FAILED:
        return err->code;
    default:
        return refuse_unknown(id, err);
    }
    struct json text = patch_owners_merge(l->r->arena, &tree, owners);
    return patch(l, id, CLIENT_PATCH_MERGE, &text, NULL, err);
}

int live_drop_owners(const struct live *l, const struct graph_id *id, struct uids owners, struct err *err)
{
    const struct client_resource *resource = kinds_find(l->kinds, id->api_version, id->kind);
    if (resource == NULL)
        return refuse_unknown(id, err);
    int code = ERR_UNSUPPORTED_MEDIA_TYPE;
    if (!kinds_is_plain(l->kinds, resource)) {
        struct json text = patch_owners_strategic(l->r->arena, id->uid, owners);
        code = patch(l, id, CLIENT_PATCH_STRATEGIC, &text, NULL, err);
    }
    if (code == ERR_UNSUPPORTED_MEDIA_TYPE)
        code = drop_owners_merge(l, id, owners, err);
    if (code == 0 || client_is_gone(err))
        return 0;
    return err_wrap(err, "take owners off %.*s %.*s", STR(id->kind), STR(id->name));
}

int live_unblock(struct live *l, struct err *err)
{
    struct json text;
    int code = ERR_UNSUPPORTED_MEDIA_TYPE;
    if (!kinds_is_plain(l->kinds, l->resource)) {
        if (!patch_unblock_strategic(l->r->arena, &l->tree, &text))
            return 0;
        code = patch(l, &l->item.id, CLIENT_PATCH_STRATEGIC, &text, &l->tree, err);
    }
    if (code == ERR_UNSUPPORTED_MEDIA_TYPE) {
        if (!patch_unblock_merge(l->r->arena, &l->tree, &text))
            return 0;
        code = patch(l, &l->item.id, CLIENT_PATCH_MERGE, &text, &l->tree, err);
    }
    return code < 0 ? err_wrap(err, "let %.*s block nobody", STR(l->item.id.name)) : 0;
}

int live_finalize(const struct live *l, str finalizer, struct err *err)
{
    struct json text;
    if (!patch_finalizer(l->r->arena, &l->tree, finalizer, &text))
        return 0;
    int code = patch(l, &l->item.id, CLIENT_PATCH_MERGE, &text, NULL, err);
    if (code == 0 || client_is_gone(err))
        return 0;
    return err_wrap(err, "take finalizer %.*s off %.*s %.*s", STR(finalizer), STR(l->item.id.kind),
                    STR(l->item.id.name));
}
