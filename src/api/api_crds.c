/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_crds.h"

#include <assert.h>
#include <stdlib.h>

#include "api/api_value.h"
#include "api/loopback.h"
#include "kinds/builtin.h"
#include "object/meta.h"
#include "object/object.h"
#include "schema/crd.h"

enum { AT_ONCE = 64, AGAIN_NS = 1000000000 };

/* A CRD that something is to be done about: its objects deleted, or its names given once they are free. */
struct unsettled {
    struct unsettled *next;
    struct crds *crds;
    struct arena arena;
    str name, uid, group, plural, version; /* version: a served one; empty: none */
    uint32_t table; /* of its objects; 0: it owns none (crd_owns_objects), and none are deleted */
    bool is_deleting, wants_names;
    bool check_names; /* when the events of this poll are through */
    size_t waiting;   /* deletions at work, and one for the walk itself */
    bool has_failed;
    struct store_list *walk; /* over its objects; NULL: not on the way */
    struct loop_timer again;
    bool is_gone; /* the CRD is; freed when nothing is at work any more */
};

struct crds {
    struct api *api;
    struct unsettled *list;
};

/* ---- Names. ---- */

void crds_accept_names(struct api *api, struct arena *a, struct json *crd)
{
    struct json names;
    struct condition accepted;
    registry_accept_names(a, api->registry, crd, &names, &accepted);
    struct json *conditions = conditions_of(a, crd);
    condition_set(a, conditions, &accepted, &api->options.clock);
    bool is_accepted = str_eq(accepted.status, S("True"));
    if (!condition_is(crd, S("Established"), S("True"))) {
        struct condition established = {.type = S("Established"),
                                        .status = S("False"),
                                        .reason = S("NotAccepted"),
                                        .message = S("not all names are accepted")};
        if (is_accepted)
            established = (struct condition){.type = S("Established"),
                                             .status = S("True"),
                                             .reason = S("InitialNamesAccepted"),
                                             .message = S("the initial names have been accepted")};
        condition_set(a, conditions, &established, &api->options.clock);
    }
    json_set(a, json_get_mut(crd, S("status")), S("acceptedNames"), names);
}

