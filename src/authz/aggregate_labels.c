/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/aggregate_internal.h"
#include "object/object.h"

#include <assert.h>
#include <stdlib.h>

/* Rules of which equal ones are one: a hash table with chains, each rule in one block with all its texts. */

enum { LISTS = 5, BUCKETS_MIN = 64 };

static void *agg_resize(void *p, size_t size)
{
    void *grown = xrealloc(p, size ? size : 1);
    return grown;
}

void *agg_alloc(size_t size)
{
    return agg_resize(NULL, size);
}

/* Copies a list to *at and its texts to *bytes, and moves both on. */
static struct strs copy_list(str **at, char **bytes, struct strs list)
{
    struct strs copy = {*at, list.n};
    strs_each(list, s)
    {
        *(*at)++ = (str){*bytes, s->n};
        if (s->n)
            memcpy(*bytes, s->p, s->n);
        *bytes += s->n;
    }
    return copy;
}

static struct agg_rule *rule_new(const struct rule *rule, uint64_t hash)
{
    const struct strs *lists[LISTS] = {&rule->verbs, &rule->api_groups, &rule->resources, &rule->resource_names,
                                       &rule->non_resource_urls};
    size_t texts = 0, bytes = 0;
    for (int i = 0; i < LISTS; i++) {
        texts += lists[i]->n;
        strs_each(*lists[i], s) bytes += s->n;
    }
    struct agg_rule *r = agg_alloc(sizeof *r + texts * sizeof(str) + bytes);
    str *at = (str *)(r + 1);
    char *text = (char *)(at + texts);
    *r = (struct agg_rule){.hash = hash};
    r->rule.verbs = copy_list(&at, &text, rule->verbs);
    r->rule.api_groups = copy_list(&at, &text, rule->api_groups);
    r->rule.resources = copy_list(&at, &text, rule->resources);
    r->rule.resource_names = copy_list(&at, &text, rule->resource_names);
    r->rule.non_resource_urls = copy_list(&at, &text, rule->non_resource_urls);
    return r;
}

static void pool_resize(struct agg_pool *pool, size_t buckets)
{
    struct agg_rule **next = agg_alloc(buckets * sizeof *next);
    for (size_t i = 0; i < buckets; i++)
        next[i] = NULL;
    for (size_t i = 0; pool->buckets && i <= pool->mask; i++) {
        for (struct agg_rule *r = pool->buckets[i], *after; r; r = after) {
            after = r->next;
            r->next = next[r->hash & (buckets - 1)];
            next[r->hash & (buckets - 1)] = r;
        }
    }
    free(pool->buckets);
    pool->buckets = next;
    pool->mask = buckets - 1;
}

void agg_pool_done(struct agg_pool *pool)
{
    free(pool->buckets); /* whoever had rules has dropped them */
    *pool = (struct agg_pool){0};
}

static struct agg_rule *pool_take(struct agg_pool *pool, const struct rule *rule)
{
    if (pool->buckets == NULL || pool->n > pool->mask)
        pool_resize(pool, pool->buckets ? 2 * (pool->mask + 1) : BUCKETS_MIN);
    uint64_t hash = rule_hash(rule);
    struct agg_rule **bucket = &pool->buckets[hash & pool->mask], *r;
    for (r = *bucket; r; r = r->next) {
        if (r->hash == hash && rule_equal(&r->rule, rule))
            break;
    }
    if (r == NULL) {
        r = rule_new(rule, hash);
        r->next = *bucket;
        *bucket = r;
        pool->n++;
    }
    r->refs++;
    return r;
}

static void pool_drop(struct agg_pool *pool, struct agg_rule *rule)
{
    if (--rule->refs)
        return;
    struct agg_rule **at = &pool->buckets[rule->hash & pool->mask];
    while (*at != rule)
        at = &(*at)->next;
    *at = rule->next;
    pool->n--;
    free(rule);
}

struct agg_rules agg_rules_take(struct agg_pool *pool, struct rules rules)
{
    struct agg_rules taken = {agg_alloc(rules.n * sizeof *taken.p), rules.n};
    for (size_t i = 0; i < rules.n; i++)
        taken.p[i] = pool_take(pool, &rules.p[i]);
    return taken;
}

