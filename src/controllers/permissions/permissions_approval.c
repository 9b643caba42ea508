/* SPDX-License-Identifier: Apache-2.0 */
/* Who delivers rights to a managed cluster must hold them on the hub, or somebody who may approve says yes:
 *
 *   the policy that guards approvals is missing (on Kubernetes)? ─yes─► waits
 *        │ no
 *   approved for this generation? ─yes─► goes                 (annotation; only who may `approve` can set it)
 *        │ no
 *   found harmless before, for this generation? ─yes─► goes   (condition; only who may `approve` can set it)
 *        │ no
 *   known who asked? ─no─► waits
 *        │ yes
 *   each role that is delivered: its requester holds every rule everywhere, or may `escalate`
 *   each binding to another role, or to one that the hub has, too: its requester may `bind` it
 *        │ all of it ─► goes          │ something not, or too much to ask ─► waits
 *
 * "Everywhere" because namespaces of a managed cluster are not those of the hub that have the same names. Once found harmless it
 * stays so until its spec changes, even if its requester loses rights: as with any binding in Kubernetes. */
#include "controllers/access.h"
#include "controllers/permissions/permissions_internal.h"
#include "object/conditions.h"
#include "object/fleet.h"
#include "object/object.h"

#define RBAC "rbac.authorization.k8s.io"

/* ---- What is asked. ---- */

static str plural_of(str kind)
{
    return str_eq(kind, S("ClusterRole")) ? S("clusterroles") : S("roles");
}

static bool is_role(const struct json *m)
{
    return str_eq(object_kind(m), S("Role")) || str_eq(object_kind(m), S("ClusterRole"));
}

static str role_key(struct arena *a, str kind, str namespace, str name)
{
    return str_fmt(a, "%.*s %.*s/%.*s", STR(kind), STR(str_eq(kind, S("Role")) ? namespace : (str){0}), STR(name));
}

/* Stubs, which only ask whether a role is there, have no rules and deliver nothing. */
static void each_manifest(const struct permission_build *build, void (*fn)(void *ctx, const struct json *m), void *ctx)
{
    for (size_t i = 0; i < build->n; i++) {
        const struct json *list = json_dig(&build->works[i].spec, "workload.manifests");
        json_each_item(list, m) fn(ctx, m);
    }
}

struct gathering {
    struct permissions *all;
    struct arena *a;
    struct map delivered; /* roles that come with the permission, and are no others' */
    struct access_demands rules, binds;
};

/* A ClusterRole that the hub has, the managed cluster may have as well: cluster-admin is everywhere. The agent leaves it as it is,
 * and a binding to it grants what that one grants, not what the permission says. */
static bool is_known(struct gathering *g, const struct json *m)
{
    const struct item *item = informer_get(g->all->cluster_roles, (str){0}, object_name(m));
    item_unref(item);
    return item && str_eq(object_kind(m), S("ClusterRole"));
}

/* Of what selectors put into many namespaces neither role nor binding has one. */
static void gather_role(void *ctx, const struct json *m)
{
    struct gathering *g = ctx;
    const struct json *rules = json_get(m, S("rules"));
    if (!is_role(m) || !rules)
        return;
    if (!is_known(g, m))
        map_set(&g->delivered, role_key(g->a, object_kind(m), object_namespace(m), object_name(m)), g);
    json_each_item(rules, rule) access_need_rule(&g->rules, rule);
}

static void gather_binding(void *ctx, const struct json *m)
{
    struct gathering *g = ctx;
    const struct json *ref = json_get(m, S("roleRef"));
    str kind = json_get_text(ref, S("kind")), name = json_get_text(ref, S("name"));
    if (is_role(m) || map_get(&g->delivered, role_key(g->a, kind, object_namespace(m), name)))
        return;
    access_need(&g->binds,
                (struct access_demand){.verb = S("bind"), .group = S(RBAC), .resource = plural_of(kind), .name = name});
}

/* ---- Deciding. ---- */

/* As the server of this process wrote it. */
static bool read_requester(struct visit *v, struct access_subject *ret)
{
    return v->all->trusts_stamp &&
           access_subject_read(v->a, object_annotation(&v->permission, S(FLEET_ANNOTATION_REQUESTER)), ret);
}

static void await(struct visit *v, str why, struct approval *ret)
{
    ret->is_awaited = true;
    ret->text = str_fmt(
        v->a,
        "%.*s; to approve it: kubectl -n %.*s annotate --overwrite clusterpermission %.*s " FLEET_ANNOTATION_APPROVED
        "=%lld",
        STR(why), STR(v->r->namespace), STR(v->r->name), (long long)object_generation(&v->permission));
}

