/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"

#include "base/budget.h"

#include <stdlib.h>

/* Numbers by value. A double is compared with an integer exactly, without rounding the integer. */
static int compare_real_int(double d, const struct json *n)
{
    if (n->type == JSON_UINT) {
        if (d >= 18446744073709551616.0)
            return 1;
        if (d < 9223372036854775808.0)
            return -1;
        return ((uint64_t)d > n->u) - ((uint64_t)d < n->u);
    }
    if (d >= 9223372036854775808.0)
        return 1;
    if (d < -9223372036854775808.0)
        return -1;
    int64_t whole = (int64_t)d;
    if (whole != n->i)
        return whole > n->i ? 1 : -1;
    return (d > (double)whole) - (d < (double)whole);
}

static int compare_numbers(const struct json *a, const struct json *b)
{
    if (a->type == JSON_REAL && b->type == JSON_REAL)
        return (a->d > b->d) - (a->d < b->d);
    if (a->type == JSON_REAL)
        return compare_real_int(a->d, b);
    if (b->type == JSON_REAL)
        return -compare_real_int(b->d, a);
    if (a->type != b->type)
        return a->type == JSON_UINT ? 1 : -1; /* a JSON_UINT is larger than any JSON_INT */
    if (a->type == JSON_UINT)
        return (a->u > b->u) - (a->u < b->u);
    return (a->i > b->i) - (a->i < b->i);
}

static bool equal_members(const struct json *a, const struct json *b)
{
    if (a->n != b->n || !budget_charge(1 + a->n / 2))
        return false;
    /* Nearly always the order is the same; only from the first difference on keys are looked up. */
    uint32_t i = 0;
    for (; i < a->n; i++) {
        const struct json_member *m = &a->members[i], *o = &b->members[i];
        if (m->hash != o->hash || !str_eq(json_key(m), json_key(o)))
            break;
        if (!json_equal(&m->val, &o->val))
            return false;
    }
    if (i == a->n)
        return true;
    struct json_index ix JSON_INDEX_SCOPE;
    json_index_init(&ix, b);
    for (; i < a->n; i++) {
        const struct json_member *o = json_index_find(&ix, json_key(&a->members[i]));
        if (o == NULL || !json_equal(&a->members[i].val, &o->val))
            return false;
    }
    return true;
}

bool json_equal(const struct json *a, const struct json *b)
{
    enum json_type t = json_type(a);
    if (json_is_num(a) && json_is_num(b))
        return compare_numbers(a, b) == 0;
    if (t != json_type(b))
        return false;
    switch (t) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->b == b->b;
    case JSON_STR:
        return str_eq(json_text(a), json_text(b));
    case JSON_OBJ:
        return equal_members(a, b);
    default:
        break;
    }
    if (a->n != b->n || !budget_charge(1 + a->n / 4))
        return false;
    for (uint32_t i = 0; i < a->n; i++) {
        if (!json_equal(&a->items[i], &b->items[i]))
            return false;
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct json_member *const *x = a, *const *y = b;
    return str_cmp(json_key(*x), json_key(*y));
}

static const struct json_member **sorted(const struct json *obj)
{
    const struct json_member **list = xmalloc(((size_t)obj->n + 1) * sizeof *list);
    budget_charge((size_t)obj->n * 8);
    for (uint32_t i = 0; i < obj->n; i++)
        list[i] = &obj->members[i];
    qsort(list, obj->n, sizeof *list, by_key);
    return list;
}

static int compare_members(const struct json *a, const struct json *b)
{
    const struct json_member **x = sorted(a), **y = sorted(b);
    int c = 0;
    for (uint32_t i = 0; c == 0 && i < a->n && i < b->n; i++) {
        c = by_key(&x[i], &y[i]);
        if (c == 0)
            c = json_compare(&x[i]->val, &y[i]->val);
    }
    free(x);
    free(y);
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static int compare_items(const struct json *a, const struct json *b)
{
    budget_charge(1 + a->n / 4);
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        int c = json_compare(&a->items[i], &b->items[i]);
        if (c)
            return c;
    }
    return (a->n > b->n) - (a->n < b->n);
}

int json_compare(const struct json *a, const struct json *b)
{
    if (json_is_num(a) && json_is_num(b))
        return compare_numbers(a, b);
    if (json_type(a) != json_type(b))
        return json_type(a) > json_type(b) ? 1 : -1;
    switch (json_type(a)) {
    case JSON_BOOL:
        return a->b - b->b;
    case JSON_STR:
        return str_cmp(json_text(a), json_text(b));
    case JSON_ARR:
        return compare_items(a, b);
    case JSON_OBJ:
        return compare_members(a, b);
    default:
        return 0;
    }
}
