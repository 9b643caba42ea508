/* SPDX-License-Identifier: Apache-2.0 */
/* What a build asks about the hub, answered from caches. Roles are read when they are asked for: few permissions do. */
#include "controllers/permissions/permissions_internal.h"
#include "object/fleet.h"
#include "object/object.h"
#include "object/selector.h"

struct answers {
    struct visit *v;
    int code; /* of a question that could not be answered: then the build is of no use */
    struct err *err;
};

/* ---- The cluster. ---- */

/* One that is being deleted loses its works, and must not get them back. */
static void look_at_cluster(struct visit *v, struct permission_facts *facts)
{
    struct json cluster;
    if (!informer_read(v->all->clusters, v->a, (str){0}, v->r->namespace, &cluster) || object_is_deleting(&cluster))
        return;
    facts->has_cluster = true;
    facts->has_agent = str_eq(object_label(&cluster, S(FLEET_LABEL_AGENT)), S("true"));
}

static str find_account_namespace(struct visit *v, bool has_agent)
{
    struct json addon;
    bool is_there = informer_read(v->all->addons, v->a, v->r->namespace, S(FLEET_ADDON), &addon);
    return permission_account_namespace(is_there ? &addon : NULL, has_agent);
}

/* ---- Questions. ---- */

static bool has_account(void *ctx, str name)
{
    struct answers *s = ctx;
    const struct item *item = informer_get(s->v->all->accounts, s->v->r->namespace, name);
    item_unref(item);
    return item != NULL;
}

static const struct json *cluster_role(struct answers *s, struct arena *a, str name)
{
    struct json *role = ARENA_NEW(a, struct json);
    return informer_read(s->v->all->cluster_roles, a, (str){0}, name, role) ? role : NULL;
}

static const struct json *find_role(void *ctx, struct arena *a, str namespace, str name)
{
    struct answers *s = ctx;
    if (namespace.n == 0)
        return cluster_role(s, a, name);
    const struct item *item = informer_get(s->v->all->roles, namespace, name);
    if (!item || s->code < 0) {
        item_unref(item);
        return NULL;
    }
    item_unref(item);
    struct json *role = ARENA_NEW(a, struct json);
    struct client_ref ref = {.resource = &permissions_roles, .namespace = namespace, .name = name};
    int code = client_get(s->v->r->client, a, &ref, role, s->err);
    if (code == 0)
        return role;
    if (code != ERR_NOT_FOUND || !client_is_gone(s->err)) {
        s->code = code;
        err_wrap(s->err, "read Role %.*s/%.*s", STR(namespace), STR(name));
    }
    return NULL;
}

static size_t find_namespaces(void *ctx, struct arena *a, const struct json *selector, str **ret)
{
    struct answers *s = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct selector wanted;
    size_t n = 0;
    *ret = NULL;
    if (selector_from_object(a, selector, &wanted, NULL) < 0)
        return 0;
    struct items all ITEMS_SCOPE = informer_list(s->v->all->namespaces, (str){0});
    *ret = ARENA_ARRAY(a, str, all.n);
    for (size_t i = 0; i < all.n; i++) {
        struct json namespace = item_tree(&scratch, all.p[i]);
        if (selector_matches(&wanted, object_labels(&namespace)))
            (*ret)[n++] = str_dup(a, item_name(all.p[i]));
        arena_reset(&scratch);
    }
    return n;
}

int facts_build(struct visit *v, bool is_delivered, struct permission_build *ret, struct err *err)
{
    struct answers answers = {.v = v, .err = err};
    struct permission_facts facts = {.is_delivered = is_delivered,
                                     .has_account = has_account,
                                     .role = find_role,
                                     .namespaces = find_namespaces,
                                     .ctx = &answers};
    look_at_cluster(v, &facts);
    facts.account_namespace = find_account_namespace(v, facts.has_agent);
    *ret = permission_build(v->a, &v->permission, &facts);
    return answers.code;
}
