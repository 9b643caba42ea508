/* SPDX-License-Identifier: Apache-2.0 */
/* The selectors of a watch, which outlive the request they came with, in one block of memory:
 *
 *   [ options | label terms | their values | field terms | texts ] */
#include "api/watch_internal.h"

#include <stdlib.h>

/* A measuring pass counts (block NULL), a second one fills. All arrays come first, texts last: nothing is misaligned. */
struct packer {
    char *block;
    size_t arrays, texts; /* bytes so far */
    size_t texts_at;
};

static void *take(struct packer *p, size_t size)
{
    void *at = p->block ? p->block + p->arrays : NULL;
    p->arrays += size;
    return at;
}

static str take_text(struct packer *p, str s)
{
    str copy = {p->block ? p->block + p->texts_at + p->texts : NULL, s.n};
    if (p->block && s.n)
        memcpy(p->block + p->texts_at + p->texts, s.p, s.n);
    p->texts += s.n;
    return copy;
}

static void pack_labels(struct packer *p, const struct selector *from, struct selector *to)
{
    struct selector_term *terms = take(p, from->n * sizeof *terms);
    for (size_t i = 0; i < from->n; i++) {
        const struct selector_term *t = &from->terms[i];
        str key = take_text(p, t->key), *values = take(p, t->n * sizeof *values);
        for (size_t k = 0; k < t->n; k++) {
            str value = take_text(p, t->values[k]);
            if (values)
                values[k] = value;
        }
        if (terms) {
            terms[i] = *t;
            terms[i].key = key;
            terms[i].values = values;
        }
    }
    *to = *from;
    to->terms = terms;
}

static void pack_fields(struct packer *p, const struct field_selector *from, struct field_selector *to)
{
    struct field_term *terms = take(p, from->n * sizeof *terms);
    for (size_t i = 0; i < from->n; i++) {
        const struct field_term *t = &from->terms[i];
        str field = take_text(p, t->field), value = take_text(p, t->value);
        if (terms)
            terms[i] = (struct field_term){field, value, t->negated};
    }
    *to = (struct field_selector){terms, from->n};
}

static void pack(struct packer *p, const struct read_options *from, struct read_options *to)
{
    (void)take(p, sizeof *to);
    *to = (struct read_options){.need = from->need, .all_namespaces = from->all_namespaces};
    to->name = take_text(p, from->name);
    to->namespace = take_text(p, from->namespace);
    pack_labels(p, &from->labels, &to->labels);
    pack_fields(p, &from->fields, &to->fields);
}

static bool is_scope_term(const struct read_options *o, const struct field_term *t)
{
    str want = str_eq(t->field, S("metadata.name")) ? o->name : o->namespace;
    return !t->negated && o->need != READ_NEEDS_OBJECT && want.n && str_eq(t->value, want);
}

static bool is_scope(const struct read_options *o)
{
    bool is = selector_is_everything(&o->labels);
    for (size_t i = 0; i < o->fields.n; i++)
        is = is && is_scope_term(o, &o->fields.terms[i]);
    return is;
}

struct read_options *watch_filter_new(const struct read_options *o)
{
    if (is_scope(o))
        return NULL;
    struct packer p = {0};
    struct read_options measured;
    pack(&p, o, &measured);
    char *block = xmalloc(p.arrays + p.texts + 1);
    p = (struct packer){.block = block, .texts_at = p.arrays};
    struct read_options *copy = (struct read_options *)block;
    pack(&p, o, copy);
    return copy;
}
