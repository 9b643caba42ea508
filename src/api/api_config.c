/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_config.h"

#include "api/api_crds.h"
#include "api/api_value.h"
#include "api/openapi.h"
#include "api/schemas.h"
#include "api/watch.h"
#include "authz/validate.h"
#include "kinds/builtin.h"
#include "object/object.h"
#include "schema/crd.h"

static void complain(struct api *api, const char *what, str namespace, str name, const struct err *err)
{
    log_line(api->options.log, LOG_ERROR, what, LOG_STR("namespace", namespace), LOG_STR("name", name),
             LOG_STR("error", str_of(err->msg)));
}

/* ---- Roles and bindings. ---- */

/* Which of the four a table holds; AUTHZ_UNKNOWN: none. */
static enum authz_kind rbac_table(const struct api *api, uint32_t table)
{
    const struct config_tables *t = &api->tables;
    if (table == t->roles)
        return AUTHZ_ROLE;
    if (table == t->cluster_roles)
        return AUTHZ_CLUSTER_ROLE;
    if (table == t->role_bindings)
        return AUTHZ_ROLE_BINDING;
    return table == t->cluster_role_bindings ? AUTHZ_CLUSTER_ROLE_BINDING : AUTHZ_UNKNOWN;
}

static const struct kind *rbac_kind(enum authz_kind which)
{
    return kind_builtin_by_body(S("rbac.authorization.k8s.io/v1"), authz_kind_name(which));
}

static void rbac_forget(struct api *api, enum authz_kind which, str namespace, str name)
{
    authz_index_delete(api->authz, which, namespace, name);
    if (which == AUTHZ_CLUSTER_ROLE)
        aggregate_index_delete(api->aggregates, name);
}

/* An object that cannot be read grants nothing: what it granted before is taken back. */
static void rbac_put(struct api *api, struct arena *a, enum authz_kind which, const struct store_item *item)
{
    struct json object;
    struct err err;
    if (value_decode(api, a, rbac_kind(which), item, &object, &err) < 0) {
        rbac_forget(api, which, item->namespace, item->name);
        complain(api, "cannot read a role or binding", item->namespace, item->name, &err);
        return;
    }
    if (authz_index_put(api->authz, &object, &err) < 0)
        complain(api, "a role or binding counts as absent", item->namespace, item->name, &err);
    if (which == AUTHZ_CLUSTER_ROLE && aggregate_index_put(api->aggregates, &object, &err) < 0)
        complain(api, "a role is left out of aggregation", item->namespace, item->name, &err);
}

/* ---- CRDs. ---- */

static const struct kind *crd_kind(void)
{
    return kind_builtin_by_body(S("apiextensions.k8s.io/v1"), S("CustomResourceDefinition"));
}

/* Whether watches of its objects can go on: nothing changed but its status. */
static bool is_same_crd(struct api *api, struct arena *a, const struct store_event *event, const struct json *crd)
{
    struct store_item before;
    struct json metadata;
    int64_t generation;
    if (store_previous(api->store, event, &before, NULL) < 0 || value_metadata(a, &before, &metadata, NULL) < 0 ||
        !json_to_int(json_get(&metadata, S("generation")), &generation))
        return false;
    return generation == object_generation(crd);
}

static void crd_put(struct api *api, const struct json *crd)
{
    struct err err;
    if (registry_put_crd(api->registry, crd, &err) < 0)
        complain(api, "a CRD is not served", (str){0}, object_name(crd), &err);
}

static void crd_event(struct api *api, struct arena *a, const struct store_event *event)
{
    struct store_item item = value_of_event(event);
    struct json crd;
    struct err err;
    if (value_decode(api, a, crd_kind(), &item, &crd, &err) < 0) {
        complain(api, "cannot read a CRD", (str){0}, event->name, &err);
        return;
    }
    bool is_gone = event->op == STORE_DELETED;
    /* Before the change takes effect: what the watches have yet to send is printed as the CRD was. */
    bool has_changed = is_gone || (event->op == STORE_UPDATED && !is_same_crd(api, a, event, &crd));
    if (has_changed && crd_owns_objects(&crd))
        watch_end_kind(api->watches, crds_table(api, &crd));
    if (is_gone)
        registry_remove_crd(api->registry, event->name);
    else
        crd_put(api, &crd);
    schemas_forget(api->schemas, event->name);
    openapi_forget(api->openapi, json_get_text(json_get(&crd, S("spec")), S("group")));
    crds_seen(api->crds, event->name, is_gone ? NULL : &crd);
}

