/* SPDX-License-Identifier: Apache-2.0 */
/* The AppliedManifestWork of a work: what is going to be made is named there before it is, so that whoever comes after a crash knows
 * where to look. Writes carry the version that they were made from: who has an old copy is refused, and comes again. */
#include "base/map.h"
#include "controllers/garbage/garbage_patch.h"
#include "controllers/works/works_internal.h"
#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"

static const struct client_resource kind = CLIENT_RESOURCE(FLEET_APPLIED);

str applied_name(struct arena *a, const struct works *w, str work)
{
    return str_fmt(a, "%.*s-%.*s", STR(w->hub_hash), STR(work));
}

bool applied_work_of(const struct works *w, str name, str *ret_work)
{
    size_t n = w->hub_hash.n;
    if (name.n <= n + 1 || !str_has_prefix(name, w->hub_hash) || name.p[n] != '-')
        return false;
    *ret_work = str_from(name, n + 1);
    return true;
}

bool applied_is_left(const struct works *w, const struct json *applied)
{
    const struct json *spec = json_get(applied, S("spec"));
    return str_eq(json_get_text(spec, S("agentID")), w->options.agent_id) &&
           !str_eq(json_get_text(spec, S("hubHash")), w->hub_hash);
}

static struct client_ref ref_of(struct visit *v, str subresource)
{
    return (struct client_ref){.resource = &kind, .name = v->applied_name, .subresource = subresource};
}

bool applied_is_own(const struct visit *v)
{
    str agent = json_text(json_dig(&v->applied, "spec.agentID"));
    return str_eq(agent, v->w->options.agent_id);
}

void applied_look(struct visit *v)
{
    v->applied = json_null();
    if (!informer_read(v->w->applied, v->a, (str){0}, v->applied_name, &v->applied))
        v->applied = json_null();
}

int applied_ask(struct visit *v, struct err *err)
{
    struct client_ref ref = ref_of(v, (str){0});
    if (!json_is_null(&v->applied))
        return 0;
    int code = client_get(v->managed, v->a, &ref, &v->applied, err);
    if (code == 0)
        return 0;
    v->applied = json_null();
    return client_is_gone(err) ? 0 : err_wrap(err, "look for AppliedManifestWork %.*s", STR(ref.name));
}

/* ---- Made. ---- */

static struct json render(struct visit *v)
{
    struct arena *a = v->a;
    struct json object = json_obj(), meta = json_obj(), spec = json_obj(), finalizers = json_arr();
    const struct json *labels = object_labels(&v->work);
    json_push(a, &finalizers, json_str(S(FLEET_FINALIZER_APPLIED)));
    json_add(a, &meta, S("name"), json_str(v->applied_name));
    if (json_len(labels))
        json_add(a, &meta, S("labels"), *labels);
    json_add(a, &meta, S("finalizers"), finalizers);
    json_add(a, &spec, S("hubHash"), json_str(v->w->hub_hash));
    json_add(a, &spec, S("agentID"), json_str(v->w->options.agent_id));
    json_add(a, &spec, S("manifestWorkName"), json_str(v->name));
    json_add(a, &object, S("apiVersion"), json_str(client_api_version(a, &kind)));
    json_add(a, &object, S("kind"), json_str(kind.kind));
    json_add(a, &object, S("metadata"), meta);
    json_add(a, &object, S("spec"), spec);
    return object;
}

static int patch(struct visit *v, str subresource, struct json body, struct err *err)
{
    struct client_ref ref = ref_of(v, subresource);
    struct client_patch_args args = {
        .type = CLIENT_PATCH_MERGE, .patch = &body, .options = {.field_manager = WORKS_MANAGER}};
    int code = client_patch(v->managed, v->a, &ref, &args, &v->applied, err);
    return code < 0 ? err_wrap(err, "write AppliedManifestWork %.*s", STR(ref.name)) : 0;
}