struct agg_rules agg_rules_share(struct agg_rule *const *p, size_t n)
{
    struct agg_rules shared = {agg_alloc(n * sizeof *shared.p), n};
    for (size_t i = 0; i < n; i++) {
        shared.p[i] = p[i];
        p[i]->refs++;
    }
    return shared;
}

void agg_rules_drop(struct agg_pool *pool, struct agg_rules rules)
{
    for (size_t i = 0; i < rules.n; i++)
        pool_drop(pool, rules.p[i]);
    free(rules.p);
}

bool agg_rules_equal(struct agg_rules x, struct agg_rules y)
{
    return x.n == y.n && (x.n == 0 || memcmp((void *)x.p, (void *)y.p, x.n * sizeof *x.p) == 0);
}

struct rules agg_rules_lend(struct arena *a, struct agg_rules rules)
{
    struct rule *lent = ARENA_ARRAY(a, struct rule, rules.n);
    for (size_t i = 0; i < rules.n; i++)
        lent[i] = rules.p[i]->rule;
    return (struct rules){lent, rules.n};
}

/* The label side of the graph: places where roles and selectors meet, and membership. */

/* ---- Places. ---- */

static struct agg_place *agg_place_get(struct map *map, str key)
{
    struct agg_place *place = map_get(map, key);
    if (place == NULL) {
        place = agg_alloc(sizeof *place + key.n);
        *place = (struct agg_place){.key = {(char *)(place + 1), key.n}, .map = map};
        if (key.n)
            memcpy(place + 1, key.p, key.n);
        map_set(map, place->key, place);
    }
    return place;
}

/* Forgets it if nobody stands there. */
static void agg_place_release(struct agg_place *place)
{
    if (place->map && LIST_EMPTY(&place->roles) && LIST_EMPTY(&place->selectors)) {
        map_del(place->map, place->key);
        free(place);
    }
}

/* Two labels that read the same here ("a=" with "b=c", "a" with "=b=c"; neither is valid) share a place, which costs a
 * comparison: the selector itself has the last word. */
static struct agg_place *agg_place_of_value(struct aggregate_index *ix, str key, str value)
{
    return agg_place_get(&ix->by_value, str_fmt(&ix->scratch, "%.*s=%.*s", STR(key), STR(value)));
}

/* ---- Labels of a role. ---- */

static void labels_free(struct agg_labels *labels)
{
    for (size_t i = 0; labels && i < labels->n; i++) {
        LIST_REMOVE(&labels->at[i], link);
        agg_place_release(labels->at[i].place);
    }
    free(labels);
}

static void stand(struct agg_label *label, struct agg_role *role, struct agg_place *place)
{
    *label = (struct agg_label){.place = place, .role = role};
    LIST_INSERT_HEAD(&place->roles, label, link);
}

/* One block: the links, then the members of the map, then the texts. */
static struct agg_labels *labels_new(struct aggregate_index *ix, struct agg_role *role, const struct json *labels)
{
    size_t n = json_len(labels), bytes = 0, i = 0;
    json_each_member(labels, m) bytes += m->key_n + m->val.n;
    struct agg_labels *copy =
        agg_alloc(sizeof *copy + 2 * n * sizeof *copy->at + n * sizeof(struct json_member) + bytes);
    struct json_member *members = (struct json_member *)(copy->at + 2 * n);
    char *text = (char *)(members + n);
    copy->n = 2 * n;
    copy->map = (struct json){.type = JSON_OBJ, .n = (uint32_t)n, .members = members};
    json_each_member(labels, m)
    {
        str key = json_key(m), value = json_text(&m->val);
        members[i] = (struct json_member){.key = text, .key_n = m->key_n, .hash = m->hash};
        if (key.n)
            memcpy(text, key.p, key.n);
        text += key.n;
        members[i].val = json_str((str){text, value.n});
        if (value.n)
            memcpy(text, value.p, value.n);
        text += value.n;
        stand(&copy->at[2 * i], role, agg_place_of_value(ix, key, value));
        stand(&copy->at[2 * i + 1], role, agg_place_get(&ix->by_key, key));
        i++;
    }
    return copy;
}

