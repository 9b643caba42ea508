/* SPDX-License-Identifier: Apache-2.0 */
#include "authz/rule.h"
#include "authz/rule_compile.h"
#include "base/budget.h"

#include <stdlib.h>

/* The rules somebody holds, by the texts in them: which of them cover this verb, group, resource, name or URL? */

/* Axes of a product, in the order in which Kubernetes breaks rules down. */
enum covers_axis { COVERS_GROUP, COVERS_RESOURCE, COVERS_VERB, COVERS_NAME, COVERS_URL, COVERS_AXES };

struct covers_posting {
    str text;
    uint32_t rule;
};

/* Sorted by text, then rule; no duplicates. */
struct covers_postings {
    struct covers_posting *p;
    size_t n;
};

typedef VEC(uint32_t) covers_ids;

struct covers_owner {
    struct rules rules;
    struct covers_postings lists[COVERS_AXES]; /* all but URLs; without rules that cover everything on that axis */
    struct covers_postings any_sub;            /* "/log" of resources "*" + "/log" */
    struct url_pattern *urls;
    size_t n_urls;
    covers_ids any[COVERS_AXES];  /* rules that cover everything on the axis */
    uint8_t *any_of;              /* by rule: bit 1 << axis, the same */
    bool all_resources, all_urls; /* one rule covers every atom of that sort: cluster-admin and the like */
};

/* Rules that cover one value, other than those that cover everything: two runs of postings, each by rule. A rule may be in
 * both. */
struct covers_found {
    struct covers_postings run[2];
};

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

static void covers_owner_init(struct covers_owner *o, struct arena *a, struct rules rules)
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

/* The arena is only used for URLs. */
static struct covers_found covers_owner_find(const struct covers_owner *o, enum covers_axis axis, str text,
                                             struct arena *a)
{
    if (axis == COVERS_URL)
        return (struct covers_found){{find_urls(o, text, a)}};
    struct covers_found found = {{find(&o->lists[axis], text)}};
    ptrdiff_t slash = axis == COVERS_RESOURCE ? str_find_char(text, '/') : -1;
    if (slash >= 0)
        found.run[1] = find(&o->any_sub, str_from(text, (size_t)slash));
    return found;
}

/* Is the rule in the run? */
static bool covers_run_has(const struct covers_postings *run, uint32_t rule)
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

/* The axes of a servant's rule for rules_cover: values of which the same owner rules cover are one class. */

enum {
    COVERS_PRODUCT = 4,        /* axes of a product: group, resource or URL, verb, name */
    COVERS_NONE = COVERS_AXES, /* a place without axis: everybody covers it */
};

struct axis {
    int kind;           /* enum covers_axis, or COVERS_NONE */
    struct strs values; /* empty: one place for "no name", or for nothing */
    size_t n;           /* places: one for each value, at least one */
    uint32_t *class_of; /* by place */
    size_t classes;
    uint64_t *bits; /* by class: the candidates that cover it */
    uint64_t *full; /* the candidates that cover all classes */
    str *grouped;   /* values by class, from grouped[group[class]] to grouped[group[class + 1]] */
    size_t *group;
    /* private */
    uint32_t *order;            /* places by their text */
    struct covers_found *found; /* by place in this order; of equal texts only the first has any */
    size_t n_found;
};

struct covers_scope {
    struct covers_owner owner;
    struct arena scratch;
    size_t work;            /* left */
    covers_ids candidates;  /* owner rules that may cover something of the product */
    uint32_t *candidate_of; /* by owner rule: its place among them + 1; 0 if it is none */
    size_t words;           /* of a set of candidates */
};

enum {
    MAX_BITS = 1 << 20, /* words of class sets on one axis */
    URL_STEPS = 8,      /* what it takes to copy and sort one pattern that fits */
};

static void covers_scope_init(struct covers_scope *s, struct arena *kept, struct rules owner)
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

static void covers_scope_reset(struct covers_scope *s)
{
    vec_each(&s->candidates, rule)
    {
        s->candidate_of[*rule] = 0;
    }
    s->candidates = (covers_ids){0};
    arena_reset(&s->scratch);
}

static void covers_scope_done(struct covers_scope *s)
{
    arena_done(&s->scratch);
}

static bool covers_spend(struct covers_scope *s, size_t steps)
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

/* Finds the candidates and makes the classes; of the axes given only kind and values are set. */
static bool covers_axes_load(struct covers_scope *s, struct axis axes[COVERS_PRODUCT])
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

