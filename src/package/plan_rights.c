/* SPDX-License-Identifier: Apache-2.0 */
#include "object/object.h"
#include "package/plan_internal.h"

/* The rights that come with a package. Permissions are implicit: nobody asks for any, they follow from what the package has.
 *
 *   core            ConfigMaps, Events, Secrets                        the controller, all verbs
 *   owned CRDs      plural, /status and /scale if declared, /finalizers the controller, all verbs
 *                   the same without /finalizers                       people: admin, edit, view
 *   dependencies    the plurals of CRDs that exist                     the controller, all verbs
 *
 * Rules name each resource: a dependency on all of a group lists what is there, because a "*" would grant what comes later,
 * and what has no namespace besides. */

static const str any_verb[] = {S_INIT("*")};
static const str write_verbs[] = {S_INIT("create"), S_INIT("delete"), S_INIT("deletecollection"), S_INIT("get"),
                                  S_INIT("list"),   S_INIT("patch"),  S_INIT("update"),           S_INIT("watch")};
static const str read_verbs[] = {S_INIT("get"), S_INIT("list"), S_INIT("watch")};
static const str core_resources[] = {S_INIT("configmaps"), S_INIT("events"), S_INIT("secrets")};
static const str core_group[] = {S_INIT("")};

#define LIST(array) ((struct strs){array, COUNT(array)})

typedef VEC(struct rule) rule_vec;

struct deriving {
    struct arena *a;
    const struct plan_args *args;
    rule_vec system, system_cluster, persona;
    VEC(str) waits, unusable;
    struct map seen;       /* names of CRDs that have their rules */
    struct map own_groups; /* of CRDs that the package brings */
};

static struct strs one(struct arena *a, str text)
{
    str *p = ARENA_NEW(a, str);
    *p = text;
    return (struct strs){p, 1};
}

/* True the first time. */
static bool is_new(struct deriving *d, str name)
{
    return map_set(&d->seen, name, d) == NULL;
}

/* ---- What it owns. ---- */

static void add_owned(struct deriving *d, const struct crd_info *crd)
{
    enum { PARTS = 4 };
    str *resources = ARENA_ARRAY(d->a, str, PARTS);
    size_t n = 0;
    resources[n++] = crd->plural;
    if (crd->has_status)
        resources[n++] = plan_join(d->a, crd->plural, S("/status"));
    if (crd->has_scale)
        resources[n++] = plan_join(d->a, crd->plural, S("/scale"));
    struct strs group = one(d->a, crd->group);
    if (d->args->install->dialect->has_personas)
        *vec_push(d->a, &d->persona) = (struct rule){.api_groups = group, .resources = {resources, n}};
    resources[n++] = plan_join(d->a, crd->plural, S("/finalizers"));
    *vec_push(d->a, &d->system) =
        (struct rule){.verbs = LIST(any_verb), .api_groups = group, .resources = {resources, n}};
    is_new(d, crd->name);
    map_set(&d->own_groups, crd->group, d);
}

/* ---- What it depends on. ---- */

static bool is_allowed_cluster_wide(struct deriving *d, const struct rule *rule)
{
    const struct rules *allowed = d->args->options.cluster_access;
    return !allowed || rules_cover(d->a, *allowed, (struct rules){rule, 1}, NULL);
}

/* A namespace's controller gets what has no namespace by a binding of its own, so that the other rights stay inside. */
static void add_dependency(struct deriving *d, const struct plan_crd *crd)
{
    const struct plan_install *install = d->args->install;
    if (!is_new(d, crd->name))
        return;
    if (crd->is_cluster_scoped && !install->dialect->has_cluster_crds) {
        *vec_push(d->a, &d->unusable) = crd->name;
        return;
    }
    struct rule rule = {
        .verbs = LIST(any_verb), .api_groups = one(d->a, crd->group), .resources = one(d->a, crd->plural)};
    if (!crd->is_cluster_scoped || install->is_cluster)
        *vec_push(d->a, &d->system) = rule;
    else if (is_allowed_cluster_wide(d, &rule))
        *vec_push(d->a, &d->system_cluster) = rule;
}

