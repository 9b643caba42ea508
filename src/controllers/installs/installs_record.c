/* SPDX-License-Identifier: Apache-2.0 */
/* The record: what was installed, for people and tools to read. Nothing is decided by what it says. */
#include "control/applyset.h"
#include "controllers/installs/installs_internal.h"
#include "object/object.h"

static void add_text(struct arena *a, struct json *obj, str key, str text)
{
    if (text.n)
        json_set(a, obj, key, json_str(text));
}

static struct json render_crds(struct arena *a, const struct package *p)
{
    struct json list = json_arr_sized(a, p->n_crds);
    for (size_t i = 0; i < p->n_crds; i++) {
        const struct crd_info *info = &p->crds[i].info;
        struct json one = json_obj();
        json_add(a, &one, S("name"), json_str(info->name));
        json_add(a, &one, S("kind"), json_str(info->kind));
        str version = info->versions.n ? info->versions.p[0].name : S("");
        for (size_t k = 0; k < info->versions.n; k++) {
            if (info->versions.p[k].storage)
                version = info->versions.p[k].name;
        }
        json_add(a, &one, S("apiVersion"), json_str(str_fmt(a, "%.*s/%.*s", STR(info->group), STR(version))));
        json_push(a, &list, one);
    }
    return list;
}

static struct json render_dependencies(struct arena *a, const struct package *p)
{
    struct json list = json_arr();
    for (size_t i = 0; i < p->n_dependencies; i++) {
        struct json one = json_obj();
        json_add(a, &one, S("crd"), json_str(p->dependencies[i].text));
        json_push(a, &list, one);
    }
    for (size_t i = 0; i < p->n_requirements; i++) {
        struct json one = json_obj();
        json_add(a, &one, S("package"), json_str(p->requirements[i].package));
        json_add(a, &one, S("version"), json_str(p->requirements[i].constraint));
        json_push(a, &list, one);
    }
    return list;
}

/* Of the controller, wherever they hold. */
static struct json render_rules(struct arena *a, const struct plan *plan)
{
    struct json list = json_arr();
    for (size_t i = 0; i < plan->n_grants; i++) {
        if (plan->grants[i].who != PLAN_CONTROLLER)
            continue;
        struct json rules = rules_to_json(a, plan->grants[i].rules);
        json_each_item(&rules, rule)
        {
            json_push(a, &list, *rule);
        }
    }
    return list;
}

static void add_part(struct arena *a, struct json *list, const struct json *object)
{
    if (json_is_null(object))
        return;
    struct json one = json_obj();
    json_add(a, &one, S("apiVersion"), json_str(object_api_version(object)));
    json_add(a, &one, S("kind"), json_str(object_kind(object)));
    if (object_namespace(object).n)
        json_add(a, &one, S("namespace"), json_str(object_namespace(object)));
    json_add(a, &one, S("name"), json_str(object_name(object)));
    json_push(a, list, one);
}

static struct json render_inventory(struct arena *a, const struct plan *plan)
{
    struct json list = json_arr();
    for (size_t i = 0; i < plan->n_roles; i++)
        add_part(a, &list, &plan->roles[i]);
    add_part(a, &list, &plan->cluster_role);
    add_part(a, &list, &plan->account);
    for (size_t i = 0; i < plan->n_bindings; i++)
        add_part(a, &list, &plan->bindings[i]);
    add_part(a, &list, &plan->deployment);
    return list;
}

static struct json render_spec(struct visit *v, const struct package *p, const struct plan *plan)
{
    struct arena *a = v->a;
    struct json spec = json_is_obj(&p->metadata) ? json_dup_top(a, &p->metadata) : json_obj(), permissions = json_obj();
    json_set(a, &spec, S("package"), json_str(v->asked.image));
    json_set(a, &spec, S("digest"), json_str(p->digest));
    add_text(a, &spec, S("repository"), p->repo);
    add_text(a, &spec, S("name"), p->name);
    add_text(a, &spec, S("version"), p->version);
    add_text(a, &spec, S("family"), p->family);
    json_set(a, &spec, S("permissionScope"), json_str(p->scope == PACKAGE_CLUSTER ? S("Cluster") : S("Namespaced")));
    json_set(a, &spec, S("customresourcedefinitions"), render_crds(a, p));
    json_set(a, &spec, S("dependsOn"), render_dependencies(a, p));
    json_add(a, &permissions, S("rules"), render_rules(a, plan));
    json_set(a, &spec, S("permissions"), permissions);
    json_set(a, &spec, S("inventory"), render_inventory(a, plan));
    return spec;
}

static struct json owner_of(struct arena *a, const struct json *install)
{
    struct json owner = json_obj(), owners = json_arr();
    json_add(a, &owner, S("apiVersion"), json_str(object_api_version(install)));
    json_add(a, &owner, S("kind"), json_str(object_kind(install)));
    json_add(a, &owner, S("name"), json_str(object_name(install)));
    json_add(a, &owner, S("uid"), json_str(object_uid(install)));
    json_add(a, &owner, S("controller"), json_bool(true));
    json_add(a, &owner, S("blockOwnerDeletion"), json_bool(true));
    json_push(a, &owners, owner);
    return owners;
}

static struct json render(struct visit *v, const struct package *p, const struct plan *plan)
{
    struct arena *a = v->a;
    struct json record = json_obj(), meta = json_obj(), labels = json_obj();
    json_add(a, &labels, S(LABEL_MANAGED_BY), json_str(S(LABEL_MANAGER)));
    json_add(a, &meta, S("name"), json_str(object_name(&v->install)));
    if (!v->lane->is_cluster)
        json_add(a, &meta, S("namespace"), json_str(object_namespace(&v->install)));
    json_add(a, &meta, S("labels"), labels);
    json_add(a, &meta, S("ownerReferences"), owner_of(a, &v->install));
    json_add(a, &record, S("apiVersion"), json_str(client_api_version(a, &v->lane->record)));
    json_add(a, &record, S("kind"), json_str(v->lane->record.kind));
    json_add(a, &record, S("metadata"), meta);
    json_add(a, &record, S("spec"), render_spec(v, p, plan));
    return record;
}

static struct client_ref ref_of(const struct visit *v)
{
    return (struct client_ref){.resource = &v->lane->record,
                               .namespace = v->lane->is_cluster ? (str){0} : object_namespace(&v->install),
                               .name = object_name(&v->install)};
}

/* Somebody's own record of that name is taken over: it is Reeve's to write, and grants nothing. */
int record_keep(struct visit *v, const struct package *p, const struct plan *plan, struct json *ret, struct err *err)
{
    struct json want = render(v, p, plan);
    struct client_ref ref = ref_of(v);
    if (informer_read(v->lane->records, v->a, ref.namespace, ref.name, ret) && !object_is_deleting(ret) &&
        applyset_is_equal(v->a, &want, ret))
        return 0;
    struct client_write_options options = {.field_manager = S(FIELD_MANAGER_PACKAGES), .force = true};
    int code = client_apply(v->r->client, v->a, &ref, &want, &options, ret, err);
    return code < 0 ? err_wrap(err, "write the record %.*s", STR(ref.name)) : 0;
}

int record_delete(struct visit *v, struct err *err)
{
    struct client_ref ref = ref_of(v);
    int code = client_delete(v->r->client, v->a, &ref, NULL, NULL, err);
    return code < 0 && code != ERR_NOT_FOUND ? err_wrap(err, "delete the record %.*s", STR(ref.name)) : 0;
}
