/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/covers_axis.h"

#include "base/budget.h"

#include <stdlib.h>

enum {
    MAX_BITS = 1 << 20, /* words of class sets on one axis */
    URL_STEPS = 8,      /* what it takes to copy and sort one pattern that fits */
};

void covers_scope_init(struct covers_scope *s, struct arena *kept, struct rules owner)
{
    struct rule_set distinct = {.arena = kept}; /* many bindings to one role hold its rules many times */
    rules_each(owner, rule)
    {
        rule_set_add(&distinct, rule);
    }
    rule_set_done(&distinct);
    *s = (struct covers_scope){.work = COVERS_MAX_WORK};
    covers_owner_init(&s->owner, kept, rule_set_rules(&distinct));
    s->candidate_of = ARENA_ARRAY(kept, uint32_t, distinct.rules.n);
}

void covers_scope_reset(struct covers_scope *s)
{
    vec_each(&s->candidates, rule)
    {
        s->candidate_of[*rule] = 0;
    }
    s->candidates = (covers_ids){0};
    arena_reset(&s->scratch);
}

void covers_scope_done(struct covers_scope *s)
{
    arena_done(&s->scratch);
}

bool covers_spend(struct covers_scope *s, size_t steps)
{
    if (s->work < steps) {
        s->work = 0;
        return false;
    }
    s->work -= steps;
    return budget_charge(1 + steps / 2);
}

/* ---- Values and the rules that cover them. ---- */

static int by_value(const void *x, const void *y, void *ctx)
{
    const struct axis *ax = ctx;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    int c = str_cmp(ax->values.p[a], ax->values.p[b]);
    return c ? c : a < b ? -1 : a > b;
}

static bool is_repeated(const struct axis *ax, size_t i)
{
    return i > 0 && str_eq(ax->values.p[ax->order[i]], ax->values.p[ax->order[i - 1]]);
}

static bool find_values(struct covers_scope *s, struct axis *ax)
{
    ax->n = ax->values.n ? ax->values.n : 1;
    ax->order = ARENA_ARRAY(&s->scratch, uint32_t, ax->n);
    ax->found = ARENA_ARRAY(&s->scratch, struct covers_found, ax->n);
    ax->class_of = ARENA_ARRAY(&s->scratch, uint32_t, ax->n);
    for (size_t i = 0; i < ax->n; i++)
        ax->order[i] = (uint32_t)i;
    if (ax->values.n)
        qsort_r(ax->order, ax->n, sizeof *ax->order, by_value, ax);
    for (size_t i = 0; i < ax->values.n; i++) {
        if (is_repeated(ax, i))
            continue;
        struct covers_found *f = &ax->found[i];
        *f = covers_owner_find(&s->owner, (enum covers_axis)ax->kind, ax->values.p[ax->order[i]], &s->scratch);
        ax->n_found += f->run[0].n + f->run[1].n;
        if (!covers_spend(s, 1 + (ax->kind == COVERS_URL ? f->run[0].n * URL_STEPS : 0)))
            return false;
    }
    return true;
}

/* ---- Candidates. ---- */

static void add_candidate(struct covers_scope *s, uint32_t rule)
{
    if (s->candidate_of[rule])
        return;
    *vec_push(&s->scratch, &s->candidates) = rule;
    s->candidate_of[rule] = (uint32_t)s->candidates.n;
}

/* All that cover something on one axis: the one with the fewest. */
static bool find_candidates(struct covers_scope *s, const struct axis axes[])
{
    const struct axis *best = NULL;
    size_t fewest = SIZE_MAX;
    for (const struct axis *ax = axes; ax < axes + COVERS_PRODUCT; ax++) {
        size_t n = ax->kind == COVERS_NONE ? SIZE_MAX : ax->n_found + s->owner.any[ax->kind].n;
        if (n < fewest) {
            fewest = n;
            best = ax;
        }
    }
    if (!best || !covers_spend(s, fewest))
        return false;
    for (size_t i = 0; i < best->n; i++)
        for (int k = 0; k < 2; k++)
            for (size_t h = 0; h < best->found[i].run[k].n; h++)
                add_candidate(s, best->found[i].run[k].p[h].rule);
    vec_each(&s->owner.any[best->kind], rule)
    {
        add_candidate(s, *rule);
    }
    s->words = s->candidates.n / 64 + 1;
    return true;
}

