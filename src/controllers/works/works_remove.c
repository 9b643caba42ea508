/* SPDX-License-Identifier: Apache-2.0 */
/* Taking back. What is known to have been made, or meant to be, and is wanted no longer:
 *
 *   AppliedManifestWork: its list ─┐
 *   objects that name it as owner ─┴─ less what items ask for ─► the server's own copy ─┬─ gone ─► forgotten
 *                                                                                       ├─ not ours ─► forgotten, untouched
 *                                                                                       ├─ adopted ─► loses the agent's marks
 *                                                                                       ├─ orphaned, shared, or undeletable
 *                                                                                       │    ─► loses its owner
 *                                                                                       └─ ours ─► deleted, by uid and version */
#include "base/map.h"
#include "client/client_discovery.h"
#include "controllers/garbage/garbage_patch.h"
#include "controllers/works/works_content.h"
#include "controllers/works/works_internal.h"
#include "controllers/works/works_owners.h"
#include "object/fleet.h"
#include "object/object.h"

#include <stdlib.h>

#define GOING_NS (1 * NS_PER_S)

struct surplus {
    struct client_resource resource;
    str namespace, name;
    str recorded; /* uid */
    size_t order;
    struct work_item *withheld; /* it is asked for, and may not stand; NULL: it is not asked for */
};

struct removal {
    struct visit *v;
    struct map wanted;   /* key → something */
    struct map withheld; /* key → struct work_item * */
    struct map open;     /* group and name → a manifest of whose objects not all is known */
    VEC(struct surplus) list;
    struct json pending;
};

static str key_of(struct arena *a, const struct client_resource *r, str namespace, str name)
{
    return str_fmt(a, "%.*s/%.*s/%.*s/%.*s", STR(r->group), STR(r->plural), STR(namespace), STR(name));
}

/* ---- What is not wanted. ---- */

/* A manifest whose kind nobody knows now, or whose namespaces, may be what an object was made from. */
static bool is_open(const struct work_item *item)
{
    return !item->resource.kind.n || (item->report.manifest->selector && item->report.reason.n && !item->namespace.n);
}

static str open_key(struct arena *a, str group, str name)
{
    return str_fmt(a, "%.*s/%.*s", STR(group), STR(name));
}

static void add(struct removal *m, const struct client_resource *resource, str namespace, str name, str uid)
{
    str key = key_of(m->v->a, resource, namespace, name);
    struct work_item *withheld = map_del(&m->withheld, key);
    if (!withheld && map_get(&m->wanted, key))
        return;
    map_set(&m->wanted, key, m); /* once */
    if (map_get(&m->open, open_key(m->v->a, resource->group, name)))
        json_push(m->v->a, &m->pending, applied_entry(m->v->a, resource, namespace, name, uid));
    else
        *vec_push(m->v->a, &m->list) = (struct surplus){*resource, namespace, name, uid, m->list.n, withheld};
}

static void gather(struct removal *m)
{
    struct visit *v = m->v;
    struct target_found *found;
    for (size_t i = 0; i < v->n; i++) {
        struct work_item *item = &v->items[i];
        if (is_open(item))
            map_set(&m->open, open_key(v->a, item->report.manifest->group, item->name), item);
        else if (!item->twin) /* the first of them says it */
            map_set(item->is_withheld ? &m->withheld : &m->wanted,
                    key_of(v->a, &item->resource, item->namespace, item->name), item);
    }
    json_each_item(json_dig(&v->applied, "status.appliedResources"), entry)
    {
        str namespace = json_get_text(entry, S("namespace"));
        struct client_resource resource = {
            .group = json_get_text(entry, S("group")),
            .version = json_get_text(entry, S("version")),
            .plural = json_get_text(entry, S("resource")),
            .kind = json_get_text(entry, S("resource")),
            .namespaced = namespace.n > 0,
        };
        add(m, &resource, namespace, json_get_text(entry, S("name")), json_get_text(entry, S("uid")));
    }
    size_t n = targets_owned(v->w->targets, v->a, object_uid(&v->applied), &found);
    for (size_t i = 0; i < n; i++)
        add(m, &found[i].resource, found[i].namespace, found[i].name, (str){0});
}

