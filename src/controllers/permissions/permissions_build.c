/* SPDX-License-Identifier: Apache-2.0 */
#include "controllers/permissions/permissions_build.h"

#include "authz/validate.h"
#include "controllers/permissions/permissions_draft.h"

/* A binding of the spec, of either kind. */
struct binding {
    enum permission_kind kind;
    const struct json *object;
    str field; /* "roleBindings[0]" */
    struct json role_ref;
    bool is_dropped; /* all its subjects are missing */
};

typedef VEC(struct binding) binding_vec;

static void collect(struct permission_draft *d, binding_vec *list, enum permission_kind kind, str field)
{
    const struct json *items = json_get(d->spec, field);
    size_t i = 0;
    json_each_item(items, it)
    {
        str place = str_fmt(d->a, "%.*s[%zu]", STR(field), i++);
        *vec_push(d->a, list) = (struct binding){.kind = kind, .object = it, .field = place};
    }
}

/* In the order in which they are delivered. The single ClusterRoleBinding counts where there is no list. */
static binding_vec bindings_of(struct permission_draft *d)
{
    binding_vec list = {0};
    const struct json *single = json_get(d->spec, S("clusterRoleBinding"));
    collect(d, &list, PERMISSION_CLUSTER_ROLE_BINDING, S("clusterRoleBindings"));
    if (list.n == 0 && json_is_obj(single))
        *vec_push(d->a, &list) = (struct binding){
            .kind = PERMISSION_CLUSTER_ROLE_BINDING, .object = single, .field = S("clusterRoleBinding")};
    collect(d, &list, PERMISSION_ROLE_BINDING, S("roleBindings"));
    return list;
}

/* ---- Validation: what makes no sense whatever the hub has. ---- */

static bool lacks_subject(const struct json *binding)
{
    return json_is_null(json_get(binding, S("subject"))) && json_is_null(json_get(binding, S("subjects")));
}

static bool any_lacks_subject(const struct json *bindings)
{
    json_each_item(bindings, it)
    {
        if (lacks_subject(it))
            return true;
    }
    return false;
}

/* Rules of the CRD that are written in CEL, which not every server enforces. */
static const char *subject_rule(const struct json *spec)
{
    const struct json *single = json_get(spec, S("clusterRoleBinding"));
    if (json_is_obj(single) && lacks_subject(single))
        return "Either subject or subjects has to exist in clusterRoleBinding";
    if (any_lacks_subject(json_get(spec, S("clusterRoleBindings"))))
        return "Either subject or subjects has to exist in every clusterRoleBinding";
    if (any_lacks_subject(json_get(spec, S("roleBindings"))))
        return "Either subject or subjects has to exist in every roleBinding";
    return NULL;
}

static bool is_empty(const struct json *spec)
{
    static const str single[] = {S_INIT("clusterRole"), S_INIT("clusterRoleBinding")};
    static const str lists[] = {S_INIT("clusterRoleBindings"), S_INIT("roles"), S_INIT("roleBindings"),
                                S_INIT("roleRefs")};
    for (size_t i = 0; i < COUNT(single); i++) {
        if (json_is_obj(json_get(spec, single[i])))
            return false;
    }
    for (size_t i = 0; i < COUNT(lists); i++) {
        const struct json *list = json_get(spec, lists[i]);
        if (json_is_arr(list) && list->n)
            return false;
    }
    return true;
}

static bool is_valid(const struct permission_draft *d, struct permission_build *ret)
{
    const char *rule = subject_rule(d->spec);
    ret->outcome = PERMISSION_INVALID;
    ret->is_empty = is_empty(d->spec);
    if (ret->is_empty) {
        ret->reason = S("FailedValidationNoBindingsDefined");
        ret->message = S("no bindings defined");
    } else if (!d->facts->has_cluster) {
        ret->reason = S("FailedValidationNotInManagedClusterNamespace");
        ret->message = S("namespace value is not a managed cluster");
    } else if (rule) {
        ret->reason = S("FailedValidationNoSubject");
        ret->message = str_of(rule);
    } else {
        ret->outcome = PERMISSION_BUILT;
    }
    return ret->outcome == PERMISSION_BUILT;
}

