/* SPDX-License-Identifier: Apache-2.0 */
/* People's data: objects of the kinds that a package owns. */
#include "controllers/installs/installs_internal.h"
#include "object/object.h"

enum { PLACES_TOLD = 5 };

/* False: there can be no objects of it. No version that is served: the kind has no name in paths, but may have objects in store. */
static bool resource_of(struct installs *s, struct arena *a, str crd, struct client_resource *ret)
{
    struct crd_row row;
    if (!crd_table_get(s->crds, a, crd, &row) || !row.is_established)
        return false;
    *ret =
        (struct client_resource){row.crd.group, row.version, row.crd.plural, row.crd.kind, !row.crd.is_cluster_scoped};
    return true;
}

struct place {
    str namespace;
    uint64_t n;
};

/* " (2 in team-a, 1 in team-b and more)"; items are sorted by namespace. */
static void tell_places(struct buf *b, const struct json *items)
{
    struct place places[PLACES_TOLD];
    size_t n = 0;
    bool is_more = false;
    json_each_item(items, it)
    {
        str namespace = object_namespace(it);
        if (n && str_eq(places[n - 1].namespace, namespace)) {
            places[n - 1].n++;
        } else if (n == PLACES_TOLD) {
            is_more = true;
            break;
        } else {
            places[n++] = (struct place){namespace, 1};
        }
    }
    if (n == 0 || places[0].namespace.n == 0)
        return;
    buf_add_str(b, S(" ("));
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "%s%llu in %.*s", i ? ", " : "", (unsigned long long)places[i].n, STR(places[i].namespace));
    buf_add_str(b, is_more ? S(" and more)") : S(")"));
}

/* Asks anew each time: what a cache says may be old, and this is about people's data. Only a list that is empty counts as empty: a
 * kind that no version serves, or that is just not found, may have objects in store. */
int instances_count(struct client *c, struct installs *s, struct arena *a, const struct instances_of *list, size_t n,
                    struct instances *ret, struct err *err)
{
    struct buf text = {.arena = a};
    *ret = (struct instances){0};
    for (size_t i = 0; i < n; i++) {
        struct client_resource resource;
        struct json items;
        if (!resource_of(s, a, list[i].crd, &resource))
            continue;
        if (resource.version.n == 0) {
            buf_fmt(&text, "%s%.*s that no version serves", ret->n ? ", " : "", STR(resource.plural));
            ret->n++;
            continue;
        }
        struct client_ref ref = {.resource = &resource, .namespace = list[i].namespace};
        struct client_list_options options = {.metadata_only = true};
        int code = client_list(c, a, &ref, &options, &items, NULL, err);
        if (code < 0)
            return err_wrap(err, "count the objects of %.*s", STR(list[i].crd));
        if (json_len(&items) == 0)
            continue;
        buf_fmt(&text, "%s%zu %.*s", ret->n ? ", " : "", json_len(&items), STR(resource.plural));
        tell_places(&text, &items);
        ret->n += json_len(&items);
    }
    ret->text = buf_str(&text);
    return 0;
}

static int delete_in(struct client *c, struct arena *a, const struct client_resource *resource, str namespace,
                     struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = namespace};
    struct client_delete_options options = {.is_collection = true};
    int code = client_delete(c, a, &ref, &options, NULL, err);
    return code == ERR_NOT_FOUND ? 0 : code;
}

/* An install in a namespace speaks for that namespace alone. */
int instances_delete(struct visit *v, const struct instances_of *list, size_t n, uint64_t *ret_found, struct err *err)
{
    struct client *c = v->r->client;
    struct arena *a = v->a;
    *ret_found = 0;
    for (size_t i = 0; i < n; i++) {
        struct client_resource resource;
        struct json items = json_arr();
        if (!resource_of(v->s, a, list[i].crd, &resource) || resource.version.n == 0)
            continue;
        struct client_ref ref = {.resource = &resource, .namespace = object_namespace(&v->install)};
        struct client_list_options options = {.metadata_only = true};
        int code = client_list(c, a, &ref, &options, &items, NULL, err);
        str last = {0};
        bool is_first = true;
        *ret_found += json_len(&items);
        json_each_item(&items, it)
        {
            str namespace = object_namespace(it);
            if (code < 0 || (!is_first && str_eq(last, namespace)))
                continue;
            code = delete_in(c, a, &resource, namespace, err);
            last = namespace;
            is_first = false;
        }
        if (code < 0 && code != ERR_NOT_FOUND)
            return err_wrap(err, "delete the objects of %.*s", STR(list[i].crd));
    }
    return 0;
}
