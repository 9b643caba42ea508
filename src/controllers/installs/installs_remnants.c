/* SPDX-License-Identifier: Apache-2.0 */
/* Removes cluster-scoped objects (a ClusterRole and its binding) of namespaced installs that no longer exist. Uninstalling removes them, too; here is
 * what happens when an install goes without that: its finalizer was removed by hand, or it was deleted while no controller was
 * running. Every such object is checked when the controller starts, when it changes, and when an install or a record is deleted.
 *
 *   object ─► has the form that Reeve gives it? ─► its install exists? (cache, then server) ─► made by our field manager? ─► delete
 *
 * The form is its name and the role of a binding, which are immutable: a foreign object that was labelled by hand never has it. */
#include "controllers/installs/installs_internal.h"
#include "object/meta.h"
#include "object/object.h"

/* Whose it is: an install, or with the labels of the first release, a record. */
struct remnant {
    str namespace, uid;
    bool is_legacy;
};

static bool read_remnant(const struct json *object, struct remnant *ret)
{
    *ret = (struct remnant){.uid = object_label(object, S(LABEL_INSTALL))};
    if (ret->uid.n == 0) {
        ret->uid = object_label(object, S(LABEL_RECORD));
        ret->is_legacy = true;
        if (!meta_is_owned_by(object, ret->uid))
            return false;
    }
    return ret->uid.n && plan_is_cluster_object(object, &ret->namespace);
}

/* By kind or plural; OWN_KINDS: another one. */
static enum own_kind kind_of(str name)
{
    enum own_kind i = 0;
    while (i < OWN_KINDS && (own_resources[i].namespaced ||
                             !(str_eq(own_resources[i].kind, name) || str_eq(own_resources[i].plural, name))))
        i++;
    return i;
}

/* ---- When to check. ---- */

/* Whoever lost or may want it: its install, or if that is unknown, all installs of the namespace. */
static void enqueue_installs(struct installs *s, const struct remnant *remnant)
{
    installs_lock(s);
    const struct holding *h = holding_get(s, remnant->uid);
    if (h)
        control_enqueue(h->lane->controller, h->namespace, h->name);
    installs_unlock(s);
    for (size_t i = 0; !h && i < LANES; i++) {
        if (s->lanes[i].is_cluster)
            continue;
        struct items items ITEMS_SCOPE = informer_list(s->lanes[i].installs, remnant->namespace);
        for (size_t k = 0; k < items.n; k++)
            control_enqueue(s->lanes[i].controller, item_namespace(items.p[k]), item_name(items.p[k]));
    }
}

void remnants_see(struct installs *s, const struct json *object)
{
    struct remnant remnant;
    enum own_kind kind = kind_of(object_kind(object));
    if (kind == OWN_KINDS || !read_remnant(object, &remnant))
        return;
    control_enqueue(s->remnants, own_resources[kind].plural, object_name(object));
    enqueue_installs(s, &remnant);
}

static void enqueue_items(struct installs *s, enum own_kind kind, const struct items *items)
{
    for (size_t i = 0; i < items->n; i++)
        control_enqueue(s->remnants, own_resources[kind].plural, item_name(items->p[i]));
}

void remnants_enqueue(struct installs *s, str install_uid, str record_uid)
{
    for (int kind = 0; kind < OWN_KINDS; kind++) {
        if (own_resources[kind].namespaced)
            continue;
        struct items of_install ITEMS_SCOPE = informer_by_label(s->by_install[kind], S(LABEL_INSTALL), install_uid);
        struct items of_record ITEMS_SCOPE = informer_by_label(s->own[kind], S(LABEL_RECORD), record_uid);
        enqueue_items(s, kind, &of_install);
        enqueue_items(s, kind, &of_record);
    }
}

/* ---- Whether it is one. ---- */