/* ---- Roles. ---- */

/* rules and nothing else: labels could make it part of other roles of the managed cluster. */
static struct json rules_body(struct arena *a, const struct json *role)
{
    const struct json *rules = json_get(role, S("rules"));
    struct json body = json_obj_sized(a, 1);
    json_add(a, &body, S("rules"), json_is_arr(rules) ? *rules : json_arr());
    return body;
}

/* A namespace or a selector of them, never both, never neither. */
static bool place_of(struct permission_draft *d, enum permission_kind kind, const struct json *item, str field,
                     struct permission_place *ret)
{
    const char *what = permission_kinds[kind].kind;
    const struct json *selector = json_get(item, S("namespaceSelector"));
    *ret = (struct permission_place){
        .field = field,
        .namespace = json_get_text(item, S("namespace")),
        .selector = json_is_null(selector) ? NULL : selector,
    };
    if (ret->namespace.n == 0 && !ret->selector)
        return permission_fail(d, "both %s Namespace and NamespaceSelector cannot be nil and empty", what);
    if (ret->namespace.n && ret->selector)
        return permission_fail(d, "both %s Namespace and NamespaceSelector cannot populated at the same time", what);
    return true;
}

static bool add_cluster_role(struct permission_draft *d)
{
    const struct json *role = json_get(d->spec, S("clusterRole"));
    struct json body = rules_body(d->a, role);
    return !json_is_obj(role) || permission_deliver(d, PERMISSION_CLUSTER_ROLE, d->name, NULL, &body);
}

static bool add_roles(struct permission_draft *d)
{
    const struct json *roles = json_get(d->spec, S("roles"));
    size_t i = 0;
    json_each_item(roles, role)
    {
        struct permission_place place;
        struct json body = rules_body(d->a, role);
        if (!place_of(d, PERMISSION_ROLE, role, str_fmt(d->a, "roles[%zu]", i++), &place) ||
            !permission_deliver(d, PERMISSION_ROLE, d->name, &place, &body))
            return false;
    }
    return true;
}

/* A role of the hub, delivered under its own name. */
static bool add_role_of_hub(struct permission_draft *d, const struct json *ref, str field)
{
    str name = json_get_text(ref, S("name")), group = json_get_text(ref, S("apiGroup"));
    struct permission_place place = {.field = field, .namespace = json_get_text(ref, S("namespace"))};
    enum permission_kind kind = permission_kind_of(json_get_text(ref, S("kind")));
    if ((kind != PERMISSION_ROLE && kind != PERMISSION_CLUSTER_ROLE) || (group.n && !str_eq(group, RBAC_GROUP)))
        return permission_fail(d,
                               "%.*s: kind \"%.*s\" of group \"%.*s\" cannot be referenced, but Role and ClusterRole",
                               STR(field), STR(json_get_text(ref, S("kind"))), STR(group));
    if (name.n == 0)
        return permission_fail(d, "%.*s: name is empty", STR(field));
    if ((kind == PERMISSION_ROLE) != (place.namespace.n > 0))
        return permission_fail(d, "%.*s: a %s has %s namespace", STR(field), permission_kinds[kind].kind,
                               kind == PERMISSION_ROLE ? "a" : "no");
    const struct json *role = d->facts->role(d->facts->ctx, d->a, place.namespace, name);
    if (!role)
        return permission_fail(d, "%.*s: there is no %s \"%.*s%s%.*s\" on the hub", STR(field),
                               permission_kinds[kind].kind, STR(place.namespace), place.namespace.n ? "/" : "",
                               STR(name));
    struct json body = rules_body(d->a, role);
    return permission_deliver(d, kind, name, kind == PERMISSION_ROLE ? &place : NULL, &body);
}

