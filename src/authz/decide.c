/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/index_internal.h"

#include <stdlib.h>

/* Going through an index: the bindings of an identity, all bindings, all roles. */

#define ACCOUNT_PREFIX "system:serviceaccount:"

typedef VEC(const struct link *) link_vec;

/* ---- Looking. ---- */
static struct authz_grant index_grant(const struct authz_binding *b)
{
    return (struct authz_grant){
        .binding = b,
        .kind = b->scope->node.n ? AUTHZ_ROLE_BINDING : AUTHZ_CLUSTER_ROLE_BINDING,
        .namespace = scope_name(b->scope),
        .name = binding_name(b),
        .role_kind = (enum authz_kind)b->place->kind,
        .role_name = place_name(b->place),
        .role = b->place->body ? &b->place->body->role : NULL,
    };
}

static struct authz_subject index_subject_of(const struct link *l)
{
    str name = subject_name(index_link_subject(l));
    if (l->kind != AUTHZ_SERVICE_ACCOUNT)
        return (struct authz_subject){.kind = (enum authz_subject_kind)l->kind, .name = name};
    str rest = str_from(name, strlen(ACCOUNT_PREFIX));
    return (struct authz_subject){AUTHZ_SERVICE_ACCOUNT, str_from(rest, l->namespace + 1),
                                  str_upto(rest, l->namespace)};
}

str authz_subject_kind_name(enum authz_subject_kind kind)
{
    static const str names[] = {[AUTHZ_USER] = S_INIT("User"),
                                [AUTHZ_GROUP] = S_INIT("Group"),
                                [AUTHZ_SERVICE_ACCOUNT] = S_INIT("ServiceAccount")};
    return names[kind];
}

str authz_subject_name(struct arena *a, const struct authz_subject *subject)
{
    if (subject->namespace.n == 0)
        return subject->name;
    struct buf b = {.arena = a}; /* byte by byte, as below */
    buf_add_str(&b, subject->namespace);
    buf_add_char(&b, '/');
    buf_add_str(&b, subject->name);
    return buf_str(&b);
}

str authz_subject_title(struct arena *a, const struct authz_subject *subject)
{
    struct buf b = {.arena = a};
    buf_add_str(&b, authz_subject_kind_name(subject->kind));
    buf_add_char(&b, ' ');
    buf_add_str(&b, authz_subject_name(a, subject));
    return buf_str(&b);
}

str authz_subject_user(struct arena *a, const struct authz_subject *subject)
{
    if (subject->kind != AUTHZ_SERVICE_ACCOUNT)
        return subject->name;
    struct buf b = {.arena = a}; /* byte by byte: a format would end a text at a NUL, and so name another account */
    buf_add_str(&b, S(ACCOUNT_PREFIX));
    buf_add_str(&b, subject->namespace);
    buf_add_char(&b, ':');
    buf_add_str(&b, subject->name);
    return buf_str(&b);
}

/* ---- The bindings of an identity. ---- */

static void take(struct arena *a, link_vec *out, const struct links *list, size_t n)
{
    struct link *const *p = links_of(list, n);
    for (size_t i = 0; i < n; i++)
        *vec_push(a, out) = p[i];
}

/* Cluster-wide first, then by namespace and name; of one binding the first subject first. */
static int by_binding(const void *x, const void *y)
{
    const struct link *a = *(const struct link *const *)x, *b = *(const struct link *const *)y;
    const struct authz_binding *of_a = link_binding(a), *of_b = link_binding(b);
    int c = of_a->scope == of_b->scope ? 0 : str_cmp(scope_name(of_a->scope), scope_name(of_b->scope));
    if (c == 0)
        c = str_cmp(binding_name(of_a), binding_name(of_b));
    return c ? c : (a->index > b->index) - (a->index < b->index);
}

static bool tell(link_vec *found, authz_grant_fn *fn, void *ctx)
{
    const struct authz_binding *before = NULL;
    if (found->n)
        qsort(found->p, found->n, sizeof *found->p, by_binding);
    vec_each(found, link)
    {
        const struct authz_binding *b = link_binding(*link);
        if (b == before)
            continue;
        before = b;
        struct authz_grant grant = index_grant(b);
        grant.subject = index_subject_of(*link);
        if (!fn(ctx, &grant))
            return false;
    }
    return true;
}

/* The i-th subject of an identity: the user, then the groups. NULL when it has no bindings. */
static const struct subject *subject_at(const struct authz_index *ix, const struct authz_identity *who, size_t i)
{
    str name = i ? who->groups.p[i - 1] : who->user;
    return name.n ? index_find_subject(ix, i > 0, name) : NULL;
}

