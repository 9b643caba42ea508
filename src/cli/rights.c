/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rights.h"

#include "object/object.h"

static const struct client_resource kinds[] = {
    [AUTHZ_ROLE] = CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "roles", "Role", true),
    [AUTHZ_CLUSTER_ROLE] = CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false),
    [AUTHZ_ROLE_BINDING] = CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true),
    [AUTHZ_CLUSTER_ROLE_BINDING] =
        CLIENT_RESOURCE("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false),
};

enum { PAGE = 1000 }; /* objects: half a megabyte, which stays in the cache of a processor while it is read */

/* One list on its way into the index. */
struct loading {
    struct authz_index *index;
    struct explain_keep *keep; /* of bindings; NULL: all are kept */
    enum authz_kind kind;
    bool has_begun;
};

/* ---- A list that begins anew. ---- */

struct place {
    str namespace, name;
};

struct places {
    struct arena *arena;
    enum authz_kind kind;
    VEC(struct place) list;
};

static void note(struct places *p, enum authz_kind kind, str namespace, str name)
{
    if (kind == p->kind)
        *vec_push(p->arena, &p->list) = (struct place){str_dup(p->arena, namespace), str_dup(p->arena, name)};
}

static bool note_binding(void *ctx, const struct authz_grant *grant)
{
    note(ctx, grant->kind, grant->namespace, grant->name);
    return true;
}

static bool note_role(void *ctx, const struct authz_role *role)
{
    note(ctx, role->kind, role->namespace, role->name);
    return true;
}

/* What came of the list so far may be gone by now. */
static void begin(void *ctx)
{
    struct loading *l = ctx;
    struct arena scratch ARENA_SCOPE = {0};
    struct places known = {.arena = &scratch, .kind = l->kind};
    if (l->has_begun) {
        authz_visit_bindings(l->index, note_binding, &known);
        authz_visit_roles(l->index, note_role, &known);
    }
    vec_each(&known.list, place)
    {
        authz_index_delete(l->index, l->kind, place->namespace, place->name);
    }
    if (l->keep)
        explain_keep_begin(l->keep);
    l->has_begun = true;
}

/* A malformed one grants nothing, on the server as here. What is not kept may have been, from a list before. */
static int put(void *ctx, const struct json *item, struct err *err)
{
    struct loading *l = ctx;
    (void)err;
    if (l->keep == NULL || explain_keeps(l->keep, l->index, item))
        (void)authz_index_put(l->index, item, NULL);
    else
        (void)authz_index_delete(l->index, l->kind, object_namespace(item), object_name(item));
    return 0;
}

/* ---- Lists. ---- */

static void need(struct command *c, enum authz_kind kind, str namespace)
{
    const struct client_resource *r = &kinds[kind];
    command_needs(c, (struct command_need){.verb = "list",
                                           .group = r->group,
                                           .resource = r->plural,
                                           .namespace = r->namespaced ? namespace : (str){0}});
}

static int load(struct command *c, enum authz_kind kind, str namespace, const struct rights *r, struct err *err)
{
    static const struct client_taker taker = {begin, put};
    bool is_binding = kind == AUTHZ_ROLE_BINDING || kind == AUTHZ_CLUSTER_ROLE_BINDING;
    struct loading loading = {.index = r->index, .keep = is_binding ? r->keep : NULL, .kind = kind};
    struct client_ref ref = {.resource = &kinds[kind], .namespace = kinds[kind].namespaced ? namespace : (str){0}};
    struct client_list_options options = {.limit = PAGE};
    return client_list_each(c->session.client, &ref, &options, &taker, &loading, err);
}

int rights_load_kinds(struct command *c, unsigned which, str namespace, struct rights *r, struct err *err)
{
    static const enum authz_kind order[] = {AUTHZ_CLUSTER_ROLE, AUTHZ_CLUSTER_ROLE_BINDING, AUTHZ_ROLE,
                                            AUTHZ_ROLE_BINDING};
    int code = 0;
    if (!r->index)
        r->index = authz_index_new_growing();
    for (size_t i = 0; i < COUNT(order); i++)
        if (which >> order[i] & 1)
            need(c, order[i], namespace);
    for (size_t i = 0; code == 0 && i < COUNT(order); i++)
        if (which >> order[i] & 1)
            code = load(c, order[i], namespace, r, err);
    if (code < 0)
        return err_wrap(err, "read roles and bindings");
    return 0;
}

int rights_load(struct command *c, str namespace, struct rights *ret, struct err *err)
{
    struct rights r = {0};
    int code = rights_load_kinds(c, (1U << AUTHZ_UNKNOWN) - 1, namespace, &r, err);
    if (code < 0)
        rights_done(&r);
    else
        *ret = r;
    return code;
}

void rights_done(struct rights *r)
{
    authz_index_free(r->index);
    *r = (struct rights){0};
}

typedef VEC(str) names;

static bool has(const names *list, str name)
{
    vec_each(list, it)
    {
        if (str_eq(*it, name))
            return true;
    }
    return false;
}

static void add_once(struct arena *a, names *list, str name)
{
    if (!has(list, name))
        *vec_push(a, list) = name;
}

struct authz_identity rights_identity(struct arena *a, str user, struct strs groups)
{
    struct authz_subject subject = explain_subject(user);
    names all = {0};
    strs_each(groups, group) add_once(a, &all, *group);
    if (subject.kind == AUTHZ_SERVICE_ACCOUNT) {
        add_once(a, &all, S("system:serviceaccounts"));
        add_once(a, &all, str_fmt(a, "system:serviceaccounts:%.*s", STR(subject.namespace)));
    }
    bool is_stranger = str_eq(user, S("system:anonymous")) || (user.n == 0 && has(&all, S("system:unauthenticated")));
    add_once(a, &all, is_stranger ? S("system:unauthenticated") : S("system:authenticated"));
    return (struct authz_identity){.user = user, .groups = {all.p, all.n}};
}
