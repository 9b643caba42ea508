/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/explain.h"
#include "base/shell.h"

/* Explanations in words, one fact a line. */

static void add_quoted(struct buf *b, const char *before, str text)
{
    buf_add_str(b, str_of(before));
    buf_add_quoted(b, text);
}

static void add_list(struct buf *b, struct strs list, bool quoted)
{
    strs_each(list, item)
    {
        buf_add_str(b, item == list.p ? S("") : S(", "));
        if (quoted || item->n == 0)
            buf_add_quoted(b, *item);
        else
            buf_add_str(b, *item);
    }
}

static void add_namespace(struct buf *b, str namespace)
{
    if (namespace.n)
        add_quoted(b, " in the namespace ", namespace);
}

static void add_package(struct buf *b, str package)
{
    if (package.n)
        add_quoted(b, " of the package ", package);
}

static void add_subject(struct buf *b, const struct authz_subject *s)
{
    static const char *const kinds[] = {
        [AUTHZ_USER] = "User ", [AUTHZ_GROUP] = "Group ", [AUTHZ_SERVICE_ACCOUNT] = "ServiceAccount "};
    add_quoted(b, kinds[s->kind], s->name);
    add_namespace(b, s->namespace);
}

/* Who asks: the user, or the groups of somebody without a name. */
static void add_identity(struct buf *b, const struct authz_identity *who)
{
    struct authz_subject subject = explain_subject(who->user);
    if (who->user.n) {
        add_subject(b, &subject);
    } else if (who->groups.n) {
        buf_add_str(b, who->groups.n > 1 ? S("a member of the Groups ") : S("a member of Group "));
        add_list(b, who->groups, true);
    } else {
        buf_add_str(b, S("somebody without name and groups"));
    }
}

/* pods, deployments.apps/scale */
static void add_resource(struct buf *b, const struct authz_attributes *what)
{
    buf_add_str(b, what->resource);
    if (what->group.n) {
        buf_add_char(b, '.');
        buf_add_str(b, what->group);
    }
    if (what->subresource.n) {
        buf_add_char(b, '/');
        buf_add_str(b, what->subresource);
    }
}

/* delete pods in the namespace "team-a" */
static void explain_request_format(struct buf *b, const struct authz_attributes *what)
{
    if (!authz_is_request(what)) {
        buf_add_str(b, S("do what is not asked for"));
        return;
    }
    buf_add_str(b, what->verb);
    if (!what->is_resource) {
        add_quoted(b, " the path ", what->path);
        return;
    }
    buf_add_char(b, ' ');
    add_resource(b, what);
    if (what->name.n)
        add_quoted(b, " ", what->name);
    if (what->namespace.n)
        add_namespace(b, what->namespace);
    else
        buf_add_str(b, S(" at the cluster scope"));
}

static void add_role(struct buf *b, enum authz_kind kind, str name, str package)
{
    buf_add_str(b, kind == AUTHZ_UNKNOWN ? S("a role of the unknown kind") : authz_kind_name(kind));
    add_quoted(b, " ", name);
    add_package(b, package);
}

/* RoleBinding "edit" in the namespace "team-a" binds Group "devs" to ClusterRole "edit" */
static void add_grant(struct buf *b, const struct authz_grant *grant, str package)
{
    buf_add_str(b, authz_kind_name(grant->kind));
    add_quoted(b, " ", grant->name);
    add_namespace(b, grant->namespace);
    buf_add_str(b, S(" binds "));
    add_subject(b, &grant->subject);
    buf_add_str(b, S(" to "));
    add_role(b, grant->role_kind, grant->role_name, package);
}

static void add_source(struct buf *b, const struct explain_source *s)
{
    buf_add_str(b, S("\n     from "));
    add_role(b, AUTHZ_CLUSTER_ROLE, s->role->name, s->package);
    if (s->via.n) {
        buf_add_str(b, S(" by way of "));
        add_list(b, s->via, true);
    }
    buf_add_str(b, s->selector.n ? S(", selected by ") : S(", selected as every role is"));
    buf_add_str(b, s->selector);
}

static void add_path(struct buf *b, size_t number, const struct explain_path *path)
{
    buf_fmt(b, "\n%2zu. ", number);
    add_grant(b, &path->grant, path->package);
    buf_add_str(b, S("\n     by "));
    rule_format(b, path->rule);
    if (path->n_rules > 1)
        buf_fmt(b, " and %zu more of its rules", path->n_rules - 1);
    for (size_t i = 0; i < path->n_sources; i++)
        add_source(b, &path->sources[i]);
    if (path->is_aggregated && path->n_sources == 0)
        buf_add_str(b, S("\n     from no role that it selects now: it is about to be aggregated again"));
}