/* Fills in grouped and group; the values in the arena, to stay. */
static void covers_axis_group(struct axis *ax, struct covers_scope *s, struct arena *out)
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

/* What is missing, in words and as rules. */

static int by_bytes(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

void covers_format(struct buf *b, const struct covers_missing *missing)
{
    struct arena scratch ARENA_SCOPE = {0};
    struct rules compact = rules_compact(&scratch, missing->atoms);
    str *lines = ARENA_ARRAY(&scratch, str, compact.n);
    const char *sep = "";
    for (size_t i = 0; i < compact.n; i++) {
        struct buf line = {.arena = &scratch};
        rule_format(&line, &compact.p[i]);
        lines[i] = buf_str(&line);
    }
    if (compact.n)
        qsort(lines, compact.n, sizeof *lines, by_bytes);
    for (size_t i = 0; i < compact.n; i++) {
        if (i && str_eq(lines[i], lines[i - 1]))
            continue;
        buf_fmt(b, "%s%.*s", sep, STR(lines[i]));
        sep = "\n";
    }
    if (missing->cut)
        buf_fmt(b, "%s...", sep);
}

struct rules rules_added(struct arena *a, struct rules before, struct rules after, bool *ret_cut)
{
    struct covers_missing missing;
    rules_cover(a, before, after, &missing);
    if (ret_cut)
        *ret_cut = missing.cut;
    return rules_normal(a, missing.sets);
}

/* Covering without counting atoms.
 *
 * A servant rule is a product of lists. Whether an owner's rule covers an atom is decided on each axis apart, so two values
 * of an axis that the same owner rules cover can be taken together: they are one class. What is left is a small product of
 * classes, each class with the set of owner rules (as bits) that cover it:
 *
 *     verbs      get list watch | delete             an atom (class, class, class, class) is covered
 *                0b0111         | 0b0001             if the AND of its four sets is not empty;
 *     resources  pods services  | secrets            what is not becomes a box of classes: few boxes,
 *                0b0110         | 0b0101             even when they hold millions of atoms
 */

enum {
    MAX_ROWS = 1 << 20,       /* pairs of a group class and a resource class */
    MAX_BOXES = 1 << 16,      /* of one servant rule */
    ALL_CLASSES = UINT32_MAX, /* of an axis, in a box */
};

/* Atoms that nobody covers, as classes. */
struct box {
    uint32_t verb, name;
};

/* Boxes of one group class and one resource class, from boxes[row.from] to boxes[row.to]. */
struct row {
    uint32_t from, to;
};

struct missing {
    struct row *rows; /* [group class × resource classes + resource class] */
    VEC(struct box) boxes;
};

struct covers {
    struct arena *out;
    struct covers_scope scope; /* what the axes share */
    bool tell;                 /* what is missing is wanted */
    bool cut;
    VEC(struct rule) atoms, sets;
};

/* ---- Boxes. ---- */

/* to = a AND b; false when that is empty. */
static bool and_bits(uint64_t *to, const uint64_t *a, const uint64_t *b, size_t words)
{
    uint64_t any = 0;
    for (size_t w = 0; w < words; w++)
        any |= to[w] = a[w] & b[w];
    return any != 0;
}

static bool meet(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++)
        if (a[w] & b[w])
            return true;
    return false;
}

static void add_box(struct covers *c, struct missing *m, uint32_t verb, uint32_t name)
{
    *vec_push(&c->scope.scratch, &m->boxes) = (struct box){verb, name};
}

/* The boxes of one verb class, whose owners are `some` after group, resource and verb. False: too much work. */
static bool find_names(struct covers *c, const struct axis *names, const uint64_t *some, uint32_t verb,
                       struct missing *m)
{
    size_t words = c->scope.words;
    if (!covers_spend(&c->scope, words))
        return false;
    if (meet(some, names->full, words))
        return true;
    for (uint32_t n = 0; n < names->classes; n++) {
        if (!covers_spend(&c->scope, words))
            return false;
        if (!meet(some, names->bits + n * words, words))
            add_box(c, m, verb, n);
    }
    return true;
}