/* The object as it was read, and no other, and no later. */
static struct json condition(struct visit *v)
{
    struct json meta = json_obj();
    json_add(v->a, &meta, S("uid"), json_str(object_uid(&v->applied)));
    json_add(v->a, &meta, S("resourceVersion"), json_str(object_rv(&v->applied)));
    return meta;
}

/* Somebody took the finalizer off: without it the objects would go with it, one by one, and nobody would know. Or it was made by
 * another agent, in whose place we are. */
static int hold(struct visit *v, struct err *err)
{
    bool is_held = object_has_finalizer(&v->applied, S(FLEET_FINALIZER_APPLIED));
    if ((is_held && applied_is_own(v)) || object_is_deleting(&v->applied))
        return 0;
    struct json meta = condition(v), body = json_obj(), spec = json_obj();
    const struct json *there = object_finalizers(&v->applied);
    struct json list = json_is_arr(there) ? json_dup(v->a, there) : json_arr();
    if (!is_held)
        json_push(v->a, &list, json_str(S(FLEET_FINALIZER_APPLIED)));
    json_add(v->a, &meta, S("finalizers"), list);
    json_add(v->a, &spec, S("agentID"), json_str(v->w->options.agent_id));
    json_add(v->a, &body, S("metadata"), meta);
    json_add(v->a, &body, S("spec"), spec);
    return patch(v, (str){0}, body, err);
}

int applied_ensure(struct visit *v, struct err *err)
{
    if (!json_is_null(&v->applied))
        return hold(v, err);
    struct client_ref ref = ref_of(v, (str){0});
    struct json object = render(v);
    struct client_write_options options = {.field_manager = WORKS_MANAGER};
    int code = client_create(v->managed, v->a, &ref, &object, &options, &v->applied, err);
    if (code == ERR_ALREADY_EXISTS) { /* the copy was behind */
        code = client_get(v->managed, v->a, &ref, &v->applied, err);
        return code < 0 ? code : hold(v, err);
    }
    if (code < 0)
        v->applied = json_null();
    return code < 0 ? err_wrap(err, "create AppliedManifestWork %.*s", STR(ref.name)) : 0;
}

/* ---- Its list. ---- */

struct json applied_entry(struct arena *a, const struct client_resource *resource, str namespace, str name, str uid)
{
    struct json entry = json_obj_sized(a, 6);
    json_add(a, &entry, S("group"), json_str(resource->group));
    json_add(a, &entry, S("version"), json_str(resource->version));
    json_add(a, &entry, S("resource"), json_str(resource->plural));
    json_add(a, &entry, S("namespace"), json_str(namespace));
    json_add(a, &entry, S("name"), json_str(name));
    json_add(a, &entry, S("uid"), json_str(uid));
    return entry;
}

static int write_list(struct visit *v, struct json list, struct err *err)
{
    if (json_equal(json_dig(&v->applied, "status.appliedResources"), &list) ||
        (!json_len(&list) && !json_len(json_dig(&v->applied, "status.appliedResources"))))
        return 0;
    struct json body = json_obj(), status = json_obj();
    json_add(v->a, &status, S("appliedResources"), list);
    json_add(v->a, &body, S("metadata"), condition(v));
    json_add(v->a, &body, S("status"), status);
    return patch(v, S("status"), body, err);
}

static bool is_listed(const struct work_item *item)
{
    bool is_written = item->resource.kind.n && item->report.manifest->strategy != MANIFEST_READ_ONLY && !item->twin;
    return is_written && (!item->is_refused || item->is_recorded);
}

/* What was there and is not may have gone with its owner, and our copy of that be behind. An object made for an owner that is gone
 * would be collected. */
static int confirm(struct visit *v, struct err *err)
{
    struct client_ref ref = ref_of(v, (str){0});
    struct json now;
    int code = client_get_metadata(v->managed, v->a, &ref, &now, err);
    if (code < 0 && !client_is_gone(err))
        return err_wrap(err, "look for AppliedManifestWork %.*s", STR(ref.name));
    if (code == 0 && str_eq(object_uid(&now), object_uid(&v->applied)))
        return 0;
    return err_set(err, ERR_CONFLICT, "AppliedManifestWork %.*s is not the one that we know", STR(ref.name));
}

