/* SPDX-License-Identifier: Apache-2.0 */
/* What an install has alone: ServiceAccount, bindings, Deployment, and in the dialect of stacks its role. Two apply sets:
 *
 *   objects owned by the record    label with the record's uid, owner reference; the garbage collector removes them, too
 *   cluster-scoped objects of a    label with the install's uid, no owner reference (a namespaced owner would be invalid);
 *   namespaced install             installs_remnants.c removes them when the install is gone, however it went */
#include "control/applyset.h"
#include "controllers/installs/installs_internal.h"
#include "object/meta.h"
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

/* Objects owned by the record: all but those of the next set. */
static struct applyset set_of(const struct json *record)
{
    return (struct applyset){.label_key = S(LABEL_RECORD),
                             .label_value = object_uid(record),
                             .hash_key = S(ANNOTATION_APPLIED),
                             .owner = record,
                             .field_manager = S(FIELD_MANAGER_PACKAGES)};
}

/* Cluster-scoped objects of a namespaced install: no owner reference is valid for them, so that they are found by the install's uid. */
static struct applyset cluster_set_of(const struct json *install)
{
    return (struct applyset){.label_key = S(LABEL_INSTALL),
                             .label_value = object_uid(install),
                             .hash_key = S(ANNOTATION_APPLIED),
                             .field_manager = S(FIELD_MANAGER_PACKAGES)};
}

static bool is_of_cluster_set(const struct visit *v, const struct json *object)
{
    return !v->lane->is_cluster && !own_resources[kind_of(object)].namespaced;
}

typedef VEC(struct applyset_object) objects;

/* What is wanted and what exists; one for each set. */
struct own_objects {
    objects wants, have;
};

static void want(struct visit *v, objects *list, const struct json *object)
{
    *vec_push(v->a, list) = (struct applyset_object){own_resources[kind_of(object)], object};
}

/* With the labels by which users find the install. */
static void want_cluster_object(struct visit *v, objects *list, const struct json *object)
{
    enum { LABEL_LENGTH = 63, HASH_SUFFIX = 6 };
    struct json *labelled = ARENA_NEW(v->a, struct json);
    *labelled = json_dup(v->a, object);
    struct json *labels = json_get_mut(json_get_mut(labelled, S("metadata")), S("labels"));
    json_set(v->a, labels, S(LABEL_INSTALL_NAMESPACE), json_str(object_namespace(&v->install)));
    json_set(v->a, labels, S(LABEL_INSTALL_NAME),
             json_str(plan_truncate(v->a, object_name(&v->install), LABEL_LENGTH, HASH_SUFFIX)));
    want(v, list, labelled);
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
        if (!v->lane->is_cluster && !own_resources[kind].namespaced)
            continue;
        struct items items ITEMS_SCOPE = informer_by_label(v->s->own[kind], S(LABEL_RECORD), uid);
        add_items(v, have, kind, &items);
    }
}

/* Whether a cluster-scoped object was made by Reeve for an install in this namespace. */
static bool is_cluster_object_of(const struct json *object, str namespace)
{
    str of;
    return plan_is_cluster_object(object, &of) && str_eq(of, namespace);
}

/* A binding of the first release: labelled with the record's uid and with an invalid reference to it. As it is once it has been applied
 * again: the server drops both, because this field manager applied them and does so no more. The same for one whose label was removed
 * by hand. */
static struct json migrated(struct visit *v, const struct json *object)
{
    struct json next = json_dup(v->a, object);
    struct json *meta = json_get_mut(&next, S("metadata")), *labels = json_get_mut(meta, S("labels"));
    if (!labels)
        labels = json_add(v->a, meta, S("labels"), json_obj());
    json_remove(meta, S("ownerReferences"));
    json_remove(labels, S(LABEL_RECORD));
    json_set(v->a, labels, S(LABEL_INSTALL), json_str(object_uid(&v->install)));
    struct json *annotations = json_get_mut(meta, S("annotations"));
    if (annotations)
        json_remove(annotations, S(ANNOTATION_APPLIED)); /* so that it is written */
    return next;
}

