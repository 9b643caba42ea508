/* SPDX-License-Identifier: Apache-2.0 */
/* What an install has alone: ServiceAccount, bindings, Deployment, and in the dialect of stacks its role. */
#include "control/applyset.h"
#include "controllers/installs/inside.h"
#include "object/object.h"

#define RBAC "rbac.authorization.k8s.io"

const struct client_resource own_resources[OWN_KINDS] = {
    [OWN_ACCOUNT] = CLIENT_RESOURCE("", "v1", "serviceaccounts", "ServiceAccount", true),
    [OWN_ROLE] = CLIENT_RESOURCE(RBAC, "v1", "roles", "Role", true),
    [OWN_CLUSTER_ROLE] = CLIENT_RESOURCE(RBAC, "v1", "clusterroles", "ClusterRole", false),
    [OWN_ROLE_BINDING] = CLIENT_RESOURCE(RBAC, "v1", "rolebindings", "RoleBinding", true),
    [OWN_CLUSTER_ROLE_BINDING] = CLIENT_RESOURCE(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", false),
    [OWN_DEPLOYMENT] = CLIENT_RESOURCE("apps", "v1", "deployments", "Deployment", true),
};

static enum own_kind kind_of(const struct json *object)
{
    str kind = object_kind(object);
    enum own_kind i = 0;
    while (i < OWN_KINDS && !str_eq(own_resources[i].kind, kind))
        i++;
    return i; /* plans have no other kinds */
}

static struct applyset set_of(const struct json *record)
{
    return (struct applyset){.label_key = S(LABEL_RECORD),
                             .label_value = object_uid(record),
                             .hash_key = S(ANNOTATION_APPLIED),
                             .owner = record,
                             .field_manager = S(FIELD_MANAGER_PACKAGES)};
}

typedef VEC(struct applyset_object) objects;

static void want(struct visit *v, objects *list, const struct json *object)
{
    *vec_push(v->a, list) = (struct applyset_object){own_resources[kind_of(object)], object};
}

static bool is_in(const objects *list, const struct json *object)
{
    vec_each(list, o)
    {
        if (str_eq(object_uid(o->object), object_uid(object)))
            return true;
    }
    return false;
}

static void add_items(struct visit *v, objects *list, enum own_kind kind, const struct items *items)
{
    for (size_t i = 0; i < items->n; i++) {
        struct json *tree = ARENA_NEW(v->a, struct json);
        *tree = item_tree(v->a, items->p[i]);
        *vec_push(v->a, list) = (struct applyset_object){own_resources[kind], tree};
    }
}

static void add_cached(struct visit *v, objects *have, str uid)
{
    for (int kind = 0; kind < OWN_KINDS; kind++) {
        struct items items ITEMS_SCOPE = informer_by_label(v->s->own[kind], S(LABEL_RECORD), uid);
        add_items(v, have, kind, &items);
    }
}

static bool has_namesake(const objects *have, const struct json *object)
{
    vec_each(have, o)
    {
        if (str_eq(o->resource.kind, object_kind(object)) && str_eq(object_name(o->object), object_name(object)) &&
            str_eq(object_namespace(o->object), object_namespace(object)))
            return true;
    }
    return false;
}

/* What has a wanted name and is not known to be ours: nobody's, or another record's, and caches may be behind. */
static int add_live(struct visit *v, objects *have, const struct json *object, struct err *err)
{
    struct json *live = ARENA_NEW(v->a, struct json);
    struct client_ref ref = {.resource = &own_resources[kind_of(object)],
                             .namespace = object_namespace(object),
                             .name = object_name(object)};
    int code = client_get(v->r->client, v->a, &ref, live, err);
    if (code == ERR_NOT_FOUND)
        return 0;
    if (code < 0)
        return code;
    if (!is_in(have, live))
        *vec_push(v->a, have) = (struct applyset_object){own_resources[kind_of(object)], live};
    return 0;
}

int own_plan(struct visit *v, const struct json *record, const struct plan *plan, struct own_work *ret, struct err *err)
{
    objects wants = {0}, have = {0};
    for (size_t i = 0; v->lane->dialect->has_own_role && i < plan->n_roles; i++)
        want(v, &wants, &plan->roles[i]);
    if (!json_is_null(&plan->cluster_role))
        want(v, &wants, &plan->cluster_role);
    want(v, &wants, &plan->account);
    for (size_t i = 0; i < plan->n_bindings; i++)
        want(v, &wants, &plan->bindings[i]);
    ret->before = wants.n;
    if (!json_is_null(&plan->deployment))
        want(v, &wants, &plan->deployment);
    add_cached(v, &have, object_uid(record));
    vec_each(&wants, w)
    {
        int code = has_namesake(&have, w->object) ? 0 : add_live(v, &have, w->object, err);
        if (code < 0)
            return code;
    }
    struct applyset set = set_of(record);
    ret->plan = applyset_plan(v->a, &set, wants.p, wants.n, have.p, have.n);
    ret->conflict = (str){0};
    for (size_t i = 0; i < ret->plan.n; i++) {
        if (ret->plan.p[i].action == APPLYSET_CONFLICT && ret->conflict.n == 0)
            ret->conflict = ret->plan.p[i].text;
    }
    return 0;
}

/* The role of a binding cannot be changed: one of ours that names another role (releases before shared the cluster-wide one) is
 * deleted, and made anew when its deletion was seen. */
int own_unbind(struct visit *v, const struct json *record, const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->n_bindings; i++) {
        const struct json *want = &plan->bindings[i];
        enum own_kind kind = kind_of(want);
        struct json have;
        struct client_ref ref = {
            .resource = &own_resources[kind], .namespace = object_namespace(want), .name = object_name(want)};
        if (!informer_read(v->s->own[kind], v->a, ref.namespace, ref.name, &have) || object_is_deleting(&have) ||
            !str_eq(object_label(&have, S(LABEL_RECORD)), object_uid(record)) ||
            json_equal(json_get(&have, S("roleRef")), json_get(want, S("roleRef"))))
            continue;
        struct client_delete_options options = {.uid = object_uid(&have)};
        int code = client_delete(v->r->client, v->a, &ref, &options, NULL, err);
        if (code < 0 && code != ERR_NOT_FOUND)
            return err_wrap(err, "delete %.*s %.*s", STR(object_kind(want)), STR(ref.name));
    }
    return 0;
}