void agg_role_label(struct aggregate_index *ix, struct agg_role *role, const struct json *labels)
{
    struct agg_labels *former = role->labels;
    role->labels = json_len(labels) ? labels_new(ix, role, labels) : NULL;
    labels_free(former);
}

static const struct json *agg_labels_of(const struct agg_role *role)
{
    return role->labels ? &role->labels->map : NULL;
}

/* ---- Membership: each side knows where it stands in the list of the other. ---- */

/* Where the member of this name is, or would be. */
static size_t position(const struct agg_selector *s, str name)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (str_cmp(s->members[middle].role->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes the role a member, in front of those from `at` on. */
static void agg_join(struct agg_selector *s, struct agg_role *role, size_t at)
{
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 4;
        s->members = agg_resize(s->members, s->cap * sizeof *s->members);
    }
    if (role->n_in == role->cap_in) {
        role->cap_in = role->cap_in ? 2 * role->cap_in : 4;
        role->in = agg_resize((void *)role->in, role->cap_in * sizeof *role->in);
    }
    memmove(s->members + at + 1, s->members + at, (s->n - at) * sizeof *s->members);
    s->members[at] = (struct agg_member){.role = role, .at = role->n_in};
    s->n++;
    role->in[role->n_in++] = s;
}

/* The last one gets the place that becomes free. */
static void agg_forget(struct agg_role *role, size_t at)
{
    struct agg_selector *last = role->in[--role->n_in];
    if (at < role->n_in) {
        role->in[at] = last;
        last->members[position(last, role->name)].at = at;
    }
}

static void leave(struct agg_selector *s, struct agg_role *role)
{
    size_t at = position(s, role->name);
    assert(at < s->n && s->members[at].role == role);
    agg_forget(role, s->members[at].at);
    s->n--;
    memmove(s->members + at, s->members + at + 1, (s->n - at) * sizeof *s->members);
}

struct found {
    struct aggregate_index *ix;
    const struct agg_role *role;
    VEC(struct agg_selector *) matching; /* each once, marked with the newest mark */
};

static void try_place(struct found *f, const struct agg_place *place)
{
    struct agg_anchor *anchor;
    LIST_FOREACH(anchor, &place->selectors, link)
    {
        struct agg_selector *s = anchor->selector;
        if (s->mark != f->ix->marks && selector_matches(&s->selector, agg_labels_of(f->role))) {
            s->mark = f->ix->marks;
            *vec_push(&f->ix->scratch, &f->matching) = s;
        }
    }
}

void agg_role_match(struct aggregate_index *ix, struct agg_role *role)
{
    struct found f = {.ix = ix, .role = role};
    ix->marks++;
    try_place(&f, &ix->rest);
    for (size_t i = 0; role->labels && i < role->labels->n; i++)
        try_place(&f, role->labels->at[i].place);
    for (size_t i = role->n_in; i-- > 0;) {
        struct agg_selector *s = role->in[i];
        if (s->mark == ix->marks)
            continue;
        leave(s, role);
        agg_mark_users(ix, s);
    }
    vec_each(&f.matching, it)
    {
        size_t at = position(*it, role->name);
        if (at < (*it)->n && (*it)->members[at].role == role)
            continue;
        agg_join(*it, role, at);
        agg_mark_users(ix, *it);
    }
}

void agg_role_unmatch(struct aggregate_index *ix, struct agg_role *role)
{
    while (role->n_in) {
        struct agg_selector *s = role->in[role->n_in - 1];
        leave(s, role);
        agg_mark_users(ix, s);
    }
    free((void *)role->in);
    role->in = NULL;
    role->cap_in = 0;
}

/* Selectors come with the first aggregate that uses them and go with the last. */

/* ---- Where a selector is found. ---- */

/* The term by which to find the selector: with the fewest values, else one that at least demands a key. */
static const struct selector_term *anchor_term(const struct selector *s)
{
    const struct selector_term *best = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct selector_term *t = &s->terms[i];
        bool by_value = t->op == SELECTOR_IN || t->op == SELECTOR_EQUALS || t->op == SELECTOR_DOUBLE_EQUALS;
        bool fewer = best == NULL || best->op == SELECTOR_EXISTS || t->n < best->n;
        if (by_value ? fewer : t->op == SELECTOR_EXISTS && best == NULL)
            best = t;
    }
    return best;
}