int applied_intend(struct visit *v, struct err *err)
{
    const struct json *there = json_dig(&v->applied, "status.appliedResources");
    struct json list = json_is_arr(there) ? json_dup_top(v->a, there) : json_arr();
    bool is_new = false, is_lost = false;
    for (size_t i = 0; i < v->n; i++) {
        const struct work_item *item = &v->items[i];
        if (item->is_done || item->is_refused || !is_listed(item))
            continue;
        is_lost |= item->is_recorded && item->report.presence != REPORT_THERE;
        if (item->is_recorded)
            continue;
        json_push(v->a, &list, applied_entry(v->a, &item->resource, item->namespace, item->name, (str){0}));
        is_new = true;
    }
    return is_new ? write_list(v, list, err) : is_lost ? confirm(v, err) : 0; /* a write says as much */
}

/* A uid that is not known now, because nobody could ask, stays as it was. */
int applied_record(struct visit *v, const struct json *pending, struct err *err)
{
    struct json list = json_arr_sized(v->a, v->n);
    for (size_t i = 0; i < v->n; i++) {
        const struct work_item *item = &v->items[i];
        if (is_listed(item))
            json_push(v->a, &list,
                      applied_entry(v->a, &item->resource, item->namespace, item->name,
                                    item->uid.n ? item->uid : item->recorded));
    }
    json_each_item(pending, entry)
    {
        json_push(v->a, &list, *entry);
    }
    return write_list(v, list, err);
}

int applied_forget_uid(struct visit *v, const struct work_item *item, struct err *err)
{
    const struct json *there = json_dig(&v->applied, "status.appliedResources");
    struct json list = json_is_arr(there) ? json_dup_top(v->a, there) : json_arr();
    for (uint32_t i = 0; i < list.n; i++) {
        const struct json *e = &list.items[i];
        if (str_eq(json_get_text(e, S("group")), item->resource.group) &&
            str_eq(json_get_text(e, S("resource")), item->resource.plural) &&
            str_eq(json_get_text(e, S("namespace")), item->namespace) &&
            str_eq(json_get_text(e, S("name")), item->name))
            list.items[i] = applied_entry(v->a, &item->resource, item->namespace, item->name, (str){0});
    }
    return write_list(v, list, err);
}

/* ---- Its end. ---- */

int applied_set_eviction(struct visit *v, struct json time, struct err *err)
{
    if (json_equal(json_dig(&v->applied, "status.evictionStartTime"), &time))
        return 0;
    struct json body = json_obj(), status = json_obj();
    json_add(v->a, &status, S("evictionStartTime"), time);
    json_add(v->a, &body, S("metadata"), condition(v));
    json_add(v->a, &body, S("status"), status);
    return patch(v, S("status"), body, err);
}

int applied_delete(struct visit *v, struct err *err)
{
    if (object_is_deleting(&v->applied))
        return 0;
    struct client_ref ref = ref_of(v, (str){0});
    struct client_delete_options options = {
        .propagation = S("Background"), .uid = object_uid(&v->applied), .version = object_rv(&v->applied)};
    int code = client_delete(v->managed, v->a, &ref, &options, NULL, err);
    if (code == 0)
        code = client_get(v->managed, v->a, &ref, &v->applied, err);
    if (code < 0 && client_is_gone(err)) {
        v->applied = json_null();
        return 0;
    }
    return code < 0 ? err_wrap(err, "delete AppliedManifestWork %.*s", STR(ref.name)) : 0;
}

int applied_release(struct visit *v, struct err *err)
{
    struct json body;
    if (!patch_finalizer(v->a, &v->applied, S(FLEET_FINALIZER_APPLIED), &body))
        return 0;
    int code = patch(v, (str){0}, body, err);
    return code < 0 && client_is_gone(err) ? 0 : code;
}
