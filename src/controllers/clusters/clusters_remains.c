/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters_internal.h"
#include "object/object.h"

static const struct client_resource works = CLIENT_RESOURCE(FLEET_WORKS);
static const struct client_resource addons = CLIENT_RESOURCE(FLEET_ADDONS);
static const struct client_resource definitions =
    CLIENT_RESOURCE("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false);

/* A 404 for a list means that the kind is not served; whether that is so for good, its definition says. */
static int is_unknown(struct reconcile *r, const struct client_resource *resource, bool *ret, struct err *err)
{
    str name = str_fmt(r->arena, "%.*s.%.*s", STR(resource->plural), STR(resource->group));
    struct client_ref ref = {.resource = &definitions, .name = name};
    struct err why = {0};
    int code = client_get_metadata(r->client, r->arena, &ref, NULL, &why);
    *ret = code < 0 && client_is_gone(&why);
    return *ret ? 0 : err_wrap(err, "list %.*s in %.*s", STR(resource->plural), STR(r->name));
}

static int list(struct reconcile *r, const struct client_resource *resource, struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = r->name};
    struct client_list_options options = {.metadata_only = true};
    bool is_none = false;
    int code = client_list(r->client, r->arena, &ref, &options, ret, NULL, err);
    if (code == ERR_NOT_FOUND)
        code = is_unknown(r, resource, &is_none, err);
    if (is_none)
        *ret = json_arr();
    return code;
}

static int drop(struct reconcile *r, const struct client_resource *resource, const struct json *object, struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = r->name, .name = object_name(object)};
    struct client_delete_options options = {.uid = object_uid(object), .propagation = S("Background")};
    int code = client_delete(r->client, r->arena, &ref, &options, NULL, err);
    if (code == 0 || code == ERR_CONFLICT || client_is_gone(err))
        return 0; /* another one of this name is found by the next visit */
    return err_wrap(err, "delete %.*s %.*s/%.*s", STR(resource->kind), STR(r->name), STR(ref.name));
}

static int look(struct reconcile *r, const struct client_resource *resource, bool is_removing,
                struct cluster_remains *ret, struct err *err)
{
    struct json items = json_null();
    struct cluster_remains found = {0};
    int code = list(r, resource, &items, err);
    if (code < 0)
        return code;
    json_each_item(&items, item)
    {
        found.n++;
        found.n_pending += object_is_deleting(item) && json_len(object_finalizers(item)) > 0;
        found.n_delivered += object_has_finalizer(item, S(FLEET_FINALIZER_WORK));
        if (is_removing && !object_is_deleting(item) && (code = drop(r, resource, item, err)) < 0)
            return code;
    }
    *ret = found;
    return 0;
}

int cluster_works(struct cluster_visit *v, bool is_removing, struct cluster_remains *ret, struct err *err)
{
    return look(v->reconcile, &works, is_removing, ret, err);
}

int cluster_addons(struct cluster_visit *v, bool is_removing, struct cluster_remains *ret, struct err *err)
{
    return look(v->reconcile, &addons, is_removing, ret, err);
}
