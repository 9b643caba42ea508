/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as the objects that grant them. Cost is linear in the namespaces that share a role: they are added, not looked for. */
#include "object/object.h"
#include "package/plan_parts.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"
#define RBAC_VERSION RBAC_GROUP "/v1"
#define SYSTEM "system"
#define SYSTEM_CLUSTER "system-cluster"

static const char *const persona_names[PLAN_PERSONAS] = {"admin", "edit", "view"};

struct json plan_metadata(struct arena *a, str name, str namespace)
{
    struct json metadata = json_obj(), labels = json_obj();
    json_add(a, &labels, S(LABEL_MANAGED_BY), json_str(S(LABEL_MANAGER)));
    json_add(a, &metadata, S("name"), json_str(name));
    if (namespace.n)
        json_add(a, &metadata, S("namespace"), json_str(namespace));
    json_add(a, &metadata, S("labels"), labels);
    return metadata;
}

struct json plan_object(struct arena *a, str api_version, str kind, struct json metadata)
{
    struct json object = json_obj();
    json_add(a, &object, S("apiVersion"), json_str(api_version));
    json_add(a, &object, S("kind"), json_str(kind));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

/* ---- Roles. ---- */

static struct json role(struct arena *a, str kind, struct json metadata, struct rules rules)
{
    struct json object = plan_object(a, S(RBAC_VERSION), kind, metadata);
    json_add(a, &object, S("rules"), rules_to_json(a, rules));
    return object;
}

void plan_add_namespaces(struct arena *a, struct json *labels, const struct plan_sharers *sharers)
{
    for (size_t i = 0; i < sharers->n_namespaces; i++)
        json_add(a, labels, plan_join(a, S(LABEL_NAMESPACE_PREFIX), sharers->namespaces[i]), json_str(S("true")));
}

/* A ClusterRole of this version of the package, labelled for all its users. aggregate: one more label; empty: none. */
static struct json shared_role(struct arena *a, const struct plan_args *args, const char *name, str aggregate,
                               const struct plan_sharers *sharers, struct rules rules)
{
    const struct package *p = args->package;
    struct json metadata = plan_metadata(a, plan_role_name(a, args->install->dialect, p, name), (str){0});
    struct json *labels = json_get_mut(&metadata, S("labels"));
    json_add(a, labels, S(LABEL_FAMILY), json_str(plan_family_label(a, p->family)));
    if (aggregate.n)
        json_add(a, labels, aggregate, json_str(S("true")));
    plan_add_namespaces(a, labels, sharers);
    return role(a, S("ClusterRole"), metadata, rules);
}

static struct plan_objects shared_roles(struct arena *a, const struct plan_args *args, const struct plan_rights *rights,
                                        const struct plan_sharers *sharers)
{
    const char *aggregate = args->install->is_cluster ? LABEL_TO_ENVIRONMENT : LABEL_TO_NAMESPACE;
    VEC(struct json) list = {0};
    *vec_push(a, &list) = shared_role(a, args, SYSTEM, (str){0}, sharers, rights->system);
    for (int i = 0; i < PLAN_PERSONAS; i++) {
        struct json *made = vec_push(a, &list);
        *made = shared_role(a, args, persona_names[i], str_fmt(a, "%s%s", aggregate, persona_names[i]), sharers,
                            rights->persona[i]);
        if (i == 0) /* the admin: crossplane-admin binds people to its rules, and so has to hold them */
            json_add(a, json_get_mut(json_get_mut(made, S("metadata")), S("labels")), S(LABEL_TO_ADMIN),
                     json_str(S("true")));
    }
    return (struct plan_objects){list.p, list.n};
}

struct plan_objects plan_roles_of(struct arena *a, const struct plan_args *args, const struct plan_rights *rights,
                                  const struct plan_sharers *sharers)
{
    const struct plan_install *install = args->install;
    if (!install->dialect->has_own_role)
        return shared_roles(a, args, rights, sharers);
    struct json *own = ARENA_NEW(a, struct json);
    *own = install->is_cluster
               ? role(a, S("ClusterRole"), plan_metadata(a, install->name, (str){0}), rights->system)
               : role(a, S("Role"), plan_metadata(a, install->name, install->namespace), rights->system);
    return (struct plan_objects){own, 1};
}

size_t plan_roles(struct arena *a, const struct plan_args *args, const struct plan_sharers *sharers,
                  const struct json **ret)
{
    *ret = NULL;
    if (args->install->dialect->has_own_role)
        return 0;
    struct plan_rights rights = plan_rights_of(a, args);
    struct plan_objects roles = plan_roles_of(a, args, &rights, sharers);
    *ret = roles.p;
    return roles.n;
}

/* "package:repo:name:version:system-cluster:namespace" */
static str cluster_role_name(struct arena *a, const struct plan_args *args)
{
    const struct plan_install *install = args->install;
    str prefix = plan_role_name(a, install->dialect, args->package, SYSTEM_CLUSTER);
    return str_fmt(a, "%.*s:%.*s", STR(prefix), STR(install->namespace));
}

struct json plan_cluster_role_of(struct arena *a, const struct plan_args *args, const struct plan_rights *rights)
{
    if (!rights->system_cluster.n)
        return json_null();
    return role(a, S("ClusterRole"), plan_metadata(a, cluster_role_name(a, args), (str){0}), rights->system_cluster);
}

/* ---- Bindings of the controller's account. ---- */

struct binding {
    str name, namespace; /* no namespace: for the whole cluster */
    str role_kind, role;
};

static struct json bind(struct arena *a, const struct plan_install *install, const struct binding *b)
{
    str kind = b->namespace.n ? S("RoleBinding") : S("ClusterRoleBinding");
    struct json object = plan_object(a, S(RBAC_VERSION), kind, plan_metadata(a, b->name, b->namespace));
    struct json ref = json_obj(), subjects = json_arr(), subject = json_obj();
    json_add(a, &ref, S("apiGroup"), json_str(S(RBAC_GROUP)));
    json_add(a, &ref, S("kind"), json_str(b->role_kind));
    json_add(a, &ref, S("name"), json_str(b->role));
    json_add(a, &subject, S("kind"), json_str(S("ServiceAccount")));
    json_add(a, &subject, S("name"), json_str(install->name));
    json_add(a, &subject, S("namespace"), json_str(install->namespace));
    json_push(a, &subjects, subject);
    json_add(a, &object, S("roleRef"), ref);
    json_add(a, &object, S("subjects"), subjects);
    return object;
}

/* A binding is named after its role: another version is another binding, because the role of one cannot be changed. */
struct plan_objects plan_bindings_of(struct arena *a, const struct plan_args *args, const struct plan_rights *rights)
{
    const struct plan_install *install = args->install;
    bool has_own_role = install->dialect->has_own_role;
    VEC(struct json) list = {0};
    str name = has_own_role ? install->name : plan_role_name(a, install->dialect, args->package, SYSTEM);
    struct binding b = {
        .name = name,
        .namespace = install->is_cluster ? (str){0} : install->namespace,
        .role_kind = has_own_role && !install->is_cluster ? S("Role") : S("ClusterRole"),
        .role = name,
    };
    *vec_push(a, &list) = bind(a, install, &b);
    if (rights->system_cluster.n) {
        str wide = cluster_role_name(a, args);
        b = (struct binding){.name = wide, .role_kind = S("ClusterRole"), .role = wide};
        *vec_push(a, &list) = bind(a, install, &b);
    }
    return (struct plan_objects){list.p, list.n};
}

size_t plan_retained_roles(struct arena *a, const struct plan_crd *crd, const struct plan_sharers *sharers,
                           const struct json **ret)
{
    const char *aggregate = sharers->n_namespaces ? LABEL_TO_NAMESPACE : LABEL_TO_ENVIRONMENT;
    struct json *roles = ARENA_ARRAY(a, struct json, PLAN_PERSONAS);
    for (int i = 0; i < PLAN_PERSONAS; i++) {
        str name = str_fmt(a, "package:retained:%.*s:%s", STR(crd->name), persona_names[i]);
        struct json metadata = plan_metadata(a, name, (str){0});
        struct json *labels = json_get_mut(&metadata, S("labels"));
        json_add(a, labels, S(LABEL_FAMILY), json_str(plan_family_label(a, crd->family)));
        json_add(a, labels, str_fmt(a, "%s%s", aggregate, persona_names[i]), json_str(S("true")));
        if (i == 0)
            json_add(a, labels, S(LABEL_TO_ADMIN), json_str(S("true")));
        plan_add_namespaces(a, labels, sharers);
        roles[i] = role(a, S("ClusterRole"), metadata, plan_persona_rules(a, crd->group, crd->plural, i));
    }
    *ret = roles;
    return PLAN_PERSONAS;
}

/* ---- Recognition of what was made here. ---- */

/* "package:…:SUFFIX" */
static bool has_role_form(str name, const char *suffix)
{
    str end = str_of(suffix);
    return str_has_prefix(name, S("package:")) && name.n > end.n && str_has_suffix(name, end) &&
           name.p[name.n - end.n - 1] == ':';
}

bool plan_is_role_name(str name)
{
    bool is_role = has_role_form(name, SYSTEM) || has_role_form(name, SYSTEM_CLUSTER);
    for (int i = 0; i < PLAN_PERSONAS; i++)
        is_role |= has_role_form(name, persona_names[i]);
    return is_role;
}

/* The first release bound to a role without the namespace in its name, which installs shared. */
bool plan_is_cluster_object(const struct json *object, str *ret_namespace)
{
    str name = object_name(object), head = name;
    const struct json *ref = json_get(object, S("roleRef"));
    str role = json_get_text(ref, S("name"));
    while (head.n && head.p[head.n - 1] != ':')
        head.n--;
    if (head.n < 2 || head.n == name.n || !has_role_form(str_upto(head, head.n - 1), SYSTEM_CLUSTER))
        return false;
    *ret_namespace = str_from(name, head.n);
    if (str_eq(object_kind(object), S("ClusterRole")))
        return true;
    return str_eq(json_get_text(ref, S("kind")), S("ClusterRole")) &&
           (str_eq(role, name) || str_eq(role, str_upto(head, head.n - 1)));
}