static const struct kind *crd_kind(void)
{
    return kind_builtin_by_body(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition"));
}

static str crd_path(struct arena *a, str name, const char *sub)
{
    return str_fmt(a, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%.*s%s", STR(name), sub);
}

static void ignore(void *ctx, int status, struct http_headers headers, str body)
{
    (void)ctx;
    (void)status;
    (void)headers;
    (void)body;
}

/* ---- Permissions: one verb on one resource, whatever RBAC grants. ---- */

struct crds_permission {
    str verb, group, name; /* name: of the only object; empty: all */
    str resources[2];
    size_t n_resources;
    struct rule rule; /* made of the above by crds_identity */
    struct rules rules;
};

/* The identity that holds this permission and no other; it points into p. */
static struct authz_identity crds_identity(struct crds_permission *p)
{
    p->rule = (struct rule){.verbs = {&p->verb, 1},
                            .api_groups = {&p->group, 1},
                            .resources = {p->resources, p->n_resources},
                            .resource_names = {&p->name, p->name.n ? 1 : 0}};
    p->rules = (struct rules){&p->rule, 1};
    return (struct authz_identity){.user = S("system:reeve:crd-controller"), .only = &p->rules};
}

/* Merges into the CRD unless it has changed meanwhile; then its next event brings us here again. */
static void merge(struct api *api, struct arena *a, str path, const struct json *crd, struct json patch)
{
    struct crds_permission may = {
        .verb = S("patch"),
        .group = S("apiextensions.k8s.io"),
        .name = object_name(crd),
        .resources = {S_INIT("customresourcedefinitions"), S_INIT("customresourcedefinitions/status")},
        .n_resources = 2,
    };
    struct json *metadata = meta_of(a, &patch);
    json_set(a, metadata, S("resourceVersion"), json_str(object_rv(crd)));
    struct buf body = {.arena = a};
    json_encode(&body, &patch, 0);
    struct loopback_call call = {.who = crds_identity(&may),
                                 .method = S("PATCH"),
                                 .target = path,
                                 .content_type = S("application/merge-patch+json"),
                                 .body = buf_str(&body),
                                 .done = ignore};
    loopback_start(api, &call);
}

/* Whether its status says of its names what is so. */
static bool has_settled_names(struct api *api, const struct json *crd)
{
    struct arena a ARENA_SCOPE = {0};
    struct json names;
    struct condition accepted;
    registry_accept_names(&a, api->registry, crd, &names, &accepted);
    const struct json *status = json_get(crd, S("status"));
    const struct json *known = condition_find(json_get(status, S("conditions")), S("NamesAccepted"));
    return str_eq(json_get_text(known, S("status")), accepted.status) &&
           json_equal(json_get(status, S("acceptedNames")), &names);
}

uint32_t crds_table(struct api *api, const struct json *crd)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json *spec = json_get(crd, S("spec"));
    assert(crd_owns_objects(crd));
    str plural = json_text(json_dig(crd, "status.acceptedNames.plural"));
    return store_table(api->store, str_fmt(&scratch, "%.*s/%.*s", STR(json_get_text(spec, S("group"))), STR(plural)));
}

static void settle_names(struct api *api, str name)
{
    struct arena a ARENA_SCOPE = {0};
    struct json crd;
    if (value_get(api, &a, crd_kind(), (str){0}, name, &crd, NULL, NULL) < 0 || has_settled_names(api, &crd))
        return;
    crds_accept_names(api, &a, &crd);
    struct json patch = json_obj();
    json_add(&a, &patch, S("status"), *json_get(&crd, S("status")));
    merge(api, &a, crd_path(&a, name, "/status"), &crd, patch);
}

/* ---- Deleting its objects. ---- */

static void clean(struct unsettled *u);

static void clean_again(void *ctx)
{
    clean(ctx);
}

static void unsettled_free(struct crds *c, struct unsettled *u)
{
    struct unsettled **at = &c->list;
    while (*at != u)
        at = &(*at)->next;
    *at = u->next;
    loop_timer_cancel(c->api->options.loop, &u->again);
    store_list_close(u->walk);
    arena_done(&u->arena);
    free(u);
}

/* Always from the loop, never from within an event or an answer. */
static void try_in(struct unsettled *u, int64_t delay)
{
    u->again.fn = clean_again;
    u->again.ctx = u;
    loop_timer_set(u->crds->api->options.loop, &u->again, delay);
}

/* All objects are gone: so may the CRD. */
static void let_go(struct unsettled *u)
{
    struct api *api = u->crds->api;
    struct arena a ARENA_SCOPE = {0};
    struct json crd;
    if (value_get(api, &a, crd_kind(), (str){0}, u->name, &crd, NULL, NULL) < 0 || !str_eq(object_uid(&crd), u->uid) ||
        !meta_remove_finalizer(&crd, CRDS_FINALIZER))
        return;
    struct json patch = json_obj();
    const struct json *finalizers = object_finalizers(&crd);
    json_add(&a, meta_of(&a, &patch), S("finalizers"), finalizers ? *finalizers : json_arr());
    merge(api, &a, crd_path(&a, u->name, ""), &crd, patch);
    try_in(u, AGAIN_NS); /* in case that failed; its deletion ends this */
}

static bool has_objects(const struct unsettled *u)
{
    return u->table && store_count(u->crds->api->store, u->table) > 0;
}

static void deletion_done(struct unsettled *u)
{
    if (--u->waiting > 0)
        return;
    if (u->is_gone)
        unsettled_free(u->crds, u);
    else if (u->walk || !has_objects(u))
        try_in(u, 0);
    else if (u->has_failed)
        try_in(u, AGAIN_NS);
}

static void deleted(void *ctx, int status, struct http_headers headers, str body)
{
    struct unsettled *u = ctx;
    (void)headers;
    (void)body;
    u->has_failed |= status >= 300 && status != 404;
    deletion_done(u);
}

/* Whether requests to the path of its objects reach objects of this very CRD: not those of a built-in kind, nor of a later CRD of
 * the same name. */
static bool is_served(const struct unsettled *u)
{
    const struct kind *kind = registry_by_path(u->crds->api->registry, u->group, u->version, u->plural);
    return kind && (kind->flags & KIND_CUSTOM) && str_eq(str_of(kind->crd), u->name) &&
           str_eq(str_of(kind->crd_uid), u->uid) && api_table(u->crds->api, kind) == u->table;
}

/* With the permission to delete this one resource. The uid makes sure that the object is the one that was seen. */
static void delete_object(struct unsettled *u, const struct store_item *item, str uid)
{
    struct arena a ARENA_SCOPE = {0};
    struct buf target = {.arena = &a};
    buf_fmt(&target, "/apis/%.*s/%.*s/", STR(u->group), STR(u->version));
    if (item->namespace.n)
        buf_fmt(&target, "namespaces/%.*s/", STR(item->namespace));
    buf_fmt(&target, "%.*s/", STR(u->plural));
    percent_encode(&target, item->name);
    struct crds_permission may = {.verb = S("delete"), .group = u->group, .resources = {u->plural}, .n_resources = 1};
    struct loopback_call call = {.who = crds_identity(&may),
                                 .method = S("DELETE"),
                                 .target = buf_str(&target),
                                 .body = str_fmt(&a, "{\"preconditions\":{\"uid\":\"%.*s\"}}", STR(uid)),
                                 .done = deleted,
                                 .ctx = u};
    u->waiting++;
    loopback_start(u->crds->api, &call);
}

/* Begins up to AT_ONCE deletions; false when the walk is over. Those that finalizers hold are left to their owners. */
static bool walk_on(struct unsettled *u)
{
    struct store_item item;
    struct err err;
    int code = 1;
    for (size_t n = 0; n < AT_ONCE && (code = store_list_next(u->walk, &item, &err)) > 0;) {
        struct arena a ARENA_SCOPE = {0};
        struct json metadata;
        if (value_metadata(&a, &item, &metadata, NULL) < 0) {
            u->has_failed = true;
            continue;
        }
        if (!json_is_null(json_get(&metadata, S("deletionTimestamp"))))
            continue;
        delete_object(u, &item, json_get_text(&metadata, S("uid")));
        n++;
    }
    u->has_failed |= code < 0;
    return code > 0;
}

/* The next handful of deletions; their answers bring us back, until the walk is over. After that the deletion of the last
 * object does, or the timer if something failed. */
static void clean(struct unsettled *u)
{
    if (u->waiting || u->is_gone || !u->is_deleting)
        return;
    if (!has_objects(u)) {
        let_go(u);
        return;
    }
    if (!is_served(u)) { /* no version is served: until one is, its objects cannot be reached */
        store_list_close(u->walk);
        u->walk = NULL;
        try_in(u, AGAIN_NS);
        return;
    }
    if (!u->walk) {
        struct store_range range = {.table = u->table, .all_namespaces = true};
        u->walk = store_list_open(u->crds->api->store, &range);
        u->has_failed = false;
    }
    u->waiting = 1;
    if (!walk_on(u)) {
        store_list_close(u->walk);
        u->walk = NULL;
    }
    deletion_done(u);
}

/* ---- What is seen. ---- */

static struct unsettled *find(struct crds *c, str name)
{
    for (struct unsettled *u = c->list; u; u = u->next)
        if (str_eq(u->name, name) && !u->is_gone)
            return u;
    return NULL;
}

static str served_version(const struct json *crd)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    json_each_item(versions, v)
    {
        if (json_true(json_get(v, S("served"))))
            return json_get_text(v, S("name"));
    }
    return (str){0};
}