/* The reverse of the order in which things are made; bindings before the roles that they name. */
static int rank_of(const struct surplus *s)
{
    bool is_rbac = str_eq(s->resource.group, S(WORKS_RBAC));
    if (is_rbac)
        return str_has_suffix(s->resource.plural, S("bindings")) ? 1 : 2;
    bool is_base = str_eq(s->resource.group, S("apiextensions.k8s.io")) ||
                   (!s->resource.group.n && str_eq(s->resource.plural, S("namespaces")));
    return is_base ? 3 : 0;
}

static int by_rank(const void *x, const void *y)
{
    const struct surplus *l = x, *r = y;
    int ranks = rank_of(l) - rank_of(r);
    return ranks ? ranks : l->order < r->order ? -1 : l->order > r->order;
}

/* ---- One object. ---- */

/* What is asked for is recorded anyway. */
static void keep_listed(struct removal *m, const struct surplus *s, str uid)
{
    if (s->withheld)
        s->withheld->uid = uid;
    else
        json_push(m->v->a, &m->pending, applied_entry(m->v->a, &s->resource, s->namespace, s->name, uid));
}

static void keep_pending(struct removal *m, const struct surplus *s, str uid)
{
    keep_listed(m, s, uid);
    visit_again(m->v, GOING_NS);
}

static int disown(struct removal *m, const struct surplus *s, const struct json *live, struct err *err)
{
    struct visit *v = m->v;
    struct client_ref ref = {.resource = &s->resource, .namespace = s->namespace, .name = s->name};
    VEC(str) uids = {0};
    json_each_item(object_owners(live), o)
    {
        if (str_eq(json_get_text(o, S("name")), v->applied_name) &&
            str_eq(json_get_text(o, S("kind")), S("AppliedManifestWork")))
            *vec_push(v->a, &uids) = json_get_text(o, S("uid"));
    }
    struct json patch = patch_owners_merge(v->a, live, (struct uids){uids.p, uids.n});
    struct client_patch_args args = {
        .type = CLIENT_PATCH_MERGE, .patch = &patch, .options = {.field_manager = WORKS_MANAGER}};
    int code = client_patch(v->managed, v->a, &ref, &args, NULL, err);
    return code < 0 && client_is_gone(err) ? 0 : code;
}

/* What the agent has put on an adopted object goes, and the object stays. */
static int release(struct removal *m, const struct surplus *s, const struct json *live, struct err *err)
{
    struct visit *v = m->v;
    struct client_ref ref = {.resource = &s->resource, .namespace = s->namespace, .name = s->name};
    struct json patch = json_obj(), meta = json_obj(), labels = json_obj(), annotations = json_obj();
    json_add(v->a, &labels, S(FLEET_LABEL_DELIVERED), json_null());
    json_add(v->a, &annotations, S(FLEET_ANNOTATION_ADOPTED_BY), json_null());
    json_add(v->a, &annotations, S(CONTENT_HASH), json_null());
    json_add(v->a, &meta, S("uid"), json_str(object_uid(live)));
    json_add(v->a, &meta, S("resourceVersion"), json_str(object_rv(live)));
    json_add(v->a, &meta, S("labels"), labels);
    json_add(v->a, &meta, S("annotations"), annotations);
    json_add(v->a, &patch, S("metadata"), meta);
    struct client_patch_args args = {
        .type = CLIENT_PATCH_MERGE, .patch = &patch, .options = {.field_manager = WORKS_MANAGER}};
    int code = client_patch(v->managed, v->a, &ref, &args, NULL, err);
    return code < 0 && client_is_gone(err) ? 0 : code;
}

/* Servers refuse to delete these namespaces, whoever asks: a work that names one could never go. */
static bool is_undeletable(const struct surplus *s)
{
    static const char *const names[] = {"default", "kube-system", "kube-public"};
    if (s->resource.group.n || !str_eq(s->resource.plural, S("namespaces")))
        return false;
    for (size_t i = 0; i < COUNT(names); i++)
        if (str_eq(s->name, str_of(names[i])))
            return true;
    return false;
}

