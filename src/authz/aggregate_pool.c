/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of which equal ones are one: a hash table with chains, each rule in one block with all its texts. */
#include "authz/aggregate_graph.h"

#include <stdlib.h>

enum { LISTS = 5, BUCKETS_MIN = 64 };

void *agg_alloc(size_t size)
{
    return agg_resize(NULL, size);
}

void *agg_resize(void *p, size_t size)
{
    void *grown = realloc(p, size ? size : 1);
    if (grown == NULL)
        abort();
    return grown;
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
