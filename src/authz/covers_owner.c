/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/covers_owner.h"

#include <stdlib.h>

static int by_text(const void *x, const void *y)
{
    const struct covers_posting *a = x, *b = y;
    int c = str_cmp(a->text, b->text);
    return c ? c : a->rule < b->rule ? -1 : a->rule > b->rule;
}

static void finish(struct covers_postings *list)
{
    size_t n = 0;
    if (list->n)
        qsort(list->p, list->n, sizeof *list->p, by_text);
    for (size_t i = 0; i < list->n; i++)
        if (i == 0 || by_text(&list->p[i], &list->p[n - 1]) != 0)
            list->p[n++] = list->p[i];
    list->n = n;
}

static struct strs values_of(const struct rule *rule, enum covers_axis axis)
{
    switch (axis) {
    case COVERS_GROUP:
        return rule->api_groups;
    case COVERS_RESOURCE:
        return rule->resources;
    case COVERS_VERB:
        return rule->verbs;
    case COVERS_NAME:
        return rule->resource_names;
    default:
        return rule->non_resource_urls;
    }
}

static bool covers_all(const struct rule *rule, enum covers_axis axis)
{
    return axis == COVERS_NAME ? rule->resource_names.n == 0 : strs_have(values_of(rule, axis), S("*"));
}

static void add(struct covers_owner *o, enum covers_axis axis, str text, uint32_t rule)
{
    if (axis == COVERS_URL)
        o->urls[o->n_urls++] = url_pattern_of(text, rule);
    else
        o->lists[axis].p[o->lists[axis].n++] = (struct covers_posting){text, rule};
    if (axis == COVERS_RESOURCE && str_has_prefix(text, S("*/")))
        o->any_sub.p[o->any_sub.n++] = (struct covers_posting){str_from(text, 1), rule};
}

static void init_axis(struct covers_owner *o, struct arena *a, enum covers_axis axis)
{
    size_t total = 0;
    rules_each(o->rules, rule)
    {
        total += values_of(rule, axis).n;
    }
    if (axis == COVERS_URL)
        o->urls = ARENA_ARRAY(a, struct url_pattern, total);
    else
        o->lists[axis].p = ARENA_ARRAY(a, struct covers_posting, total);
    if (axis == COVERS_RESOURCE)
        o->any_sub.p = ARENA_ARRAY(a, struct covers_posting, total);
    rules_each(o->rules, rule)
    {
        uint32_t id = (uint32_t)(rule - o->rules.p);
        /* Kubernetes lets a rule that names resources cover no URL: it compares names on both halves. */
        if (axis == COVERS_URL && rule->resource_names.n)
            continue;
        if (covers_all(rule, axis)) {
            *vec_push(a, &o->any[axis]) = id;
            o->any_of[id] |= (uint8_t)(1 << axis);
            continue;
        }
        struct strs values = values_of(rule, axis);
        strs_each(values, text)
        {
            add(o, axis, *text, id);
        }
    }
}

void covers_owner_init(struct covers_owner *o, struct arena *a, struct rules rules)
{
    if (rules.n >= UINT32_MAX)
        abort();
    *o = (struct covers_owner){.rules = rules, .any_of = ARENA_ARRAY(a, uint8_t, rules.n)};
    for (int axis = 0; axis < COVERS_AXES; axis++) {
        init_axis(o, a, (enum covers_axis)axis);
        finish(&o->lists[axis]);
    }
    const int all = 1 << COVERS_GROUP | 1 << COVERS_RESOURCE | 1 << COVERS_VERB | 1 << COVERS_NAME;
    const int urls = 1 << COVERS_URL | 1 << COVERS_VERB;
    for (size_t i = 0; i < rules.n; i++) {
        o->all_resources |= (o->any_of[i] & all) == all;
        o->all_urls |= (o->any_of[i] & urls) == urls;
    }
    finish(&o->any_sub);
    url_patterns_sort(o->urls, o->n_urls);
}

static struct covers_postings find(const struct covers_postings *list, str text)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (str_cmp(list->p[mid].text, text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    size_t end = list->n;
    for (high = low; high < end;) {
        size_t mid = high + (end - high) / 2;
        if (str_eq(list->p[mid].text, text))
            high = mid + 1;
        else
            end = mid;
    }
    return (struct covers_postings){list->n ? list->p + low : NULL, high - low};
}

/* Walked, because patterns of different length fit; then put into the form of the other axes. */
static struct covers_postings find_urls(const struct covers_owner *o, str path, struct arena *a)
{
    VEC(struct covers_posting) found = {0};
    struct url_walk w = url_walk_start(o->urls, o->n_urls, path);
    for (const struct url_pattern *it; (it = url_walk_next(&w));)
        *vec_push(a, &found) = (struct covers_posting){{0}, it->rule};
    struct covers_postings list = {found.p, found.n};
    finish(&list);
    return list;
}

struct covers_found covers_owner_find(const struct covers_owner *o, enum covers_axis axis, str text, struct arena *a)
{
    if (axis == COVERS_URL)
        return (struct covers_found){{find_urls(o, text, a)}};
    struct covers_found found = {{find(&o->lists[axis], text)}};
    ptrdiff_t slash = axis == COVERS_RESOURCE ? str_find_char(text, '/') : -1;
    if (slash >= 0)
        found.run[1] = find(&o->any_sub, str_from(text, (size_t)slash));
    return found;
}

bool covers_run_has(const struct covers_postings *run, uint32_t rule)
{
    size_t low = 0, high = run->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (run->p[mid].rule < rule)
            low = mid + 1;
        else
            high = mid;
    }
    return low < run->n && run->p[low].rule == rule;
}