/* All of a group that is there. */
static void add_group(struct deriving *d, str group, bool *ret_found)
{
    const struct plan_facts *facts = d->args->facts;
    const struct plan_crd *list = NULL;
    size_t n = facts->crds_of_group(facts->ctx, d->a, group, &list);
    for (size_t i = 0; i < n; i++)
        add_dependency(d, &list[i]);
    *ret_found = n > 0 || map_get(&d->own_groups, group);
}

static void add_single(struct deriving *d, str name, bool *ret_found)
{
    const struct plan_facts *facts = d->args->facts;
    struct plan_crd crd;
    *ret_found = facts->crd(facts->ctx, d->a, name, &crd);
    if (*ret_found)
        add_dependency(d, &crd);
}

/* Versions make no difference to rights: a CRD named twice, with two of them, is one dependency. */
static void add_dependencies(struct deriving *d)
{
    const struct package *p = d->args->package;
    struct map asked = {0};
    for (size_t i = 0; i < p->n_dependencies; i++) {
        const struct package_dependency *dep = &p->dependencies[i];
        str name = str_fmt(d->a, "%.*s.%.*s", STR(dep->plural), STR(dep->group));
        bool found = true;
        if (map_get(&d->seen, name) || map_set(&asked, name, d))
            continue;
        if (str_eq(dep->plural, S("*")))
            add_group(d, dep->group, &found);
        else
            add_single(d, name, &found);
        if (!found)
            *vec_push(d->a, &d->waits) = name;
    }
    map_done(&asked);
}

static void add_requirements(struct deriving *d)
{
    const struct package *p = d->args->package;
    const struct plan_facts *facts = d->args->facts;
    for (size_t i = 0; i < p->n_requirements; i++) {
        const struct package_requirement *r = &p->requirements[i];
        if (facts->has_package && facts->has_package(facts->ctx, r))
            continue;
        *vec_push(d->a, &d->waits) =
            r->constraint.n ? str_fmt(d->a, "%.*s %.*s", STR(r->package), STR(r->constraint)) : r->package;
    }
}

/* ---- All of it. ---- */

static struct rules with_verbs(struct arena *a, const rule_vec *list, struct strs verbs)
{
    struct rule *rules = ARENA_ARRAY(a, struct rule, list->n);
    for (size_t i = 0; i < list->n; i++) {
        rules[i] = list->p[i];
        rules[i].verbs = verbs;
    }
    return rules_normal(a, (struct rules){rules, list->n});
}

/* Which subresources it has is not known: rules for those that do not exist grant nothing. */
struct rules plan_persona_rules(struct arena *a, str group, str plural, int persona)
{
    enum { PARTS = 3 };
    str *resources = ARENA_ARRAY(a, str, PARTS);
    rule_vec list = {0};
    resources[0] = plural;
    resources[1] = plan_join(a, plural, S("/status"));
    resources[2] = plan_join(a, plural, S("/scale"));
    *vec_push(a, &list) = (struct rule){.api_groups = one(a, group), .resources = {resources, PARTS}};
    return with_verbs(a, &list, persona + 1 < PLAN_PERSONAS ? LIST(write_verbs) : LIST(read_verbs));
}

struct plan_rights plan_rights_of(struct arena *a, const struct plan_args *args)
{
    struct deriving d = {.a = a, .args = args};
    *vec_push(a, &d.system) =
        (struct rule){.verbs = LIST(any_verb), .api_groups = LIST(core_group), .resources = LIST(core_resources)};
    for (size_t i = 0; i < args->package->n_crds; i++)
        add_owned(&d, &args->package->crds[i].info);
    add_dependencies(&d);
    add_requirements(&d);
    map_done(&d.seen);
    map_done(&d.own_groups);
    return (struct plan_rights){
        .system = rules_normal(a, (struct rules){d.system.p, d.system.n}),
        .system_cluster = rules_normal(a, (struct rules){d.system_cluster.p, d.system_cluster.n}),
        .persona = {with_verbs(a, &d.persona, LIST(write_verbs)), with_verbs(a, &d.persona, LIST(write_verbs)),
                    with_verbs(a, &d.persona, LIST(read_verbs))},
        .waits = d.waits.p,
        .n_waits = d.waits.n,
        .unusable = d.unusable.p,
        .n_unusable = d.unusable.n,
    };
}

/* ==== Roles and bindings ==== */

/* Rules as the objects that grant them. Cost is linear in the namespaces that share a role: they are added, not looked for. */

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
