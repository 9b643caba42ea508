/* SPDX-License-Identifier: Apache-2.0 */
/* What the server fills into a CustomResourceDefinition. */
#include "schema/crd.h"

static bool is_absent(const struct json *v)
{
    return json_is_null(v) || (json_is_str(v) && v->n == 0);
}

/* The member as an object, made when it is not there. */
static struct json *object_at(struct arena *a, struct json *parent, str key)
{
    struct json *v = json_get_mut(parent, key);
    return v && v->type != JSON_NULL ? v : json_set(a, parent, key, json_obj());
}

static void default_names(struct arena *a, struct json *names)
{
    str kind = json_get_text(names, S("kind"));
    if (is_absent(json_get(names, S("singular"))) && kind.n)
        json_set(a, names, S("singular"), json_str(str_lower(a, kind)));
    if (is_absent(json_get(names, S("listKind"))) && kind.n)
        json_set(a, names, S("listKind"), json_str(str_fmt(a, "%.*sList", STR(kind))));
}

static void default_conversion(struct arena *a, struct json *spec)
{
    struct json *conversion = json_get_mut(spec, S("conversion"));
    if (json_is_null(conversion)) {
        json_set(a, spec, S("conversion"), json_build(a, "{strategy: 'None'}"));
        return;
    }
    struct json *webhook = json_get_mut(conversion, S("webhook"));
    struct json *client = json_get_mut(webhook, S("clientConfig"));
    struct json *service = json_get_mut(client, S("service"));
    if (json_is_obj(service) && json_is_null(json_get(service, S("port"))))
        json_set(a, service, S("port"), json_int(443));
}

void crd_default(struct arena *a, struct json *crd)
{
    struct json *spec = json_get_mut(crd, S("spec")), *names = json_get_mut(spec, S("names"));
    if (!json_is_obj(spec))
        return;
    if (json_is_obj(names))
        default_names(a, names);
    default_conversion(a, spec);
}

static str storage_version(const struct json *crd)
{
    const struct json *versions = json_dig(crd, "spec.versions");
    json_each_item(versions, it)
    {
        if (json_true(json_get(it, S("storage"))))
            return json_get_text(it, S("name"));
    }
    return (str){0};
}

static void store_version(struct arena *a, struct json *crd)
{
    str name = storage_version(crd);
    if (name.n == 0)
        return;
    struct json *status = object_at(a, crd, S("status")), *stored = json_get_mut(status, S("storedVersions"));
    if (!json_is_arr(stored))
        stored = json_set(a, status, S("storedVersions"), json_arr());
    json_each_item(stored, it)
    {
        if (str_eq(json_text(it), name))
            return;
    }
    json_push(a, stored, json_str(name));
}

void crd_prepare_create(struct arena *a, struct json *crd)
{
    json_set(a, crd, S("status"),
             json_build(a, "{conditions: null, acceptedNames: {plural: '', kind: ''}, storedVersions: null}"));
    store_version(a, crd);
}

void crd_prepare_update(struct arena *a, struct json *crd, const struct json *old)
{
    const struct json *status = json_get(old, S("status"));
    if (json_is_obj(status))
        json_set(a, crd, S("status"), json_dup(a, status));
    else
        json_remove(crd, S("status"));
    store_version(a, crd);
}