int own_run(struct visit *v, const struct json *record, const struct own_work *work, size_t from, size_t to,
            struct err *err)
{
    struct applyset set = set_of(record);
    struct applyset_plan part = work->plan;
    part.p += from;
    part.n = to - from;
    return applyset_run(v->r->client, v->a, &set, &part, NULL, err);
}

/* ---- Before anything is written. ---- */

/* A role that others share has its family's label. */
static int check_shared_role(struct visit *v, const struct json *role, str label, struct findings *findings,
                             struct err *err)
{
    struct json there;
    struct client_ref ref = {.resource = &own_resources[OWN_CLUSTER_ROLE], .name = object_name(role)};
    int code = 0;
    if (!informer_read(v->s->roles, v->a, (str){0}, ref.name, &there))
        code = client_get(v->r->client, v->a, &ref, &there, err);
    if (code == 0 && !str_eq(object_label(&there, S(LABEL_FAMILY)), label))
        findings_add(findings, S("Conflict"), "ClusterRole \"%.*s\" exists already, and no package brought it",
                     STR(ref.name));
    return code == ERR_NOT_FOUND ? 0 : code;
}

int own_check(struct visit *v, const struct plan *plan, str label, struct findings *findings, struct err *err)
{
    struct json record = json_null();
    struct own_work work;
    str namespace = v->lane->is_cluster ? (str){0} : object_namespace(&v->install);
    (void)informer_read(v->lane->records, v->a, namespace, object_name(&v->install), &record);
    int code = own_plan(v, &record, plan, &work, err);
    for (size_t i = 0; code == 0 && i < work.plan.n; i++) {
        if (work.plan.p[i].action == APPLYSET_CONFLICT)
            findings_add(findings, S("Conflict"), "%.*s", STR(work.plan.p[i].text));
    }
    for (size_t i = 0; code == 0 && !v->lane->dialect->has_own_role && i < plan->n_roles; i++)
        code = check_shared_role(v, &plan->roles[i], label, findings, err);
    return code;
}

/* ---- Going. ---- */

static int remove_kind(struct visit *v, enum own_kind kind, str record, struct err *err)
{
    struct items items ITEMS_SCOPE = informer_by_label(v->s->own[kind], S(LABEL_RECORD), record);
    for (size_t i = 0; i < items.n; i++) {
        struct client_ref ref = {
            .resource = &own_resources[kind], .namespace = item_namespace(items.p[i]), .name = item_name(items.p[i])};
        struct client_delete_options options = {.uid = item_uid(items.p[i]), .propagation = S("Background")};
        int code = client_delete(v->r->client, v->a, &ref, &options, NULL, err);
        if (code < 0 && code != ERR_NOT_FOUND && code != ERR_CONFLICT)
            return err_wrap(err, "delete %.*s %.*s", STR(own_resources[kind].kind), STR(ref.name));
    }
    return 0;
}

int own_remove(struct visit *v, str record, bool with_account, struct err *err)
{
    static const enum own_kind order[] = {OWN_DEPLOYMENT, OWN_ROLE_BINDING, OWN_CLUSTER_ROLE_BINDING, OWN_ROLE,
                                          OWN_CLUSTER_ROLE};
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof order / sizeof *order; i++)
        code = remove_kind(v, order[i], record, err);
    return code == 0 && with_account ? remove_kind(v, OWN_ACCOUNT, record, err) : code;
}
