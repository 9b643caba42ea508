/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/self.h"

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
