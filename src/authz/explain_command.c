/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubectl makes roles of flags only for what it knows: certain verbs, some of them for certain resources only, and resources that the
 * server has. What it would refuse is written out as objects, which say the same.
 */
#include "authz/explain.h"

#include "base/shell.h"

static void add_flag(struct buf *b, const char *flag, str value)
{
    buf_fmt(b, " --%s=", flag);
    shell_add_word(b, value);
}

/* ---- What kubectl knows. ---- */

static bool is_among(str text, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(text, str_of(*list)))
            return true;
    return false;
}

/* Verbs that kubectl takes for any resource. Others it takes for some resources, and only some of them: those are written out. */
static const char *const plain_verbs[] = {
    "*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", NULL};
static const char *const url_verbs[] = {"*", "get", "post", "put", "delete", "patch", "head", "options", NULL};

/* Flags that are lists are parted at commas. */
static bool is_plain(struct strs list)
{
    strs_each(list, text)
    {
        if (str_find_char(*text, ',') >= 0 || str_find_char(*text, '"') >= 0 || str_find_char(*text, '*') >= 0)
            return false;
    }
    return true;
}

static bool has_flags(const struct rule *rule, bool is_known_resource)
{
    if (rule->non_resource_urls.n)
        return is_among(rule->verbs.p[0], url_verbs) && is_plain(rule->non_resource_urls);
    return is_known_resource && is_among(rule->verbs.p[0], plain_verbs) && is_plain(rule->resources) &&
           is_plain(rule->api_groups);
}

/* ---- Commands. ---- */

/* deployments.apps/scale */
static str resource_of(struct arena *a, const struct rule *rule)
{
    struct buf b = {.arena = a};
    str resource, part;
    bool has_part = str_cut(rule->resources.p[0], '/', &resource, &part);
    buf_add_str(&b, resource);
    if (rule->api_groups.p[0].n) {
        buf_add_char(&b, '.');
        buf_add_str(&b, rule->api_groups.p[0]);
    }
    if (has_part) {
        buf_add_char(&b, '/');
        buf_add_str(&b, part);
    }
    return buf_str(&b);
}

static void add_namespace(struct buf *b, const struct explain_remedy *r)
{
    if (r->namespace.n)
        add_flag(b, "namespace", r->namespace);
}

static void add_create_role(struct buf *b, const struct explain_remedy *r)
{
    struct arena scratch ARENA_SCOPE = {0};
    buf_add_str(b, r->role_kind == AUTHZ_ROLE ? S("kubectl create role ") : S("kubectl create clusterrole "));
    shell_add_word(b, r->role_name);
    add_flag(b, "verb", r->rule.verbs.p[0]);
    if (r->rule.non_resource_urls.n)
        add_flag(b, "non-resource-url", r->rule.non_resource_urls.p[0]);
    else
        add_flag(b, "resource", resource_of(&scratch, &r->rule));
    strs_each(r->rule.resource_names, name)
    {
        add_flag(b, "resource-name", *name);
    }
    if (r->role_kind == AUTHZ_ROLE)
        add_namespace(b, r);
}

static void add_create_binding(struct buf *b, const struct explain_remedy *r)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct authz_subject *s = &r->subject;
    bool is_wide = r->binding_kind == AUTHZ_CLUSTER_ROLE_BINDING;
    buf_add_str(b, is_wide ? S("kubectl create clusterrolebinding ") : S("kubectl create rolebinding "));
    shell_add_word(b, r->binding_name);
    enum authz_kind kind = r->role ? r->role->kind : r->role_kind;
    add_flag(b, kind == AUTHZ_ROLE ? "role" : "clusterrole", r->role_name);
    if (s->kind == AUTHZ_SERVICE_ACCOUNT)
        add_flag(b, "serviceaccount", str_fmt(&scratch, "%.*s:%.*s", STR(s->namespace), STR(s->name)));
    else
        add_flag(b, s->kind == AUTHZ_GROUP ? "group" : "user", s->name);
    add_namespace(b, r);
}

/* ---- The role written out. ---- */

static void add_object(struct buf *b, const struct explain_remedy *r)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct json object = json_obj(), metadata = json_obj();
    struct buf text = {.arena = &scratch};
    json_add(&scratch, &metadata, S("name"), json_str(r->role_name));
    if (r->role_kind == AUTHZ_ROLE)
        json_add(&scratch, &metadata, S("namespace"), json_str(r->namespace));
    json_add(&scratch, &object, S("apiVersion"), json_str(S("rbac.authorization.k8s.io/v1")));
    json_add(&scratch, &object, S("kind"), json_str(authz_kind_name(r->role_kind)));
    json_add(&scratch, &object, S("metadata"), metadata);
    json_add(&scratch, &object, S("rules"), rules_to_json(&scratch, (struct rules){&r->rule, 1}));
    json_encode(&text, &object, 0);
    buf_add_str(b, S("printf %s "));
    shell_add_word(b, buf_str(&text));
    buf_add_str(b, S(" | kubectl create -f -"));
}

void explain_command(struct buf *b, const struct explain_remedy *remedy, bool is_known_resource)
{
    if (remedy->rule.verbs.n == 0 || remedy->subject.name.n == 0)
        return;
    if (!remedy->role) {
        if (has_flags(&remedy->rule, is_known_resource))
            add_create_role(b, remedy);
        else
            add_object(b, remedy);
        buf_add_str(b, S(" && "));
    }
    add_create_binding(b, remedy);
}