/* The boxes of one row, whose owners are `some` after group and resource. */
static bool find_verbs(struct covers *c, const struct axis axes[], const uint64_t *some, uint64_t *tmp,
                       struct missing *m)
{
    const struct axis *verbs = &axes[2], *names = &axes[3];
    size_t words = c->scope.words;
    if (!covers_spend(&c->scope, 2 * words))
        return false;
    if (and_bits(tmp, some, verbs->full, words) && meet(tmp, names->full, words))
        return true;
    for (uint32_t v = 0; v < verbs->classes; v++) {
        if (!covers_spend(&c->scope, words) || m->boxes.n > MAX_BOXES)
            return false;
        if (!and_bits(tmp, some, verbs->bits + v * words, words))
            add_box(c, m, v, ALL_CLASSES);
        else if (!find_names(c, names, tmp, v, m))
            return false;
    }
    return true;
}

static bool find_boxes(struct covers *c, const struct axis axes[], struct missing *m)
{
    const struct axis *groups = &axes[0], *resources = &axes[1];
    size_t words = c->scope.words;
    uint64_t *some = ARENA_ARRAY(&c->scope.scratch, uint64_t, words * 2);
    if (groups->classes * resources->classes > MAX_ROWS)
        return false;
    struct row *row = m->rows = ARENA_ARRAY(&c->scope.scratch, struct row, groups->classes * resources->classes);
    for (size_t g = 0; g < groups->classes; g++)
        for (size_t r = 0; r < resources->classes; r++, row++) {
            if (!covers_spend(&c->scope, words) || m->boxes.n > MAX_BOXES)
                return false;
            row->from = (uint32_t)m->boxes.n;
            if (!and_bits(some, groups->bits + g * words, resources->bits + r * words, words))
                add_box(c, m, ALL_CLASSES, ALL_CLASSES);
            else if (!find_verbs(c, axes, some, some + words, m))
                return false;
            row->to = (uint32_t)m->boxes.n;
        }
    return true;
}

/* ---- Telling what is missing. ---- */

static void set_axis(struct rule *rule, int kind, struct strs list)
{
    switch (kind) {
    case COVERS_GROUP:
        rule->api_groups = list;
        break;
    case COVERS_RESOURCE:
        rule->resources = list;
        break;
    case COVERS_VERB:
        rule->verbs = list;
        break;
    case COVERS_NAME:
        rule->resource_names = list;
        break;
    case COVERS_URL:
        rule->non_resource_urls = list;
        break;
    default:
        break;
    }
}

static struct strs values_in(const struct axis *ax, uint32_t class)
{
    if (class == ALL_CLASSES || ax->values.n == 0)
        return ax->values;
    return (struct strs){ax->grouped + ax->group[class], ax->group[class + 1] - ax->group[class]};
}

static void tell_sets(struct covers *c, struct axis axes[], const struct missing *m)
{
    for (int i = 0; i < COVERS_PRODUCT; i++)
        covers_axis_group(&axes[i], &c->scope, c->out);
    const struct row *row = m->rows;
    for (uint32_t g = 0; g < axes[0].classes; g++)
        for (uint32_t r = 0; r < axes[1].classes; r++, row++)
            for (uint32_t i = row->from; i < row->to; i++) {
                const uint32_t class[] = {g, r, m->boxes.p[i].verb, m->boxes.p[i].name};
                struct rule *set = vec_push(c->out, &c->sets);
                *set = (struct rule){0};
                for (int k = 0; k < COVERS_PRODUCT; k++)
                    set_axis(set, axes[k].kind, values_in(&axes[k], class[k]));
            }
}

/* Which pairs of a verb class and a name class are missing in a row: [verb class × name classes + name class]. */
static void mark(const struct axis axes[], const struct missing *m, const struct row *row, bool *marks)
{
    size_t verbs = axes[2].classes, names = axes[3].classes;
    memset(marks, 0, verbs * names);
    for (uint32_t i = row->from; i < row->to; i++) {
        const struct box *box = &m->boxes.p[i];
        for (size_t v = box->verb == ALL_CLASSES ? 0 : box->verb; v < verbs; v++) {
            for (size_t n = box->name == ALL_CLASSES ? 0 : box->name; n < names; n++) {
                marks[v * names + n] = true;
                if (box->name != ALL_CLASSES)
                    break;
            }
            if (box->verb != ALL_CLASSES)
                break;
        }
    }
}

