/* SPDX-License-Identifier: Apache-2.0 */
/* Rights as lines that a person reads: verbs together, resources together, a resource and its parts as one.
 *
 *   + get, list, watch on buckets, networks (and /status) of compute.example.org */
#include "cli/planning.h"

enum {
    LIST_MAX = 24, /* names of a list that is shortened */
    HANG = 4,      /* columns by which the further lines of a paragraph stand back */
    NARROWEST = 40,
};

/* ---- Lines. ---- */

static str spaces(struct arena *a, unsigned n)
{
    return str_fmt(a, "%*s", (int)n, "");
}

void planning_add_wrapped(struct buf *b, const struct planning_lines *l, enum term_style style, str text)
{
    struct buf line = {.arena = l->arena};
    struct term_wrap wrap = {.width = l->term->width < NARROWEST ? NARROWEST : l->term->width,
                             .lead = spaces(l->arena, l->indent),
                             .hang = spaces(l->arena, l->indent + HANG)};
    if (l->sign)
        text = str_fmt(l->arena, "%c %.*s", l->sign, STR(text));
    term_add(&line, l->term, style, text);
    term_add_wrapped(b, l->term, &wrap, buf_str(&line));
}

/* ---- Lists. ---- */

typedef VEC(str) names;

static void add_names(struct buf *b, const struct planning_lines *l, const names *list)
{
    size_t n = l->is_whole || list->n <= LIST_MAX ? list->n : LIST_MAX;
    for (size_t i = 0; i < n; i++)
        buf_fmt(b, "%s%.*s", i ? ", " : "", STR(list->p[i]));
    if (n < list->n)
        buf_fmt(b, " and %zu more", list->n - n);
}

static void add_strs(struct buf *b, struct strs list)
{
    strs_each(list, it)
    {
        buf_fmt(b, "%s%.*s", it == list.p ? "" : ", ", STR(*it));
    }
}

static bool is_all(struct strs list)
{
    return list.n == 1 && str_eq(list.p[0], S("*"));
}

/* ---- Resources with the same parts. ---- */

struct resource {
    str name;
    names parts; /* "/status" */
    bool is_whole;
};

struct bunch {
    str parts; /* "/finalizers, /status" */
    names list;
};

struct sorting {
    struct arena *a;
    VEC(struct resource *) resources;
    VEC(struct bunch *) bunches;
    struct map by_name, by_parts;
};

static void sort_resources(struct sorting *s, struct strs list)
{
    strs_each(list, it)
    {
        str name, part;
        bool is_part = str_cut(*it, '/', &name, &part);
        struct resource *r = map_get(&s->by_name, name);
        if (!r) {
            r = ARENA_NEW(s->a, struct resource);
            r->name = name;
            map_set(&s->by_name, name, r);
            *vec_push(s->a, &s->resources) = r;
        }
        r->is_whole |= !is_part;
        if (is_part)
            *vec_push(s->a, &r->parts) = str_from(*it, name.n);
    }
}

static void put(struct sorting *s, str parts, str name)
{
    struct bunch *found = map_get(&s->by_parts, parts);
    if (!found) {
        found = ARENA_NEW(s->a, struct bunch);
        found->parts = parts;
        map_set(&s->by_parts, parts, found);
        *vec_push(s->a, &s->bunches) = found;
    }
    *vec_push(s->a, &found->list) = name;
}

static void sort_bunches(struct sorting *s)
{
    vec_each(&s->resources, r)
    {
        struct buf parts = {.arena = s->a};
        vec_each(&(*r)->parts, part)
        {
            if ((*r)->is_whole)
                buf_fmt(&parts, "%s%.*s", parts.n ? ", " : "", STR(*part));
            else /* a part alone is told by its whole name */
                put(s, (str){0}, str_fmt(s->a, "%.*s%.*s", STR((*r)->name), STR(*part)));
        }
        if ((*r)->is_whole)
            put(s, buf_str(&parts), (*r)->name);
    }
}

/* ---- Rules. ---- */

/* All that is said of the same verbs. */
struct phrase {
    struct strs verbs;
    names what; /* "networks, subnetworks (and /status) of compute.example.org" */
};

typedef VEC(struct phrase) phrases;

static bool are_same(struct strs x, struct strs y)
{
    bool same = x.n == y.n;
    for (size_t i = 0; same && i < x.n; i++)
        same = str_eq(x.p[i], y.p[i]);
    return same;
}

/* Rules are in normal form, so there are only a few different lists of verbs. */
static void add_phrase(const struct planning_lines *l, phrases *list, struct strs verbs, const struct buf *what)
{
    struct phrase *found = NULL;
    vec_each(list, it)
    {
        if (are_same(it->verbs, verbs))
            found = it;
    }
    if (!found) {
        found = vec_push(l->arena, list);
        *found = (struct phrase){.verbs = verbs};
    }
    *vec_push(l->arena, &found->what) = buf_str(what);
}

static void add_bunch(const struct planning_lines *l, phrases *list, const struct rule *rule, str group,
                      const struct bunch *bunch)
{
    struct buf text = {.arena = l->arena};
    if (bunch->list.n == 1 && str_eq(bunch->list.p[0], S("*")))
        buf_add_str(&text, S("all resources"));
    else
        add_names(&text, l, &bunch->list);
    if (bunch->parts.n)
        buf_fmt(&text, " (and %.*s)", STR(bunch->parts));
    if (rule->resource_names.n) {
        buf_add_str(&text, S(" named "));
        add_strs(&text, rule->resource_names);
    }
    if (str_eq(group, S("*")))
        buf_add_str(&text, S(" of all groups"));
    else if (group.n)
        buf_fmt(&text, " of %.*s", STR(group));
    add_phrase(l, list, rule->verbs, &text);
}

static void add_rule(const struct planning_lines *l, phrases *list, const struct rule *rule)
{
    struct sorting s = {.a = l->arena};
    struct buf urls = {.arena = l->arena};
    sort_resources(&s, rule->resources);
    sort_bunches(&s);
    strs_each(rule->api_groups, group)
    {
        vec_each(&s.bunches, bunch)
        {
            add_bunch(l, list, rule, *group, *bunch);
        }
    }
    add_strs(&urls, rule->non_resource_urls);
    if (urls.n)
        add_phrase(l, list, rule->verbs, &urls);
    map_done(&s.by_name);
    map_done(&s.by_parts);
}

/* One line; or, where there is more of it, the verbs and a line for each. */
static void print_phrase(struct buf *b, const struct planning_lines *l, const struct phrase *phrase)
{
    enum term_style style = l->sign == '-' ? STYLE_LOSS : STYLE_GAIN;
    struct planning_lines inner = {.term = l->term, .arena = l->arena, .indent = l->indent + HANG};
    struct buf text = {.arena = l->arena};
    if (is_all(phrase->verbs))
        buf_add_str(&text, S("all verbs"));
    else
        add_strs(&text, phrase->verbs);
    if (phrase->what.n == 1)
        buf_fmt(&text, " on %.*s", STR(phrase->what.p[0]));
    else
        buf_add_str(&text, S(" on:"));
    planning_add_wrapped(b, l, style, buf_str(&text));
    for (size_t i = 0; phrase->what.n > 1 && i < phrase->what.n; i++)
        planning_add_wrapped(b, &inner, style, phrase->what.p[i]);
}

void planning_add_rules(struct buf *b, const struct planning_lines *l, struct rules rules)
{
    phrases list = {0};
    rules_each(rules, rule)
    {
        add_rule(l, &list, rule);
    }
    vec_each(&list, phrase)
    {
        print_phrase(b, l, phrase);
    }
}
