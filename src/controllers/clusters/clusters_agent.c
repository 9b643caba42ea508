/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/clusters/clusters_internal.h"
#include "controllers/namespaces/namespaces_kinds.h"
#include "object/object.h"

#define RBAC "rbac.authorization.k8s.io"

static const struct client_resource namespaces = NAMESPACES_RESOURCE;
static const struct client_resource accounts = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true);
static const struct client_resource bindings = CLIENT_RESOURCE(RBAC, "v1", "rolebindings", "RoleBinding", true);
static const struct client_resource leases = CLIENT_RESOURCE("coordination.k8s.io", "v1", "leases", "Lease", true);

static const struct client_write_options options = {.field_manager = S_INIT("reeve-clusters")};

/* ---- Objects. ---- */

static struct json object_of(struct arena *a, const struct client_resource *resource, str name, str cluster)
{
    struct json object = json_obj(), metadata = json_obj(), labels = json_obj();
    json_add(a, &labels, S(FLEET_LABEL_CLUSTER), json_str(cluster));
    json_add(a, &metadata, S("name"), json_str(name));
    if (resource->namespaced)
        json_add(a, &metadata, S("namespace"), json_str(cluster));
    json_add(a, &metadata, S("labels"), labels);
    json_add(a, &object, S("apiVersion"), json_str(client_api_version(a, resource)));
    json_add(a, &object, S("kind"), json_str(resource->kind));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

static struct json role_ref(struct arena *a)
{
    struct json ref = json_obj();
    json_add(a, &ref, S("apiGroup"), json_str(S(RBAC)));
    json_add(a, &ref, S("kind"), json_str(S("ClusterRole")));
    json_add(a, &ref, S("name"), json_str(S(FLEET_AGENT_ROLE)));
    return ref;
}

static struct json subjects_of(struct arena *a, str cluster)
{
    struct json list = json_arr(), subject = json_obj();
    json_add(a, &subject, S("kind"), json_str(accounts.kind));
    json_add(a, &subject, S("name"), json_str(S(FLEET_AGENT)));
    json_add(a, &subject, S("namespace"), json_str(cluster));
    json_push(a, &list, subject);
    return list;
}

static bool is_ours(const struct json *object, str cluster)
{
    return str_eq(object_label(object, S(FLEET_LABEL_CLUSTER)), cluster);
}

/* ---- Steps. A step that finds the copy behind is a conflict: the visit is repeated. ---- */

static int create(struct cluster_visit *v, const struct client_resource *resource, struct json object, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = resource, .namespace = resource->namespaced ? r->name : (str){0}};
    int code = client_create(r->client, r->arena, &ref, &object, &options, NULL, err);
    if (code == ERR_ALREADY_EXISTS)
        return err_set(err, ERR_CONFLICT, "%.*s %.*s was just made", STR(resource->kind), STR(object_name(&object)));
    return code < 0 ? err_wrap(err, "create %.*s %.*s", STR(resource->kind), STR(object_name(&object))) : 0;
}

/* This one, and no other of its name. */
static int drop(struct cluster_visit *v, const struct client_resource *resource, str name, str uid, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = resource, .namespace = r->name, .name = name};
    int code = client_delete(r->client, r->arena, &ref, &(struct client_delete_options){.uid = uid}, NULL, err);
    if (code == 0 || client_is_gone(err))
        return 0;
    return err_wrap(err, "delete %.*s %.*s/%.*s", STR(resource->kind), STR(r->name), STR(name));
}

static int keep_namespace(struct cluster_visit *v, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct json have;
    if (informer_read(v->clusters->namespaces, r->arena, (str){0}, r->name, &have))
        return 0;
    return create(v, &namespaces, object_of(r->arena, &namespaces, r->name, r->name), err);
}

static int keep_account(struct cluster_visit *v, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct json have;
    if (informer_read(v->clusters->accounts, r->arena, r->name, S(FLEET_AGENT), &have))
        return 0;
    return create(v, &accounts, object_of(r->arena, &accounts, S(FLEET_AGENT), r->name), err);
}

static int mend_binding(struct cluster_visit *v, struct json *have, const struct json *want, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &bindings, .namespace = r->name, .name = S(FLEET_AGENT)};
    struct json *metadata = json_get_mut(have, S("metadata")), *labels = json_get_mut(metadata, S("labels"));
    if (!json_is_obj(labels))
        labels = json_set(r->arena, metadata, S("labels"), json_obj());
    json_set(r->arena, labels, S(FLEET_LABEL_CLUSTER), json_str(r->name));
    json_set(r->arena, have, S("subjects"), *json_get(want, S("subjects")));
    int code = client_update(r->client, r->arena, &ref, have, &options, NULL, err);
    return code < 0 ? err_wrap(err, "update RoleBinding %.*s/" FLEET_AGENT, STR(r->name)) : 0;
}

/* A roleRef cannot be changed: such a binding is made anew. */
static int keep_binding(struct cluster_visit *v, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct json want = object_of(r->arena, &bindings, S(FLEET_AGENT), r->name), have;
    json_add(r->arena, &want, S("roleRef"), role_ref(r->arena));
    json_add(r->arena, &want, S("subjects"), subjects_of(r->arena, r->name));
    if (!informer_read(v->clusters->bindings, r->arena, r->name, S(FLEET_AGENT), &have))
        return create(v, &bindings, want, err);
    if (!json_equal(json_get(&have, S("roleRef")), json_get(&want, S("roleRef")))) {
        int code = drop(v, &bindings, S(FLEET_AGENT), object_uid(&have), err);
        return code < 0 ? code : create(v, &bindings, want, err);
    }
    if (is_ours(&have, r->name) && json_equal(json_get(&have, S("subjects")), json_get(&want, S("subjects"))))
        return 0;
    return mend_binding(v, &have, &want, err);
}

