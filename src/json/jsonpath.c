/* SPDX-License-Identifier: Apache-2.0 */
#include "json/jsonpath_steps.h"

#include "base/budget.h"

/* ---- Comparison in filters: only values of one basic type compare, as in Go's templates. ---- */

enum order { ORDER_NONE, ORDER_LESS, ORDER_EQUAL, ORDER_GREATER };

static enum order order_of(int cmp)
{
    return cmp < 0 ? ORDER_LESS : cmp > 0 ? ORDER_GREATER : ORDER_EQUAL;
}

static enum order compare(const struct json *l, const struct json *r)
{
    if (json_type(l) != json_type(r))
        return ORDER_NONE;
    switch (json_type(l)) {
    case JSON_STR:
        return order_of(str_cmp(json_text(l), json_text(r)));
    case JSON_INT:
        return order_of((l->i > r->i) - (l->i < r->i));
    case JSON_REAL:
        return order_of((l->d > r->d) - (l->d < r->d));
    case JSON_BOOL:
        return l->b == r->b ? ORDER_EQUAL : ORDER_LESS;
    default:
        return ORDER_NONE;
    }
}

static bool passes(enum jsonpath_op op, enum order o)
{
    switch (op) {
    case JSONPATH_EQ:
        return o == ORDER_EQUAL;
    case JSONPATH_NE:
        return o != ORDER_EQUAL;
    case JSONPATH_LT:
        return o == ORDER_LESS;
    case JSONPATH_LE:
        return o != ORDER_GREATER;
    case JSONPATH_GT:
        return o == ORDER_GREATER;
    default:
        return o != ORDER_LESS;
    }
}

/* ---- Evaluation: each step turns the hits so far into the next ones. ---- */

static bool find(struct arena *a, const struct jsonpath *path, const struct json *doc, jsonpath_hits *ret);

static void add(struct arena *a, jsonpath_hits *hits, const struct json *v)
{
    *vec_push(a, hits) = v;
}

static void all_children(struct arena *a, const struct json *v, jsonpath_hits *ret)
{
    budget_charge(json_len(v));
    json_each_item(v, item)
    {
        add(a, ret, item);
    }
    json_each_member(v, m)
    {
        add(a, ret, &m->val);
    }
}

static bool slice(struct arena *a, const struct jsonpath_step *s, const struct json *v, jsonpath_hits *ret)
{
    if (json_is_null(v))
        return true;
    if (!json_is_arr(v))
        return false;
    int64_t n = (int64_t)v->n;
    int64_t from = s->has_from ? s->from : 0, to = s->has_to ? s->to : n;
    if (s->single)
        to = from + 1;
    if (from < 0)
        from += n;
    if (to < 0 || (to == 0 && s->single))
        to += n;
    if (from == to)
        return true;
    if (from < 0 || from >= n || to < 0 || to > n || from > to)
        return false;
    for (int64_t i = from; i < to; i += s->by)
        add(a, ret, &v->items[i]);
    return true;
}

/* Whether one item passes; *ret_stop when the two sides cannot be compared. What it takes in a is of no use afterwards. */
static bool item_passes(struct arena *a, const struct jsonpath_step *s, const struct json *item, bool *ret_stop)
{
    jsonpath_hits left = {0}, right = {0};
    bool ok = find(a, s->left, item, &left);
    if (s->op == JSONPATH_EXISTS)
        return !ok || left.n > 0;
    *ret_stop = !ok || left.n > 1;
    if (*ret_stop || left.n == 0)
        return false;
    if (s->right) {
        *ret_stop = !find(a, s->right, item, &right) || right.n > 1;
        if (*ret_stop || right.n == 0)
            return false;
    }
    enum order o = compare(left.p[0], s->right ? right.p[0] : &s->literal);
    bool unordered = left.p[0]->type == JSON_BOOL && s->op != JSONPATH_EQ && s->op != JSONPATH_NE;
    *ret_stop = o == ORDER_NONE || unordered;
    return !*ret_stop && passes(s->op, o);
}

static bool filter(struct arena *a, const struct jsonpath_step *s, const struct json *v, jsonpath_hits *ret)
{
    struct arena scratch ARENA_SCOPE = {0};
    bool stop = false;
    if (!json_is_arr(v))
        return false;
    json_each_item(v, item)
    {
        arena_reset(&scratch);
        if (item_passes(&scratch, s, item, &stop))
            add(a, ret, item);
        if (stop)
            return false;
    }
    return true;
}

static bool step(struct arena *a, const struct jsonpath_step *s, const struct json *v, jsonpath_hits *ret)
{
    const struct json *child;
    switch (s->kind) {
    case JSONPATH_FIELD:
        if ((child = json_get(v, s->name)))
            add(a, ret, child);
        return true;
    case JSONPATH_ALL:
        all_children(a, v, ret);
        return true;
    case JSONPATH_SLICE:
        return slice(a, s, v, ret);
    default:
        return filter(a, s, v, ret);
    }
}

static bool find(struct arena *a, const struct jsonpath *path, const struct json *doc, jsonpath_hits *ret)
{
    jsonpath_hits now = {0}, next;
    add(a, &now, doc);
    for (size_t i = 0; i < path->steps.n; i++) {
        next = (jsonpath_hits){0};
        if (!budget_charge(3 + now.n))
            return false;
        for (size_t k = 0; k < now.n; k++)
            if (!step(a, &path->steps.p[i], now.p[k], &next))
                return false;
        now = next;
    }
    *ret = now;
    return true;
}

bool jsonpath_find(struct arena *a, const struct jsonpath *path, const struct json *doc, jsonpath_hits *ret)
{
    return find(a, path, doc, ret);
}

const struct json *jsonpath_first(struct arena *a, const struct jsonpath *path, const struct json *doc)
{
    jsonpath_hits hits = {0};
    return find(a, path, doc, &hits) && hits.n ? hits.p[0] : NULL;
}
