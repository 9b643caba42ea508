/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/rule.h"
#include "base/budget.h"

#include <stdlib.h>

/* The five lists of a rule: where they are, and what they are called. Kubernetes prints them in another order in JSON than
 * in errors. */
struct field {
    size_t offset;
    str json, text;
};

#define FIELD(member, name, shown)                                 \
    {                                                              \
        offsetof(struct rule, member), S_INIT(name), S_INIT(shown) \
    }

enum { FIELDS = 5 };

static const struct field json_order[FIELDS] = {
    FIELD(verbs, "verbs", "Verbs"),
    FIELD(api_groups, "apiGroups", "APIGroups"),
    FIELD(resources, "resources", "Resources"),
    FIELD(resource_names, "resourceNames", "ResourceNames"),
    FIELD(non_resource_urls, "nonResourceURLs", "NonResourceURLs"),
};

static const struct field text_order[FIELDS] = {
    FIELD(api_groups, "apiGroups", "APIGroups"),
    FIELD(resources, "resources", "Resources"),
    FIELD(non_resource_urls, "nonResourceURLs", "NonResourceURLs"),
    FIELD(resource_names, "resourceNames", "ResourceNames"),
    FIELD(verbs, "verbs", "Verbs"),
};

static const struct strs *list_of(const struct rule *rule, const struct field *f)
{
    return (const struct strs *)(const void *)((const char *)rule + f->offset);
}

static struct strs *list_of_mut(struct rule *rule, const struct field *f)
{
    return (struct strs *)(void *)((char *)rule + f->offset);
}

static int strs_from_json(struct arena *a, const struct json *list, struct strs *ret, struct err *err)
{
    budget_charge(1 + json_len(list));
    if (json_is_null(list))
        return 0;
    if (!json_is_arr(list))
        return err_set(err, ERR_BAD_REQUEST, "must be a list of strings");
    str *p = ARENA_ARRAY(a, str, list->n), *at = p;
    json_each_item(list, item)
    {
        if (!json_is_str(item))
            return err_set(err, ERR_BAD_REQUEST, "must be a list of strings");
        *at++ = json_text(item);
    }
    *ret = (struct strs){p, list->n};
    return 0;
}

static int rule_from_json(struct arena *a, const struct json *v, struct rule *ret, struct err *err)
{
    if (!json_is_obj(v))
        return err_set(err, ERR_BAD_REQUEST, "must be an object");
    for (const struct field *f = json_order; f < json_order + FIELDS; f++)
        if (strs_from_json(a, json_get(v, f->json), list_of_mut(ret, f), err) < 0)
            return err_wrap(err, "%.*s", STR(f->json));
    return 0;
}

int rules_from_json(struct arena *a, const struct json *list, struct rules *ret, struct err *err)
{
    if (json_is_null(list)) {
        *ret = (struct rules){0};
        return 0;
    }
    if (!json_is_arr(list))
        return err_set(err, ERR_BAD_REQUEST, "rules: must be a list");
    struct rule *p = ARENA_ARRAY(a, struct rule, list->n), *at = p;
    json_each_item(list, item)
    {
        if (rule_from_json(a, item, at++, err) < 0)
            return err_wrap(err, "rules[%zu]", (size_t)(item - list->items));
    }
    *ret = (struct rules){p, list->n};
    return 0;
}

static struct json strs_to_json(struct arena *a, struct strs list)
{
    struct json arr = json_arr_sized(a, list.n);
    strs_each(list, it)
    {
        json_push(a, &arr, json_str(*it));
    }
    return arr;
}

struct json rules_to_json(struct arena *a, struct rules rules)
{
    struct json arr = json_arr_sized(a, rules.n);
    rules_each(rules, rule)
    {
        struct json obj = json_obj_sized(a, FIELDS);
        for (const struct field *f = json_order; f < json_order + FIELDS; f++)
            if (f == json_order || list_of(rule, f)->n)
                json_add(a, &obj, f->json, strs_to_json(a, *list_of(rule, f)));
        json_push(a, &arr, obj);
    }
    return arr;
}

