/* SPDX-License-Identifier: Apache-2.0 */
/* Going through an index: the bindings of an identity, all bindings, all roles. */
#include "authz/index.h"

#include <stdlib.h>

#define ACCOUNT_PREFIX "system:serviceaccount:"

typedef VEC(const struct link *) link_vec;

struct authz_grant index_grant(const struct authz_binding *b)
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

struct authz_subject index_subject_of(const struct link *l)
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
