/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors come with the first aggregate that uses them and go with the last. */
#include "authz/aggregate_graph.h"

#include <stdlib.h>

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