bool authz_visit(const struct authz_index *ix, const struct authz_identity *who, str namespace, authz_grant_fn *fn,
                 void *ctx)
{
    struct arena scratch ARENA_SCOPE = {0};
    link_vec found = {0};
    if (ix == NULL || who == NULL)
        return true;
    const struct scope *scope = namespace.n ? index_find_scope(ix, namespace) : NULL;
    for (size_t i = 0; i <= who->groups.n; i++) {
        const struct subject *s = subject_at(ix, who, i);
        if (s == NULL)
            continue;
        const struct holder *h = scope ? index_find_holder(ix, s, scope) : NULL;
        take(&scratch, &found, &s->cluster, s->n_cluster);
        if (h)
            take(&scratch, &found, &h->links, h->node.n);
    }
    return tell(&found, fn, ctx);
}

bool authz_visit_everywhere(const struct authz_index *ix, const struct authz_identity *who, authz_grant_fn *fn,
                            void *ctx)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct map mine = {0}; /* subjects by address: there may be thousands of groups, and of holders */
    link_vec found = {0};
    if (ix == NULL || who == NULL)
        return true;
    for (size_t i = 0; i <= who->groups.n; i++) {
        const struct subject *s = subject_at(ix, who, i);
        if (s == NULL)
            continue;
        take(&scratch, &found, &s->cluster, s->n_cluster);
        const struct subject **key = ARENA_NEW(&scratch, const struct subject *);
        *key = s;
        map_set(&mine, (str){(const char *)key, sizeof *key}, key);
    }
    for (const struct node *n = NULL; (n = table_next(&ix->holders, n));) {
        const struct holder *h = (const struct holder *)n;
        if (map_get(&mine, (str){(const char *)&h->subject, sizeof h->subject}))
            take(&scratch, &found, &h->links, h->node.n);
    }
    map_done(&mine);
    return tell(&found, fn, ctx);
}

/* ---- Everything. ---- */

bool authz_visit_bindings(const struct authz_index *ix, authz_grant_fn *fn, void *ctx)
{
    for (const struct node *n = NULL; ix && (n = table_next(&ix->bindings, n));) {
        struct authz_grant grant = index_grant((const struct authz_binding *)n);
        if (!fn(ctx, &grant))
            return false;
    }
    return true;
}

size_t authz_binding_subjects(const struct authz_binding *binding)
{
    return binding->n_links;
}

struct authz_subject authz_binding_subject(const struct authz_binding *binding, size_t i)
{
    return index_subject_of(&binding->links[i]);
}

bool authz_visit_roles(const struct authz_index *ix, bool (*fn)(void *ctx, const struct authz_role *role), void *ctx)
{
    for (const struct node *n = NULL; ix && (n = table_next(&ix->places, n));) {
        const struct place *p = (const struct place *)n;
        if (p->body && !fn(ctx, &p->body->role))
            return false;
    }
    return true;
}

/* The decision, and its words. */

/* The best link so far in a scope, while the lists of all subjects are gone through. */
struct search {
    const struct question *question;
    bool first_will_do; /* nobody wants the reason */
    const struct link *cluster, *local;
    bool missing; /* a role was */
};

/* Goes through one subject's bindings in a scope, until one allows or would come after the best of another subject. */
static void search_links(struct search *s, const struct links *list, size_t n, const struct link **best)
{
    struct link *const *p = links_of(list, n);
    for (size_t i = 0; i < n; i++) {
        const struct authz_binding *b = link_binding(p[i]);
        if (*best) {
            const struct authz_binding *rival = link_binding(*best);
            if (b == rival && p[i]->index < (*best)->index)
                *best = p[i];
            if (b == rival || str_cmp(binding_name(b), binding_name(rival)) > 0)
                return;
        }
        if (b->place->body == NULL) {
            s->missing = true;
        } else if (compiled_allows(&b->place->body->compiled, s->question)) {
            *best = p[i];
            return;
        }
    }
}

static bool search(const struct authz_index *ix, const struct authz_identity *who, struct search *s)
{
    const struct authz_attributes *what = s->question->what;
    const struct scope *scope = what->is_resource && what->namespace.n ? index_find_scope(ix, what->namespace) : NULL;
    for (size_t i = 0; i <= who->groups.n; i++) {
        str name = i ? who->groups.p[i - 1] : who->user;
        const struct subject *subject = name.n ? index_find_subject(ix, i > 0, name) : NULL;
        if (subject == NULL)
            continue;
        search_links(s, &subject->cluster, subject->n_cluster, &s->cluster);
        const struct holder *h = scope && !s->cluster ? index_find_holder(ix, subject, scope) : NULL;
        if (h)
            search_links(s, &h->links, h->node.n, &s->local);
        if (s->first_will_do && (s->cluster || s->local))
            return true;
    }
    return s->cluster || s->local;
}

