/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a binding may stand; see works_roles.h. */
#include "base/map.h"
#include "controllers/works/works_content.h"
#include "controllers/works/works_owners.h"
#include "controllers/works/works_roles.h"
#include "object/fleet.h"
#include "object/meta.h"
#include "object/object.h"
#include "object/selector.h"

static const struct client_resource roles_kind = CLIENT_RESOURCE(WORKS_RBAC, "v1", "roles", "Role", true);
static const struct client_resource cluster_roles_kind =
    CLIENT_RESOURCE(WORKS_RBAC, "v1", "clusterroles", "ClusterRole", false);

/* The role in question. */
struct question {
    struct visit *v;
    const struct client_resource *resource;
    str namespace, name;
    bool may_ask;
    const struct json *want; /* what this work, or another of its controller, says it is; NULL: neither says anything */
};

/* ---- Who delivers it. ---- */

static str plural_of(void *ctx, str group, str version, str kind)
{
    (void)ctx;
    (void)version;
    if (!str_eq(group, S(WORKS_RBAC)))
        return (str){0};
    return str_eq(kind, S("Role")) ? S("roles") : str_eq(kind, S("ClusterRole")) ? S("clusterroles") : (str){0};
}

/* Another work, read once for all bindings of a visit that come to ask for it in a row. */
static void read_candidate(struct visit *v, str work)
{
    struct json tree;
    struct manifest_resources resources = {plural_of, NULL};
    if (str_eq(v->candidate.work, work))
        return;
    v->candidate.work = work;
    v->candidate.n = 0;
    if (informer_read(v->w->works, v->a, v->w->options.cluster, work, &tree) && !object_is_deleting(&tree))
        v->candidate.n = manifests_read(v->a, &tree, &resources, &v->candidate.p);
}

/* Where labels are not known it is taken to: a binding too few is better than one too many. */
static bool selects(const struct question *q, const struct manifest *m)
{
    struct json namespace;
    struct selector selector;
    struct err err;
    if (!m->selector || selector_from_object(q->v->a, m->selector, &selector, &err) < 0)
        return false;
    if (!targets_namespace(q->v->w->targets, q->v->a, q->namespace, &namespace))
        return true;
    return selector_matches(&selector, object_labels(&namespace));
}

static const struct json *delivered_by(const struct question *q, str work)
{
    struct visit *v = q->v;
    read_candidate(v, work);
    for (size_t i = 0; i < v->candidate.n; i++) {
        const struct manifest *m = &v->candidate.p[i];
        if (m->strategy == MANIFEST_READ_ONLY || !str_eq(m->kind, q->resource->kind) ||
            !str_eq(m->group, S(WORKS_RBAC)) || !str_eq(m->name, q->name))
            continue;
        if (!q->resource->namespaced || str_eq(m->namespace, q->namespace) || selects(q, m))
            return m->object;
    }
    return NULL;
}

/* Works of the same controller are asked first: what they say of the role is what the binding means. */
static bool is_delivered(struct question *q)
{
    struct visit *v = q->v;
    const struct role_deliverer *list;
    str controller = json_get_text(meta_controller_of(&v->work), S("uid"));
    size_t n = roles_deliverers(v->w->roles, v->a, q->resource->plural, q->namespace, q->name, &list);
    for (size_t i = 0; i < n && !q->want; i++)
        if (controller.n && str_eq(list[i].controller, controller) && !str_eq(list[i].work, v->name))
            q->want = delivered_by(q, list[i].work);
    bool is_so = q->want != NULL;
    for (size_t i = 0; i < n && !is_so; i++)
        is_so = !str_eq(list[i].work, v->name) && delivered_by(q, list[i].work) != NULL;
    return is_so;
}

/* ---- What stands there. ---- */

/* A work delivers what stands there: it was created for one, or one has adopted it and still may change it. */
static bool is_from_work(const struct json *live, const struct owners *owners)
{
    str label = object_label(live, S(FLEET_LABEL_DELIVERED));
    return str_eq(label, S("true")) || (owners->is_adoptable && str_eq(label, S(FLEET_ADOPTED)));
}

static bool is_sibling(struct visit *v, str work)
{
    str mine = json_get_text(meta_controller_of(&v->work), S("uid"));
    return str_eq(work, v->name) || (mine.n && str_eq(roles_controller(v->w->roles, v->a, work), mine));
}

static enum role_stand judge(const struct question *q, const struct json *live)
{
    struct visit *v = q->v;
    struct owners owners = owners_read(v, live);
    str leader = owners.leader.n ? owners.leader : owners.is_ours ? v->applied_name : (str){0}, work;
    if (!is_from_work(live, &owners))
        return ROLE_FOREIGN;
    if (!leader.n || !q->want) /* repaired in a moment, if need be; or another work's, and that is meant */
        return ROLE_OURS;
    bool is_here = applied_work_of(v->w, leader, &work);
    if ((is_here && is_sibling(v, work)) || content_means_same(v->a, q->want, live))
        return ROLE_OURS;
    return is_here ? ROLE_DIFFERS : ROLE_FOREIGN;
}

static int look(const struct question *q, enum role_stand *ret, struct err *err)
{
    struct visit *v = q->v;
    struct json live;
    struct client_ref ref = {.resource = q->resource, .namespace = q->namespace, .name = q->name};
    if (targets_read(v->w->targets, v->a, q->resource, q->namespace, q->name, &live) == TARGET_THERE) {
        *ret = judge(q, &live);
        return 0;
    }
    *ret = ROLE_UNKNOWN;
    if (!q->may_ask)
        return 0;
    int code = client_get(v->managed, v->a, &ref, &live, err);
    if (code < 0 && !client_is_gone(err))
        return err_wrap(err, "look at %.*s %.*s", STR(q->resource->kind), STR(q->name));
    *ret = code < 0 ? ROLE_MISSING : judge(q, &live);
    return 0;
}

/* ---- The answer. ---- */

static bool ask_about(struct visit *v, const struct work_item *binding, bool may_ask, struct question *ret)
{
    const struct json *ref = json_get(&binding->want, S("roleRef"));
    bool is_local = str_eq(json_get_text(ref, S("kind")), S("Role"));
    *ret = (struct question){.v = v,
                             .resource = is_local ? &roles_kind : &cluster_roles_kind,
                             .namespace = is_local ? binding->namespace : (str){0},
                             .name = json_get_text(ref, S("name")),
                             .may_ask = may_ask};
    return str_eq(binding->resource.group, S(WORKS_RBAC)) && str_has_suffix(binding->resource.plural, S("bindings"));
}

int roles_stand(struct visit *v, const struct work_item *item, bool may_ask, enum role_stand *ret, str *ret_role,
                struct err *err)
{
    struct question q;
    *ret = ROLE_FREE;
    if (!ask_about(v, item, may_ask, &q))
        return 0;
    const struct work_item *own =
        map_get(&v->by_key, work_item_key(v->a, q.resource->group, q.resource->plural, q.namespace, q.name));
    if (own && own->report.manifest->strategy == MANIFEST_READ_ONLY)
        own = NULL;
    *ret_role = q.namespace.n ? str_fmt(v->a, "Role \"%.*s/%.*s\"", STR(q.namespace), STR(q.name))
                              : str_fmt(v->a, "ClusterRole \"%.*s\"", STR(q.name));
    if (own) {
        q.want = &own->want;
        *ret = ROLE_OURS;
        if (own->is_done || (may_ask && !own->report.reason.n))
            return 0;
    } else if (!is_delivered(&q)) {
        return 0;
    }
    return look(&q, ret, err);
}