static int delete (struct removal *m, const struct surplus *s, const struct json *live, struct err *err)
{
    struct visit *v = m->v;
    struct client_ref ref = {.resource = &s->resource, .namespace = s->namespace, .name = s->name};
    struct client_delete_options options = {
        .propagation = S("Background"), .uid = object_uid(live), .version = object_rv(live)};
    if (object_is_deleting(live)) {
        keep_pending(m, s, object_uid(live));
        return 0;
    }
    int code = client_delete(v->managed, v->a, &ref, &options, NULL, err);
    if (code < 0)
        return client_is_gone(err) ? 0 : code;
    if (json_len(object_finalizers(live)))
        keep_pending(m, s, object_uid(live));
    return 0;
}

/* A stripped owner does not save what is surely ours; without the work nobody knows whether it was to be orphaned. */
static bool is_ours(struct removal *m, const struct surplus *s, const struct json *live, const struct owners *owners)
{
    bool was_recorded = s->recorded.n && str_eq(s->recorded, object_uid(live)) &&
                        str_eq(object_label(live, S(FLEET_LABEL_DELIVERED)), S("true"));
    return owners->is_ours || (was_recorded && !owners->has_others && !json_is_null(&m->v->work));
}

/* The kind is not served. With its definition its objects went, if the server is sure of what it has. */
static int is_kind_gone(struct visit *v, const struct client_resource *r, bool *ret, struct err *err)
{
    struct client_discovery all;
    int code = client_discover(v->managed, v->a, &all, err);
    if (code < 0)
        return code;
    *ret = all.n_failed == 0;
    for (size_t i = 0; i < all.n; i++)
        if (str_eq(all.p[i].resource.group, r->group) && str_eq(all.p[i].resource.plural, r->plural))
            *ret = false;
    return 0;
}

static int remove_one(struct removal *m, const struct surplus *s, struct err *err)
{
    struct visit *v = m->v;
    struct client_ref ref = {.resource = &s->resource, .namespace = s->namespace, .name = s->name};
    struct json live;
    int code = client_get_metadata(v->managed, v->a, &ref, &live, err);
    if (code < 0 && client_is_gone(err))
        return 0;
    if (code == ERR_NOT_FOUND) {
        struct err asked;
        bool is_gone = false;
        if (is_kind_gone(v, &s->resource, &is_gone, &asked) == 0 && is_gone)
            return 0;
    }
    if (code < 0)
        return code;
    struct owners owners = owners_read(v, &live);
    if (str_eq(object_annotation(&live, S(FLEET_ANNOTATION_ADOPTED_BY)), v->applied_name) && !owners.is_ours)
        return release(m, s, &live, err);
    if (!is_ours(m, s, &live, &owners))
        return 0;
    bool is_orphaned = !s->withheld && !json_is_null(&v->work) &&
                       manifest_is_orphaned(&v->work, s->resource.group, s->resource.plural, s->namespace, s->name);
    if (is_orphaned || owners.has_others || is_undeletable(s))
        return owners.is_ours ? disown(m, s, &live, err) : 0;
    return delete (m, s, &live, err);
}

static void forget(struct work_item *item)
{
    item->uid = item->recorded = (str){0};
    item->live = json_null();
    item->report.live = NULL;
    item->report.presence = REPORT_ABSENT;
}

/* One that cannot be removed now keeps no other from being removed. */
int remove_surplus(struct visit *v, struct json *ret_pending, struct err *err)
{
    struct removal m = {.v = v, .pending = json_arr()};
    int first = 0;
    gather(&m);
    if (m.list.n)
        qsort(m.list.p, m.list.n, sizeof *m.list.p, by_rank);
    vec_each(&m.list, s)
    {
        struct err own;
        if (s->withheld)
            forget(s->withheld);
        int code = remove_one(&m, s, &own);
        if (code == 0)
            continue;
        keep_listed(&m, s, s->recorded);
        if (first == 0) {
            first = code;
            (void)err_set(err, own.code, "remove %.*s %.*s: %s", STR(s->resource.plural), STR(s->name), own.msg);
        }
    }
    map_done(&m.wanted);
    map_done(&m.withheld);
    map_done(&m.open);
    *ret_pending = m.pending;
    return first;
}