/* ---- Words. ---- */

/* "name", or "name/namespace" in one pair of quotes. */
static void add_name(struct buf *b, str name, str namespace)
{
    buf_add_quoted(b, name);
    if (namespace.n == 0)
        return;
    size_t slash =
        b->n - 1; /* where the closing quote is: the slash goes there, in place of the next opening one too */
    buf_add_quoted(b, namespace);
    memmove(b->p + slash, b->p + slash + 1, b->n - slash - 1);
    b->p[slash] = '/';
    b->n--;
}

/* allowed by ClusterRoleBinding "b" of ClusterRole "r" to User "u" */
static void authz_grant_format(struct buf *b, const struct authz_grant *grant)
{
    const struct authz_subject *s = &grant->subject;
    buf_add_str(b, S("allowed by "));
    buf_add_str(b, authz_kind_name(grant->kind));
    buf_add_char(b, ' ');
    add_name(b, grant->name, grant->namespace);
    buf_add_str(b, S(" of "));
    buf_add_str(b, authz_kind_name(grant->role_kind));
    buf_add_char(b, ' ');
    buf_add_quoted(b, grant->role_name);
    buf_add_str(b, S(" to "));
    buf_add_str(b, authz_subject_kind_name(s->kind));
    buf_add_char(b, ' ');
    add_name(b, s->name, s->kind == AUTHZ_SERVICE_ACCOUNT ? s->namespace : (str){0});
}

void authz_missing_format(struct buf *b, const struct authz_grant *grant)
{
    if (grant->role_kind == AUTHZ_UNKNOWN) {
        buf_fmt(b, "unsupported role reference kind: ");
        buf_add_quoted(b, grant->role_name);
        return;
    }
    buf_fmt(b, "%s.rbac.authorization.k8s.io ", grant->role_kind == AUTHZ_ROLE ? "role" : "clusterrole");
    buf_add_quoted(b, grant->role_name);
    buf_fmt(b, " not found");
}

struct complaints {
    struct arena *arena;
    struct map known;
    VEC(str) texts;
};

static bool complain(void *ctx, const struct authz_grant *grant)
{
    struct complaints *c = ctx;
    struct buf b = {.arena = c->arena};
    if (grant->role)
        return true;
    authz_missing_format(&b, grant);
    if (map_set(&c->known, buf_str(&b), c) == NULL)
        *vec_push(c->arena, &c->texts) = buf_str(&b);
    return true;
}

/* The roles that are missing, in the order of the bindings that name them, each once. */
static str missing_reason(const struct authz_index *ix, const struct authz_identity *who, const struct question *q,
                          struct arena *reasons)
{
    struct complaints c = {.arena = reasons};
    struct buf b = {.arena = reasons};
    authz_visit(ix, who, q->what->is_resource ? q->what->namespace : (str){0}, complain, &c);
    buf_fmt(&b, "RBAC: %s", c.texts.n > 1 ? "[" : "");
    vec_each(&c.texts, text)
    {
        buf_fmt(&b, "%s%.*s", text == c.texts.p ? "" : ", ", STR(*text));
    }
    buf_add_str(&b, c.texts.n > 1 ? S("]") : S(""));
    map_done(&c.known);
    return buf_str(&b);
}

static str allowed_reason(const struct link *link, struct arena *reasons)
{
    struct authz_grant grant = index_grant(link_binding(link));
    struct buf b = {.arena = reasons};
    grant.subject = index_subject_of(link);
    buf_grow(&b, 128 + grant.name.n + grant.namespace.n + grant.role_name.n + grant.subject.name.n);
    buf_add_str(&b, S("RBAC: "));
    authz_grant_format(&b, &grant);
    return buf_str(&b);
}

static bool rules_allow(const struct rules *rules, const struct authz_attributes *what)
{
    rules_each(*rules, rule)
    {
        if (rule_matches(rule, what))
            return true;
    }
    return false;
}

struct authz_decision authz_check(const struct authz_index *ix, const struct authz_identity *who,
                                  const struct authz_attributes *what, struct arena *reasons)
{
    struct authz_decision decision = {0};
    if (ix == NULL || who == NULL || !authz_is_request(what))
        return decision;
    if (who->only) {
        decision.allowed = rules_allow(who->only, what);
        return decision;
    }
    if (authz_is_master(who)) {
        decision.allowed = true;
        return decision;
    }
    struct question q = question_of(what);
    struct search s = {.question = &q, .first_will_do = reasons == NULL};
    decision.allowed = search(ix, who, &s);
    if (reasons && decision.allowed)
        decision.reason = allowed_reason(s.cluster ? s.cluster : s.local, reasons);
    else if (reasons && s.missing)
        decision.reason = missing_reason(ix, who, &q, reasons);
    return decision;
}