static bool add_roles_of_hub(struct permission_draft *d)
{
    const struct json *refs = json_get(d->spec, S("roleRefs"));
    size_t i = 0;
    json_each_item(refs, ref)
    {
        if (!add_role_of_hub(d, ref, str_fmt(d->a, "roleRefs[%zu]", i++)))
            return false;
    }
    return true;
}

/* ---- Bindings. ---- */

static struct json make_role_ref(struct arena *a, str kind, str name)
{
    struct json ref = json_obj_sized(a, 3);
    json_add(a, &ref, S("apiGroup"), json_str(RBAC_GROUP));
    json_add(a, &ref, S("kind"), json_str(kind));
    json_add(a, &ref, S("name"), json_str(name));
    return ref;
}

/* The role of the permission's own name, unless another one is named. */
static bool cluster_role_ref(struct permission_draft *d, struct binding *b)
{
    const struct json *ref = json_get(b->object, S("roleRef"));
    str kind = json_get_text(ref, S("kind")), name = json_get_text(ref, S("name"));
    if (json_is_null(ref)) {
        kind = S("ClusterRole");
        name = d->name;
    } else if (!str_eq(kind, S("ClusterRole")) || !str_eq(json_get_text(ref, S("apiGroup")), RBAC_GROUP)) {
        return permission_fail(
            d,
            "%.*s: a ClusterRoleBinding references a ClusterRole of group rbac.authorization.k8s.io, "
            "not kind \"%.*s\" of group \"%.*s\"",
            STR(b->field), STR(kind), STR(json_get_text(ref, S("apiGroup"))));
    } else if (name.n == 0) {
        return permission_fail(d, "%.*s: name of the RoleRef is empty", STR(b->field));
    }
    b->role_ref = make_role_ref(d->a, kind, name);
    return true;
}

/* Kind alone: the role of the permission's own name. */
static bool role_ref(struct permission_draft *d, struct binding *b, const struct permission_place *place)
{
    const struct json *ref = json_get(b->object, S("roleRef"));
    str kind = json_get_text(ref, S("kind")), name = json_get_text(ref, S("name")),
        group = json_get_text(ref, S("apiGroup"));
    str where = place->selector ? S("Selector") : str_fmt(d->a, " %.*s", STR(place->namespace));
    if (!str_eq(kind, S("ClusterRole")) && !str_eq(kind, S("Role")))
        return permission_fail(d, "%.*s: a RoleBinding references a Role or a ClusterRole, not kind \"%.*s\"",
                               STR(b->field), STR(kind));
    if (name.n && group.n == 0)
        return permission_fail(d, "the RoleBinding for Namespace%.*s missing APIGroup for the RoleRef", STR(where));
    if (name.n == 0 && group.n)
        return permission_fail(d, "the RoleBinding for Namespace%.*s missing Name for the RoleRef", STR(where));
    if (group.n && !str_eq(group, RBAC_GROUP))
        return permission_fail(d,
                               "%.*s: a RoleBinding references roles of group rbac.authorization.k8s.io, not \"%.*s\"",
                               STR(b->field), STR(group));
    b->role_ref = make_role_ref(d->a, kind, name.n ? name : d->name);
    return true;
}

static bool add_binding(struct permission_draft *d, struct binding *b)
{
    struct permission_place place = {.field = b->field};
    bool is_namespaced = b->kind == PERMISSION_ROLE_BINDING;
    str name = json_get_text(b->object, S("name"));
    struct json subjects, body = json_obj_sized(d->a, 2);
    if (is_namespaced && !place_of(d, b->kind, b->object, b->field, &place))
        return false;
    if (!(is_namespaced ? role_ref(d, b, &place) : cluster_role_ref(d, b)) ||
        !permission_subjects(d, b->field, b->object, &subjects, &b->is_dropped))
        return false;
    if (b->is_dropped)
        return true;
    json_add(d->a, &body, S("roleRef"), b->role_ref);
    if (json_len(&subjects))
        json_add(d->a, &body, S("subjects"), subjects);
    return permission_deliver(d, b->kind, name.n ? name : d->name, is_namespaced ? &place : NULL, &body);
}

