/* SPDX-License-Identifier: Apache-2.0 */
/* The rights that are in force now: the rules of the very roles and bindings on the server, so that what somebody has changed by hand
 * shows, too. */
#include "cli/planning.h"

#include "object/meta.h"
#include "object/object.h"

#define RBAC "rbac.authorization.k8s.io"

static const struct client_resource role_binding = CLIENT_RESOURCE(RBAC, "v1", "rolebindings", "RoleBinding", true),
                                    cluster_binding =
                                        CLIENT_RESOURCE(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", false),
                                    role = CLIENT_RESOURCE(RBAC, "v1", "roles", "Role", true),
                                    cluster_role = CLIENT_RESOURCE(RBAC, "v1", "clusterroles", "ClusterRole", false),
                                    account = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true),
                                    deployment = CLIENT_RESOURCE("apps", "v1", "deployments", "Deployment", true);

/* ---- Asking. ---- */

static int get(struct planning *p, const struct client_resource *resource, str namespace, str name, struct json *ret,
               struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = namespace, .name = name};
    command_needs(p->c, (struct command_need){.verb = "get",
                                              .group = resource->group,
                                              .resource = resource->plural,
                                              .namespace = namespace,
                                              .name = name});
    int code = client_get(p->c->session.client, p->a, &ref, ret, err);
    if (code == ERR_NOT_FOUND) {
        *ret = json_null();
        return 0;
    }
    return code < 0 ? err_wrap(err, "look at %.*s %.*s", STR(resource->kind), STR(name)) : 0;
}

static int list(struct planning *p, const struct client_resource *resource, str namespace, str selector,
                struct json *ret, struct err *err)
{
    struct client_ref ref = {.resource = resource, .namespace = namespace};
    struct client_list_options options = {.label_selector = selector};
    command_needs(p->c,
                  (struct command_need){
                      .verb = "list", .group = resource->group, .resource = resource->plural, .namespace = namespace});
    int code = client_list(p->c->session.client, p->a, &ref, &options, ret, NULL, err);
    return code < 0 ? err_wrap(err, "list %.*s", STR(resource->plural)) : 0;
}

/* ---- Grants. ---- */

typedef VEC(struct plan_grant) grant_vec;

static int add_rules(struct planning *p, grant_vec *grants, enum plan_subject who, str namespace,
                     const struct json *object, struct err *err)
{
    struct plan_grant g = {.who = who, .is_cluster_wide = namespace.n == 0, .namespace = namespace};
    if (rules_from_json(p->a, json_get(object, S("rules")), &g.rules, err) < 0)
        return err_wrap(err, "%.*s %.*s", STR(object_kind(object)), STR(object_name(object)));
    vec_each(grants, it)
    {
        if (it->who == who && str_eq(it->namespace, namespace)) {
            it->rules = rules_normal(p->a, rules_union(p->a, it->rules, g.rules));
            return 0;
        }
    }
    g.rules = rules_normal(p->a, g.rules);
    if (g.rules.n)
        *vec_push(p->a, grants) = g;
    return 0;
}

/* ---- The controller's: by the bindings that belong to the record. ---- */

static bool binds_account(const struct planning *p, const struct json *binding)
{
    const struct json *subjects = json_get(binding, S("subjects"));
    json_each_item(subjects, s)
    {
        if (str_eq(object_kind(s), S("ServiceAccount")) && str_eq(json_get_text(s, S("name")), p->asked.name) &&
            str_eq(json_get_text(s, S("namespace")), p->asked.namespace))
            return true;
    }
    return false;
}

static int add_bound(struct planning *p, grant_vec *grants, const struct json *bindings, struct err *err)
{
    json_each_item(bindings, b)
    {
        const struct json *ref = json_get(b, S("roleRef"));
        bool is_role = str_eq(object_kind(ref), S("Role"));
        struct json object;
        if (!binds_account(p, b))
            continue;
        if (get(p, is_role ? &role : &cluster_role, is_role ? object_namespace(b) : (str){0},
                json_get_text(ref, S("name")), &object, err) < 0 ||
            add_rules(p, grants, PLAN_CONTROLLER, object_namespace(b), &object, err) < 0)
            return err->code;
    }
    return 0;
}