/* ---- Changes. ---- */

void config_event(struct api *api, const struct store_event *event)
{
    struct arena scratch ARENA_SCOPE = {0};
    enum authz_kind rbac = rbac_table(api, event->table);
    struct store_item item = value_of_event(event);
    if (rbac != AUTHZ_UNKNOWN && event->op == STORE_DELETED)
        rbac_forget(api, rbac, event->namespace, event->name);
    else if (rbac != AUTHZ_UNKNOWN)
        rbac_put(api, &scratch, rbac, &item);
    else if (event->table == api->tables.crds)
        crd_event(api, &scratch, event);
    else if (event->op == STORE_DELETED)
        crds_object_deleted(api->crds, event->table);
}

/* ---- Aggregated roles. ---- */

/* In force at once. What is stored follows, by the aggregation controller. */
static void enforce(struct api *api, struct arena *a, const struct aggregate_change *change)
{
    struct json role;
    struct err err;
    if (value_get(api, a, rbac_kind(AUTHZ_CLUSTER_ROLE), (str){0}, change->name, &role, NULL, &err) < 0)
        return;
    json_set(a, &role, S("rules"), rules_to_json(a, change->rules));
    if (authz_index_put(api->authz, &role, &err) < 0)
        complain(api, "an aggregated role counts as absent", (str){0}, change->name, &err);
}

static void settle_roles(struct api *api)
{
    if (api->options.no_aggregation)
        return;
    struct arena scratch ARENA_SCOPE = {0};
    struct aggregate_changes changes = aggregate_index_settle(api->aggregates, &scratch);
    for (size_t i = 0; i < changes.n; i++)
        enforce(api, &scratch, &changes.p[i]);
}

void config_settle(struct api *api)
{
    crds_settle(api->crds);
    settle_roles(api);
}

/* ---- At start. ---- */

static int load_table(struct api *api, uint32_t table,
                      void (*put)(struct api *, struct arena *, uint32_t, const struct store_item *), struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct store_range range = {.table = table, .all_namespaces = true};
    struct store_list *list = store_list_open(api->store, &range);
    struct store_item item;
    int code;
    while ((code = store_list_next(list, &item, err)) > 0) {
        put(api, &scratch, table, &item);
        arena_reset(&scratch);
    }
    store_list_close(list);
    return code < 0 ? err_wrap(err, "read the configuration") : 0;
}

static void load_rbac(struct api *api, struct arena *a, uint32_t table, const struct store_item *item)
{
    rbac_put(api, a, rbac_table(api, table), item);
}

static void load_crd(struct api *api, struct arena *a, uint32_t table, const struct store_item *item)
{
    (void)table;
    struct json crd;
    struct err err;
    if (value_decode(api, a, crd_kind(), item, &crd, &err) < 0) {
        complain(api, "cannot read a CRD", (str){0}, item->name, &err);
        return;
    }
    str group = json_text(json_dig(&crd, "spec.group")), plural = json_text(json_dig(&crd, "spec.names.plural"));
    if (kind_is_builtin_resource(group, plural)) /* earlier versions accepted these */
        log_line(api->options.log, LOG_WARN, "a CustomResourceDefinition is not served: its resource is built in",
                 LOG_STR("name", item->name));
    crd_put(api, &crd);
    crds_seen(api->crds, item->name, &crd);
}

int config_load(struct api *api, struct err *err)
{
    struct config_tables *t = &api->tables;
    t->roles = api_table(api, rbac_kind(AUTHZ_ROLE));
    t->cluster_roles = api_table(api, rbac_kind(AUTHZ_CLUSTER_ROLE));
    t->role_bindings = api_table(api, rbac_kind(AUTHZ_ROLE_BINDING));
    t->cluster_role_bindings = api_table(api, rbac_kind(AUTHZ_CLUSTER_ROLE_BINDING));
    t->crds = api_table(api, crd_kind());
    int code = load_table(api, t->crds, load_crd, err);
    const uint32_t rbac[] = {t->roles, t->cluster_roles, t->role_bindings, t->cluster_role_bindings};
    for (size_t i = 0; code == 0 && i < COUNT(rbac); i++)
        code = load_table(api, rbac[i], load_rbac, err);
    if (code == 0) /* a crash may have come between a role and the aggregates that select it */
        settle_roles(api);
    return code;
}