static struct unsettled *add(struct crds *c, const struct json *crd)
{
    struct unsettled *u = xcalloc(1, sizeof *u);
    const struct json *spec = json_get(crd, S("spec"));
    struct arena *a = &u->arena;
    u->crds = c;
    u->name = str_dup(a, object_name(crd));
    u->uid = str_dup(a, object_uid(crd));
    u->group = str_dup(a, json_get_text(spec, S("group")));
    u->plural = str_dup(a, json_get_text(json_get(spec, S("names")), S("plural")));
    u->version = str_dup(a, served_version(crd));
    u->next = c->list;
    c->list = u;
    return u;
}

static void forget(struct crds *c, struct unsettled *u)
{
    u->is_gone = true;
    if (u->waiting == 0)
        unsettled_free(c, u);
}

static void check_all(struct crds *c)
{
    for (struct unsettled *u = c->list; u; u = u->next)
        u->check_names |= u->wants_names;
}

/* Its objects can be reached by another path than before: those that were not are tried again. */
static bool has_moved(struct unsettled *u, const struct json *crd)
{
    str version = served_version(crd);
    if (str_eq(u->version, version))
        return false;
    u->version = str_dup(&u->arena, version);
    u->has_failed = true;
    return true;
}

void crds_seen(struct crds *c, str name, const struct json *crd)
{
    struct unsettled *u = find(c, name);
    if (u && crd && !str_eq(object_uid(crd), u->uid)) {
        forget(c, u);
        u = NULL;
    }
    bool is_dying = crd && object_is_deleting(crd) && object_has_finalizer(crd, CRDS_FINALIZER);
    bool has_settled = !crd || is_dying || has_settled_names(c->api, crd);
    bool wants_names = !has_settled || (crd && !is_dying && !condition_is(crd, S("NamesAccepted"), S("True")));
    if (!crd)
        check_all(c);
    if (!is_dying && !wants_names) {
        if (u)
            forget(c, u);
        return;
    }
    if (!u)
        u = add(c, crd);
    u->table = crd_owns_objects(crd) ? crds_table(c->api, crd) : 0;
    u->wants_names = wants_names;
    u->check_names = !has_settled;
    if (is_dying && (has_moved(u, crd) || !u->is_deleting))
        try_in(u, 0);
    u->is_deleting = is_dying;
}

void crds_settle(struct crds *c)
{
    for (struct unsettled *u = c->list; u; u = u->next) {
        if (u->check_names && !u->is_gone)
            settle_names(c->api, u->name);
        u->check_names = false;
    }
}

void crds_object_deleted(struct crds *c, uint32_t table)
{
    for (struct unsettled *u = c->list; u; u = u->next)
        if (u->is_deleting && u->table == table && !has_objects(u))
            try_in(u, 0);
}

struct crds *crds_new(struct api *api)
{
    struct crds *c = xcalloc(1, sizeof *c);
    c->api = api;
    return c;
}

void crds_free(struct crds *c)
{
    while (c && c->list)
        unsettled_free(c, c->list);
    free(c);
}
