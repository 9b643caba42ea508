/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/index_internal.h"
#include "object/object.h"

#include <stdlib.h>

static void *index_alloc(struct authz_index *ix, size_t size)
{
    void *p = ix->only_grows ? arena_zalloc(&ix->arena, size) : calloc(1, size);
    if (p == NULL)
        abort();
    return p;
}

/* Takes NULL. */
static void index_release(const struct authz_index *ix, void *p)
{
    if (!ix->only_grows)
        free(p);
}

/* p may be NULL; else it has old bytes. */
static void *index_resize(struct authz_index *ix, void *p, size_t old, size_t size)
{
    p = ix->only_grows ? arena_realloc(&ix->arena, p, old, size) : realloc(p, size);
    if (p == NULL)
        abort();
    return p;
}

static void table_done(struct table *t)
{
    free(t->heads);
    *t = (struct table){0};
}

static void grow(struct table *t)
{
    size_t heads = t->heads ? (t->mask + 1) * 2 : 16;
    struct table next = {calloc(heads, sizeof(struct node *)), t->n, heads - 1};
    if (next.heads == NULL)
        abort();
    for (size_t i = 0; t->heads && i <= t->mask; i++)
        for (struct node *node = t->heads[i], *after; node; node = after) {
            after = node->next;
            struct node **head = &next.heads[node->hash & next.mask];
            node->next = *head;
            *head = node;
        }
    free(t->heads);
    *t = next;
}

static void table_add(struct table *t, struct node *node)
{
    if (t->heads == NULL || t->n > t->mask)
        grow(t);
    struct node **head = &t->heads[node->hash & t->mask];
    node->next = *head;
    *head = node;
    t->n++;
}

static void table_remove(struct table *t, struct node *node)
{
    struct node **at = &t->heads[node->hash & t->mask];
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    t->n--;
}

struct node *table_next(const struct table *t, const struct node *at)
{
    if (at && at->next)
        return at->next;
    for (size_t i = at ? (at->hash & t->mask) + 1 : 0; t->heads && i <= t->mask; i++)
        if (t->heads[i])
            return t->heads[i];
    return NULL;
}

/* Scopes, subjects, and the lists of links that belong to a subject in a scope. */

static void *index_new_named(struct authz_index *ix, size_t head, str name, uint32_t hash)
{
    if (name.n > UINT32_MAX)
        abort();
    char *p = index_alloc(ix, head + name.n + 4); /* not less than a structure with its padding */
    if (name.n)
        memcpy(p + head, name.p, name.n);
    *(struct node *)(void *)p = (struct node){NULL, hash, (uint32_t)name.n};
    return p;
}