/* ---- Classes. ---- */

static void set_bit(uint64_t *bits, size_t i)
{
    bits[i / 64] |= (uint64_t)1 << i % 64;
}

/* The candidates that cover everything on the axis. */
static void set_any(const struct covers_scope *s, const struct axis *ax, uint64_t *bits)
{
    for (size_t i = 0; i < s->candidates.n; i++)
        if (ax->kind == COVERS_NONE || s->owner.any_of[s->candidates.p[i]] & 1 << ax->kind)
            set_bit(bits, i);
}

/* Those of the run, going through whichever is shorter: the run or the candidates. */
static bool set_run(struct covers_scope *s, const struct covers_postings *run, uint64_t *bits)
{
    if (run->n <= s->candidates.n * 4) {
        for (size_t h = 0; h < run->n; h++)
            if (s->candidate_of[run->p[h].rule])
                set_bit(bits, s->candidate_of[run->p[h].rule] - 1);
        return covers_spend(s, run->n);
    }
    for (size_t i = 0; i < s->candidates.n; i++)
        if (covers_run_has(run, s->candidates.p[i]))
            set_bit(bits, i);
    return covers_spend(s, s->candidates.n * 4);
}

/* The class with these bits, a new one if there is none; known holds the number of each + 1. */
static uint32_t class_with(const struct covers_scope *s, struct axis *ax, struct map *known, const uint64_t *bits)
{
    size_t bytes = s->words * sizeof *bits;
    uintptr_t found = (uintptr_t)map_get(known, (str){(const char *)bits, bytes});
    if (found)
        return (uint32_t)(found - 1);
    uint64_t *at = ax->bits + ax->classes * s->words;
    memcpy(at, bits, bytes);
    for (size_t w = 0; w < s->words; w++)
        ax->full[w] &= bits[w];
    map_set(known, (str){(const char *)at, bytes}, (void *)(uintptr_t)(ax->classes + 1));
    return (uint32_t)ax->classes++;
}

static bool classify(struct covers_scope *s, struct axis *ax, struct map *known)
{
    size_t bytes = s->words * sizeof(uint64_t);
    size_t room = ax->n * s->words > MAX_BITS ? MAX_BITS / s->words : ax->n;
    uint64_t *any = arena_zalloc(&s->scratch, bytes), *bits = arena_zalloc(&s->scratch, bytes);
    ax->bits = arena_alloc(&s->scratch, room * bytes);
    ax->full = memset(arena_alloc(&s->scratch, bytes), 0xff, bytes);
    set_any(s, ax, any);
    for (size_t i = 0; i < ax->n; i++) {
        if (ax->values.n && is_repeated(ax, i)) {
            ax->class_of[ax->order[i]] = ax->class_of[ax->order[i - 1]];
            continue;
        }
        memcpy(bits, any, bytes);
        if (ax->classes == room || !covers_spend(s, s->words) || !set_run(s, &ax->found[i].run[0], bits) ||
            !set_run(s, &ax->found[i].run[1], bits))
            return false;
        ax->class_of[ax->order[i]] = class_with(s, ax, known, bits);
    }
    return true;
}

bool covers_axes_load(struct covers_scope *s, struct axis axes[COVERS_PRODUCT])
{
    for (int i = 0; i < COVERS_PRODUCT; i++)
        if (!find_values(s, &axes[i]))
            return false;
    if (!find_candidates(s, axes))
        return false;
    for (int i = 0; i < COVERS_PRODUCT; i++) {
        struct map known = {0};
        bool done = classify(s, &axes[i], &known);
        map_done(&known);
        if (!done)
            return false;
    }
    return true;
}

void covers_axis_group(struct axis *ax, struct covers_scope *s, struct arena *out)
{
    ax->group = ARENA_ARRAY(&s->scratch, size_t, ax->classes + 2);
    ax->grouped = ARENA_ARRAY(out, str, ax->values.n);
    for (size_t i = 0; i < ax->values.n; i++)
        ax->group[ax->class_of[i] + 2]++;
    for (size_t k = 2; k < ax->classes + 2; k++)
        ax->group[k] += ax->group[k - 1];
    for (size_t i = 0; i < ax->values.n; i++) /* moves group[class + 1] from the start of its class to the end */
        ax->grouped[ax->group[ax->class_of[i] + 1]++] = ax->values.p[i];
}
