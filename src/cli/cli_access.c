/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_access.h"
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

static int ask(struct command *c, str path, const struct json *body, struct json *ret, struct err *err)
{
    struct buf text = {.arena = &c->arena};
    json_encode(&text, body, 0);
    struct client_request request = {.method = S("POST"), .target = path, .body = buf_str(&text)};
    return client_raw(c->session.client, &c->arena, &request, ret, err);
}

static struct json review(struct arena *a, str api_version, str kind, struct json spec)
{
    struct json body = json_obj();
    json_add(a, &body, S("apiVersion"), json_str(api_version));
    json_add(a, &body, S("kind"), json_str(kind));
    json_add(a, &body, S("spec"), spec);
    return body;
}

struct authz_identity self_identity(struct command *c)
{
    struct json answer, body = review(&c->arena, S("authentication.k8s.io/v1"), S("SelfSubjectReview"), json_obj());
    if (ask(c, S("/apis/authentication.k8s.io/v1/selfsubjectreviews"), &body, &answer, NULL) < 0)
        return (struct authz_identity){0};
    const struct json *user = json_dig(&answer, "status.userInfo"), *groups = json_get(user, S("groups"));
    VEC(str) list = {0};
    json_each_item(groups, group)
    {
        *vec_push(&c->arena, &list) = json_text(group);
    }
    return (struct authz_identity){.user = json_get_text(user, S("username")), .groups = {list.p, list.n}};
}

str self_name(struct command *c)
{
    return self_identity(c).user;
}

/* ---- May we? ---- */

static void add_attribute(struct arena *a, struct json *obj, const char *key, str value)
{
    if (value.n)
        json_add(a, obj, str_of(key), json_str(value));
}

int self_check(struct command *c, const struct authz_attributes *what, struct authz_decision *ret, struct err *err)
{
    struct arena *a = &c->arena;
    struct json answer, spec = json_obj(), attributes = json_obj();
    add_attribute(a, &attributes, "verb", what->verb);
    if (what->is_resource) {
        add_attribute(a, &attributes, "group", what->group);
        add_attribute(a, &attributes, "resource", what->resource);
        add_attribute(a, &attributes, "subresource", what->subresource);
        add_attribute(a, &attributes, "namespace", what->namespace);
        add_attribute(a, &attributes, "name", what->name);
    } else {
        add_attribute(a, &attributes, "path", what->path);
    }
    json_add(a, &spec, what->is_resource ? S("resourceAttributes") : S("nonResourceAttributes"), attributes);
    struct json body = review(a, S("authorization.k8s.io/v1"), S("SelfSubjectAccessReview"), spec);
    int code = ask(c, S("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"), &body, &answer, err);
    if (code == 0)
        *ret = (struct authz_decision){json_true(json_dig(&answer, "status.allowed")),
                                       json_text(json_dig(&answer, "status.reason"))};
    return code;
}

/* ---- All that we may. ---- */

static struct json named(struct arena *a, const char *kind)
{
    struct json object = json_obj(), metadata = json_obj();
    json_add(a, &metadata, S("name"), json_str(S("own")));
    json_add(a, &object, S("kind"), json_str(str_of(kind)));
    json_add(a, &object, S("metadata"), metadata);
    return object;
}

static struct json binding_to(struct arena *a, str user)
{
    struct json binding = named(a, "ClusterRoleBinding"), ref = json_obj(), subject = json_obj(), subjects = json_arr();
    json_add(a, &ref, S("kind"), json_str(S("ClusterRole")));
    json_add(a, &ref, S("name"), json_str(S("own")));
    json_add(a, &subject, S("kind"), json_str(S("User")));
    json_add(a, &subject, S("name"), json_str(user));
    json_push(a, &subjects, subject);
    json_add(a, &binding, S("roleRef"), ref);
    json_add(a, &binding, S("subjects"), subjects);
    return binding;
}

static void add_rules(struct arena *a, struct json *rules, const struct json *list)
{
    json_each_item(list, rule)
    {
        json_push(a, rules, *rule);
    }
}

int self_review(struct command *c, str namespace, struct json *ret, struct err *err)
{
    struct json spec = json_obj();
    json_add(&c->arena, &spec, S("namespace"), json_str(namespace.n ? namespace : S("default")));
    struct json body = review(&c->arena, S("authorization.k8s.io/v1"), S("SelfSubjectRulesReview"), spec);
    return ask(c, S("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"), &body, ret, err);
}

struct authz_index *self_rules(struct command *c, str user, str namespace)
{
    struct arena *a = &c->arena;
    struct json answer, role = named(a, "ClusterRole"), rules = json_arr();
    if (self_review(c, namespace, &answer, NULL) < 0)
        return NULL;
    add_rules(a, &rules, json_dig(&answer, "status.resourceRules"));
    add_rules(a, &rules, json_dig(&answer, "status.nonResourceRules"));
    json_add(a, &role, S("rules"), rules);
    struct json binding = binding_to(a, user);
    struct authz_index *index = authz_index_new();
    if (authz_index_put(index, &role, NULL) == 0 && authz_index_put(index, &binding, NULL) == 0)
        return index;
    authz_index_free(index);
    return NULL;
}