static void drop_anchor(struct agg_selector *s, struct agg_place *place)
{
    struct agg_anchor *anchor = &s->anchors[s->n_anchors++];
    *anchor = (struct agg_anchor){.place = place, .selector = s};
    LIST_INSERT_HEAD(&place->selectors, anchor, link);
}

static void anchor(struct aggregate_index *ix, struct agg_selector *s)
{
    const struct selector_term *term = anchor_term(&s->selector);
    s->anchors = agg_alloc((term && term->n ? term->n : 1) * sizeof *s->anchors);
    if (term == NULL)
        drop_anchor(s, &ix->rest);
    else if (term->op == SELECTOR_EXISTS)
        drop_anchor(s, agg_place_get(&ix->by_key, term->key));
    for (size_t i = 0; term && i < term->n; i++) {
        if (i == 0 || !str_eq(term->values[i], term->values[i - 1])) /* sorted; each role must be met once */
            drop_anchor(s, agg_place_of_value(ix, term->key, term->values[i]));
    }
}

static void admit(struct agg_selector *s, struct agg_role *role)
{
    if (selector_matches(&s->selector, agg_labels_of(role)))
        agg_join(s, role, s->n);
}

static int by_name(const void *x, const void *y)
{
    const struct agg_member *a = x, *b = y;
    return str_cmp(a->role->name, b->role->name);
}

static void gather(struct aggregate_index *ix, struct agg_selector *s)
{
    if (s->anchors[0].place == &ix->rest) {
        str name;
        void *role;
        for (size_t at = 0; map_next(&ix->roles, &at, &name, &role);)
            admit(s, role);
    } else {
        for (size_t i = 0; i < s->n_anchors; i++) {
            struct agg_label *label;
            LIST_FOREACH(label, &s->anchors[i].place->roles, link) admit(s, label->role);
        }
    }
    if (s->n)
        qsort(s->members, s->n, sizeof *s->members, by_name);
}

/* ---- Coming and going. ---- */

static str copy_text(char **at, str s)
{
    str copy = {*at, s.n};
    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

/* One block: the selector itself, its terms, their values, all texts. */
static struct agg_selector *selector_new(const struct selector *from, str text)
{
    size_t values = 0, bytes = text.n;
    for (size_t i = 0; i < from->n; i++) {
        values += from->terms[i].n;
        bytes += from->terms[i].key.n;
        for (size_t k = 0; k < from->terms[i].n; k++)
            bytes += from->terms[i].values[k].n;
    }
    struct agg_selector *s = agg_alloc(sizeof *s + from->n * sizeof *from->terms + values * sizeof(str) + bytes);
    struct selector_term *terms = (struct selector_term *)(s + 1);
    str *value = (str *)(terms + from->n);
    char *at = (char *)(value + values);
    *s = (struct agg_selector){.selector = *from};
    s->selector.terms = terms;
    s->text = copy_text(&at, text);
    for (size_t i = 0; i < from->n; i++) {
        terms[i] = from->terms[i];
        terms[i].key = copy_text(&at, from->terms[i].key);
        terms[i].values = value;
        for (size_t k = 0; k < terms[i].n; k++)
            *value++ = copy_text(&at, from->terms[i].values[k]);
    }
    return s;
}

struct agg_selector *agg_selector_get(struct aggregate_index *ix, const struct selector *selector, str text)
{
    struct agg_selector *s = map_get(&ix->selectors, text);
    if (s == NULL) {
        s = selector_new(selector, text);
        anchor(ix, s);
        gather(ix, s);
        map_set(&ix->selectors, s->text, s);
    }
    return s;
}

void agg_selector_release(struct aggregate_index *ix, struct agg_selector *s)
{
    if (!LIST_EMPTY(&s->uses))
        return;
    for (size_t i = 0; i < s->n; i++)
        agg_forget(s->members[i].role, s->members[i].at);
    for (size_t i = 0; i < s->n_anchors; i++) {
        LIST_REMOVE(&s->anchors[i], link);
        agg_place_release(s->anchors[i].place);
    }
    map_del(&ix->selectors, s->text);
    free(s->anchors);
    free(s->members);
    free(s);
}
