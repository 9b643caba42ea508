/* SPDX-License-Identifier: Apache-2.0 */
/* What a write changed, field by field. */
#include "patch/apply_parts.h"

#include "base/budget.h"

struct diff {
    struct fieldset_builder builder;
    struct err *err;
};

/* What happened to a place, and below it. */
struct change {
    unsigned marks;
    struct fieldset below;
};

static const struct json empty_map = {.type = JSON_OBJ};
static const struct json null = {.type = JSON_NULL};

static int diff(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                struct change *ret);

/* One of old and next may be NULL: the place was not there, or is no longer. */
static unsigned leaf_marks(const struct json *old, const struct json *next)
{
    if (!old)
        return FIELDSET_IN;
    if (!next)
        return FIELDSET_REMOVED;
    return json_equal(old, next) ? 0 : FIELDSET_IN;
}

static unsigned presence_marks(const struct json *old, const struct json *next)
{
    return !old ? FIELDSET_IN : !next ? FIELDSET_REMOVED : 0;
}

static int diff_put(struct diff *d, const struct fieldset_elem *elem, const struct typed *t, const struct json *old,
                    const struct json *next)
{
    struct change c = {0};
    int rc = diff(d, t, old, next, &c);
    fieldset_put(&d->builder, elem, c.marks, c.below);
    return rc;
}

/* ---- Lists. ---- */

static uint32_t repeats(const struct items *items, uint32_t first)
{
    uint32_t n = 0;
    for (uint32_t i = first; i != ITEM_NONE; i = items->p[i].next)
        n++;
    return n;
}

static bool same_repeats(const struct items *old, uint32_t i, const struct items *next, uint32_t j)
{
    for (; i != ITEM_NONE && j != ITEM_NONE; i = old->p[i].next, j = next->p[j].next) {
        if (!json_equal(old->p[i].value, next->p[j].value))
            return false;
    }
    return i == j;
}

/* Items that come several times with the same element are one value, together. i and j may be ITEM_NONE. */
static int diff_element(struct diff *d, const struct typed *item_type, const struct items *old, uint32_t i,
                        const struct items *next, uint32_t j)
{
    const struct fieldset_elem *elem = i != ITEM_NONE ? &old->p[i].elem : &next->p[j].elem;
    const struct json *was = i != ITEM_NONE ? old->p[i].value : NULL, *is = j != ITEM_NONE ? next->p[j].value : NULL;
    bool many_were = i != ITEM_NONE && repeats(old, i) > 1, many_are = j != ITEM_NONE && repeats(next, j) > 1;
    struct fieldset none = {0};
    int rc = 0;
    if (!many_were && !many_are)
        return diff_put(d, elem, item_type, was, is);
    if (many_were && many_are) {
        fieldset_put(&d->builder, elem, same_repeats(old, i, next, j) ? 0 : FIELDSET_IN, none);
    } else if (many_were) {
        if (is)
            rc = diff_put(d, elem, item_type, NULL, is);
        fieldset_put(&d->builder, elem, FIELDSET_REMOVED, none);
    } else {
        if (was)
            rc = diff_put(d, elem, item_type, was, NULL);
        fieldset_put(&d->builder, elem, FIELDSET_IN, none);
    }
    return rc;
}

static int diff_items(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                      struct fieldset *ret)
{
    struct items was = {0}, is = {0};
    int rc = items_init(d->builder.arena, &was, t, old, d->err);
    if (rc == 0)
        rc = items_init(d->builder.arena, &is, t, next, d->err);
    if (rc < 0)
        return rc;
    struct typed item_type = typed_item(t);
    size_t begin = fieldset_begin(&d->builder);
    for (uint32_t i = 0; i < was.n && rc == 0; i++) {
        if (!was.p[i].is_repeat)
            rc = diff_element(d, &item_type, &was, i, &is, items_find(&is, &was.p[i].elem));
    }
    for (uint32_t j = 0; j < is.n && rc == 0; j++) {
        if (!is.p[j].is_repeat && items_find(&was, &is.p[j].elem) == ITEM_NONE)
            rc = diff_element(d, &item_type, &was, ITEM_NONE, &is, j);
    }
    *ret = fieldset_end(&d->builder, begin);
    return rc;
}

static int diff_list(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                     struct change *ret)
{
    bool empty = (!json_is_arr(old) || old->n == 0) && (!json_is_arr(next) || next->n == 0);
    if (t->list == TYPED_LIST_ATOMIC || empty) {
        ret->marks |= leaf_marks(old, next);
        return 0;
    }
    /* Two lists with the same bytes need no index. */
    if (old && next && json_equal(old, next))
        return 0;
    struct fieldset below = {0};
    int rc = diff_items(d, t, old, next, &below);
    ret->marks |= presence_marks(old, next);
    ret->below = fieldset_union(d->builder.arena, ret->below, below);
    return rc;
}

