/* SPDX-License-Identifier: Apache-2.0 */
/* What would make it a yes: of the roles that are there the one that fits best, or else a role of its own. */
#include "authz/explain_misses.h"

struct authz_subject explain_subject(str user)
{
    str prefix = S("system:serviceaccount:"), namespace, name;
    if (str_has_prefix(user, prefix) && str_cut(str_from(user, prefix.n), ':', &namespace, &name) && namespace.n &&
        name.n && str_find_char(name, ':') < 0)
        return (struct authz_subject){AUTHZ_SERVICE_ACCOUNT, name, namespace};
    return (struct authz_subject){AUTHZ_USER, user, {0}};
}

/* ---- The smallest rule. ---- */

static struct strs just(struct arena *a, str text)
{
    str *one = ARENA_NEW(a, str);
    *one = text;
    return (struct strs){one, 1};
}

/* Requests that create or delete whole collections carry no name, so a rule with names would not help them. */
static bool has_name(const struct authz_attributes *what)
{
    bool nameless =
        str_eq(what->verb, S("deletecollection")) || (str_eq(what->verb, S("create")) && what->subresource.n == 0);
    return what->name.n && !nameless;
}

static struct rule smallest_rule(struct arena *a, const struct authz_attributes *what)
{
    if (!authz_is_request(what))
        return (struct rule){0};
    struct rule rule = {.verbs = just(a, what->verb)};
    if (!what->is_resource) {
        rule.non_resource_urls = just(a, what->path);
        return rule;
    }
    rule.api_groups = just(a, what->group);
    rule.resources = just(a, what->subresource.n ? str_fmt(a, "%.*s/%.*s", STR(what->resource), STR(what->subresource))
                                                 : what->resource);
    if (has_name(what))
        rule.resource_names = just(a, what->name);
    return rule;
}

/* ---- A role that is there already. ---- */

/* How fit a role is to be bound to somebody, the fittest first. */
enum fitness {
    FIT_PERSONA, /* made for people who use packages, here */
    FIT_ROLE,
    FIT_NOT, /* a role of its own is better */
};

#define LABEL_SCOPE S("crossplane.io/scope")
#define PERSONA_OF_NAMESPACE S("crossplane:ns:")

static bool is_everything(const struct authz_role *role)
{
    rules_each(role->rules, rule)
    {
        if (strs_have(rule->verbs, S("*")) && strs_have(rule->api_groups, S("*")) && strs_have(rule->resources, S("*")))
            return true;
    }
    return false;
}

/* Roles of the server's own parts, of controllers, of other namespaces' people, of those who run the packages, and those that may do
 * everything are not for people who lack one right; and the parts of a package in a persona go with its version. */
static enum fitness fitness_of(const struct authz_role *role, const struct authz_attributes *what)
{
    str scope = json_get_text(role->labels, LABEL_SCOPE), prefix = PERSONA_OF_NAMESPACE, namespace, rest;
    bool wants_everything = str_eq(what->verb, S("*")) && str_eq(what->resource, S("*"));
    if (str_has_prefix(role->name, S("system:")) || str_has_prefix(role->name, S("reeve:")))
        return FIT_NOT;
    if (!wants_everything && is_everything(role))
        return FIT_NOT;
    if (str_has_prefix(role->name, prefix)) {
        str_cut(str_from(role->name, prefix.n), ':', &namespace, &rest);
        return str_eq(namespace, what->namespace) ? FIT_PERSONA : FIT_NOT;
    }
    if (str_has_prefix(role->name, S("crossplane:"))) /* a part of personas */
        return FIT_NOT;
    if (scope.n)
        return str_eq(scope, S("environment")) ? FIT_PERSONA : FIT_NOT;
    return explain_package(role).n ? FIT_NOT : FIT_ROLE;
}

/* Who a role is bound to now. */
struct bound {
    bool to_people, to_accounts;
};

struct choice {
    struct arena *arena;
    const struct explanation *e;
    struct map bound; /* by the role's place in memory */
    const struct authz_role *best;
    enum fitness fitness;
    double breadth;
};

static str role_key(const struct authz_role *const *role)
{
    return (str){(const char *)role, sizeof *role};
}

static bool note_bound(void *ctx, const struct authz_grant *grant)
{
    struct choice *c = ctx;
    size_t n = grant->role ? authz_binding_subjects(grant->binding) : 0;
    if (n == 0)
        return true;
    struct bound *bound = map_get(&c->bound, role_key(&grant->role));
    if (!bound) {
        bound = ARENA_NEW(c->arena, struct bound);
        map_set(&c->bound, str_dup(c->arena, role_key(&grant->role)), bound);
    }
    for (size_t i = 0; i < n && !bound->to_people; i++) {
        bool is_account = authz_binding_subject(grant->binding, i).kind == AUTHZ_SERVICE_ACCOUNT;
        bound->to_people |= !is_account;
        bound->to_accounts |= is_account;
    }
    return true;
}