static struct strs strs_dup(struct arena *a, struct strs list)
{
    str *p = ARENA_ARRAY(a, str, list.n), *at = p;
    strs_each(list, it)
    {
        *at++ = str_dup(a, *it);
    }
    return (struct strs){p, list.n};
}

struct rules rules_dup(struct arena *a, struct rules rules)
{
    struct rule *p = ARENA_ARRAY(a, struct rule, rules.n), *at = p;
    rules_each(rules, rule)
    {
        for (const struct field *f = json_order; f < json_order + FIELDS; f++)
            *list_of_mut(at, f) = strs_dup(a, *list_of(rule, f));
        at++;
    }
    return (struct rules){p, rules.n};
}

void rule_format(struct buf *b, const struct rule *rule)
{
    const char *sep = "{";
    for (const struct field *f = text_order; f < text_order + FIELDS; f++) {
        struct strs list = *list_of(rule, f);
        if (list.n == 0)
            continue;
        buf_fmt(b, "%s%.*s:[", sep, STR(f->text));
        strs_each(list, it)
        {
            if (it != list.p)
                buf_add_char(b, ' ');
            buf_add_quoted(b, *it);
        }
        buf_add_char(b, ']');
        sep = ", ";
    }
    buf_add_str(b, *sep == '{' ? S("{}") : S("}"));
}

/* Equality of rules, and sets of distinct rules by hash. */

static bool strs_equal(struct strs x, struct strs y)
{
    if (x.n != y.n)
        return false;
    for (size_t i = 0; i < x.n; i++)
        if (!str_eq(x.p[i], y.p[i]))
            return false;
    return true;
}

bool rule_equal(const struct rule *x, const struct rule *y)
{
    return strs_equal(x->verbs, y->verbs) && strs_equal(x->api_groups, y->api_groups) &&
           strs_equal(x->resources, y->resources) && strs_equal(x->resource_names, y->resource_names) &&
           strs_equal(x->non_resource_urls, y->non_resource_urls);
}

bool rules_equal(struct rules x, struct rules y)
{
    if (x.n != y.n)
        return false;
    for (size_t i = 0; i < x.n; i++)
        if (!rule_equal(&x.p[i], &y.p[i]))
            return false;
    return true;
}

