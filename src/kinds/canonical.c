/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/canonical.h"

#include "base/budget.h"
#include "kinds/strict_value.h"
#include "object/quantity.h"

#include <stdlib.h>

struct form {
    struct arena *arena;
    bool keeps_empty;
};

static void record(const struct form *f, const struct shape *shape, struct json *v);

/* ---- Values. ---- */

static void unions(const struct form *f, const struct shape_field *row, struct json *v)
{
    if (v->type == JSON_OBJ)
        record(f, row->record, v);
    for (size_t i = 0; v->type == JSON_ARR && i < v->n; i++) {
        if (v->items[i].type == JSON_OBJ)
            record(f, row->record, &v->items[i]);
    }
}

/* One value: all of a field, or one item or entry of it. */
static void value(const struct form *f, const struct shape_field *row, struct json *v)
{
    budget_charge(2);
    switch (row->type) {
    case SHAPE_RECORD:
        record(f, row->record, v);
        break;
    case SHAPE_QUANTITY: /* maps of amounts are resource lists, and those are rounded */
        if (v->type == JSON_STR && v->n && quantity_check(json_text(v)) == NULL)
            *v = json_str(
                quantity_canonical(f->arena, json_text(v), row->card == SHAPE_MAP ? QUANTITY_MILLI : QUANTITY_NANO));
        break;
    case SHAPE_JSON_OR_BOOL:
    case SHAPE_JSON_OR_ARRAY:
    case SHAPE_JSON_OR_STRINGS:
        unions(f, row, v);
        break;
    default:
        break;
    }
}

static int by_key(const void *l, const void *r)
{
    return str_cmp(json_key(l), json_key(r));
}

static void sort_keys(struct json *v)
{
    budget_charge((size_t)json_len(v) * 4);
    for (uint32_t i = 1; i < v->n; i++) {
        if (by_key(&v->members[i - 1], &v->members[i]) > 0) {
            qsort(v->members, v->n, sizeof *v->members, by_key);
            return;
        }
    }
}

static void whole(const struct form *f, const struct shape_field *row, struct json *v)
{
    bool plain = row->type != SHAPE_RECORD && row->type != SHAPE_QUANTITY && row->type < SHAPE_JSON_OR_BOOL;
    switch (row->card) {
    case SHAPE_LIST:
        for (size_t i = 0; !plain && v->type == JSON_ARR && i < v->n; i++)
            value(f, row, &v->items[i]);
        break;
    case SHAPE_MAP:
        if (v->type != JSON_OBJ)
            break;
        sort_keys(v);
        for (size_t i = 0; !plain && i < v->n; i++)
            value(f, row, &v->members[i].val);
        break;
    default:
        value(f, row, v);
    }
}

/* ---- Fields. ---- */

static bool is_zero(const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return !v->b;
    case JSON_INT:
        return v->i == 0;
    case JSON_REAL:
        return v->d == 0;
    case JSON_UINT:
        return false;
    default:
        return v->n == 0;
    }
}

/* Structs of Go, which are never left out unless they are pointers. */
static bool is_struct(const struct shape_field *row)
{
    return row->card == SHAPE_ONE &&
           (row->type == SHAPE_RECORD || row->type == SHAPE_TIME || row->type == SHAPE_MICRO_TIME ||
            row->type == SHAPE_QUANTITY || row->type == SHAPE_INT_OR_STRING);
}

/* What is written where nothing was given. A slice of Go that nobody made is null. */
static struct json zero(const struct shape_field *row)
{
    bool is_absent = row->pointer || row->card != SHAPE_ONE || row->type == SHAPE_BYTES || row->type == SHAPE_STRINGS;
    return is_absent ? json_null() : strict_zero(row);
}

/* False when the field is left out. */
static bool field(const struct form *f, const struct shape_field *row, struct json *v)
{
    bool is_given = !json_is_null(v), is_always = row->required || row->written || (is_struct(row) && !row->pointer);
    if (!is_given && !is_always)
        return false;
    if (is_given && !is_always && !row->pointer && is_zero(v))
        return false;
    if (!is_given || (row->card != SHAPE_ONE && v->n == 0 && !f->keeps_empty))
        *v = zero(row);
    whole(f, row, v);
    return true;
}

/* ---- Records. ---- */

static bool is_type_meta(const struct shape_field *row)
{
    return row->number == 0;
}

/* The members in the order of the shape; those it does not know stay behind them. */
static void record(const struct form *f, const struct shape *shape, struct json *v)
{
    if (v->type != JSON_OBJ)
        return;
    struct arena *a = f->arena;
    const struct json **given = ARENA_ARRAY(a, const struct json *, shape->n);
    struct json next = json_obj_sized(a, v->n > 4 ? v->n : 4), unknown = json_obj();
    json_each_member(v, m)
    {
        const struct shape_field *row = shape_find(shape, json_key(m));
        if (row)
            given[row - shape->fields] = &m->val;
        else
            json_add(a, &unknown, json_key(m), m->val);
    }
    for (size_t i = 0; i < shape->n; i++) {
        const struct shape_field *row = &shape->fields[i];
        struct json child = given[i] ? *given[i] : json_null();
        if (is_type_meta(row) ? !is_zero(&child) : field(f, row, &child))
            json_add(a, &next, str_of(row->name), child);
    }
    json_each_member(&unknown, m) json_add(a, &next, json_key(m), m->val);
    *v = next;
}

void canonical_form(struct arena *a, const struct shape *shape, struct json *object, unsigned flags)
{
    struct form f = {a, flags & CANONICAL_KEEP_EMPTY};
    record(&f, shape, object);
}