/* The missing atoms of one group and one resource. */
static bool tell_row(struct covers *c, const struct axis axes[], const size_t at[2], const bool *marks)
{
    const struct axis *verbs = &axes[2], *names = &axes[3];
    for (size_t v = 0; v < verbs->n; v++)
        for (size_t n = 0; n < names->n; n++) {
            if (!covers_spend(&c->scope, 1))
                return false;
            if (!marks[verbs->class_of[v] * names->classes + names->class_of[n]])
                continue;
            if (c->atoms.n == COVERS_MAX_ATOMS)
                return false;
            const size_t place[] = {at[0], at[1], v, n};
            struct rule *atom = vec_push(c->out, &c->atoms);
            *atom = (struct rule){0};
            for (int k = 0; k < COVERS_PRODUCT; k++)
                if (axes[k].values.n)
                    set_axis(atom, axes[k].kind, (struct strs){axes[k].values.p + place[k], 1});
        }
    return true;
}

static bool tell_atoms(struct covers *c, const struct axis axes[], const struct missing *m)
{
    const struct axis *groups = &axes[0], *resources = &axes[1];
    size_t pairs = axes[2].classes * axes[3].classes;
    if (!covers_spend(&c->scope, pairs))
        return false;
    bool *marks = ARENA_ARRAY(&c->scope.scratch, bool, pairs);
    for (size_t g = 0; g < groups->n; g++)
        for (size_t r = 0; r < resources->n; r++) {
            const struct row *row = &m->rows[groups->class_of[g] * resources->classes + resources->class_of[r]];
            if (!covers_spend(&c->scope, 1))
                return false;
            if (row->from == row->to)
                continue;
            if (!covers_spend(&c->scope, pairs))
                return false;
            mark(axes, m, row, marks);
            if (!tell_row(c, axes, (const size_t[]){g, r}, marks))
                return false;
        }
    return true;
}

/* ---- One servant rule, one half of it at a time. ---- */

/* Too much work: all of it counts as missing. */
static void give_up(struct covers *c, const struct axis axes[])
{
    struct rule whole = {0};
    for (int k = 0; k < COVERS_PRODUCT; k++)
        set_axis(&whole, axes[k].kind, axes[k].values);
    *vec_push(c->out, &c->atoms) = whole;
    *vec_push(c->out, &c->sets) = whole;
    c->cut = true;
}

/* True when everything in the product is covered. */
static bool cover_product(struct covers *c, struct axis axes[])
{
    struct missing m = {0};
    bool done = covers_axes_load(&c->scope, axes) && find_boxes(c, axes, &m);
    bool covered = done && m.boxes.n == 0;
    if (!done) {
        give_up(c, axes);
    } else if (!covered && c->tell) {
        tell_sets(c, axes, &m);
        if (!tell_atoms(c, axes, &m))
            c->cut = true;
    }
    covers_scope_reset(&c->scope);
    return covered;
}

static bool cover_rule(struct covers *c, const struct rule *r)
{
    bool covered = true;
    if (r->verbs.n && r->api_groups.n && r->resources.n && !c->scope.owner.all_resources)
        covered = cover_product(c, (struct axis[COVERS_PRODUCT]){{.kind = COVERS_GROUP, .values = r->api_groups},
                                                                 {.kind = COVERS_RESOURCE, .values = r->resources},
                                                                 {.kind = COVERS_VERB, .values = r->verbs},
                                                                 {.kind = COVERS_NAME, .values = r->resource_names}});
    if (r->verbs.n && r->non_resource_urls.n && !c->scope.owner.all_urls && (covered || c->tell))
        covered &= cover_product(c, (struct axis[COVERS_PRODUCT]){{.kind = COVERS_NONE},
                                                                  {.kind = COVERS_URL, .values = r->non_resource_urls},
                                                                  {.kind = COVERS_VERB, .values = r->verbs},
                                                                  {.kind = COVERS_NONE}});
    return covered;
}

bool rules_cover(struct arena *a, struct rules owner, struct rules servant, struct covers_missing *ret_missing)
{
    struct covers c = {.out = a, .tell = ret_missing != NULL};
    struct arena kept ARENA_SCOPE = {0}; /* for the whole call; scope.scratch is for one product */
    covers_scope_init(&c.scope, &kept, owner);
    bool covered = true;
    rules_each(servant, rule)
    {
        covered &= cover_rule(&c, rule);
        if (!covered && !c.tell)
            break;
    }
    if (ret_missing)
        *ret_missing = (struct covers_missing){{c.atoms.p, c.atoms.n}, {c.sets.p, c.sets.n}, c.cut};
    covers_scope_done(&c.scope);
    return covered;
}