static void add_cached_cluster_kind(struct visit *v, enum own_kind kind, objects *have, str record)
{
    struct items legacy ITEMS_SCOPE = informer_by_label(v->s->own[kind], S(LABEL_RECORD), record);
    struct items items ITEMS_SCOPE =
        informer_by_label(v->s->by_install[kind], S(LABEL_INSTALL), object_uid(&v->install));
    objects found = {0};
    add_items(v, &found, kind, &items);
    size_t n_labelled = found.n;
    add_items(v, &found, kind, &legacy);
    for (size_t i = 0; i < found.n; i++) {
        struct json *object = ARENA_NEW(v->a, struct json);
        *object = *found.p[i].object;
        if (!is_cluster_object_of(object, object_namespace(&v->install)) || is_in(have, object))
            continue;
        if (i >= n_labelled && meta_is_owned_by(object, record))
            *object = migrated(v, object);
        *vec_push(v->a, have) = (struct applyset_object){found.p[i].resource, object};
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
    if (is_of_cluster_set(v, object) && json_is_null(json_get(object_labels(live), S(LABEL_INSTALL))) &&
        !meta_controller_of(live) && remnants_is_made_here(live))
        *live = migrated(v, live);
    if (!is_in(have, live))
        *vec_push(v->a, have) = (struct applyset_object){own_resources[kind_of(object)], live};
    return 0;
}

static int plan_set(struct visit *v, const struct applyset *set, struct own_objects *of, struct applyset_plan *ret,
                    struct err *err)
{
    vec_each(&of->wants, w)
    {
        int code = has_namesake(&of->have, w->object) ? 0 : add_live(v, &of->have, w->object, err);
        if (code < 0)
            return code;
    }
    *ret = applyset_plan(v->a, set, of->wants.p, of->wants.n, of->have.p, of->have.n);
    return 0;
}

/* One plan of two: what is wanted, of both, the Deployment last; then what is deleted. */
static void join_plans(struct visit *v, const struct applyset_plan *own, size_t n_own, bool has_deployment,
                       const struct applyset_plan *cluster, size_t n_cluster, struct own_work *ret)
{
    struct applyset_step *steps = ARENA_ARRAY(v->a, struct applyset_step, own->n + cluster->n);
    size_t first = n_own - has_deployment, n = 0;
    const struct {
        const struct applyset_step *p;
        size_t n;
    } parts[] = {{own->p, first},
                 {cluster->p, n_cluster},
                 {own->p + first, own->n - first},
                 {cluster->p + n_cluster, cluster->n - n_cluster}};
    for (size_t i = 0; i < COUNT(parts); i++) {
        for (size_t k = 0; k < parts[i].n; k++)
            steps[n++] = parts[i].p[k];
    }
    *ret = (struct own_work){
        .plan = {steps, n, own->changes + cluster->changes, own->conflicts + cluster->conflicts},
        .before = first + n_cluster,
    };
}

int own_plan(struct visit *v, const struct json *record, const struct plan *plan, struct own_work *ret, struct err *err)
{
    struct own_objects own = {0}, cluster = {0};
    struct applyset own_set = set_of(record), cluster_set = cluster_set_of(&v->install);
    struct applyset_plan own_steps = {0}, cluster_steps = {0};
    bool has_deployment = !json_is_null(&plan->deployment);
    for (size_t i = 0; v->lane->dialect->has_own_role && i < plan->n_roles; i++)
        want(v, &own.wants, &plan->roles[i]);
    if (!json_is_null(&plan->cluster_role))
        want_cluster_object(v, &cluster.wants, &plan->cluster_role);
    want(v, &own.wants, &plan->account);
    for (size_t i = 0; i < plan->n_bindings; i++) {
        if (is_of_cluster_set(v, &plan->bindings[i]))
            want_cluster_object(v, &cluster.wants, &plan->bindings[i]);
        else
            want(v, &own.wants, &plan->bindings[i]);
    }
    if (has_deployment)
        want(v, &own.wants, &plan->deployment);
    add_cached(v, &own.have, object_uid(record));
    for (int kind = 0; !v->lane->is_cluster && kind < OWN_KINDS; kind++) {
        if (!own_resources[kind].namespaced)
            add_cached_cluster_kind(v, kind, &cluster.have, object_uid(record));
    }
    int code = plan_set(v, &own_set, &own, &own_steps, err);
    if (code < 0 || (code = plan_set(v, &cluster_set, &cluster, &cluster_steps, err)) < 0)
        return code;
    join_plans(v, &own_steps, own.wants.n, has_deployment, &cluster_steps, cluster.wants.n, ret);
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
    struct applyset set = set_of(record); /* of which only the field manager matters here: both sets have the same */
    struct applyset_plan part = work->plan;
    part.p += from;
    part.n = to - from;
    part = repairs_due(v, &part);
    int code = applyset_run(v->r->client, v->a, &set, &part, NULL, err);
    if (code == 0)
        repairs_report(v, &part);
    return code;
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

/* Only what Reeve made: a label alone can be set by anybody who may patch an object. */
static bool may_remove(struct visit *v, enum own_kind kind, const struct json *object, str record)
{
    if (v->lane->is_cluster || own_resources[kind].namespaced)
        return meta_is_owned_by(object, record);
    return is_cluster_object_of(object, object_namespace(&v->install));
}

static int remove_items(struct visit *v, enum own_kind kind, const struct items *items, str record, struct err *err)
{
    for (size_t i = 0; i < items->n; i++) {
        struct json object = item_tree(v->a, items->p[i]);
        if (!may_remove(v, kind, &object, record))
            continue;
        struct client_ref ref = {
            .resource = &own_resources[kind], .namespace = item_namespace(items->p[i]), .name = item_name(items->p[i])};
        struct client_delete_options options = {.uid = item_uid(items->p[i]), .propagation = S("Background")};
        int code = client_delete(v->r->client, v->a, &ref, &options, NULL, err);
        if (code < 0 && code != ERR_NOT_FOUND && code != ERR_CONFLICT)
            return err_wrap(err, "delete %.*s %.*s", STR(own_resources[kind].kind), STR(ref.name));
    }
    return 0;
}

static int remove_kind(struct visit *v, enum own_kind kind, str record, struct err *err)
{
    struct items items ITEMS_SCOPE = informer_by_label(v->s->own[kind], S(LABEL_RECORD), record);
    int code = remove_items(v, kind, &items, record, err);
    if (code < 0 || v->lane->is_cluster || own_resources[kind].namespaced)
        return code;
    struct items more ITEMS_SCOPE =
        informer_by_label(v->s->by_install[kind], S(LABEL_INSTALL), object_uid(&v->install));
    return remove_items(v, kind, &more, record, err);
}

int own_remove(struct visit *v, str record, bool with_account, struct err *err)
{
    static const enum own_kind order[] = {OWN_DEPLOYMENT, OWN_ROLE_BINDING, OWN_CLUSTER_ROLE_BINDING, OWN_ROLE,
                                          OWN_CLUSTER_ROLE};
    int code = 0;
    for (size_t i = 0; code == 0 && i < COUNT(order); i++)
        code = remove_kind(v, order[i], record, err);
    return code == 0 && with_account ? remove_kind(v, OWN_ACCOUNT, record, err) : code;
}