static int add_controller(struct planning *p, grant_vec *grants, struct err *err)
{
    struct json bindings;
    str selector = str_fmt(p->a, LABEL_RECORD "=%.*s", STR(object_uid(&p->running.record)));
    if (json_is_null(&p->running.record))
        return 0;
    if (!p->asked.is_cluster && (list(p, &role_binding, p->asked.namespace, selector, &bindings, err) < 0 ||
                                 add_bound(p, grants, &bindings, err) < 0))
        return err->code;
    if (!p->asked.is_cluster) /* such objects have no owner */
        selector = str_fmt(p->a, LABEL_INSTALL "=%.*s", STR(object_uid(p->running.install)));
    if (list(p, &cluster_binding, (str){0}, selector, &bindings, err) < 0)
        return err->code;
    return add_bound(p, grants, &bindings, err);
}

/* ---- People's: by the roles of the family that are labelled for this place. ---- */

static int add_people(struct planning *p, grant_vec *grants, struct err *err)
{
    static const char *const names[] = {"admin", "edit", "view"};
    struct json roles;
    bool is_cluster = p->asked.is_cluster;
    str where = is_cluster ? (str){0} : p->asked.namespace;
    struct buf selector = {.arena = p->a};
    if (!p->self.dialect->has_personas || p->running.family.n == 0)
        return 0;
    buf_fmt(&selector, LABEL_FAMILY "=%.*s", STR(plan_family_label(p->a, p->running.family)));
    if (!is_cluster)
        buf_fmt(&selector, "," LABEL_NAMESPACE_PREFIX "%.*s=true", STR(where));
    int code = list(p, &cluster_role, (str){0}, buf_str(&selector), &roles, err);
    for (size_t i = 0; code == 0 && i < json_len(&roles); i++) {
        for (int k = 0; code == 0 && k < PLANNING_PERSONAS; k++) {
            str label = str_fmt(p->a, "%s%s", is_cluster ? LABEL_TO_ENVIRONMENT : LABEL_TO_NAMESPACE, names[k]);
            if (str_eq(object_label(&roles.items[i], label), S("true")))
                code = add_rules(p, grants, (enum plan_subject)(PLAN_ADMIN + k), where, &roles.items[i], err);
        }
    }
    return code;
}

/* ---- All. ---- */

/* Who may not read roles is shown what the package that runs was given when nobody has changed it since. */
static bool plan_running(struct planning *p, struct plan *ret)
{
    const struct package *running = p->running.old.package;
    struct plan_install asked = p->asked;
    if (!running && str_eq(p->running.digest, p->source.package->digest))
        running = p->source.package;
    if (!running)
        return false;
    asked.image = p->running.reference;
    plan_make(p->a,
              &(struct plan_args){.package = running,
                                  .install = &asked,
                                  .facts = &p->facts,
                                  .options = {.pass_full_deployment = p->pass_full_deployment},
                                  .is_kept = true},
              ret);
    return ret->findings.list.n == 0;
}

static bool guess(struct planning *p)
{
    struct plan plan;
    if (!plan_running(p, &plan))
        return false;
    p->before = (struct plan_grants){plan.grants, plan.n_grants};
    planning_note(p, "the rights in force: you may not read roles; compared is with those that %.*s should have",
                  STR(p->running.version));
    return true;
}

int planning_see_before(struct planning *p, struct err *err)
{
    const struct dialect_kind *kind = &p->self.dialect->record[p->self.is_cluster];
    struct client_resource record = {p->self.dialect->group, p->self.dialect->version, kind->plural, kind->kind,
                                     !p->self.is_cluster};
    grant_vec grants = {0};
    if (!p->running.install || p->running.reference.n == 0)
        return 0;
    str namespace = p->self.is_cluster ? (str){0} : p->asked.namespace;
    int code = get(p, &record, namespace, p->asked.name, &p->running.record, err);
    if (code == 0)
        code = add_controller(p, &grants, err);
    if (code == 0)
        code = add_people(p, &grants, err);
    if (code == ERR_FORBIDDEN && guess(p))
        return 0;
    p->before = (struct plan_grants){grants.p, grants.n};
    return code;
}

/* ---- Names that others have. ---- */