static uint64_t mix(uint64_t h, uint64_t with)
{
    h = (h ^ with) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t strs_hash(uint64_t h, struct strs list)
{
    strs_each(list, it)
    {
        h = mix(h, hash_str(*it));
    }
    return mix(h, list.n);
}

uint64_t rule_hash(const struct rule *rule)
{
    uint64_t h = strs_hash(0, rule->verbs);
    h = strs_hash(h, rule->api_groups);
    h = strs_hash(h, rule->resources);
    h = strs_hash(h, rule->resource_names);
    return strs_hash(h, rule->non_resource_urls);
}

/* The slot of an equal rule, or the free one where it would go. */
static uint32_t *probe(const struct rule_set *set, const struct rule *rule, uint64_t hash)
{
    for (size_t i = hash & set->mask;; i = (i + 1) & set->mask) {
        uint32_t *slot = &set->slots[i];
        if (*slot == 0 || rule_equal(&set->rules.p[*slot - 1], rule))
            return slot;
    }
}

static void grow(struct rule_set *set)
{
    size_t slots = set->slots ? (set->mask + 1) * 2 : 16;
    free(set->slots);
    set->slots = calloc(slots, sizeof *set->slots);
    if (set->slots == NULL || set->rules.n >= UINT32_MAX)
        abort();
    set->mask = slots - 1;
    for (size_t i = 0; i < set->rules.n; i++) {
        size_t at = rule_hash(&set->rules.p[i]) & set->mask;
        while (set->slots[at])
            at = (at + 1) & set->mask;
        set->slots[at] = (uint32_t)(i + 1);
    }
}

bool rule_set_add(struct rule_set *set, const struct rule *rule)
{
    if (set->slots == NULL || set->rules.n * 2 > set->mask)
        grow(set);
    uint32_t *slot = probe(set, rule, rule_hash(rule));
    if (*slot)
        return false;
    *vec_push(set->arena, &set->rules) = *rule;
    *slot = (uint32_t)set->rules.n;
    return true;
}

void rule_set_done(struct rule_set *set)
{
    free(set->slots);
    set->slots = NULL;
    set->mask = 0;
}

struct rules rules_union(struct arena *a, struct rules x, struct rules y)
{
    struct rule_set set = {.arena = a};
    rules_each(x, rule)
    {
        rule_set_add(&set, rule);
    }
    rules_each(y, rule)
    {
        rule_set_add(&set, rule);
    }
    rule_set_done(&set);
    return rule_set_rules(&set);
}

/* Fewer rules, or the same rules written in one way. Neither ever changes what is granted. */

/* ---- As Kubernetes compacts: verbs of the same (group, resource, name) together. ---- */

struct simple {
    const struct rule *rule;
    size_t order; /* place in the input */
};

static bool is_simple(const struct rule *r)
{
    return r->non_resource_urls.n == 0 && r->resource_names.n <= 1 && r->api_groups.n == 1 && r->resources.n == 1;
}

static int compare_targets(const struct rule *x, const struct rule *y)
{
    int c = str_cmp(x->api_groups.p[0], y->api_groups.p[0]);
    if (c == 0)
        c = str_cmp(x->resources.p[0], y->resources.p[0]);
    if (c == 0)
        c = (int)x->resource_names.n - (int)y->resource_names.n;
    if (c == 0 && x->resource_names.n)
        c = str_cmp(x->resource_names.p[0], y->resource_names.p[0]);
    return c;
}

static int by_target(const void *x, const void *y)
{
    const struct simple *a = x, *b = y;
    int c = compare_targets(a->rule, b->rule);
    return c ? c : a->order < b->order ? -1 : a->order > b->order;
}

static int by_order(const void *x, const void *y)
{
    const struct simple *a = x, *b = y;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* One rule for a run of simple rules with the same target. */
static const struct rule *join_verbs(struct arena *a, const struct simple *run, size_t n)
{
    if (n == 1)
        return run->rule;
    size_t verbs = 0;
    for (size_t i = 0; i < n; i++)
        verbs += run[i].rule->verbs.n;
    str *all = ARENA_ARRAY(a, str, verbs), *at = all;
    for (size_t i = 0; i < n; i++) {
        strs_each(run[i].rule->verbs, verb)
        {
            *at++ = *verb;
        }
    }
    struct rule *joined = ARENA_NEW(a, struct rule);
    *joined = *run->rule;
    joined->verbs = (struct strs){all, verbs};
    return joined;
}

struct rules rules_compact(struct arena *a, struct rules rules)
{
    struct rule *out = ARENA_ARRAY(a, struct rule, rules.n);
    struct simple *simple = ARENA_ARRAY(a, struct simple, rules.n);
    size_t n_out = 0, n = 0, kept = 0;
    rules_each(rules, rule)
    {
        if (is_simple(rule))
            simple[n++] = (struct simple){rule, (size_t)(rule - rules.p)};
        else
            out[n_out++] = *rule;
    }
    if (n)
        qsort(simple, n, sizeof *simple, by_target);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && compare_targets(simple[from].rule, simple[to].rule) == 0;)
            to++;
        simple[kept++] = (struct simple){join_verbs(a, simple + from, to - from), simple[from].order};
    }
    if (kept)
        qsort(simple, kept, sizeof *simple, by_order);
    for (size_t i = 0; i < kept; i++)
        out[n_out++] = *simple[i].rule;
    return (struct rules){out, n_out};
}

/* ---- Normal form. ---- */

enum { VERBS, GROUPS, RESOURCES, NAMES, URLS, LISTS };

/* A rule as an array of lists, so that loops can leave one out. */
struct product {
    struct strs list[LISTS];
};

static int compare_strs(struct strs x, struct strs y)
{
    for (size_t i = 0; i < x.n && i < y.n; i++) {
        int c = str_cmp(x.p[i], y.p[i]);
        if (c)
            return c;
    }
    return x.n < y.n ? -1 : x.n > y.n;
}

