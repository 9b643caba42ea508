/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/explain.h"
#include "object/object.h"

#include <stdlib.h>

static struct explain_remedy explain_remedy_find(struct arena *a, const struct authz_index *ix,
                                                 const struct explanation *e);

/* Near misses: rules that differ from the request in one thing only, bindings without a role, roles without a binding. */

struct hunt {
    struct arena *arena;
    struct explanation *e;
    VEC(struct explain_miss) list;
    size_t per_kind[MISS_BINDING + 1];
    struct map known; /* roles that were told of already, by their place in memory */
};

static struct explain_miss *add_miss(struct hunt *h, enum explain_miss_kind kind, const struct authz_grant *grant)
{
    if (h->per_kind[kind]++ >= EXPLAIN_MAX_MISSES) {
        h->e->dropped++;
        return NULL;
    }
    struct explain_miss *miss = vec_push(h->arena, &h->list);
    *miss = (struct explain_miss){
        .kind = kind,
        .grant = *grant,
        .role = grant->role,
        .package = grant->role ? explain_package(grant->role) : (str){0},
    };
    return miss;
}

/* ---- What a rule lacks. ---- */

/* "pods" of "pods/log". */
static str base_of(str resource)
{
    str base, rest;
    return str_cut(resource, '/', &base, &rest) ? base : resource;
}

static bool names_resource(const struct rule *rule, const struct authz_attributes *what, bool any_part)
{
    strs_each(rule->resources, r)
    {
        str base = base_of(*r), part = str_from(*r, base.n + 1);
        if (str_eq(base, what->resource) && (any_part || str_eq(part, what->subresource)))
            return true;
    }
    return false;
}

/* The path with, or without, a slash at its end. */
static str other_path(struct arena *a, str path)
{
    return str_has_suffix(path, S("/")) ? str_upto(path, path.n - 1) : str_fmt(a, "%.*s/", STR(path));
}

static bool misses_url(const struct rule *rule, const struct authz_attributes *what, enum explain_miss_kind *ret)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool verb = rule_matches_verb(rule, what->verb);
    if (!verb && rule->verbs.n && rule_matches_path(rule, what->path)) {
        *ret = MISS_VERB;
        return true;
    }
    *ret = MISS_PATH;
    return verb && rule_matches_path(rule, other_path(&scratch, what->path));
}

/* True when exactly one thing is wrong; *ret says which. The rule does not match the request. */
static bool misses(const struct rule *rule, const struct authz_attributes *what, enum explain_miss_kind *ret)
{
    if (!what->is_resource)
        return misses_url(rule, what, ret);
    bool verb = rule_matches_verb(rule, what->verb), group = rule_matches_group(rule, what->group);
    bool resource = rule_matches_resource(rule, what->resource, what->subresource);
    bool name = rule_matches_name(rule, what->name);
    if (verb + group + resource + name != 3 || rule->verbs.n == 0 || rule->api_groups.n == 0)
        return false;
    *ret = !verb ? MISS_VERB : !name ? MISS_NAME : !resource ? MISS_SUBRESOURCE : MISS_GROUP;
    return resource ? group || names_resource(rule, what, false) : names_resource(rule, what, true);
}

/* ---- Bindings of the asker. ---- */

static str role_key(const struct authz_role *const *role)
{
    return (str){(const char *)role, sizeof *role};
}

/* Some rule of the role allows the request. */
static bool explain_allows(const struct authz_role *role, const struct authz_attributes *what)
{
    rules_each(role->rules, rule)
    {
        if (rule_matches(rule, what))
            return true;
    }
    return false;
}

/* What one role allows instead, by kind of miss. */
struct instead {
    VEC(str) list;
    bool cut;
};

static void add_instead(struct arena *a, struct instead *to, str text)
{
    if (strs_have((struct strs){to->list.p, to->list.n}, text))
        return;
    if (to->list.n < EXPLAIN_MAX_INSTEAD)
        *vec_push(a, &to->list) = text;
    else
        to->cut = true;
}

static void collect_instead(struct arena *a, struct instead *to, enum explain_miss_kind kind, const struct rule *rule,
                            const struct authz_attributes *what)
{
    struct strs from = kind == MISS_VERB          ? rule->verbs
                       : kind == MISS_NAME        ? rule->resource_names
                       : kind == MISS_SUBRESOURCE ? rule->resources
                       : kind == MISS_GROUP       ? rule->api_groups
                                                  : (struct strs){0};
    if (kind == MISS_PATH)
        add_instead(a, to, other_path(a, what->path));
    strs_each(from, text)
    {
        if (kind != MISS_SUBRESOURCE || str_eq(base_of(*text), what->resource))
            add_instead(a, to, *text);
    }
}

