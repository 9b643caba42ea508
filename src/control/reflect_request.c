/* SPDX-License-Identifier: Apache-2.0 */
#include "control/reflect_internal.h"

#include "object/object.h"

static const int64_t page_ns = 120 * NS_PER_S;
enum {
    WATCH_SECONDS = 300, /* at least, and less than twice that: watches of many clients end at different times */
    WATCH_GRACE_SECONDS = 30,
};

static void add_selectors(const struct reflector *r, struct buf *target)
{
    client_query(target, S("labelSelector"), r->options.label_selector);
    client_query(target, S("fieldSelector"), r->options.field_selector);
}

static void add_number(struct buf *target, str name, uint64_t number)
{
    char room[24];
    struct arena a ARENA_SCOPE = ARENA_IN(room);
    struct buf text = {.arena = &a};
    buf_add_uint(&text, number);
    client_query(target, name, buf_str(&text));
}

/* A list without a resourceVersion is what the server holds now, not what one of its caches held some time ago: whoever acts
 * on what is absent needs that. */
static void add_page(const struct reflector *r, struct buf *target)
{
    if (r->limit)
        add_number(target, S("limit"), r->limit);
    client_query(target, S("continue"), buf_str(&r->token));
}

static int64_t add_watch(const struct reflector *r, struct buf *target, bool is_initial)
{
    client_query(target, S("watch"), S("true"));
    client_query(target, S("allowWatchBookmarks"), S("true"));
    if (is_initial) {
        client_query(target, S("sendInitialEvents"), S("true"));
        client_query(target, S("resourceVersionMatch"), S("NotOlderThan"));
    } else {
        client_query(target, S("resourceVersion"), buf_str(&r->version));
    }
    uint32_t seconds = WATCH_SECONDS + random_below(&r->options.random, WATCH_SECONDS);
    add_number(target, S("timeoutSeconds"), seconds);
    return (int64_t)(seconds + WATCH_GRACE_SECONDS) * 1000000000;
}

void reflect_ask(struct reflector *r, enum reflect_stage stage, const struct client_listener *listener)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf target = {.arena = &a};
    const struct reflect_options *o = &r->options;
    client_path(&target, &(struct client_ref){.resource = &o->resource, .namespace = o->namespace});
    add_selectors(r, &target);
    struct client_request request = {.method = S("GET"), .total_ns = page_ns};
    if (stage == REFLECT_PAGES)
        add_page(r, &target);
    else
        request.total_ns = add_watch(r, &target, stage == REFLECT_INITIAL);
    if (o->metadata_only && stage == REFLECT_PAGES)
        request.accept = S("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
    else if (o->metadata_only)
        request.accept = S("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    request.target = buf_str(&target);
    r->stage = stage;
    r->has_heard = false;
    r->started = loop_now(o->loop);
    r->call = client_start(o->client, &request, listener, r);
}

static bool is_kind_known(const struct reflector *r, str kind)
{
    return kind.n == 0 || r->options.resource.kind.n == 0 || str_eq(kind, r->options.resource.kind) ||
           (r->options.metadata_only && str_eq(kind, S("PartialObjectMetadata")));
}

/* Items of lists do not say what they are; metadata says that it is metadata. */
int reflect_shape(const struct reflector *r, struct arena *a, struct json *object, struct err *err)
{
    if (!is_kind_known(r, object_kind(object)))
        return err_set(err, ERR_BAD_REQUEST, "an object is of kind \"%.*s\"", STR(str_upto(object_kind(object), 64)));
    const struct client_resource *resource = &r->options.resource;
    str kind = resource->kind.n ? resource->kind : object_kind(object);
    str api_version = client_api_version(a, resource);
    if (!r->options.metadata_only && str_eq(object_kind(object), kind) &&
        str_eq(object_api_version(object), api_version))
        return 0;
    struct json shaped = json_obj_sized(a, object->n + 2);
    json_add(a, &shaped, S("apiVersion"), json_str(api_version));
    json_add(a, &shaped, S("kind"), json_str(kind));
    json_each_member(object, m)
    {
        str key = json_key(m);
        bool is_said = str_eq(key, S("apiVersion")) || str_eq(key, S("kind"));
        if (!is_said && (!r->options.metadata_only || str_eq(key, S("metadata"))))
            json_add(a, &shaped, key, m->val);
    }
    *object = shaped;
    return 0;
}