static int patch_lease(struct cluster_visit *v, const struct json *patch, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct client_ref ref = {.resource = &leases, .namespace = r->name, .name = S(FLEET_LEASE)};
    struct client_patch_args args = {.type = CLIENT_PATCH_MERGE, .patch = patch, .options = options};
    int code = client_patch(r->client, r->arena, &ref, &args, NULL, err);
    if (code == ERR_NOT_FOUND)
        return err_set(err, ERR_CONFLICT, "the Lease was just deleted");
    return code < 0 ? err_wrap(err, "change Lease %.*s/" FLEET_LEASE, STR(r->name)) : 0;
}

/* Another agent renews the Lease: what Reeve's agent said there is out of date. The version is that of the Lease as it was judged, so
 * that a renewal by Reeve's agent in between is not undone. */
static int clear_notes(struct cluster_visit *v, const struct beat *beat, struct err *err)
{
    static const str notes[] = {S_INIT(FLEET_ANNOTATION_AGENT), S_INIT(FLEET_ANNOTATION_RENEWED),
                                S_INIT(FLEET_ANNOTATION_KUBERNETES), S_INIT(FLEET_ANNOTATION_TROUBLE)};
    struct arena *a = v->reconcile->arena;
    struct json lease, patch = json_obj(), meta = json_obj(), annotations = json_obj();
    if (!informer_read(v->clusters->leases, a, v->reconcile->name, S(FLEET_LEASE), &lease) ||
        !str_eq(json_text(json_dig(&lease, "spec.renewTime")), beat->renewed))
        return 0; /* it has changed: that brings us back */
    for (size_t i = 0; i < COUNT(notes); i++)
        json_add(a, &annotations, notes[i], json_null());
    json_add(a, &meta, S("resourceVersion"), json_str(object_rv(&lease)));
    json_add(a, &meta, S("annotations"), annotations);
    json_add(a, &patch, S("metadata"), meta);
    return patch_lease(v, &patch, err);
}

/* The hub makes it and says how often to renew it; its agent needs no right to create anything for that. */
static int keep_lease(struct cluster_visit *v, struct err *err)
{
    struct reconcile *r = v->reconcile;
    int64_t seconds = cluster_lease_seconds(&v->cluster);
    struct json lease = object_of(r->arena, &leases, S(FLEET_LEASE), r->name), spec = json_obj(), patch = json_obj();
    struct beat beat = {0};
    json_add(r->arena, &spec, S("leaseDurationSeconds"), json_int(seconds));
    if (!beats_get(v->clusters->beats, r->arena, r->name, &beat))
        return 0;
    int code = beat.has_stale_notes && beat.has_lease ? clear_notes(v, &beat, err) : 0;
    if (code < 0 || (beat.has_lease && beat.seconds == seconds))
        return code;
    if (!beat.has_lease) {
        json_add(r->arena, &lease, S("spec"), spec);
        return create(v, &leases, lease, err);
    }
    json_add(r->arena, &patch, S("spec"), spec);
    return patch_lease(v, &patch, err);
}

/* ---- All of it. ---- */

int cluster_agent_make(struct cluster_visit *v, struct err *err)
{
    int code = keep_namespace(v, err);
    if (code == 0)
        code = keep_account(v, err);
    if (code == 0)
        code = keep_binding(v, err);
    return code == 0 ? keep_lease(v, err) : code;
}

/* What gives the role of agents is ours, whatever became of its label. */
static bool get_binding(const struct cluster_visit *v, struct json *ret)
{
    struct reconcile *r = v->reconcile;
    return informer_read(v->clusters->bindings, r->arena, r->name, S(FLEET_AGENT), ret) &&
           (is_ours(ret, r->name) ||
            str_eq(json_get_text(json_get(ret, S("roleRef")), S("name")), S(FLEET_AGENT_ROLE)));
}

bool cluster_agent_has_rights(const struct cluster_visit *v)
{
    struct json binding;
    return get_binding(v, &binding);
}

int cluster_agent_bar(struct cluster_visit *v, struct err *err)
{
    struct json binding;
    return get_binding(v, &binding) ? drop(v, &bindings, S(FLEET_AGENT), object_uid(&binding), err) : 0;
}

/* The Lease goes as well: a cluster that is added again under this name has not joined because of its predecessor. */
int cluster_agent_remove(struct cluster_visit *v, struct err *err)
{
    struct reconcile *r = v->reconcile;
    struct json have;
    int code = cluster_agent_bar(v, err);
    if (code == 0 && informer_read(v->clusters->accounts, r->arena, r->name, S(FLEET_AGENT), &have) &&
        is_ours(&have, r->name))
        code = drop(v, &accounts, S(FLEET_AGENT), object_uid(&have), err);
    const struct item *lease = informer_get(v->clusters->leases, r->name, S(FLEET_LEASE));
    if (code == 0 && lease)
        code = drop(v, &leases, S(FLEET_LEASE), item_uid(lease), err);
    item_unref(lease);
    return code;
}