static bool is_owner_cached(struct installs *s, const struct remnant *remnant)
{
    for (size_t i = 0; i < LANES; i++) {
        const struct lane *l = &s->lanes[i];
        if (l->is_cluster)
            continue;
        struct items items ITEMS_SCOPE =
            informer_list(remnant->is_legacy ? l->records : l->installs, remnant->namespace);
        for (size_t k = 0; k < items.n; k++) {
            if (str_eq(item_uid(items.p[k]), remnant->uid))
                return true;
        }
    }
    return false;
}

/* Caches may be behind; what is deleted here is asked for again. */
static int is_owner_served(struct installs *s, struct reconcile *r, const struct remnant *remnant, bool *ret,
                           struct err *err)
{
    struct client_list_options options = {.metadata_only = true};
    *ret = false;
    for (size_t i = 0; i < LANES; i++) {
        const struct lane *l = &s->lanes[i];
        struct client_ref ref = {.resource = remnant->is_legacy ? &l->record : &l->install,
                                 .namespace = remnant->namespace};
        struct json items;
        if (l->is_cluster)
            continue;
        int code = client_list(r->client, r->arena, &ref, &options, &items, NULL, err);
        if (code < 0)
            return err_wrap(err, "list %.*s of namespace %.*s", STR(ref.resource->plural), STR(remnant->namespace));
        json_each_item(&items, item)
        {
            *ret |= str_eq(object_uid(item), remnant->uid);
        }
    }
    return 0;
}

/* What it grants was set by our field manager, by server-side apply. */
bool remnants_is_made_here(const struct json *object)
{
    const struct json *managers = json_get(object_meta(object), S("managedFields"));
    json_each_item(managers, m)
    {
        const struct json *fields = json_get(m, S("fieldsV1"));
        if (str_eq(json_get_text(m, S("manager")), S(FIELD_MANAGER_PACKAGES)) &&
            str_eq(json_get_text(m, S("operation")), S("Apply")) &&
            (json_get(fields, S("f:roleRef")) || json_get(fields, S("f:rules"))))
            return true;
    }
    return false;
}

static int remove_remnant(struct installs *s, struct reconcile *r, const struct client_ref *ref,
                          const struct json *object, struct err *err)
{
    struct client_delete_options options = {.uid = object_uid(object), .version = object_rv(object)};
    int code = client_delete(r->client, r->arena, ref, &options, NULL, err);
    if (code == ERR_CONFLICT)
        return code; /* it changed meanwhile: checked again */
    if (code < 0 && code != ERR_NOT_FOUND)
        return err_wrap(err, "delete %.*s %.*s", STR(ref->resource->kind), STR(ref->name));
    if (code == 0)
        recorder_event(s->recorder, object, RECORDER_NORMAL, S("Revoked"),
                       S("The install that this object was made for no longer exists."));
    return 0;
}

int remnants_visit(void *ctx, struct reconcile *r, struct err *err)
{
    struct installs *s = ctx;
    enum own_kind kind = kind_of(r->namespace);
    struct client_ref ref = {.resource = &own_resources[kind], .name = r->name};
    struct remnant remnant;
    struct json object;
    bool is_served;
    if (!informer_read(s->by_install[kind], r->arena, (str){0}, r->name, &object) &&
        !informer_read(s->own[kind], r->arena, (str){0}, r->name, &object))
        return 0;
    if (!read_remnant(&object, &remnant) || is_owner_cached(s, &remnant))
        return 0;
    int code = client_get(r->client, r->arena, &ref, &object, err);
    if (code == ERR_NOT_FOUND)
        return 0;
    if (code < 0)
        return err_wrap(err, "read %.*s %.*s", STR(ref.resource->kind), STR(r->name));
    if (!read_remnant(&object, &remnant) || !remnants_is_made_here(&object))
        return 0;
    code = is_owner_served(s, r, &remnant, &is_served, err);
    return code < 0 || is_served ? code : remove_remnant(s, r, &ref, &object, err);
}
