/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes, subjects, and the lists of links that belong to a subject in a scope. */
#include "authz/index.h"

#include <stdlib.h>

void *index_new_named(struct authz_index *ix, size_t head, str name, uint32_t hash)
{
    if (name.n > UINT32_MAX)
        abort();
    char *p = index_alloc(ix, head + name.n + 4); /* not less than a structure with its padding */
    if (name.n)
        memcpy(p + head, name.p, name.n);
    *(struct node *)(void *)p = (struct node){NULL, hash, (uint32_t)name.n};
    return p;
}

uint32_t index_mix(uint32_t a, uint32_t b)
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

struct scope *index_ref_scope(struct authz_index *ix, str name)
{
    struct scope *s = index_find_scope(ix, name);
    if (s == NULL) {
        s = index_new_named(ix, offsetof(struct scope, name), name, (uint32_t)hash_str(name));
        table_add(&ix->scopes, &s->node);
    }
    s->refs++;
    return s;
}

void index_unref_scope(struct authz_index *ix, struct scope *s)
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

void index_add_link(struct authz_index *ix, struct link *l, bool is_group, str name)
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

void index_remove_link(struct authz_index *ix, struct link *l)
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