static int by_bytes(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

/* Sorted, without duplicates; "*" swallows the others where it is a wildcard. */
static struct strs tidy(struct arena *a, struct strs list, bool wild)
{
    if (list.n == 0)
        return list;
    str *p = ARENA_ARRAY(a, str, list.n);
    size_t n = 0;
    memcpy(p, list.p, list.n * sizeof *p);
    qsort(p, list.n, sizeof *p, by_bytes);
    for (size_t i = 0; i < list.n; i++)
        if (i == 0 || !str_eq(p[i], p[n - 1]))
            p[n++] = p[i];
    struct strs tidied = {p, n};
    if (wild && strs_have(tidied, S("*"))) {
        *p = S("*");
        tidied.n = 1;
    }
    return tidied;
}

/* The order of products when list `skip` is not looked at (LISTS: all are). Resources and groups come first for readers. */
static int compare_products(const struct product *x, const struct product *y, int skip)
{
    static const int order[LISTS] = {URLS, GROUPS, RESOURCES, NAMES, VERBS};
    for (int i = 0; i < LISTS; i++) {
        int c = order[i] == skip ? 0 : compare_strs(x->list[order[i]], y->list[order[i]]);
        if (c)
            return c;
    }
    return 0;
}

static int by_all_but(const void *x, const void *y, void *skip)
{
    return compare_products(x, y, *(const int *)skip);
}

/* The union of one list over a run of products that are equal otherwise. No names mean any name. */
static struct strs unite(struct arena *a, const struct product *run, size_t n, int list)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        if (list == NAMES && run[i].list[NAMES].n == 0)
            return (struct strs){0};
        total += run[i].list[list].n;
    }
    str *all = ARENA_ARRAY(a, str, total), *at = all;
    for (size_t i = 0; i < n; i++) {
        strs_each(run[i].list[list], it)
        {
            *at++ = *it;
        }
    }
    return tidy(a, (struct strs){all, total}, list != NAMES);
}

/* Merges products that differ in one list only; returns how many are left. */
static size_t merge(struct arena *a, struct product *p, size_t n, int list)
{
    size_t kept = 0;
    if (n)
        qsort_r(p, n, sizeof *p, by_all_but, &list);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && compare_products(&p[from], &p[to], list) == 0;)
            to++;
        struct product one = p[from];
        if (to - from > 1)
            one.list[list] = unite(a, p + from, to - from, list);
        p[kept++] = one;
    }
    return kept;
}

/* Splits rules into products of resources and products of URLs, leaving out what grants nothing. */
static size_t split(struct arena *a, struct rules rules, struct product *out)
{
    size_t n = 0;
    rules_each(rules, r)
    {
        struct strs verbs = tidy(a, r->verbs, true);
        if (verbs.n && r->api_groups.n && r->resources.n)
            out[n++] = (struct product){{verbs,
                                         tidy(a, r->api_groups, true),
                                         tidy(a, r->resources, true),
                                         tidy(a, r->resource_names, false),
                                         {0}}};
        if (verbs.n && r->non_resource_urls.n)
            out[n++] = (struct product){{[VERBS] = verbs, [URLS] = tidy(a, r->non_resource_urls, true)}};
    }
    return n;
}

struct rules rules_normal(struct arena *a, struct rules rules)
{
    enum { ROUNDS = 3 }; /* more would only help rules made to need them */
    static const int order[] = {VERBS, RESOURCES, GROUPS, NAMES, URLS};
    struct product *p = ARENA_ARRAY(a, struct product, rules.n * 2);
    size_t n = split(a, rules, p), before = n + 1;
    for (int round = 0; round < ROUNDS && n < before; round++) {
        before = n;
        for (size_t i = 0; i < COUNT(order); i++)
            n = merge(a, p, n, order[i]);
    }
    int all = LISTS;
    if (n)
        qsort_r(p, n, sizeof *p, by_all_but, &all);
    struct rule *out = ARENA_ARRAY(a, struct rule, n);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct rule){.verbs = p[i].list[VERBS],
                               .api_groups = p[i].list[GROUPS],
                               .resources = p[i].list[RESOURCES],
                               .resource_names = p[i].list[NAMES],
                               .non_resource_urls = p[i].list[URLS]};
    return (struct rules){out, n};
}
