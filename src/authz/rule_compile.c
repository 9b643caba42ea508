/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/rule_compile.h"
#include "authz/rule.h"

#include <stdlib.h>

struct url_pattern url_pattern_of(str url, uint32_t rule)
{
    str stem = url;
    while (stem.n && stem.p[stem.n - 1] == '*')
        stem.n--;
    return (struct url_pattern){stem, stem.n < url.n, rule};
}

static int by_stem(const void *x, const void *y)
{
    const struct url_pattern *a = x, *b = y;
    int c = str_cmp(a->stem, b->stem);
    return c ? c : a->rule < b->rule ? -1 : a->rule > b->rule;
}

void url_patterns_sort(struct url_pattern *p, size_t n)
{
    if (n)
        qsort(p, n, sizeof *p, by_stem);
}

/* How many of the first n patterns have a stem that is not greater than s. */
static size_t count_upto(const struct url_pattern *p, size_t n, str s)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (str_cmp(p[mid].stem, s) <= 0)
            low = mid + 1;
        else
            n = mid;
    }
    return low;
}

static str common_prefix(str a, str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return str_upto(a, n);
}

struct url_walk url_walk_start(const struct url_pattern *p, size_t n, str path)
{
    return (struct url_walk){p, n ? count_upto(p, n, path) : 0, path, path};
}

/* The greatest stem that is not greater than what is left either starts it, or shows how much less a fitting stem can be:
 * whatever starts both lies in order before the two, so only their common prefix is left to look for. */
const struct url_pattern *url_walk_next(struct url_walk *w)
{
    while (w->at) {
        const struct url_pattern *it = &w->p[w->at - 1];
        if (str_has_prefix(w->left, it->stem)) {
            w->at--;
            if (it->open || it->stem.n == w->path.n)
                return it;
        } else {
            w->left = common_prefix(w->left, it->stem);
            w->at = count_upto(w->p, w->at, w->left);
        }
    }
    return NULL;
}

static const str star = S_INIT("*");

static uint32_t hash_of(str s)
{
    return (uint32_t)hash_str(s);
}

/* The hash of head + "/" + tail, from the parts. */
static uint32_t join(uint32_t head, uint32_t tail)
{
    return (head ^ tail * 0x9e3779b1u) * 0x85ebca6bu + 1;
}

/* The hash of a resource as rules write it: the parts are what is before and behind the first slash. */
static uint32_t hash_target(str s)
{
    ptrdiff_t slash = str_find_char(s, '/');
    if (slash < 0)
        return hash_of(s);
    return join(hash_of(str_upto(s, (size_t)slash)), hash_of(str_from(s, (size_t)slash + 1)));
}

struct question question_of(const struct authz_attributes *what)
{
    struct question q = {.what = what, .verb = hash_of(what->verb)};
    if (!what->is_resource)
        return q;
    uint32_t sub = what->subresource.n ? hash_of(what->subresource) : 0;
    q.group = hash_of(what->group);
    q.name = hash_of(what->name);
    q.resource = hash_of(what->resource);
    if (what->subresource.n) {
        q.resource = join(q.resource, sub);
        q.any_sub = join(hash_of(star), sub);
    }
    q.odd = str_find_char(what->resource, '/') >= 0;
    return q;
}

/* ---- Making. ---- */

