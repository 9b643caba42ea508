/* SPDX-License-Identifier: Apache-2.0 */
#include "object/go_text.h"

#include <stdio.h>
#include <stdlib.h>

void go_text_real(struct buf *b, double d)
{
    char text[40];
    int precision = 0;
    do
        snprintf(text, sizeof text, "%.*e", precision, d);
    while (strtod(text, NULL) != d && ++precision < 17);
    long exponent = strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        buf_fmt(b, "%s", text);
    else
        buf_fmt(b, "%.*f", precision > exponent ? precision - (int)exponent : 0, d);
}

static int by_key(const void *x, const void *y)
{
    const struct json_member *const *a = x, *const *b = y;
    return str_cmp(json_key(*a), json_key(*b));
}

static void object_text(struct buf *b, const struct json *v)
{
    struct arena scratch ARENA_SCOPE = {0};
    const struct json_member **order = arena_alloc(&scratch, arena_array_size(v->n + 1, sizeof *order));
    for (uint32_t i = 0; i < v->n; i++)
        order[i] = &v->members[i];
    if (v->n)
        qsort(order, v->n, sizeof *order, by_key);
    buf_add_str(b, S("map["));
    for (uint32_t i = 0; i < v->n; i++) {
        if (i)
            buf_add_char(b, ' ');
        buf_add_str(b, json_key(order[i]));
        buf_add_char(b, ':');
        go_text(b, &order[i]->val);
    }
    buf_add_char(b, ']');
}

void go_text(struct buf *b, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NULL:
        buf_add_str(b, S("<nil>"));
        return;
    case JSON_STR:
        buf_add_str(b, json_text(v));
        return;
    case JSON_UINT:
    case JSON_REAL:
        go_text_real(b, json_to_real(v));
        return;
    case JSON_ARR:
        buf_add_char(b, '[');
        json_each_item(v, it)
        {
            if (it != v->items)
                buf_add_char(b, ' ');
            go_text(b, it);
        }
        buf_add_char(b, ']');
        return;
    case JSON_OBJ:
        object_text(b, v);
        return;
    default:
        json_encode(b, v, 0);
    }
}

const char *go_type_name(const struct json *v)
{
    static const char *const names[] = {
        [JSON_NULL] = "<nil>",         [JSON_BOOL] = "bool",
        [JSON_INT] = "int64",          [JSON_UINT] = "float64",
        [JSON_REAL] = "float64",       [JSON_STR] = "string",
        [JSON_ARR] = "[]interface {}", [JSON_OBJ] = "map[string]interface {}",
    };
    return names[json_type(v)];
}