/* ---- Maps. ---- */

static int diff_member(struct diff *d, const struct typed *t, str key, const struct json *old, const struct json *next)
{
    struct typed child;
    const struct fieldset_elem name = fieldset_name(key);
    typed_field(t, key, &child);
    if (child.present) { /* what Go cannot leave out was there before and still is */
        const struct json *unset = child.allows & TYPED_MAP ? &empty_map : &null;
        old = old ? old : unset;
        next = next ? next : unset;
    }
    return diff_put(d, &name, &child, old, next);
}

/* A record that comes or goes as a whole brings along the fields that Go never leaves out. */
static int diff_present(struct diff *d, const struct typed *t, const struct json *old, const struct json *next)
{
    size_t at = 0;
    str key;
    struct typed child;
    int rc = 0;
    while (rc == 0 && typed_next_present(t, &at, &key, &child)) {
        if (json_get(old ? old : next, key))
            continue;
        const struct fieldset_elem name = fieldset_name(key);
        const struct json *unset = child.allows & TYPED_MAP ? &empty_map : &null;
        rc = diff_put(d, &name, &child, old ? unset : NULL, old ? NULL : unset);
    }
    return rc;
}

static int diff_both(struct diff *d, const struct typed *t, const struct json *old, const struct json *next)
{
    struct json_index was JSON_INDEX_SCOPE, is JSON_INDEX_SCOPE;
    int rc = 0;
    json_index_init(&was, old);
    json_index_init(&is, next);
    json_each_member(old, m)
    {
        const struct json_member *other = json_index_find(&is, json_key(m));
        if (!other || !value_is_shared(&m->val, &other->val))
            rc = rc ? rc : diff_member(d, t, json_key(m), &m->val, other ? &other->val : NULL);
    }
    json_each_member(next, m)
    {
        if (!json_index_find(&was, json_key(m)))
            rc = rc ? rc : diff_member(d, t, json_key(m), NULL, &m->val);
    }
    return rc;
}

static int diff_one(struct diff *d, const struct typed *t, const struct json *old, const struct json *next)
{
    int rc = 0;
    json_each_member(old ? old : next, m)
    {
        struct typed child;
        const struct fieldset_elem name = fieldset_name(json_key(m));
        typed_member(t, m, &child);
        rc = rc ? rc : diff_put(d, &name, &child, old ? &m->val : NULL, old ? NULL : &m->val);
    }
    return rc ? rc : diff_present(d, t, old, next);
}

/* A record that Go never writes as empty. */
static bool has_present(const struct typed *t)
{
    size_t at = 0;
    str key;
    struct typed child;
    return typed_next_present(t, &at, &key, &child);
}

static int diff_map(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                    struct change *ret)
{
    bool empty = (!json_is_obj(old) || old->n == 0) && (!json_is_obj(next) || next->n == 0);
    if (t->atomic || (empty && ((old && next) || !has_present(t)))) {
        ret->marks |= leaf_marks(old, next);
        return 0;
    }
    size_t begin = fieldset_begin(&d->builder);
    int rc = old && next ? diff_both(d, t, old, next) : diff_one(d, t, old, next);
    ret->marks |= presence_marks(old, next);
    ret->below = fieldset_union(d->builder.arena, ret->below, fieldset_end(&d->builder, begin));
    return rc;
}

/* ---- Places. ---- */

static int diff_as(struct diff *d, unsigned form, const struct typed *t, const struct json *old,
                   const struct json *next, struct change *ret)
{
    if (form == TYPED_MAP)
        return diff_map(d, t, old, next, ret);
    if (form == TYPED_LIST)
        return diff_list(d, t, old, next, ret);
    ret->marks |= leaf_marks(old, next);
    return 0;
}

static int diff(struct diff *d, const struct typed *t, const struct json *old, const struct json *next,
                struct change *ret)
{
    if (!budget_charge(4))
        return ERR_TOO_LARGE;
    unsigned was = typed_deduce(t, old ? old : next), is = typed_deduce(t, next ? next : old);
    *ret = (struct change){0};
    int rc = was != is ? diff_as(d, was, t, old, next, ret) : 0; /* a map became a list: look at it both ways */
    return rc ? rc : diff_as(d, is, t, old, next, ret);
}

int value_diff(struct arena *a, const struct typed *t, const struct json *old, const struct json *next,
               struct fieldset *ret, struct err *err)
{
    struct diff d = {.builder = {.arena = a}, .err = err};
    struct change c;
    int rc = diff(&d, t, old ? old : &empty_map, next, &c);
    if (rc == 0)
        *ret = c.below;
    return rc;
}