/* As the controller objects. */
static void check_owner(struct planning *p, const struct json *object, const struct json *there)
{
    bool is_by_install = !p->asked.is_cluster && object_namespace(object).n == 0;
    const struct json *controller = meta_controller_of(there),
                      *label = json_get(object_labels(there), is_by_install ? S(LABEL_INSTALL) : S(LABEL_RECORD));
    str uid = object_uid(is_by_install ? p->running.install : &p->running.record), kind = object_kind(object),
        name = object_name(object);
    if (controller && !(uid.n && str_eq(json_get_text(controller, S("uid")), uid)))
        findings_add(&p->findings, S("Conflict"), "%.*s \"%.*s\" belongs to %.*s \"%.*s\"", STR(kind), STR(name),
                     STR(json_get_text(controller, S("kind"))), STR(json_get_text(controller, S("name"))));
    else if (label && !(uid.n && str_eq(json_text(label), uid)))
        findings_add(&p->findings, S("Conflict"), "%.*s \"%.*s\" belongs to another install", STR(kind), STR(name));
    else if (!label && !controller)
        findings_add(&p->findings, S("Conflict"), "%.*s \"%.*s\" exists already and belongs to nobody", STR(kind),
                     STR(name));
}

static const struct client_resource *const owned[] = {&account,         &role,      &cluster_role, &role_binding,
                                                      &cluster_binding, &deployment};
enum { OWNED = COUNT(owned) };

static size_t kind_of(const struct json *object)
{
    size_t i = 0;
    while (!str_eq(owned[i]->kind, object_kind(object)))
        i++; /* plans have no other kinds */
    return i;
}

/* What could not be read is taken for what it should be. */
static void pass_over(struct planning *p, const struct json *object)
{
    struct plan plan;
    p->unread |= 1U << kind_of(object);
    if (owned[kind_of(object)] == &deployment && plan_running(p, &plan))
        p->deployment = plan.deployment;
}

static void tell_unread(struct planning *p)
{
    struct buf kinds = {.arena = p->a};
    for (size_t i = 0; i < OWNED; i++) {
        if (p->unread >> i & 1U)
            buf_fmt(&kinds, "%s%.*ss", kinds.n ? ", " : "", STR(owned[i]->kind));
    }
    if (kinds.n)
        planning_note(p, "whether somebody else has objects of these names: you may not read %.*s",
                      STR(buf_str(&kinds)));
}

static int check_one(struct planning *p, const struct json *object, bool is_shared, struct err *err)
{
    struct json there;
    struct client_ref ref = {
        .resource = owned[kind_of(object)], .namespace = object_namespace(object), .name = object_name(object)};
    int code = client_get(p->c->session.client, p->a, &ref, &there, err);
    if (code == ERR_NOT_FOUND)
        return 0;
    if (code == ERR_FORBIDDEN) {
        pass_over(p, object);
        return 0;
    }
    if (code < 0)
        return err_wrap(err, "look at %.*s %.*s", STR(object_kind(object)), STR(ref.name));
    if (!is_shared)
        check_owner(p, object, &there);
    else if (!str_eq(object_label(&there, S(LABEL_FAMILY)), plan_family_label(p->a, p->source.package->family)))
        findings_add(&p->findings, S("Conflict"), "ClusterRole \"%.*s\" exists already, and no package brought it",
                     STR(ref.name));
    if (ref.resource == &deployment)
        p->deployment = there;
    return 0;
}

/* The one that goes, because the package has none any more. */
static int see_deployment(struct planning *p, struct err *err)
{
    struct client_ref ref = {
        .resource = &deployment, .namespace = p->asked.namespace, .name = plan_deployment_name(p->a, p->asked.name)};
    struct json there;
    int code =
        json_is_null(&p->running.record) ? ERR_NOT_FOUND : client_get(p->c->session.client, p->a, &ref, &there, err);
    if (code == 0 && str_eq(object_label(&there, S(LABEL_RECORD)), object_uid(&p->running.record)))
        p->deployment = there;
    return code == ERR_NOT_FOUND || code == ERR_FORBIDDEN ? 0 : code;
}

int planning_check_names(struct planning *p, struct err *err)
{
    bool is_shared = !p->self.dialect->has_own_role;
    int code = check_one(p, &p->plan.account, false, err);
    for (size_t i = 0; code == 0 && i < p->plan.n_roles; i++)
        code = check_one(p, &p->plan.roles[i], is_shared, err);
    if (code == 0 && !json_is_null(&p->plan.cluster_role))
        code = check_one(p, &p->plan.cluster_role, false, err);
    for (size_t i = 0; code == 0 && i < p->plan.n_bindings; i++)
        code = check_one(p, &p->plan.bindings[i], false, err);
    if (code == 0)
        code =
            json_is_null(&p->plan.deployment) ? see_deployment(p, err) : check_one(p, &p->plan.deployment, false, err);
    tell_unread(p);
    return code;
}