static bool add_bindings(struct permission_draft *d, binding_vec *bindings, enum permission_kind kind)
{
    vec_each(bindings, b)
    {
        if (b->kind == kind && !add_binding(d, b))
            return false;
    }
    return true;
}

/* ---- Roles that are there already, we hope. ---- */

/* A Role of selected namespaces is not looked for: which ones they are is not known here. */
static bool look_for_role_of(struct permission_draft *d, const struct binding *b)
{
    str name = json_get_text(&b->role_ref, S("name")), namespace = json_get_text(b->object, S("namespace"));
    if (str_eq(json_get_text(&b->role_ref, S("kind")), S("ClusterRole")))
        return permission_look_for(d, PERMISSION_CLUSTER_ROLE, (str){0}, name);
    return namespace.n == 0 || permission_look_for(d, PERMISSION_ROLE, namespace, name);
}

static bool add_stubs(struct permission_draft *d, const binding_vec *bindings)
{
    if (!json_true(json_get(d->spec, S("validate"))))
        return true;
    vec_each(bindings, b)
    {
        if (!b->is_dropped && !look_for_role_of(d, b))
            return false;
    }
    return true;
}

/* ---- The whole. ---- */

static bool draw_up(struct permission_draft *d, binding_vec *bindings)
{
    return add_cluster_role(d) && add_bindings(d, bindings, PERMISSION_CLUSTER_ROLE_BINDING) && add_roles(d) &&
           add_bindings(d, bindings, PERMISSION_ROLE_BINDING) && add_roles_of_hub(d) && add_stubs(d, bindings);
}

struct permission_build permission_build(struct arena *a, const struct json *permission,
                                         const struct permission_facts *facts)
{
    struct permission_build ret = {0};
    struct permission_draft d;
    permission_draft_init(&d, a, permission, facts);
    binding_vec bindings = bindings_of(&d);
    vec_each(&bindings, b) permission_note_accounts(&d, b->object);
    if (is_valid(&d, &ret) && (!draw_up(&d, &bindings) || !permission_split(&d, &ret.works, &ret.n))) {
        ret.outcome = PERMISSION_BROKEN;
        ret.reason = S("FailedBuildManifestWork");
        ret.message = d.problem;
        ret.n = 0;
    }
    ret.has_accounts = d.accounts.n > 0;
    ret.missing = d.missing.p;
    ret.n_missing = d.missing.n;
    ret.no_subjects = buf_str(&d.no_subjects);
    ret.no_namespaces = buf_str(&d.no_namespaces);
    permission_draft_done(&d);
    return ret;
}

/* ---- Comparing with what the hub has. ---- */

/* found has all that want has. */
static bool covers(const struct json *found, const struct json *want)
{
    if (!json_is_obj(want))
        return json_equal(found, want);
    json_each_member(want, it)
    {
        if (!covers(json_get(found, json_key(it)), &it->val))
            return false;
    }
    return true;
}

static bool covers_items(const struct json *found, const struct json *want)
{
    if (json_len(found) != json_len(want))
        return false;
    for (size_t i = 0; i < json_len(want); i++) {
        if (!covers(&found->items[i], &want->items[i]))
            return false;
    }
    return true;
}

bool permission_work_is(const struct permission_work *want, const struct json *work)
{
    const struct json *spec = json_get(work, S("spec"));
    json_each_member(spec, it)
    {
        if (!str_eq(json_key(it), S("workload")) && !str_eq(json_key(it), S("manifestConfigs")))
            return false; /* a deleteOption or an executor is not ours */
    }
    return json_equal(json_dig(spec, "workload.manifests"), json_dig(&want->spec, "workload.manifests")) &&
           covers_items(json_get(spec, S("manifestConfigs")), json_get(&want->spec, S("manifestConfigs")));
}