/* A binding that applies where the request is: each kind of miss is told once, with what all rules of the role allow. */
static bool look_here(void *ctx, const struct authz_grant *grant)
{
    struct hunt *h = ctx;
    struct instead instead[MISS_BINDING + 1] = {0};
    if (!grant->role) {
        add_miss(h, MISS_ROLE, grant);
        return true;
    }
    rules_each(grant->role->rules, rule)
    {
        enum explain_miss_kind kind;
        if (misses(rule, &h->e->what, &kind))
            collect_instead(h->arena, &instead[kind], kind, rule, &h->e->what);
    }
    for (int kind = 0; kind <= MISS_BINDING; kind++) {
        struct explain_miss *miss = instead[kind].list.n ? add_miss(h, (enum explain_miss_kind)kind, grant) : NULL;
        if (miss) {
            miss->instead = (struct strs){instead[kind].list.p, instead[kind].list.n};
            miss->cut = instead[kind].cut;
        }
    }
    return true;
}

/* A binding that applies elsewhere. */
static bool look_elsewhere(void *ctx, const struct authz_grant *grant)
{
    struct hunt *h = ctx;
    bool here = grant->kind == AUTHZ_CLUSTER_ROLE_BINDING ||
                (h->e->what.is_resource && str_eq(grant->namespace, h->e->what.namespace));
    if (here || !grant->role || !explain_allows(grant->role, &h->e->what))
        return true;
    add_miss(h, MISS_NAMESPACE, grant);
    if (!map_get(&h->known, role_key(&grant->role)))
        map_set(&h->known, str_dup(h->arena, role_key(&grant->role)), (void *)grant->role);
    return true;
}

/* ---- Roles that nothing binds to the asker. ---- */

struct candidate {
    const struct authz_role *role;
    double breadth;
};

struct candidates {
    struct hunt *hunt;
    VEC(struct candidate) list;
};

/* A wildcard counts as many as one would expect behind it. */
static double count(struct strs list, double wildcard)
{
    return strs_have(list, S("*")) ? wildcard : (double)list.n;
}

/* A rough measure of what else one would get with a role. */
static double explain_breadth(const struct authz_role *role)
{
    enum { ALL_VERBS = 10, ALL_GROUPS = 100, ALL_RESOURCES = 1000, ALL_URLS = 100, ANY_NAME = 100 };
    double sum = 0;
    rules_each(role->rules, rule)
    {
        double names = rule->resource_names.n ? (double)rule->resource_names.n : ANY_NAME;
        sum += count(rule->verbs, ALL_VERBS) *
               (count(rule->api_groups, ALL_GROUPS) * count(rule->resources, ALL_RESOURCES) * names +
                count(rule->non_resource_urls, ALL_URLS));
    }
    return sum;
}

static bool add_candidate(void *ctx, const struct authz_role *role)
{
    struct candidates *c = ctx;
    const struct authz_attributes *what = &c->hunt->e->what;
    bool reaches = role->kind == AUTHZ_CLUSTER_ROLE ||
                   (what->is_resource && what->namespace.n && str_eq(role->namespace, what->namespace));
    if (reaches && explain_allows(role, what) && !map_get(&c->hunt->known, role_key(&role)))
        *vec_push(c->hunt->arena, &c->list) = (struct candidate){role, explain_breadth(role)};
    return true;
}

/* Those of the server's own parts come last: nobody should be bound to them. */
static int by_breadth(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    bool x_is_own = str_has_prefix(x->role->name, S("system:")), y_is_own = str_has_prefix(y->role->name, S("system:"));
    if (x_is_own != y_is_own)
        return x_is_own ? 1 : -1;
    if (x->breadth != y->breadth)
        return x->breadth < y->breadth ? -1 : 1;
    int order = str_cmp(x->role->name, y->role->name);
    return order ? order : (int)x->role->kind - (int)y->role->kind;
}

static void look_at_roles(struct hunt *h, const struct authz_index *ix)
{
    struct candidates c = {.hunt = h};
    authz_visit_roles(ix, add_candidate, &c);
    if (c.list.n > 1)
        qsort(c.list.p, c.list.n, sizeof *c.list.p, by_breadth);
    vec_each(&c.list, found)
    {
        struct authz_grant grant = {
            .role = found->role, .role_kind = found->role->kind, .role_name = found->role->name};
        add_miss(h, MISS_BINDING, &grant);
    }
}

/* Stable: a kind's misses stay in the order they were found. */
static void sort_by_kind(struct hunt *h)
{
    struct explain_miss *sorted = ARENA_ARRAY(h->arena, struct explain_miss, h->list.n);
    size_t n = 0;
    for (int kind = MISS_NAMESPACE; kind <= MISS_BINDING; kind++) {
        vec_each(&h->list, miss)
        {
            if ((int)miss->kind == kind)
                sorted[n++] = *miss;
        }
    }
    h->list.p = sorted;
}