/* ---- Near misses. ---- */

static const struct {
    const char *text;
    bool quoted;
} differences[] = {
    [MISS_NAMESPACE] = {"allowed in another namespace", false},
    [MISS_VERB] = {"allowed to ", false},
    [MISS_NAME] = {"allowed for the name ", true},
    [MISS_SUBRESOURCE] = {"allowed on ", false},
    [MISS_GROUP] = {"allowed in the API group ", true},
    [MISS_PATH] = {"allowed on the path ", true},
    [MISS_ROLE] = {"a role is missing", false},
    [MISS_BINDING] = {"not bound", false},
};

void explain_instead_format(struct buf *b, const struct explanation *e, const struct explain_miss *miss)
{
    bool url_in_namespace = miss->kind == MISS_NAMESPACE && !e->what.is_resource;
    buf_add_str(b, url_in_namespace ? S("RoleBindings do not grant paths") : str_of(differences[miss->kind].text));
    add_list(b, miss->instead, differences[miss->kind].quoted);
    if (miss->cut)
        buf_add_str(b, S(", ..."));
}

static void add_miss(struct buf *b, size_t number, const struct explanation *e, const struct explain_miss *miss)
{
    buf_fmt(b, "\n%2zu. ", number);
    explain_instead_format(b, e, miss);
    buf_add_str(b, S(": "));
    if (miss->kind == MISS_BINDING) {
        add_role(b, miss->role->kind, miss->role->name, miss->package);
        add_namespace(b, miss->role->namespace);
        buf_add_str(b, S(" would allow it"));
        return;
    }
    add_grant(b, &miss->grant, miss->package);
    if (miss->kind == MISS_ROLE)
        buf_add_str(b, S(", which does not exist"));
}

static void add_remedy(struct buf *b, const struct explain_remedy *remedy)
{
    if (remedy->rule.verbs.n == 0) {
        buf_add_str(b, S("\nno rule would allow it"));
        return;
    }
    buf_add_str(b, S("\nsmallest rule that would allow it: "));
    rule_format(b, &remedy->rule);
    buf_fmt(b, "\n     in a %.*s", STR(authz_kind_name(remedy->role_kind)));
    add_namespace(b, remedy->namespace);
    if (remedy->subject.name.n) {
        buf_fmt(b, ", with a %.*s to ", STR(authz_kind_name(remedy->binding_kind)));
        add_subject(b, &remedy->subject);
    }
}

void explain_claim_format(struct buf *b, const struct explanation *e)
{
    add_identity(b, &e->who);
    buf_add_str(b, e->decision.allowed ? S(" can ") : S(" cannot "));
    explain_request_format(b, &e->what);
}

void explanation_format(struct buf *b, const struct explanation *e)
{
    bool yes = e->decision.allowed;
    buf_add_str(b, yes ? S("yes: ") : S("no: "));
    explain_claim_format(b, e);
    if (yes && e->is_master)
        buf_add_str(b, S("\n     members of Group \"system:masters\" can do everything"));
    for (size_t i = 0; yes && i < e->n_paths; i++)
        add_path(b, i + 1, &e->paths[i]);
    if (!yes) {
        for (size_t i = 0; i < e->n_misses; i++)
            add_miss(b, i + 1, e, &e->misses[i]);
        if (e->dropped)
            buf_fmt(b, "\n     and %zu more", e->dropped);
        add_remedy(b, &e->remedy);
    }
    buf_add_char(b, '\n');
}

void explain_holders_format(struct buf *b, const struct authz_attributes *what, const struct explain_holders *holders)
{
    buf_fmt(b, "%zu %s can ", holders->n, holders->n == 1 ? "subject" : "subjects");
    explain_request_format(b, what);
    for (size_t i = 0; i < holders->n; i++) {
        const struct explain_holder *h = &holders->list[i];
        buf_add_char(b, '\n');
        add_subject(b, &h->subject);
        if (h->is_master)
            buf_add_str(b, S("\n     always, whatever is bound to it"));
        for (size_t k = 0; k < h->n_paths; k++)
            add_path(b, k + 1, &h->paths[k]);
    }
    buf_add_char(b, '\n');
}

/*
 * kubectl makes roles of flags only for what it knows: certain verbs, some of them for certain resources only, and resources that the
 * server has. What it would refuse is written out as objects, which say the same.
 */

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

static void add_namespace_flag(struct buf *b, const struct explain_remedy *r)
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
        add_namespace_flag(b, r);
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
    add_namespace_flag(b, r);
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
