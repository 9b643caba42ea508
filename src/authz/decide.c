/* SPDX-License-Identifier: Apache-2.0 */
/* The decision, and its words. */
#include "authz/index.h"

#include <stdlib.h>

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

void authz_grant_format(struct buf *b, const struct authz_grant *grant)
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