/* What would make it a yes: of the roles that are there the one that fits best, or else a role of its own. */

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
        bool is_plain = char_is_alnum(c) || c == '.' || c == ':' || c == '@' || c == '_';
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

/* What the name of a binding that would help this asker begins with; may be empty. */
static str explain_binding_prefix(struct arena *a, const struct authz_identity *who)
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

static struct explain_remedy explain_remedy_find(struct arena *a, const struct authz_index *ix,
                                                 const struct explanation *e)
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

/* What is known of a role. */
struct known {
    bool allows;                 /* of who-can */
    bool to_people, to_accounts; /* of why: some binding that was kept */
};

void explain_misses(struct arena *a, const struct authz_index *ix, struct explanation *e)
{
    struct hunt h = {.arena = a, .e = e};
    e->remedy = explain_remedy_find(a, ix, e);
    if (e->remedy.rule.verbs.n == 0)
        return;
    authz_visit(ix, &e->who, e->what.is_resource ? e->what.namespace : (str){0}, look_here, &h);
    authz_visit_everywhere(ix, &e->who, look_elsewhere, &h);
    look_at_roles(&h, ix);
    sort_by_kind(&h);
    e->misses = h.list.p;
    e->n_misses = h.list.n;
    map_done(&h.known);
}

void explain_keep_done(struct explain_keep *k)
{
    map_done(&k->roles);
    arena_done(&k->arena);
}

void explain_keep_begin(struct explain_keep *k)
{
    map_done(&k->roles);
    k->roles = (struct map){0};
    arena_reset(&k->arena);
    if (k->who)
        k->prefix = explain_binding_prefix(&k->arena, k->who);
}

static const struct authz_role *role_of(const struct authz_index *ix, const struct json *binding, str namespace)
{
    const struct json *ref = json_get(binding, S("roleRef"));
    enum authz_kind kind = authz_kind_of(json_get_text(ref, S("kind")));
    if (kind != AUTHZ_ROLE && kind != AUTHZ_CLUSTER_ROLE)
        return NULL;
    return authz_get_role(ix, kind, kind == AUTHZ_ROLE ? namespace : (str){0}, json_get_text(ref, S("name")));
}

static struct known *known_of(struct explain_keep *k, const struct authz_role *role)
{
    str key = {(const char *)&role, sizeof role};
    struct known *known = map_get(&k->roles, key);
    if (known)
        return known;
    known = ARENA_NEW(&k->arena, struct known);
    known->allows = explain_allows(role, k->what);
    map_set(&k->roles, str_dup(&k->arena, key), known);
    return known;
}

/* Whether one of the subjects is the asker; and of which kinds they are. */
static bool look_at_subjects(const struct explain_keep *k, const struct json *binding, str namespace,
                             struct known *ret_kinds)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool is_asker = false;
    json_each_item(json_get(binding, S("subjects")), item)
    {
        struct authz_subject subject;
        str acts_as;
        if (!authz_subject_read(&scratch, item, namespace, &subject, &acts_as))
            continue;
        is_asker = is_asker ||
                   (subject.kind == AUTHZ_GROUP ? strs_have(k->who->groups, acts_as) : str_eq(k->who->user, acts_as));
        ret_kinds->to_accounts |= subject.kind == AUTHZ_SERVICE_ACCOUNT;
        ret_kinds->to_people |= subject.kind != AUTHZ_SERVICE_ACCOUNT;
    }
    return is_asker;
}

static bool tells_something_new(struct explain_keep *k, const struct authz_role *role, const struct known *kinds)
{
    if (role == NULL)
        return false;
    struct known *known = known_of(k, role);
    bool is_new = (kinds->to_people && !known->to_people) || (kinds->to_accounts && !known->to_accounts);
    known->to_people |= kinds->to_people;
    known->to_accounts |= kinds->to_accounts;
    return is_new;
}

bool explain_keeps(struct explain_keep *k, const struct authz_index *ix, const struct json *binding)
{
    bool is_wide = str_eq(object_kind(binding), authz_kind_name(AUTHZ_CLUSTER_ROLE_BINDING));
    str namespace = is_wide ? (str){0} : object_namespace(binding);
    const struct authz_role *role = role_of(ix, binding, namespace);
    struct known kinds = {0};
    if (k->who == NULL)
        return role && known_of(k, role)->allows;
    bool is_asker = look_at_subjects(k, binding, namespace, &kinds);
    bool is_new = tells_something_new(k, role, &kinds);
    return is_asker || is_new || str_has_prefix(object_name(binding), k->prefix);
}