/* ---- Subjects. ---- */
static uint32_t index_mix(uint32_t a, uint32_t b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* ---- Scopes. ---- */

struct scope *index_find_scope(const struct authz_index *ix, str name)
{
    uint32_t hash = (uint32_t)hash_str(name);
    for (struct node *n = table_chain(&ix->scopes, hash); n; n = n->next) {
        struct scope *s = (struct scope *)n;
        if (n->hash == hash && str_eq(scope_name(s), name))
            return s;
    }
    return NULL;
}

/* Finds or makes it, and counts one more reference. */
static struct scope *index_ref_scope(struct authz_index *ix, str name)
{
    struct scope *s = index_find_scope(ix, name);
    if (s == NULL) {
        s = index_new_named(ix, offsetof(struct scope, name), name, (uint32_t)hash_str(name));
        table_add(&ix->scopes, &s->node);
    }
    s->refs++;
    return s;
}

static void index_unref_scope(struct authz_index *ix, struct scope *s)
{
    if (--s->refs)
        return;
    table_remove(&ix->scopes, &s->node);
    index_release(ix, s);
}

/* ---- Subjects and holders. ---- */

static uint32_t hash_subject(bool is_group, str name)
{
    return (uint32_t)hash_str(name) ^ (is_group ? 0x9e3779b9u : 0);
}

struct subject *index_find_subject(const struct authz_index *ix, bool is_group, str name)
{
    uint32_t hash = hash_subject(is_group, name);
    for (struct node *n = table_chain(&ix->subjects, hash); n; n = n->next) {
        struct subject *s = (struct subject *)n;
        if (n->hash == hash && s->is_group == is_group && str_eq(subject_name(s), name))
            return s;
    }
    return NULL;
}

static struct subject *ref_subject(struct authz_index *ix, bool is_group, str name)
{
    struct subject *s = index_find_subject(ix, is_group, name);
    if (s == NULL) {
        s = index_new_named(ix, offsetof(struct subject, name), name, hash_subject(is_group, name));
        s->is_group = is_group;
        table_add(&ix->subjects, &s->node);
    }
    s->refs++;
    return s;
}

static void unref_subject(struct authz_index *ix, struct subject *s)
{
    if (--s->refs)
        return;
    table_remove(&ix->subjects, &s->node);
    index_release(ix, s);
}

static uint32_t hash_holder(const struct subject *s, const struct scope *scope)
{
    return index_mix(s->node.hash, scope->node.hash);
}

struct holder *index_find_holder(const struct authz_index *ix, const struct subject *s, const struct scope *scope)
{
    for (struct node *n = table_chain(&ix->holders, hash_holder(s, scope)); n; n = n->next) {
        struct holder *h = (struct holder *)n;
        if (h->subject == s && h->scope == scope)
            return h;
    }
    return NULL;
}

/* ---- Lists of links. ---- */

/* Where the binding's name is or would be. */
static size_t place_in(const struct links *list, size_t n, str name)
{
    struct link *const *p = links_of(list, n);
    size_t low = 0;
    if (n && str_cmp(binding_name(link_binding(p[n - 1])), name) < 0)
        return n; /* objects mostly come in order */
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (str_cmp(binding_name(link_binding(p[mid])), name) < 0)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

/* False when another link of the same binding is there. */
static bool insert(struct authz_index *ix, struct links *list, uint32_t *n, struct link *l)
{
    const struct authz_binding *binding = link_binding(l);
    size_t at = place_in(list, *n, binding_name(binding));
    if (at < *n && link_binding(links_of(list, *n)[at]) == binding)
        return false;
    if (*n == 0) {
        list->one = l;
    } else {
        bool is_full = (*n & (*n - 1)) == 0; /* n is a power of two */
        struct link *only = list->one;
        size_t size = (size_t)*n * sizeof(struct link *);
        struct link **p = *n == 1   ? index_alloc(ix, 2 * size)
                          : is_full ? index_resize(ix, list->many, size, 2 * size)
                                    : list->many;
        if (*n == 1)
            *p = only;
        memmove(p + at + 1, p + at, (*n - at) * sizeof *p);
        p[at] = l;
        list->many = p;
    }
    ++*n;
    return true;
}

static void erase(struct authz_index *ix, struct links *list, uint32_t *n, const struct link *l)
{
    if (*n > 1) {
        struct link **p = list->many;
        size_t at = place_in(list, *n, binding_name(link_binding(l)));
        memmove(p + at, p + at + 1, (*n - at - 1) * sizeof *p);
        if (*n == 2) {
            list->one = p[0];
            index_release(ix, p);
        } else if (((*n - 1) & (*n - 2)) == 0) { /* one less is a power of two: that much room is enough */
            list->many = index_resize(ix, p, (*n - 1) * sizeof *p, (*n - 1) * sizeof *p);
        }
    }
    --*n;
}

/* ---- Links. ---- */

struct subject *index_link_subject(const struct link *l)
{
    return link_binding(l)->scope->node.n ? l->holder->subject : l->subject;
}

/* Enters the link, whose binding is complete, into the lists of its subject. */
static void index_add_link(struct authz_index *ix, struct link *l, bool is_group, str name)
{
    struct scope *scope = link_binding(l)->scope;
    struct subject *s = ref_subject(ix, is_group, name);
    if (scope == ix->cluster) {
        l->subject = s;
        l->repeated = !insert(ix, &s->cluster, &s->n_cluster, l);
        return;
    }
    struct holder *h = index_find_holder(ix, s, scope);
    if (h == NULL) {
        h = index_new_named(ix, sizeof *h, (str){0}, hash_holder(s, scope));
        h->subject = s;
        h->scope = scope; /* held by its bindings */
        table_add(&ix->holders, &h->node);
    }
    l->holder = h;
    l->repeated = !insert(ix, &h->links, &h->node.n, l);
}

/* Links of one binding go in reverse order: repeated ones before the one that holds the holder. */
static void index_remove_link(struct authz_index *ix, struct link *l)
{
    struct subject *s = index_link_subject(l);
    if (link_binding(l)->scope == ix->cluster) {
        if (!l->repeated)
            erase(ix, &s->cluster, &s->n_cluster, l);
    } else if (!l->repeated) {
        struct holder *h = l->holder;
        erase(ix, &h->links, &h->node.n, l);
        if (h->node.n == 0) {
            table_remove(&ix->holders, &h->node);
            index_release(ix, h);
        }
    }
    unref_subject(ix, s);
}

/* Roles and bindings come and go. */

static const str kind_names[] = {
    [AUTHZ_ROLE] = S_INIT("Role"),
    [AUTHZ_CLUSTER_ROLE] = S_INIT("ClusterRole"),
    [AUTHZ_ROLE_BINDING] = S_INIT("RoleBinding"),
    [AUTHZ_CLUSTER_ROLE_BINDING] = S_INIT("ClusterRoleBinding"),
    [AUTHZ_UNKNOWN] = S_INIT(""),
};

str authz_kind_name(enum authz_kind kind)
{
    return (unsigned)kind < AUTHZ_UNKNOWN ? kind_names[kind] : (str){0};
}

enum authz_kind authz_kind_of(str name)
{
    for (int k = 0; k < AUTHZ_UNKNOWN; k++)
        if (str_eq(kind_names[k], name))
            return (enum authz_kind)k;
    return AUTHZ_UNKNOWN;
}

static bool is_binding(enum authz_kind kind)
{
    return kind == AUTHZ_ROLE_BINDING || kind == AUTHZ_CLUSTER_ROLE_BINDING;
}

static bool is_namespaced(enum authz_kind kind)
{
    return kind == AUTHZ_ROLE || kind == AUTHZ_ROLE_BINDING;
}

/* ---- Memory. ---- */

static struct authz_index *new_index(bool only_grows)
{
    struct authz_index *ix = xcalloc(1, sizeof *ix);
    ix->only_grows = only_grows;
    ix->cluster = index_ref_scope(ix, (str){0});
    return ix;
}

struct authz_index *authz_index_new(void)
{
    return new_index(false);
}

struct authz_index *authz_index_new_growing(void)
{
    return new_index(true);
}

/* ---- Places of roles. ---- */

static uint32_t hash_place(enum authz_kind kind, const struct scope *scope, str name)
{
    return index_mix((uint32_t)hash_str(name) + (uint32_t)kind, scope->node.hash);
}

static struct place *find_place(const struct authz_index *ix, enum authz_kind kind, const struct scope *scope, str name)
{
    uint32_t hash = scope ? hash_place(kind, scope, name) : 0;
    for (struct node *n = scope ? table_chain(&ix->places, hash) : NULL; n; n = n->next) {
        struct place *p = (struct place *)n;
        if (n->hash == hash && p->kind == kind && p->scope == scope && str_eq(place_name(p), name))
            return p;
    }
    return NULL;
}

static struct place *get_place(struct authz_index *ix, enum authz_kind kind, str namespace, str name)
{
    struct scope *scope = index_ref_scope(ix, namespace);
    struct place *p = find_place(ix, kind, scope, name);
    if (p) {
        index_unref_scope(ix, scope);
        return p;
    }
    p = index_new_named(ix, offsetof(struct place, name), name, hash_place(kind, scope, name));
    p->scope = scope;
    p->kind = (uint8_t)kind;
    table_add(&ix->places, &p->node);
    return p;
}

static void drop_place_if_unused(struct authz_index *ix, struct place *p)
{
    if (p->refs || p->body)
        return;
    table_remove(&ix->places, &p->node);
    index_unref_scope(ix, p->scope);
    index_release(ix, p);
}

/* ---- Roles. ---- */

static void free_body(const struct authz_index *ix, struct body *b)
{
    if (b)
        arena_done(&b->overflow);
    index_release(ix, b);
}

static const struct json *keep(struct arena *a, const struct json *v)
{
    if (json_is_null(v))
        return NULL;
    struct json *kept = ARENA_NEW(a, struct json);
    *kept = json_dup(a, v);
    return kept;
}

static void fill_body(struct arena *a, const struct json *object, struct rules rules, struct body *ret)
{
    ret->role.rules = rules_dup(a, rules);
    ret->role.labels = keep(a, object_labels(object));
    ret->role.aggregation_rule = keep(a, json_get(object, S("aggregationRule")));
    ret->compiled = rules_compile(a, ret->role.rules);
}

/* Built twice: first to learn how much memory it takes, then in one block of that size. */
static struct body *new_body(struct authz_index *ix, const struct json *object, struct rules rules)
{
    struct body measured = {0}, *b;
    arena_reset(&ix->scratch);
    arena_alloc(&ix->scratch, 0); /* there is a chunk now, and reset keeps the largest ever needed */
    const struct arena_chunk *chunk = ix->scratch.chunk;
    const char *start = ix->scratch.at;
    fill_body(&ix->scratch, object, rules, &measured);
    size_t size = chunk == ix->scratch.chunk ? (size_t)(ix->scratch.at - start) : 0;
    b = index_alloc(ix, offsetof(struct body, room) + size);
    b->overflow = (struct arena){.at = b->room, .end = b->room + size};
    fill_body(&b->overflow, object, rules, b);
    return b;
}

static int put_role(struct authz_index *ix, enum authz_kind kind, const struct json *object, struct err *err)
{
    str namespace = is_namespaced(kind) ? object_namespace(object) : (str){0};
    struct arena scratch ARENA_SCOPE = {0};
    struct rules rules;
    if (rules_from_json(&scratch, json_get(object, S("rules")), &rules, err) < 0)
        return err->code = ERR_INVALID;
    struct place *p = get_place(ix, kind, namespace, object_name(object));
    struct body *former = p->body;
    p->body = new_body(ix, object, rules);
    free_body(ix, former); /* last: the object may borrow texts of the role it replaces */
    p->body->role.kind = kind;
    p->body->role.namespace = scope_name(p->scope);
    p->body->role.name = place_name(p);
    return 0;
}

static bool delete_role(struct authz_index *ix, enum authz_kind kind, const struct scope *scope, str name)
{
    struct place *p = find_place(ix, kind, scope, name);
    if (p == NULL || p->body == NULL)
        return false;
    free_body(ix, p->body);
    p->body = NULL;
    drop_place_if_unused(ix, p);
    return true;
}

/* ---- Bindings. ---- */

static uint32_t hash_binding(const struct scope *scope, str name)
{
    return index_mix((uint32_t)hash_str(name), scope->node.hash);
}

static struct authz_binding *find_binding(const struct authz_index *ix, const struct scope *scope, str name)
{
    uint32_t hash = scope ? hash_binding(scope, name) : 0;
    for (struct node *n = scope ? table_chain(&ix->bindings, hash) : NULL; n; n = n->next) {
        struct authz_binding *b = (struct authz_binding *)n;
        if (n->hash == hash && b->scope == scope && str_eq(binding_name(b), name))
            return b;
    }
    return NULL;
}

static bool delete_binding(struct authz_index *ix, const struct scope *scope, str name)
{
    struct authz_binding *b = find_binding(ix, scope, name);
    if (b == NULL)
        return false;
    for (size_t i = b->n_links; i-- > 0;)
        index_remove_link(ix, &b->links[i]);
    table_remove(&ix->bindings, &b->node);
    b->place->refs--;
    drop_place_if_unused(ix, b->place);
    index_unref_scope(ix, b->scope);
    index_release(ix, b);
    return true;
}

bool authz_subject_read(struct arena *a, const struct json *subject, str binding_namespace, struct authz_subject *ret,
                        str *ret_acts_as)
{
    str kind = json_get_text(subject, S("kind")), name = json_get_text(subject, S("name"));
    const struct json *own = json_get(subject, S("namespace"));
    if (name.n == 0 || !(json_is_null(own) || json_is_str(own)))
        return false;
    *ret = (struct authz_subject){.kind = AUTHZ_USER, .name = name};
    *ret_acts_as = name;
    if (str_eq(kind, S("User")))
        return true;
    ret->kind = AUTHZ_GROUP;
    if (str_eq(kind, S("Group")))
        return true;
    ret->kind = AUTHZ_SERVICE_ACCOUNT;
    ret->namespace = json_text(own).n ? json_text(own) : binding_namespace;
    if (!str_eq(kind, S("ServiceAccount")) || ret->namespace.n == 0 || ret->namespace.n >> 29)
        return false;
    *ret_acts_as = authz_subject_user(a, ret);
    return true;
}

static struct place *place_of_ref(struct authz_index *ix, const struct json *object, str namespace)
{
    const struct json *ref = json_get(object, S("roleRef"));
    str kind = json_get_text(ref, S("kind")), name = json_get_text(ref, S("name"));
    if (str_eq(kind, kind_names[AUTHZ_CLUSTER_ROLE]))
        return get_place(ix, AUTHZ_CLUSTER_ROLE, (str){0}, name);
    if (str_eq(kind, kind_names[AUTHZ_ROLE]))
        return get_place(ix, AUTHZ_ROLE, namespace, name); /* without a namespace: never found, as it should be */
    return get_place(ix, AUTHZ_UNKNOWN, (str){0}, kind);
}

struct member {
    struct authz_subject subject;
    str acts_as;
};

static int put_binding(struct authz_index *ix, enum authz_kind kind, const struct json *object, struct err *err)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json *subjects = json_get(object, S("subjects"));
    str namespace = is_namespaced(kind) ? object_namespace(object) : (str){0}, name = object_name(object);
    if (!json_is_null(subjects) && !json_is_arr(subjects))
        return err_set(err, ERR_INVALID, "subjects: must be a list");
    struct member *members = ARENA_ARRAY(&scratch, struct member, json_len(subjects));
    size_t n = 0;
    json_each_item(subjects, subject)
    {
        n += authz_subject_read(&scratch, subject, namespace, &members[n].subject, &members[n].acts_as);
    }
    struct scope *scope = index_ref_scope(ix, namespace);
    size_t head = offsetof(struct authz_binding, links) + n * sizeof(struct link);
    struct authz_binding *b = index_new_named(ix, head, name, hash_binding(scope, name));
    b->scope = scope;
    b->n_links = (uint32_t)n;
    b->name_at = (uint32_t)head;
    b->place = place_of_ref(ix, object, namespace);
    b->place->refs++;
    table_add(&ix->bindings, &b->node);
    for (size_t i = 0; i < n; i++) {
        b->links[i].index = (uint32_t)i;
        b->links[i].kind = members[i].subject.kind;
        b->links[i].namespace = (uint32_t)members[i].subject.namespace.n;
        index_add_link(ix, &b->links[i], members[i].subject.kind == AUTHZ_GROUP, members[i].acts_as);
    }
    return 0;
}

/* ---- Both. ---- */

const struct authz_role *authz_get_role(const struct authz_index *ix, enum authz_kind kind, str namespace, str name)
{
    const struct place *p = ix ? find_place(ix, kind, index_find_scope(ix, namespace), name) : NULL;
    return p && p->body ? &p->body->role : NULL;
}

bool authz_has_binding(const struct authz_index *ix, enum authz_kind kind, str namespace, str name)
{
    return ix && is_binding(kind) && is_namespaced(kind) == (namespace.n > 0) &&
           find_binding(ix, index_find_scope(ix, namespace), name);
}

static bool delete_in(struct authz_index *ix, enum authz_kind kind, const struct scope *scope, str name)
{
    return is_binding(kind) ? delete_binding(ix, scope, name) : delete_role(ix, kind, scope, name);
}

bool authz_index_delete(struct authz_index *ix, enum authz_kind kind, str namespace, str name)
{
    if (kind >= AUTHZ_UNKNOWN || is_namespaced(kind) != (namespace.n > 0))
        return false;
    return delete_in(ix, kind, index_find_scope(ix, namespace), name);
}

/* A custom resource may be called ClusterRoleBinding too. Objects in a list come without apiVersion. */
static bool is_of_another_group(const struct json *object)
{
    str version = object_api_version(object), group, rest;
    str_cut(version, '/', &group, &rest);
    return version.n && !str_eq(group, S("rbac.authorization.k8s.io"));
}

int authz_index_put(struct authz_index *ix, const struct json *object, struct err *err)
{
    struct err ignored;
    enum authz_kind kind = authz_kind_of(object_kind(object));
    str namespace = object_namespace(object), name = object_name(object);
    err = err ? err : &ignored;
    if (kind == AUTHZ_UNKNOWN || is_of_another_group(object))
        return err_set(err, ERR_INVALID, "kind: not a role or binding");
    if (name.n == 0 || (is_namespaced(kind) && namespace.n == 0))
        return err_set(err, ERR_INVALID, "metadata: a name is missing");
    if (is_binding(kind))
        authz_index_delete(ix, kind, is_namespaced(kind) ? namespace : (str){0}, name);
    int code = is_binding(kind) ? put_binding(ix, kind, object, err) : put_role(ix, kind, object, err);
    if (code < 0)
        authz_index_delete(ix, kind, is_namespaced(kind) ? namespace : (str){0}, name);
    return code;
}

static void free_nodes(struct table *t)
{
    for (size_t i = 0; t->heads && i <= t->mask; i++)
        for (struct node *node = t->heads[i], *next; node; node = next) {
            next = node->next;
            free(node);
        }
}

static void free_links(struct authz_index *ix)
{
    for (struct node *n = NULL; (n = table_next(&ix->subjects, n));)
        if (((struct subject *)n)->n_cluster > 1)
            free(((struct subject *)n)->cluster.many);
    for (struct node *n = NULL; (n = table_next(&ix->holders, n));)
        if (n->n > 1)
            free(((struct holder *)n)->links.many);
}

void authz_index_free(struct authz_index *ix)
{
    if (ix == NULL)
        return;
    for (struct node *n = NULL; (n = table_next(&ix->places, n));)
        free_body(ix, ((struct place *)n)->body);
    if (!ix->only_grows)
        free_links(ix);
    struct table *tables[] = {&ix->bindings, &ix->holders, &ix->subjects, &ix->places, &ix->scopes};
    for (size_t i = 0; i < COUNT(tables); i++) {
        if (!ix->only_grows)
            free_nodes(tables[i]);
        table_done(tables[i]);
    }
    arena_done(&ix->scratch);
    arena_done(&ix->arena);
    free(ix);
}