/* A role that only programs have was made for them; view, edit and admin, which every Kubernetes has, for people. */
static bool is_for_others(const struct choice *c, const struct authz_role *role)
{
    const struct bound *bound = map_get(&c->bound, role_key(&role));
    if (explain_subject(c->e->who.user).kind == AUTHZ_SERVICE_ACCOUNT)
        return json_get(role->labels, S("kubernetes.io/bootstrapping")) != NULL;
    return bound && bound->to_accounts && !bound->to_people;
}

static bool is_better(const struct choice *c, const struct authz_role *role, enum fitness fitness, double breadth)
{
    if (!c->best || fitness != c->fitness)
        return !c->best || fitness < c->fitness;
    if (breadth < c->breadth || breadth > c->breadth)
        return breadth < c->breadth;
    int order = str_cmp(role->name, c->best->name);
    return order < 0 || (order == 0 && role->kind < c->best->kind);
}

static bool consider(void *ctx, const struct authz_role *role)
{
    struct choice *c = ctx;
    const struct authz_attributes *what = &c->e->what;
    bool reaches = role->kind == AUTHZ_CLUSTER_ROLE ||
                   (what->is_resource && what->namespace.n && str_eq(role->namespace, what->namespace));
    if (!reaches || !explain_allows(role, what))
        return true;
    enum fitness fitness = fitness_of(role, what);
    double breadth = explain_breadth(role);
    if (fitness == FIT_NOT || is_for_others(c, role) || !is_better(c, role, fitness, breadth))
        return true;
    c->best = role;
    c->fitness = fitness;
    c->breadth = breadth;
    return true;
}

static const struct authz_role *choose_role(const struct authz_index *ix, const struct explanation *e)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct choice c = {.arena = &scratch, .e = e};
    authz_visit_bindings(ix, note_bound, &c);
    authz_visit_roles(ix, consider, &c);
    map_done(&c.bound);
    return c.best;
}

/* ---- Names. ---- */

/* What nobody needs to quote, and kubectl does not take for a flag. */
static void add_plainly(struct buf *b, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                        c == ':' || c == '@' || c == '_';
        if (is_plain || (b->n && b->p[b->n - 1] != '-'))
            buf_add_char(b, is_plain ? c : '-');
    }
}

static bool is_taken(const struct authz_index *ix, const struct explain_remedy *r, str name)
{
    return authz_has_binding(ix, r->binding_kind, r->namespace, name) ||
           (!r->role && authz_get_role(ix, r->role_kind, r->namespace, name));
}

/* Whom a binding would be for: the user, or else the first group. */
static struct authz_subject subject_of(const struct authz_identity *who)
{
    struct authz_subject subject = explain_subject(who->user);
    strs_each(who->groups, group)
    {
        if (subject.name.n == 0)
            subject = (struct authz_subject){AUTHZ_GROUP, *group, {0}};
    }
    return subject;
}

str explain_binding_prefix(struct arena *a, const struct authz_identity *who)
{
    struct buf b = {.arena = a};
    add_plainly(&b, subject_of(who).name);
    return buf_str(&b);
}

/* "bob-edit", "bob-delete-pods"; numbered until it is free. */
static str free_name(struct arena *a, const struct authz_index *ix, const struct explain_remedy *r,
                     const struct authz_attributes *what)
{
    struct buf b = {.arena = a};
    add_plainly(&b, r->subject.name);
    add_plainly(&b, S("-"));
    add_plainly(&b, r->role ? r->role->name : what->verb);
    if (!r->role) {
        add_plainly(&b, S("-"));
        add_plainly(&b, what->is_resource ? what->resource : what->path);
    }
    if (b.n == 0)
        buf_add_str(&b, S("grant"));
    str name = buf_str(&b), numbered = name;
    for (int i = 2; is_taken(ix, r, numbered); i++)
        numbered = str_fmt(a, "%.*s-%d", STR(name), i);
    return numbered;
}

/* ---- All of it. ---- */

struct explain_remedy explain_remedy_find(struct arena *a, const struct authz_index *ix, const struct explanation *e)
{
    bool namespaced = e->what.is_resource && e->what.namespace.n;
    struct explain_remedy remedy = {
        .rule = smallest_rule(a, &e->what),
        .role = choose_role(ix, e),
        .role_kind = namespaced ? AUTHZ_ROLE : AUTHZ_CLUSTER_ROLE,
        .binding_kind = namespaced ? AUTHZ_ROLE_BINDING : AUTHZ_CLUSTER_ROLE_BINDING,
        .namespace = namespaced ? e->what.namespace : (str){0},
        .subject = subject_of(&e->who),
    };
    remedy.binding_name = free_name(a, ix, &remedy, &e->what);
    remedy.role_name = remedy.role ? remedy.role->name : remedy.binding_name;
    return remedy;
}