static str harmless_text(struct arena *a, const struct access_subject *who)
{
    return str_fmt(a, "%.*s holds what it grants", STR(who->name));
}

/* What is missing; NULL: nothing is. */
static int find_missing(struct visit *v, const struct access_subject *who, struct gathering *g,
                        const struct access_demand **ret, struct err *err)
{
    static const struct access_demand strong[] = {
        {.verb = S_INIT("escalate"), .group = S_INIT(RBAC), .resource = S_INIT("clusterroles")},
        {.verb = S_INIT("escalate"), .group = S_INIT(RBAC), .resource = S_INIT("roles")},
    };
    int code = 0;
    *ret = NULL;
    if (g->rules.list.n || g->rules.is_too_much) {
        code = access_find_missing(v->r->client, v->a, who, strong, COUNT(strong), ret, err);
        if (code == 0 && *ret && !g->rules.is_too_much)
            code = access_find_missing(v->r->client, v->a, who, g->rules.list.p, g->rules.list.n, ret, err);
    }
    if (code == 0 && !*ret)
        code = access_find_missing(v->r->client, v->a, who, g->binds.list.p, g->binds.list.n, ret, err);
    return code;
}

static int decide(struct visit *v, const struct access_subject *who, struct gathering *g, struct approval *ret,
                  struct err *err)
{
    const struct access_demand *missing;
    int code = find_missing(v, who, g, &missing, err);
    if (code < 0)
        return code;
    if (missing)
        await(v,
              str_fmt(v->a, "%.*s may not %.*s%s, and so not grant it", STR(who->name),
                      STR(access_describe(v->a, missing)), missing->path.n ? "" : " everywhere"),
              ret);
    else if (g->binds.is_too_much)
        await(v, S("it binds too many roles for each to be checked"), ret);
    else
        ret->text = harmless_text(v->a, who);
    return 0;
}

static bool is_approved(struct visit *v)
{
    int64_t approved;
    return str_to_int64(object_annotation(&v->permission, S(FLEET_ANNOTATION_APPROVED)), &approved) &&
           approved == object_generation(&v->permission);
}

/* What was decided about this generation; NULL: nothing yet. */
static const struct json *last_verdict(struct visit *v)
{
    int64_t seen = 0;
    const struct json *c = condition_find(json_dig(&v->permission, "status.conditions"), S("Approved"));
    return json_to_int(json_get(c, S("observedGeneration")), &seen) && seen == object_generation(&v->permission) ? c
                                                                                                                 : NULL;
}

static bool was_harmless(struct visit *v, str text)
{
    const struct json *c = last_verdict(v);
    return str_eq(json_get_text(c, S("status")), S("True")) && str_eq(json_get_text(c, S("message")), text);
}

static void keep_verdict(struct visit *v, struct approval *ret)
{
    const struct json *c = last_verdict(v);
    ret->is_awaited = str_eq(json_get_text(c, S("status")), S("False"));
    ret->text = json_get_text(c, S("message"));
}

static int check(struct visit *v, const struct access_subject *who, const struct permission_build *build,
                 struct approval *ret, struct err *err)
{
    struct gathering g = {.all = v->all, .a = v->a, .rules = {.a = v->a}, .binds = {.a = v->a}};
    each_manifest(build, gather_role, &g);
    each_manifest(build, gather_binding, &g);
    int code = decide(v, who, &g, ret, err);
    map_done(&g.delivered);
    access_demands_done(&g.rules);
    access_demands_done(&g.binds);
    return code;
}

int approval_decide(struct visit *v, const struct permission_build *build, struct approval *ret, struct err *err)
{
    struct access_subject who;
    *ret = (struct approval){0};
    if (!v->all->requires_approval)
        return 0;
    if (build->outcome != PERMISSION_BUILT) {
        keep_verdict(v, ret);
        return 0;
    }
    str problem = policy_problem(v->all->policy, v->a);
    if (problem.n) { /* anybody may have written the approval, or what the status says of it */
        ret->is_awaited = true;
        ret->text = str_fmt(
            v->a, "%.*s: approvals are not accepted, and nothing is delivered, until deploy/approval is applied",
            STR(problem));
        return 0;
    }
    if (is_approved(v)) {
        ret->text = str_fmt(v->a, "approved for generation %lld", (long long)object_generation(&v->permission));
        return 0;
    }
    if (!read_requester(v, &who)) {
        await(v, S("it is not known who asked for it"), ret);
        return 0;
    }
    str text = harmless_text(v->a, &who);
    if (!was_harmless(v, text))
        return check(v, &who, build, ret, err);
    ret->text = text;
    return 0;
}