static int by_text_hash(const void *x, const void *y)
{
    const struct compiled_text *a = x, *b = y;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

static struct compiled_list compile_list(struct arena *a, struct strs list, bool any)
{
    struct compiled_text *p = ARENA_ARRAY(a, struct compiled_text, any ? 0 : list.n), *at = p;
    if (any)
        return (struct compiled_list){.any = true};
    strs_each(list, it)
    {
        if (it->n > UINT32_MAX)
            abort();
        *at++ = (struct compiled_text){hash_of(*it), (uint32_t)it->n, it->p};
    }
    if (list.n > UINT32_MAX)
        abort();
    if (list.n)
        qsort(p, list.n, sizeof *p, by_text_hash);
    return (struct compiled_list){p, (uint32_t)list.n, false};
}

static int by_target_hash(const void *x, const void *y)
{
    const struct compiled_target *a = x, *b = y;
    int c = (a->hash > b->hash) - (a->hash < b->hash);
    return c ? c : (a->rule > b->rule) - (a->rule < b->rule);
}

static void compile_targets(struct arena *a, struct rules rules, struct compiled *ret)
{
    size_t n = 0;
    rules_each(rules, rule)
    {
        n += rule->resources.n;
    }
    struct compiled_target *targets = ARENA_ARRAY(a, struct compiled_target, n);
    uint32_t *anything = ARENA_ARRAY(a, uint32_t, rules.n);
    rules_each(rules, rule)
    {
        uint32_t id = (uint32_t)(rule - rules.p);
        if (strs_have(rule->resources, star)) {
            anything[ret->n_anything++] = id;
            continue;
        }
        strs_each(rule->resources, text)
        {
            targets[ret->n_targets++] = (struct compiled_target){hash_target(*text), id, *text};
        }
    }
    if (ret->n_targets)
        qsort(targets, ret->n_targets, sizeof *targets, by_target_hash);
    ret->targets = targets;
    ret->anything = anything;
}

static void compile_urls(struct arena *a, struct rules rules, struct compiled *ret)
{
    size_t n = 0;
    rules_each(rules, rule)
    {
        n += rule->non_resource_urls.n;
    }
    struct url_pattern *urls = ARENA_ARRAY(a, struct url_pattern, n);
    rules_each(rules, rule)
    {
        strs_each(rule->non_resource_urls, url)
        {
            urls[ret->n_urls++] = url_pattern_of(*url, (uint32_t)(rule - rules.p));
        }
    }
    url_patterns_sort(urls, n);
    ret->urls = urls;
}

struct compiled rules_compile(struct arena *a, struct rules rules)
{
    struct compiled c = {0};
    struct compiled_rule *p = ARENA_ARRAY(a, struct compiled_rule, rules.n), *at = p;
    if (rules.n >= UINT32_MAX)
        abort();
    rules_each(rules, rule)
    {
        at->verbs = compile_list(a, rule->verbs, strs_have(rule->verbs, star));
        at->groups = compile_list(a, rule->api_groups, strs_have(rule->api_groups, star));
        at->names = compile_list(a, rule->resource_names, rule->resource_names.n == 0);
        at++;
    }
    c.rules = p;
    compile_targets(a, rules, &c);
    compile_urls(a, rules, &c);
    return c;
}

/* ---- Asking. ---- */

static bool list_fits(const struct compiled_list *list, uint32_t hash, str text)
{
    enum { FEW = 16 };
    if (list->any)
        return true;
    const struct compiled_text *at = list->p, *end = at + list->n;
    if (list->n > FEW)
        for (size_t n = list->n; n;) { /* to the first that is not below */
            size_t half = n / 2;
            bool below = at[half].hash < hash;
            at += below ? half + 1 : 0;
            n = below ? n - half - 1 : half;
        }
    for (; at < end && at->hash <= hash; at++)
        if (at->hash == hash && str_eq((str){at->p, at->n}, text))
            return true;
    return false;
}

static bool rule_fits(const struct compiled_rule *rule, const struct question *q)
{
    const struct authz_attributes *what = q->what;
    return list_fits(&rule->verbs, q->verb, what->verb) && list_fits(&rule->groups, q->group, what->group) &&
           list_fits(&rule->names, q->name, what->name);
}

static bool is_joined(str s, str head, str tail)
{
    return s.n == head.n + 1 + tail.n && s.p[head.n] == '/' && str_eq(str_upto(s, head.n), head) &&
           str_eq(str_from(s, head.n + 1), tail);
}

static bool is_target(str text, str resource, str subresource)
{
    return subresource.n ? is_joined(text, resource, subresource) : str_eq(text, resource);
}

/* The rules that name the resource with this hash. */
static bool target_allows(const struct compiled *c, const struct question *q, uint32_t hash, str resource)
{
    const struct compiled_target *at = c->targets, *end = at + c->n_targets;
    for (size_t n = c->n_targets; n;) {
        size_t half = n / 2;
        bool below = at[half].hash < hash;
        at += below ? half + 1 : 0;
        n = below ? n - half - 1 : half;
    }
    for (; at < end && at->hash == hash; at++)
        if (is_target(at->text, resource, q->what->subresource) && rule_fits(&c->rules[at->rule], q))
            return true;
    return false;
}

static bool some_target_allows(const struct compiled *c, const struct question *q)
{
    for (const struct compiled_target *at = c->targets; at < c->targets + c->n_targets; at++)
        if (is_target(at->text, q->what->resource, q->what->subresource) && rule_fits(&c->rules[at->rule], q))
            return true;
    return false;
}

static bool path_allowed(const struct compiled *c, const struct question *q)
{
    struct url_walk w = url_walk_start(c->urls, c->n_urls, q->what->path);
    for (const struct url_pattern *it; (it = url_walk_next(&w));)
        if (list_fits(&c->rules[it->rule].verbs, q->verb, q->what->verb))
            return true;
    return false;
}

bool compiled_allows(const struct compiled *c, const struct question *q)
{
    if (!q->what->is_resource)
        return path_allowed(c, q);
    for (size_t i = 0; i < c->n_anything; i++)
        if (rule_fits(&c->rules[c->anything[i]], q))
            return true;
    if (c->n_targets == 0)
        return false;
    if (q->odd ? some_target_allows(c, q) : target_allows(c, q, q->resource, q->what->resource))
        return true;
    return q->what->subresource.n && target_allows(c, q, q->any_sub, star);
}

/* The meaning of a rule, one request at a time. rule_compile.c answers the same questions for many rules at once. */

bool rule_matches_verb(const struct rule *rule, str verb)
{
    return rule && (strs_have(rule->verbs, star) || strs_have(rule->verbs, verb));
}

bool rule_matches_group(const struct rule *rule, str group)
{
    return rule && (strs_have(rule->api_groups, star) || strs_have(rule->api_groups, group));
}

bool rule_matches_resource(const struct rule *rule, str resource, str subresource)
{
    if (!rule)
        return false;
    strs_each(rule->resources, r)
    {
        if (str_eq(*r, star))
            return true;
        if (subresource.n ? is_joined(*r, resource, subresource) || is_joined(*r, star, subresource)
                          : str_eq(*r, resource))
            return true;
    }
    return false;
}

bool rule_matches_name(const struct rule *rule, str name)
{
    return rule && (rule->resource_names.n == 0 || strs_have(rule->resource_names, name));
}

/* The pattern without its trailing stars, all of them. */
static str stem_of(str pattern)
{
    while (pattern.n && pattern.p[pattern.n - 1] == '*')
        pattern.n--;
    return pattern;
}

bool rule_matches_path(const struct rule *rule, str path)
{
    if (!rule)
        return false;
    strs_each(rule->non_resource_urls, url)
    {
        str stem = stem_of(*url);
        if (stem.n < url->n ? str_has_prefix(path, stem) : str_eq(path, stem))
            return true;
    }
    return false;
}

bool rule_matches(const struct rule *rule, const struct authz_attributes *what)
{
    if (!authz_is_request(what) || !rule_matches_verb(rule, what->verb))
        return false;
    if (!what->is_resource)
        return rule_matches_path(rule, what->path);
    return rule_matches_group(rule, what->group) && rule_matches_resource(rule, what->resource, what->subresource) &&
           rule_matches_name(rule, what->name);
}
